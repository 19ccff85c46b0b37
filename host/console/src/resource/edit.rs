//! A new object, and an edit of one: the form, and the page of two people who edited the same object.

use gatehouse_admin::{ApiAnswer, ApiRefusal, ApiRequest, ResponseBody};
use http::header::IF_MATCH;
use http::{Response, StatusCode};
use maud::{Markup, html};
use serde_json::Value;

use super::fields::{Controls, Hint, given};
use super::one::Secret;
use super::{Resource, text};
use crate::error::{Outcome, PageError};
use crate::form;
use crate::form::Form;
use crate::parts::elements::Problems;
use crate::parts::shell::{Shell, redirect};
use crate::request::{PageContext, PageRequest};

/// The forms of a kind.
#[derive(Clone, Copy)]
pub(crate) struct Forms {
    /// Operations of the API, by path.
    pub(crate) create: Option<&'static str>,
    pub(crate) edit: Option<&'static str>,
    pub(crate) hints: &'static [Hint],
    /// Boxes for flags of the API.
    pub(crate) flags: &'static [(&'static str, &'static str)],
    /// The control that names something else, which may not be there.
    pub(crate) refers: &'static str,
    /// What is shown once of a new one; without it, its own page.
    pub(crate) secret: Option<&'static Secret>,
}

/// A form as it was filled in.
struct Filled<'f> {
    controls: &'f Controls,
    form: &'f Form,
    problems: &'f Problems,
}

/// `GET <path>/new`; a query fills it in.
pub(crate) async fn new(pages: &PageContext, request: &PageRequest, resource: &'static Resource) -> Outcome {
    let (_, controls) = resource.new_controls(pages).await?;
    let filled = Filled { controls: &controls, form: &request.query, problems: &Problems::default() };
    Ok(new_page(pages, request, resource, StatusCode::OK, &filled))
}

/// `POST <path>`.
pub(crate) async fn create(
    pages: &PageContext,
    request: &PageRequest,
    resource: &'static Resource,
) -> Outcome {
    let (forms, controls) = resource.new_controls(pages).await?;
    let (form, mut problems) = (request.form(), Problems::default());
    let body = given(controls.read(&form, request.now, &mut problems));
    if problems.is_empty() {
        let call = flagged(forms, &form, ApiRequest::post(resource.api).json(&body));
        match pages.ask(request, call).await {
            Ok(made) => {
                return Ok(match forms.secret {
                    Some(secret) => secret.show(pages, request, resource, &made.body),
                    None => {
                        redirect(&format!("{}?done=created", resource.address(&resource.id_of(&made.body))))
                    }
                });
            }
            Err(refusal) => refuse(&controls, refusal, forms.refers, &mut problems)?,
        }
    }
    let filled = Filled { controls: &controls, form: &form, problems: &problems };
    Ok(new_page(pages, request, resource, StatusCode::UNPROCESSABLE_ENTITY, &filled))
}

/// `GET <path>/<id>/edit`.
pub(crate) async fn show(pages: &PageContext, request: &PageRequest, resource: &'static Resource) -> Outcome {
    let (_, controls) = resource.edit_controls(pages).await?;
    let ApiAnswer { etag, body, .. } = resource.get(pages, request).await?;
    let mut form = controls.fill(&body);
    form.push("etag", etag.unwrap_or_default());
    let filled = Filled { controls: &controls, form: &form, problems: &Problems::default() };
    Ok(edit_page(pages, request, resource, StatusCode::OK, &body, &filled))
}

/// `POST <path>/<id>/edit`.
pub(crate) async fn save(pages: &PageContext, request: &PageRequest, resource: &'static Resource) -> Outcome {
    let (forms, controls) = resource.edit_controls(pages).await?;
    let (form, mut problems) = (request.form(), Problems::default());
    let before = resource.get(pages, request).await?;
    let mut patch = controls.read(&form, request.now, &mut problems);
    controls.take_away(&before.body, &mut patch);
    let etag = form.text("etag");
    if etag.is_empty() {
        let message = "etag: the form has lost it; open the page again";
        return Err(PageError::new(StatusCode::UNPROCESSABLE_ENTITY, message));
    }
    if problems.is_empty() {
        let path: Vec<&str> = resource.api.iter().copied().chain([request.id.as_str()]).collect();
        let call = ApiRequest::patch(&path).json(&patch).header(IF_MATCH, etag);
        match pages.ask(request, flagged(forms, &form, call)).await {
            Ok(_) => return Ok(redirect(&format!("{}?done=saved", resource.address(&request.id)))),
            Err(refusal) if refusal.status == 412 => {
                let now = resource.get(pages, request).await?;
                return Ok(conflict(pages, request, resource, &now, &controls, &patch, &form));
            }
            Err(refusal) => refuse(&controls, refusal, forms.refers, &mut problems)?,
        }
    }
    // The tag of what was edited stays in the form: another change meanwhile is a conflict, not a surprise.
    let filled = Filled { controls: &controls, form: &form, problems: &problems };
    Ok(edit_page(pages, request, resource, StatusCode::UNPROCESSABLE_ENTITY, &before.body, &filled))
}

/// Puts a refusal at its field; what no form can mend is a page of its own.
pub(super) fn refuse(
    controls: &Controls,
    refusal: ApiRefusal,
    refers: &str,
    problems: &mut Problems,
) -> Result<(), PageError> {
    let refers = if matches!(refusal.status, 404 | 409) { refers } else { "" };
    if refusal.status != 400 && refers.is_empty() {
        return Err(refusal.into());
    }
    controls.refuse(text(&refusal.body["error"], "param"), &refusal.message, refers, problems);
    Ok(())
}

