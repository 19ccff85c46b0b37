//! What may be done to an object: a button, with a dialog where it says what follows or asks for fields.

use std::fmt;

use gatehouse_admin::{ApiRequest, ResponseBody};
use http::header::IF_MATCH;
use http::{Response, StatusCode};
use maud::{Markup, html};
use serde_json::Value;

use super::column::Look;
use super::edit::refuse;
use super::fields::{Controls, Hint, given};
use super::one::Secret;
use super::{Resource, text};
use crate::error::{Outcome, PageError};
use crate::form;
use crate::form::Form;
use crate::parts::elements::{Confirm, Problems};
use crate::parts::shell::{Shell, redirect};
use crate::request::{PageContext, PageRequest};

/// Something that is done to an object.
pub(crate) struct Action {
    /// The last part of its address.
    pub(crate) word: &'static str,
    /// The verb on its button.
    pub(crate) button: &'static str,
    /// What follows; without it, it is done at once.
    pub(crate) consequence: fn(&Value) -> String,
    pub(crate) is_danger: bool,
    /// Whether it stands in lists, not on the object's page.
    pub(crate) is_of_rows: bool,
    /// Whether it can be done now.
    pub(crate) when: fn(&Value) -> bool,
    pub(crate) method: Method,
    /// As in the API's document; the id is in its braces, and its parts at a slash where there are several.
    pub(crate) path: &'static str,
    /// The form of its body.
    pub(crate) asks: Option<Asks>,
    /// A body that is always the same, as a member and its value.
    pub(crate) sends: Option<(&'static str, bool)>,
    /// Boxes for flags of the API.
    pub(crate) flags: &'static [(&'static str, &'static str)],
    pub(crate) then: Then,
}

/// The form of an action.
#[derive(Clone, Copy)]
pub(crate) struct Asks {
    pub(crate) hints: &'static [Hint],
    pub(crate) without: &'static [&'static str],
    /// What stands in it at first.
    pub(crate) usual: &'static [(&'static str, &'static str)],
    /// The control of a refusal that names none.
    pub(crate) refers: &'static str,
}

/// How the API is asked.
#[derive(Clone, Copy)]
pub(crate) enum Method {
    Post,
    /// An edit of whatever is there.
    Patch,
    Delete,
}

/// What follows when it is done.
pub(crate) enum Then {
    /// The object's page, with the sentence of this word.
    Done(&'static str),
    /// That list, with the sentence of this word.
    List(&'static str, &'static str),
    /// An address, made of the object's id and of the API's answer.
    Goes(fn(id: &str, answer: &Value) -> String),
    /// A secret is shown.
    Shows(&'static Secret),
}

impl fmt::Debug for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word)
    }
}

impl Action {
    /// Done on the object's page, at once.
    pub(crate) const fn new(
        word: &'static str,
        button: &'static str,
        path: &'static str,
        then: Then,
    ) -> Self {
        Self {
            word,
            button,
            consequence: |_| String::new(),
            is_danger: false,
            is_of_rows: false,
            when: |_| true,
            method: Method::Post,
            path,
            asks: None,
            sends: None,
            flags: &[],
            then,
        }
    }

    /// The button; its dialog where it has one. What the form asks for comes with it only on the object's page.
    pub(crate) fn show(&self, resource: &Resource, object: &Value, look: &Look<'_>) -> Markup {
        self.button(resource, object, look, &html! {})
    }

    fn button(&self, resource: &Resource, object: &Value, look: &Look<'_>, fields: &Markup) -> Markup {
        let id = resource.id_of(object);
        let (address, name) =
            (format!("{}/{}", resource.address(&id), self.word), text(object, resource.name));
        let consequence = (self.consequence)(object);
        if consequence.is_empty() && self.asks.is_none() {
            let label = self.is_of_rows.then(|| format!("{} {name}", self.button));
            return html! { form method="post" action=(address) { button aria-label=[label] { (self.button) } } };
        }
        let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
        let dialog = match self.is_of_rows {
            true => format!("{}-{}", self.word, id.chars().map(plain).take(40).collect::<String>()),
            false => self.word.to_owned(),
        };
        Confirm {
            id: &dialog,
            button: self.button,
            title: &format!("{}: {name}", self.button),
            consequence: &consequence,
            action: &address,
            danger: self.is_danger,
        }
        .with(&html! {
            @if self.is_sent_once() { (form::field(look.number)) }
            (fields)
            @for (name, words) in self.flags { label.check { input type="checkbox" name=(name) value="true"; " " (words) } }
        })
    }

