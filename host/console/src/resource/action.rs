//! What may be done to an object: a button, with a dialog where it says what follows or asks for fields.

use gatehouse_admin::{ApiRequest, ResponseBody};
use http::header::IF_MATCH;
use http::{Method, Response, StatusCode};
use maud::{Markup, html};
use serde_json::Value;

use super::edit::refuse;
use super::fields::{Controls, Hint, given};
use super::one::Secret;
use super::{Resource, text};
use crate::error::{Outcome, PageError};
use crate::form;
use crate::form::Form;
use crate::format::plain;
use crate::parts::elements::{Confirm, Problems};
use crate::parts::shell::{Shell, redirect};
use crate::request::PageRequest;

/// Something that is done to an object.
pub(crate) struct Action {
    /// The last part of its address.
    pub(crate) word: &'static str,
    /// The verb on its button.
    pub(crate) button: &'static str,
    /// What follows; without it, it is done at once. Pointers in braces stand for members of the object.
    pub(crate) consequence: &'static str,
    pub(crate) is_danger: bool,
    /// Whether it can be done now.
    pub(crate) when: fn(&Value) -> bool,
    /// A `PATCH` edits what is there, in whatever state.
    pub(crate) method: &'static Method,
    /// As in the API's document; the id is in its braces, and its parts at a slash where there are several.
    pub(crate) path: &'static str,
    /// The form of its body; without one, it asks for nothing.
    pub(crate) hints: &'static [Hint],
    /// Controls that the form leaves out.
    pub(crate) without: &'static [&'static str],
    /// What stands in it at first.
    pub(crate) usual: &'static [(&'static str, &'static str)],
    /// The control of a refusal that names none.
    pub(crate) refers: &'static str,
    /// A body that is always the same, as a member and its value.
    pub(crate) sends: Option<(&'static str, bool)>,
    /// Boxes for flags of the API.
    pub(crate) flags: &'static [(&'static str, &'static str)],
    pub(crate) then: Then,
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

impl Action {
    /// Done at once.
    pub(crate) const fn new(
        word: &'static str,
        button: &'static str,
        path: &'static str,
        then: Then,
    ) -> Self {
        Self {
            word,
            button,
            consequence: "",
            is_danger: false,
            when: |_| true,
            method: &Method::POST,
            path,
            hints: &[],
            without: &[],
            usual: &[],
            refers: "",
            sends: None,
            flags: &[],
            then,
        }
    }

    /// What follows for this object.
    fn consequence(&self, object: &Value) -> String {
        let parts = self.consequence.split(['{', '}']).enumerate();
        let filled = parts.map(|(at, part)| match at % 2 == 0 {
            true => part.to_owned(),
            false => object.pointer(part).map(plain).unwrap_or_default(),
        });
        filled.collect()
    }

    /// The button; its dialog where it has one, with these fields.
    pub(crate) fn show(
        &self,
        resource: &Resource,
        object: &Value,
        request: &PageRequest,
        fields: &Markup,
    ) -> Markup {
        let id = resource.id_of(object);
        let (address, name) =
            (format!("{}/{}", resource.address(&id), self.word), text(object, resource.name));
        let consequence = self.consequence(object);
        if consequence.is_empty() && self.hints.is_empty() {
            let label = (!resource.has_page).then(|| format!("{} {name}", self.button));
            return html! { form method="post" action=(address) { button aria-label=[label] { (self.button) } } };
        }
        let safe = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
        let dialog = match resource.has_page {
            true => self.word.to_owned(),
            false => format!("{}-{}", self.word, id.chars().map(safe).take(40).collect::<String>()),
        };
        // A second click must not do it again.
        let is_sent_once = !self.hints.is_empty() || matches!(self.then, Then::Shows(_));
        Confirm {
            id: &dialog,
            button: self.button,
            title: &format!("{}: {name}", self.button),
            consequence: &consequence,
            action: &address,
            danger: self.is_danger,
        }
        .with(&html! {
            @if is_sent_once { (form::field(request.number)) }
            (fields)
            @for (name, words) in self.flags { label.check { input type="checkbox" name=(name) value="true"; " " (words) } }
        })
    }

    /// The button with the fields that it asks for.
    pub(super) async fn show_all(
        &self,
        resource: &Resource,
        object: &Value,
        request: &PageRequest,
    ) -> Result<Markup, PageError> {
        let mut fields = html! {};
        if let Some(controls) = self.controls(request).await? {
            let mut form = Form::default();
            for (name, value) in self.usual {
                form.push(&format!("{}_{name}", self.word), (*value).to_owned());
            }
            fields = controls.show(&form, &Problems::default());
        }
        Ok(self.show(resource, object, request, &fields))
    }

    async fn controls(&self, request: &PageRequest) -> Result<Option<Controls>, PageError> {
        if self.hints.is_empty() {
            return Ok(None);
        }
        let controls = Controls::of(request.pages.document().await?, "post", self.path, self.hints)?;
        Ok(Some(controls.without(self.without).of_form(self.word)))
    }

    fn call(&self, id: &str) -> ApiRequest {
        let mut ids = id.splitn(self.path.matches('{').count(), '/');
        let filled = |part| if str::starts_with(part, '{') { ids.next().unwrap_or_default() } else { part };
        let path: Vec<&str> = self.path.split('/').skip(1).map(filled).collect();
        let call = ApiRequest::new(self.method.clone(), &path);
        if *self.method == Method::PATCH { call.header(IF_MATCH, "*") } else { call }
    }
}

/// `POST <path>/<id>/<word>`.
pub(crate) async fn act(
    request: PageRequest,
    resource: &'static Resource,
    action: &'static Action,
) -> Outcome {
    let (form, mut problems) = (request.form(), Problems::default());
    let controls = action.controls(&request).await?;
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
        match (request.ask(call).await, &controls) {
            (Ok(answer), _) => {
                return Ok(match &action.then {
                    Then::Done(word) => redirect(&format!("{}?done={word}", resource.address(&request.id))),
                    Then::List(list, word) => redirect(&format!("{list}?done={word}")),
                    Then::Goes(to) => redirect(&to(&request.id, &answer.body)),
                    Then::Shows(secret) => secret.show(&request, resource, &answer.body),
                });
            }
            (Err(refusal), Some(controls)) if refusal.status != 404 => {
                refuse(controls, refusal, action.refers, &mut problems)?;
            }
            (Err(refusal), _) => return Err(refusal.into()),
        }
    }
    let controls = controls.as_ref().expect("only a form has problems");
    Ok(form_page(&request, resource, action, controls, &form, &problems))
}

/// The form by itself, with what is wrong.
fn form_page(
    request: &PageRequest,
    resource: &Resource,
    action: &Action,
    controls: &Controls,
    form: &Form,
    problems: &Problems,
) -> Response<ResponseBody> {
    let address = resource.address(&request.id);
    Shell::new(request, resource.section, action.button).page(
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
