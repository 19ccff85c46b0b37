//! Inputs of requests: files that come with the form, and results of tasks that go on as inputs.

use gatehouse_admin::{OperationError, ResponseBody, ResultInput};
use gatehouse_model::TaskId;
use http::{Response, StatusCode};
use maud::html;
use serde_json::{Map, Value};
use url::form_urlencoded::Serializer;

use super::offer::{self, Offer};
use crate::context::PageContext;
use crate::error::PageError;
use crate::form::Form;
use crate::multipart::FormFile;
use crate::parts::shell::Shell;
use crate::request::PageRequest;
use crate::schema_form::{Medium, control_of, place};

/// Files of one form, at most.
const MAX_FILES: usize = 16;

/// Keeps the files and puts their links into the fields that they are for; what is wrong with those that are not kept, by
/// field.
pub(super) async fn keep(
    pages: &PageContext,
    form: &mut Form,
    files: Vec<FormFile>,
) -> Result<Vec<(String, String)>, PageError> {
    let mut problems = Vec::new();
    for (at, file) in files.into_iter().enumerate() {
        let Some(control) = control_of(&file.name).filter(|control| form.has(control)) else { continue };
        if at >= MAX_FILES {
            problems.push((control.to_owned(), format!("expected at most {MAX_FILES} files")));
            break;
        }
        match pages.service.keep_input(&file.bytes, &pages.facts.public_url).await {
            Ok(link) => form.set(control, link),
            Err(OperationError::Invalid(message) | OperationError::Busy(message)) => {
                problems.push((control.to_owned(), message));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(problems)
}

/// The result that `<task>.<n>` names.
fn result_of(pages: &PageContext, wanted: &str) -> Result<ResultInput, PageError> {
    let named = || {
        let (task, at) = wanted.split_once('.')?;
        Some((task.parse::<TaskId>().ok()?, at.parse::<usize>().ok()?))
    };
    let (task, at) = named().ok_or_else(|| PageError::not_found(format!("no result {wanted:?}")))?;
    Ok(pages.service.result_input(task, at, &pages.facts.public_url)?)
}

/// Puts a result into the first field of the surface that takes it.
pub(super) fn put(
    pages: &PageContext,
    offer: &Offer,
    wanted: &str,
    body: &mut Map<String, Value>,
) -> Result<(), PageError> {
    let result = result_of(pages, wanted)?;
    if place(&offer.fields, Medium::of_type(&result.mime), &result.link, body) {
        return Ok(());
    }
    let message = format!("{} takes no {}", offer.endpoint.surface, result.mime);
    Err(PageError::new(StatusCode::UNPROCESSABLE_ENTITY, message))
}

/// The surfaces that take a result, for the key of its task.
pub(super) fn choose(
    pages: &PageContext,
    request: &PageRequest,
    wanted: &str,
) -> Result<Response<ResponseBody>, PageError> {
    let result = result_of(pages, wanted)?;
    let medium = Medium::of_type(&result.mime);
    let rows = pages.service.endpoints()?;
    let mut found = Vec::new();
    for family in offer::every_family(pages) {
        for surface in &family.surfaces {
            let Some(endpoint) = rows.iter().find(|row| row.surface == surface.name) else { continue };
            if place(&offer::fields(surface, *endpoint), medium, "", &mut Map::new()) {
                let mut query = Serializer::new(String::new());
                query.append_pair("surface", endpoint.surface).append_pair("key", &result.key.0);
                query.append_pair("input", wanted);
                let address = format!("/playground/{}?{}", family.family, query.finish());
                found.push((family.family.clone(), endpoint.surface, address));
            }
        }
    }
    let shell = Shell::new(request, pages.facts.sandbox.is_some(), "/playground", "Use as input");
    Ok(shell.page(
        StatusCode::OK,
        &html! {
            p.crumbs { a href="/playground" { "Playground" } }
            h1 { "Use as input" }
            p.muted { "The result " code { (wanted) } " (" (result.mime) ") goes into the form of what you choose, as its link." }
            @if found.is_empty() { p.empty { "Nothing that is loaded takes it." } }
            ul.cards { @for (family, surface, address) in &found {
                li.card { h2 { a href=(address) { (family) } } p.muted { code { (surface) } } }
            } }
        },
    ))
}