    /// The button with the fields that it asks for.
    pub(super) async fn show_all(
        &self,
        pages: &PageContext,
        resource: &Resource,
        object: &Value,
        look: &Look<'_>,
    ) -> Result<Markup, PageError> {
        let fields = match (self.controls(pages).await?, &self.asks) {
            (Some(controls), Some(asks)) => {
                let mut form = Form::default();
                asks.usual.iter().for_each(|(name, value)| {
                    form.push(&format!("{}_{name}", self.word), (*value).to_owned());
                });
                controls.show(&form, &Problems::default())
            }
            _ => html! {},
        };
        Ok(self.button(resource, object, look, &fields))
    }

    /// Whether a second click must not do it again.
    const fn is_sent_once(&self) -> bool {
        self.asks.is_some() || matches!(self.then, Then::Shows(_))
    }

    async fn controls(&self, pages: &PageContext) -> Result<Option<Controls>, PageError> {
        let Some(asks) = &self.asks else { return Ok(None) };
        let controls = Controls::of(pages.document().await?, "post", self.path, asks.hints)?;
        Ok(Some(controls.without(asks.without).of_form(self.word)))
    }

    fn call(&self, id: &str) -> ApiRequest {
        let mut ids = id.splitn(self.path.matches('{').count(), '/');
        let filled = |part| if str::starts_with(part, '{') { ids.next().unwrap_or_default() } else { part };
        let path: Vec<&str> = self.path.split('/').skip(1).map(filled).collect();
        match self.method {
            Method::Patch => ApiRequest::patch(&path).header(IF_MATCH, "*"),
            Method::Delete => ApiRequest::delete(&path),
            Method::Post => ApiRequest::post(&path),
        }
    }
}

/// `POST <path>/<id>/<word>`.
pub(crate) async fn act(
    pages: &PageContext,
    request: &PageRequest,
    resource: &'static Resource,
    action: &'static Action,
) -> Outcome {
    let (form, mut problems) = (request.form(), Problems::default());
    let controls = action.controls(pages).await?;
    let mut call = action.call(&request.id);
    if let Some(controls) = &controls {
        call = call.json(&given(controls.read(&form, request.now, &mut problems)));
    } else if let Some((member, value)) = action.sends {
        call = call.json(&serde_json::json!({ member: value }));
    }
    for (name, _) in action.flags {
        call = call.flag(name, form.is_on(name));
    }
    if problems.is_empty() {
        match (pages.ask(request, call).await, &controls, &action.asks) {
            (Ok(answer), ..) => {
                return Ok(match &action.then {
                    Then::Done(word) => redirect(&format!("{}?done={word}", resource.address(&request.id))),
                    Then::List(list, word) => redirect(&format!("{list}?done={word}")),
                    Then::Goes(to) => redirect(&to(&request.id, &answer.body)),
                    Then::Shows(secret) => secret.show(pages, request, resource, &answer.body),
                });
            }
            (Err(refusal), Some(controls), Some(asks)) if refusal.status != 404 => {
                refuse(controls, refusal, asks.refers, &mut problems)?;
            }
            (Err(refusal), ..) => return Err(refusal.into()),
        }
    }
    let controls = controls.as_ref().expect("only a form has problems");
    Ok(form_page(pages, request, resource, action, controls, &form, &problems))
}

/// The form by itself, with what is wrong.
fn form_page(
    pages: &PageContext,
    request: &PageRequest,
    resource: &Resource,
    action: &Action,
    controls: &Controls,
    form: &Form,
    problems: &Problems,
) -> Response<ResponseBody> {
    let address = resource.address(&request.id);
    Shell::new(request, pages.facts.sandbox.is_some(), resource.section, action.button).page(
        StatusCode::UNPROCESSABLE_ENTITY,
        &html! {
            p.crumbs { a href=(resource.path) { (resource.names.0) } " / " a href=(address) { bdi { (request.id) } } }
            h1 { (action.button) }
            form.stack method="post" action={ (address) "/" (action.word) } novalidate {
                (form::field(request.number))
                (problems.summary_as("This could not be done"))
                (controls.show(form, problems))
                div.buttons { button.primary { (action.button) } a.button href=(address) { "Cancel" } }
            }
        },
    )
}