fn flagged(forms: &Forms, form: &Form, call: ApiRequest) -> ApiRequest {
    forms.flags.iter().fold(call, |call, (name, _)| call.flag(name, form.is_on(name)))
}

impl Resource {
    async fn new_controls(&self, pages: &PageContext) -> Result<(&Forms, Controls), PageError> {
        self.controls(pages, "post", |forms| forms.create).await
    }

    /// What an edit may change.
    pub(super) async fn edit_controls(&self, pages: &PageContext) -> Result<(&Forms, Controls), PageError> {
        self.controls(pages, "patch", |forms| forms.edit).await
    }

    async fn controls(
        &self,
        pages: &PageContext,
        method: &str,
        operation: impl Fn(&Forms) -> Option<&'static str>,
    ) -> Result<(&Forms, Controls), PageError> {
        let forms = self.forms.as_ref().ok_or_else(|| PageError::not_found("there is no such form"))?;
        let path = operation(forms).ok_or_else(|| PageError::not_found("there is no such form"))?;
        Ok((forms, Controls::of(pages.document().await?, method, path, forms.hints)?))
    }

    /// The object that a page is about.
    pub(super) async fn get(
        &self,
        pages: &PageContext,
        request: &PageRequest,
    ) -> Result<ApiAnswer, PageError> {
        let path: Vec<&str> = self.api.iter().copied().chain([request.id.as_str()]).collect();
        Ok(pages.ask(request, ApiRequest::get(&path)).await?)
    }
}

fn flags(resource: &Resource, form: &Form) -> Markup {
    let flags = resource.forms.map_or(&[][..], |forms| forms.flags);
    html! {
        @for (name, words) in flags {
            label.check { input type="checkbox" name=(name) value="true" checked[form.is_on(name)]; " " (words) }
        }
    }
}

fn new_page(
    pages: &PageContext,
    request: &PageRequest,
    resource: &Resource,
    status: StatusCode,
    Filled { controls, form, problems }: &Filled<'_>,
) -> Response<ResponseBody> {
    let (many, one) = resource.names;
    let title = format!("New {one}");
    Shell::new(request, pages.facts.sandbox.is_some(), resource.section, &title).page(
        status,
        &html! {
            p.crumbs { a href=(resource.path) { (many) } }
            h1 { (title) }
            form.stack method="post" action=(resource.path) novalidate {
                (form::field(request.number))
                (problems.summary())
                (controls.show(form, problems))
                (flags(resource, form))
                div.buttons { button.primary { "Create " (one) } a.button href=(resource.path) { "Cancel" } }
            }
        },
    )
}

fn crumbs(resource: &Resource, request: &PageRequest, object: &Value) -> Markup {
    html! {
        p.crumbs {
            a href=(resource.path) { (resource.names.0) } " / "
            a href=(resource.address(&request.id)) { bdi { (text(object, resource.name)) } }
        }
    }
}

fn edit_page(
    pages: &PageContext,
    request: &PageRequest,
    resource: &Resource,
    status: StatusCode,
    object: &Value,
    Filled { controls, form, problems }: &Filled<'_>,
) -> Response<ResponseBody> {
    let title = format!("Edit {} {}", resource.names.1, text(object, resource.name));
    let address = resource.address(&request.id);
    Shell::new(request, pages.facts.sandbox.is_some(), resource.section, &title).page(
        status,
        &html! {
            (crumbs(resource, request, object))
            h1 { "Edit " (resource.names.1) }
            form.stack method="post" action={ (address) "/edit" } novalidate {
                (problems.summary())
                input type="hidden" name="etag" value=(form.text("etag"));
                (controls.show(form, problems))
                (flags(resource, form))
                div.buttons { button.primary { "Save" } a.button href=(address) { "Cancel" } }
            }
        },
    )
}

/// Two people edited the same object: both versions, and the choice.
fn conflict(
    pages: &PageContext,
    request: &PageRequest,
    resource: &Resource,
    now: &ApiAnswer,
    controls: &Controls,
    mine: &Value,
    form: &Form,
) -> Response<ResponseBody> {
    let one = resource.names.1;
    let address = resource.address(&request.id);
    let (mine, theirs) = (controls.words(mine), controls.words(&now.body));
    Shell::new(request, pages.facts.sandbox.is_some(), resource.section, "Changed meanwhile").page(StatusCode::PRECONDITION_FAILED, &html! {
        (crumbs(resource, request, &now.body))
        h1 { "This " (one) " was changed meanwhile" }
        div.problems role="alert" { p { "Nothing was saved. Somebody else has changed this " (one) " since you opened the form." } }
        div.scroll role="region" aria-label="Both versions" tabindex="0" {
            table.cards {
                caption { "Both versions, field by field" }
                thead { tr { th scope="col" { "Field" } th scope="col" { "Yours" } th scope="col" { "Now" } } }
                tbody { @for ((name, mine), (_, theirs)) in mine.iter().zip(&theirs) {
                    tr .marked[mine != theirs] { td { (name) } td { bdi { (mine) } } td { bdi { (theirs) } } }
                } }
            }
        }
        form method="post" action={ (address) "/edit" } {
            @for (name, value) in form.fields().filter(|(name, _)| *name != "etag") { input type="hidden" name=(name) value=(value); }
            input type="hidden" name="etag" value=(now.etag.as_deref().unwrap_or_default());
            div.buttons { button.primary { "Keep mine" } a.button href={ (address) "/edit" } { "Take theirs" } }
        }
    })
}
