//! A new object, and an edit of one: the form, and the page of two people who edited the same object.

use gatehouse_admin::{ApiAnswer, ApiRefusal, ApiRequest, ResponseBody};
use http::header::IF_MATCH;
use http::{Response, StatusCode};
use maud::{Markup, html};
use serde_json::Value;

use super::fields::{Controls, given};
use super::{Resource, text};
use crate::error::{Outcome, PageError};
use crate::form;
use crate::form::Form;
use crate::parts::elements::Problems;
use crate::parts::shell::{Shell, redirect};
use crate::request::PageRequest;

/// `GET <path>/new`; a query fills it in.
pub(crate) async fn new(request: PageRequest, resource: &'static Resource) -> Outcome {
    let controls = resource.controls(&request, "post", resource.create).await?;
    Ok(new_page(&request, resource, &controls, &request.query, &Problems::default()))
}

/// `POST <path>`.
pub(crate) async fn create(request: PageRequest, resource: &'static Resource) -> Outcome {
    let controls = resource.controls(&request, "post", resource.create).await?;
    let (form, mut problems) = (request.form(), Problems::default());
    let body = given(controls.read(&form, request.now, &mut problems));
    if problems.is_empty() {
        let call = flagged(resource, &form, ApiRequest::post(resource.api).json(&body));
        match request.ask(call).await {
            Ok(made) => {
                return Ok(match resource.secret {
                    Some(secret) => secret.show(&request, resource, &made.body),
                    None => {
                        redirect(&format!("{}?done=created", resource.address(&resource.id_of(&made.body))))
                    }
                });
            }
            Err(refusal) => refuse(&controls, refusal, resource.refers, &mut problems)?,
        }
    }
    Ok(new_page(&request, resource, &controls, &form, &problems))
}

/// `GET <path>/<id>/edit`.
pub(crate) async fn show(request: PageRequest, resource: &'static Resource) -> Outcome {
    let controls = resource.controls(&request, "patch", resource.edit).await?;
    let ApiAnswer { etag, body, .. } = resource.get(&request).await?;
    let mut form = controls.fill(&body);
    form.push("etag", etag.unwrap_or_default());
    Ok(edit_page(&request, resource, &body, &controls, &form, &Problems::default()))
}

/// `POST <path>/<id>/edit`.
pub(crate) async fn save(request: PageRequest, resource: &'static Resource) -> Outcome {
    let controls = resource.controls(&request, "patch", resource.edit).await?;
    let (form, mut problems) = (request.form(), Problems::default());
    let before = resource.get(&request).await?;
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
        match request.ask(flagged(resource, &form, call)).await {
            Ok(_) => return Ok(redirect(&format!("{}?done=saved", resource.address(&request.id)))),
            Err(refusal) if refusal.status == 412 => {
                let now = resource.get(&request).await?;
                return Ok(conflict(&request, resource, &now, &controls, &patch, &form));
            }
            Err(refusal) => refuse(&controls, refusal, resource.refers, &mut problems)?,
        }
    }
    // The tag of what was edited stays in the form: another change meanwhile is a conflict, not a surprise.
    Ok(edit_page(&request, resource, &before.body, &controls, &form, &problems))
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

fn flagged(resource: &Resource, form: &Form, call: ApiRequest) -> ApiRequest {
    resource.flags.iter().fold(call, |call, (name, _)| call.flag(name, form.is_on(name)))
}

impl Resource {
    /// What this operation of the API takes of a new one or of an edit.
    pub(super) async fn controls(
        &self,
        request: &PageRequest,
        method: &str,
        path: &str,
    ) -> Result<Controls, PageError> {
        Controls::of(request.pages.document().await?, method, path, self.hints)
    }

    /// The object that a page is about.
    pub(super) async fn get(&self, request: &PageRequest) -> Result<ApiAnswer, PageError> {
        let path: Vec<&str> = self.api.iter().copied().chain([request.id.as_str()]).collect();
        Ok(request.ask(ApiRequest::get(&path)).await?)
    }
}

fn flags(resource: &Resource, form: &Form) -> Markup {
    html! {
        @for (name, words) in resource.flags {
            label.check { input type="checkbox" name=(name) value="true" checked[form.is_on(name)]; " " (words) }
        }
    }
}

/// The status of a form, which is shown again only where something is wrong with it.
fn status_of(problems: &Problems) -> StatusCode {
    if problems.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY }
}

fn new_page(
    request: &PageRequest,
    resource: &Resource,
    controls: &Controls,
    form: &Form,
    problems: &Problems,
) -> Response<ResponseBody> {
    let (many, one) = resource.names;
    let title = format!("New {one}");
    Shell::new(request, resource.section, &title).page(
        status_of(problems),
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
    request: &PageRequest,
    resource: &Resource,
    object: &Value,
    controls: &Controls,
    form: &Form,
    problems: &Problems,
) -> Response<ResponseBody> {
    let title = format!("Edit {} {}", resource.names.1, text(object, resource.name));
    let address = resource.address(&request.id);
    Shell::new(request, resource.section, &title).page(
        status_of(problems),
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
    Shell::new(request, resource.section, "Changed meanwhile").page(StatusCode::PRECONDITION_FAILED, &html! {
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
