//! An edit of a key: its form, and the page of two people who edited the same key.

use std::collections::BTreeMap;

use gatehouse_admin::{KeyPatch, KeyView, LimitsPatch, OperationError, ResponseBody};
use gatehouse_model::{KeyId, KeyPolicy, Limits};
use http::{Response, StatusCode};
use maud::html;

use super::policy::{self, Values};
use crate::context::PageContext;
use crate::error::PageError;
use crate::parts::fields::{Field, Problems};
use crate::parts::shell::{Shell, redirect};
use crate::request::PageRequest;

/// `GET /keys/<id>/edit`.
pub(crate) async fn show(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    let key = pages.service.show_key(&KeyId::from(request.id.as_str()))?;
    let values = Values::of(&policy_of(&key));
    page(pages, request, StatusCode::OK, &key, &values, &Problems::default()).await
}

/// `POST /keys/<id>/edit`.
pub(crate) async fn save(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    let (id, form) = (KeyId::from(request.id.as_str()), request.form());
    let key = pages.service.show_key(&id)?;
    let mut problems = Problems::default();
    let wanted = policy::read(&form, key.expires, request.now, &mut problems);
    let revision = form.text("revision").parse().map_err(|_| {
        PageError::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "revision: the form has lost it; open the page again",
        )
    })?;
    if problems.is_empty() {
        let patch = KeyPatch { force: policy::is_forced(&form), ..patch(&wanted, &key) };
        match pages.service.edit_key(&id, Some(revision), &patch).await {
            Ok(_) => return Ok(redirect(&format!("/keys/{id}?done=saved"))),
            Err(OperationError::Stale(_)) => {
                let now = pages.service.show_key(&id)?;
                return Ok(conflict(pages, request, &now, &wanted, &Values::typed(&form)));
            }
            Err(OperationError::Invalid(message) | OperationError::Refused(message)) => {
                problems.take(&message, policy::FIELDS);
            }
            Err(error) => return Err(error.into()),
        }
    }
    // The revision that was edited stays: another change meanwhile is a conflict, not a surprise.
    let key = KeyView { revision, ..key };
    page(pages, request, StatusCode::UNPROCESSABLE_ENTITY, &key, &Values::typed(&form), &problems).await
}

/// What a person may edit of a key.
fn policy_of(key: &KeyView) -> KeyPolicy {
    KeyPolicy {
        name: key.name.clone(),
        quota: key.quota,
        quota_period: key.quota_period,
        models: key.models.clone(),
        networks: key.networks.clone(),
        expires: key.expires,
        chat_format: key.chat_format,
        limits: key.limits,
        model_limits: key.model_limits.clone(),
    }
}

/// Every field as it was typed: an empty one takes its limit away.
fn patch(wanted: &KeyPolicy, key: &KeyView) -> KeyPatch {
    let mut models: BTreeMap<String, Option<LimitsPatch>> =
        key.model_limits.keys().map(|model| (model.clone(), None)).collect();
    models.extend(wanted.model_limits.iter().map(|(model, limits)| (model.clone(), Some(all_of(*limits)))));
    KeyPatch {
        name: Some(wanted.name.clone()),
        quota: Some(wanted.quota),
        quota_period: Some(wanted.quota_period),
        models: Some(Some(wanted.models.clone())),
        networks: Some(Some(wanted.networks.clone())),
        expires: Some(wanted.expires),
        chat_format: Some(wanted.chat_format),
        limits: Some(Some(all_of(wanted.limits))),
        model_limits: Some(Some(models)),
        force: false,
    }
}

fn all_of(limits: Limits) -> LimitsPatch {
    LimitsPatch {
        requests_per_minute: Some(limits.requests_per_minute),
        tokens_per_minute: Some(limits.tokens_per_minute),
        concurrency: Some(limits.concurrency),
    }
}

async fn page(
    pages: &PageContext,
    request: &PageRequest,
    status: StatusCode,
    key: &KeyView,
    values: &Values,
    problems: &Problems,
) -> Result<Response<ResponseBody>, PageError> {
    let models = policy::models(pages).await?;
    let title = format!("Edit key {}", key.name);
    let shell = Shell::new(request, pages.facts.sandbox.is_some(), "/keys", &title);
    let address = format!("/keys/{}", key.id);
    Ok(shell.page(
        status,
        &html! {
            p.crumbs { a href="/keys" { "Keys" } " / " a href=(address) { bdi { (key.name) } } }
            h1 { "Edit key" }
            form.stack method="post" action={ (address) "/edit" } novalidate {
                (problems.summary())
                input type="hidden" name="revision" value=(key.revision);
                (Field { name: "name", label: "Name", help: "For people, such as the program that uses it.",
                    value: values.text("name"), required: true, decimal: false }.show(problems))
                (policy::fields(request, values, key.expires, &models, problems))
                div.buttons { button.primary { "Save" } a.button href=(address) { "Cancel" } }
            }
        },
    ))
}

/// Two people edited the same key: both versions, and the choice.
fn conflict(
    pages: &PageContext,
    request: &PageRequest,
    now: &KeyView,
    wanted: &KeyPolicy,
    typed: &Values,
) -> Response<ResponseBody> {
    let shell = Shell::new(request, pages.facts.sandbox.is_some(), "/keys", "Changed meanwhile");
    let address = format!("/keys/{}", now.id);
    let (mine, theirs) = (policy::words(wanted), policy::words(&policy_of(now)));
    shell.page(StatusCode::PRECONDITION_FAILED, &html! {
        p.crumbs { a href="/keys" { "Keys" } " / " a href=(address) { bdi { (now.name) } } }
        h1 { "This key was changed meanwhile" }
        div.problems role="alert" { p { "Nothing was saved. Somebody else has changed this key since you opened the form." } }
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
            (typed.hidden())
            input type="hidden" name="revision" value=(now.revision);
            div.buttons { button.primary { "Keep mine" } a.button href={ (address) "/edit" } { "Take theirs" } }
        }
    })
}
