//! The page of one object: its facts, what may be done to it, and what belongs to it; and the page that shows a new secret, once.

use gatehouse_admin::{ApiRequest, ResponseBody};
use http::{Response, StatusCode};
use maud::{Markup, html};
use serde_json::Value;

use super::list::{Found, page, pager};
use super::{Resource, encoded, text};
use crate::error::{Outcome, PageError};
use crate::format::plain;
use crate::parts::elements::paste;
use crate::parts::shell::Shell;
use crate::request::{PageContext, PageRequest};

/// A list of other objects on a page.
pub(crate) struct Related {
    pub(crate) title: &'static str,
    pub(crate) of: &'static Resource,
    /// Below `/admin/v1`; `{}` is the id of the object of the page.
    pub(crate) path: &'static [&'static str],
    pub(crate) query: &'static [(&'static str, &'static str)],
    pub(crate) rows: usize,
    pub(crate) empty: &'static str,
    /// The parameter of the list that has them all, and of the form for a new one; without it the list has pages here.
    pub(crate) parameter: Option<&'static str>,
}

/// `GET <path>/<id>`.
pub(crate) async fn show(request: PageRequest, resource: &'static Resource) -> Outcome {
    let request = &request;
    let object = resource.get(request).await?.body;
    let address = resource.address(&request.id);
    let controls = match resource.edit {
        "" => None,
        path => Some(resource.controls(request, "patch", path).await?),
    };
    let is_open = resource.actions.iter().any(|action| (action.when)(&object));
    let mut buttons = Vec::new();
    for action in resource.actions.iter().filter(|action| request.is_operator() && (action.when)(&object)) {
        buttons.push(action.show_all(resource, &object, request).await?);
    }
    let mut related = Vec::new();
    for list in resource.related {
        related.push(list.show(request).await?);
    }
    let name = plain(&object[resource.name]);
    let title = format!("{} {name}", resource.names.1);
    let shell = Shell::new(request, resource.section, &title);
    Ok(shell.show(&html! {
        p.crumbs { a href=(resource.path) { (resource.names.0) } }
        div.title { h1 { bdi { (name) } } ((resource.state)(&object, request)) }
        (resource.figures(&object, request))
        dl.facts {
            @for fact in resource.facts.iter().filter(|fact| fact.has(&object)) {
                dt { (fact.label) } dd { (fact.show(&object, &address, request)) }
            }
            @if let Some(controls) = &controls {
                @for (label, words) in controls.words(&object) { dt { (label) } dd { bdi { (words) } } }
            }
        }
        ((resource.more)(&object, request))
        @if request.is_operator() && is_open {
            div.buttons {
                @if controls.is_some() { a.button.primary href={ (address) "/edit" } data-edit { "Edit " (resource.names.1) } }
                @for button in &buttons { (button) }
            }
        }
        @for list in &related { (list) }
    }))
}

impl Related {
    async fn show(&self, request: &PageRequest) -> Result<Markup, PageError> {
        let id = request.id.as_str();
        let filled = |text: &'static str| if text == "{}" { id } else { text };
        let path: Vec<&str> = self.path.iter().map(|part| filled(part)).collect();
        let cursor = Some(request.query.text("cursor"))
            .filter(|cursor| self.parameter.is_none() && !cursor.is_empty());
        let list = ApiRequest::get(&path).query("limit", self.rows).query_if("cursor", cursor);
        let list = self.query.iter().fold(list, |list, (name, value)| list.query(name, filled(value)));
        let Found { rows, next, .. } = page(request, list).await?;
        let query = self.parameter.map(|name| format!("{name}={}", encoded(id)));
        let (path, one) = (self.of.path, self.of.names.1);
        Ok(html! {
            div.title {
                h2 { (self.title) }
                @if let Some(query) = query.as_ref().filter(|_| request.is_operator()) { a.button href={ (path) "/new?" (query) } { "New " (one) } }
            }
            @if rows.is_empty() && next.is_none() { p.empty { (self.empty) } } @else { (self.of.table(&rows, self.title, request)) }
            @match (&query, &next) {
                (Some(query), Some(_)) => p { a href={ (path) "?" (query) } { "All of them" } },
                (Some(_), None) => {}
                (None, next) => (pager(self.of.is_newest_first, cursor.is_some(), next.as_deref(), |cursor| format!("?cursor={cursor}"))),
            }
        })
    }
}

/// What is shown of an object that was made with a secret.
pub(crate) struct Secret {
    /// The member of the answer with the object; the secret is in `secret`.
    pub(crate) object: &'static str,
    pub(crate) heading: &'static str,
    /// The element with the secret, and what it is called.
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    /// What the gateway keeps of it.
    pub(crate) kept: &'static str,
    /// Where a person goes on who has stored it.
    pub(crate) next: fn(id: &str) -> String,
    /// How it is used.
    pub(crate) more: fn(&PageContext, &Value, &str) -> Markup,
}

impl Secret {
    /// The only page that ever shows it.
    pub(crate) fn show(
        &self,
        request: &PageRequest,
        resource: &Resource,
        answer: &Value,
    ) -> Response<ResponseBody> {
        let (object, secret) = (&answer[self.object], text(answer, "secret"));
        let next = (self.next)(&resource.id_of(object));
        let shell = Shell::new(request, resource.section, self.heading);
        shell.page(
            StatusCode::CREATED,
            &html! {
                p.crumbs { a href=(resource.path) { (resource.names.0) } }
                h1 { (self.heading) ": " bdi { (text(object, resource.name)) } }
                @if secret.is_empty() {
                    section.report {
                        p { strong { "This form was sent before, and the " (self.name) " is shown one time." } " " (self.kept) }
                        div.buttons { a.button.primary href=(next) { "Go on" } }
                    }
                } @else {
                    section.report data-warns-before-leaving {
                        p { strong { "This is the " (self.name) ". It is shown this one time." } " " (self.kept) }
                        (paste(self.id, &format!("The new {}", self.name), secret))
                        div.buttons { a.button.primary href=(next) data-leaves { "I have stored it" } }
                    }
                    ((self.more)(&request.pages, object, secret))
                }
            },
        )
    }
}
