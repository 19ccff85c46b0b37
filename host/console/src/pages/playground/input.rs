//! Inputs of requests: files that come with the form, and results of tasks that go on as inputs.

use gatehouse_admin::{OperationError, ResultInput};
use gatehouse_model::TaskId;
use http::StatusCode;
use maud::html;
use serde_json::{Map, Value};
use url::form_urlencoded::Serializer;

use super::offer::{self, Offer};
use crate::error::{Outcome, PageError};
use crate::form::{Form, FormFile};
use crate::parts::shell::Shell;
use crate::request::{PageContext, PageRequest};
use crate::schema_form::{InputField, Medium, control_of, input_fields};

/// Files of one form, at most.
const MAX_FILES: usize = 16;

/// Keeps the files and puts their links into the fields that they are for; what is wrong with those that are not kept, by
/// field.
pub(super) async fn keep(
    request: &PageRequest,
    form: &mut Form,
    files: Vec<FormFile>,
) -> Result<Vec<(String, String)>, PageError> {
    let (pages, mut problems) = (&request.pages, Vec::new());
    for (at, file) in files.into_iter().enumerate() {
        let Some(control) = control_of(&file.name).filter(|control| form.has(control)) else { continue };
        if at >= MAX_FILES {
            problems.push((control.to_owned(), format!("expected at most {MAX_FILES} files")));
            break;
        }
        match pages
            .service
            .playground
            .keep_input(&request.caller(), &file.bytes, &pages.facts.public_url)
            .await
        {
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
async fn result_of(pages: &PageContext, wanted: &str) -> Result<ResultInput, PageError> {
    let named = || {
        let (task, at) = wanted.split_once('.')?;
        Some((task.parse::<TaskId>().ok()?, at.parse::<usize>().ok()?))
    };
    let (task, at) = named().ok_or_else(|| PageError::not_found(format!("no result {wanted:?}")))?;
    Ok(pages.service.playground.result_input(task, at, &pages.facts.public_url).await?)
}

/// Puts a result into the field of the surface that `into` names, into the best one where it names none.
pub(super) async fn put(
    pages: &PageContext,
    offer: &Offer,
    wanted: &str,
    into: &str,
    body: &mut Map<String, Value>,
) -> Result<(), PageError> {
    let result = result_of(pages, wanted).await?;
    let takes = input_fields(&offer.fields, Medium::of_type(&result.mime));
    if let Some(field) = takes.iter().find(|field| into.is_empty() || field.pointer() == into) {
        field.put(&result.link, body);
        return Ok(());
    }
    let of = if into.is_empty() { String::new() } else { format!(" in {into}") };
    let message = format!("{} takes no {}{of}", offer.endpoint.surface, result.mime);
    Err(PageError::new(StatusCode::UNPROCESSABLE_ENTITY, message))
}

/// A surface that takes a result.
struct Taker {
    family: String,
    surface: &'static str,
    /// The form with the result in its best field.
    address: String,
    /// The fields that it may go into, where there are several, each with its form.
    fields: Vec<(String, String)>,
}

/// The surfaces that take a result, for the key of its task.
pub(super) async fn choose(request: &PageRequest, wanted: &str) -> Outcome {
    let pages = &request.pages;
    let result = result_of(pages, wanted).await?;
    let medium = Medium::of_type(&result.mime);
    let rows = pages.service.playground.endpoints()?;
    let mut found = Vec::new();
    for family in offer::every_family(pages) {
        for surface in &family.surfaces {
            let Some(endpoint) = rows.iter().find(|row| row.surface == surface.name) else { continue };
            let takes = input_fields(&offer::fields(surface, *endpoint), medium);
            if takes.is_empty() {
                continue;
            }
            let address = |into: Option<String>| {
                let mut query = Serializer::new(String::new());
                query.append_pair("surface", endpoint.surface).append_pair("key", &result.key.0);
                query.append_pair("input", wanted);
                query.extend_pairs(into.map(|into| ("into", into)));
                format!("/playground/{}?{}", family.family, query.finish())
            };
            let field = |one: &InputField| (one.name(), address(Some(one.pointer())));
            let fields = if takes.len() > 1 { takes.iter().map(field).collect() } else { Vec::new() };
            let (family, surface) = (family.family.clone(), endpoint.surface);
            found.push(Taker { family, surface, address: address(None), fields });
        }
    }
    let shell = Shell::new(request, "/playground", "Use as input");
    Ok(shell.show(&html! {
        p.crumbs { a href="/playground" { "Playground" } }
        h1 { "Use as input" }
        p.muted { "The result " code { (wanted) } " (" (result.mime) ") goes into the form of what you choose, as its link." }
        @if found.is_empty() { p.empty { "Nothing that is loaded takes it." } }
        ul.cards { @for taker in &found {
            li.card {
                h2 { a href=(taker.address) { (taker.family) } }
                p.muted { code { (taker.surface) } }
                @if !taker.fields.is_empty() {
                    ul.plain aria-label={ "Fields of " (taker.surface) } { @for (field, address) in &taker.fields {
                        li { a href=(address) { "Into " code { (field) } } }
                    } }
                }
            }
        } }
    }))
}
