//! A new key: its form, and the one page that shows its secret.

use std::collections::BTreeSet;
use std::time::Duration;

use gatehouse_admin::{
    KeyView, NewKey, Operation, OperationError, OperationResult, PluginState, ResponseBody, Revealed,
};
use gatehouse_model::{ChatFormat, Credits, CustomerId, KeyPolicy, UnixMs};
use http::{Response, StatusCode};
use ipnet::IpNet;
use maud::{Markup, html};

use super::super::recipes::{self, Keys};
use crate::context::PageContext;
use crate::error::PageError;
use crate::form::Form;
use crate::parts::elements::paste;
use crate::parts::fields::{Field, Problems, lines, select};
use crate::parts::shell::{Shell, secret};
use crate::request::PageRequest;

/// Fields that the service's refusals name.
const FIELDS: &[&str] = &["name", "customer", "quota", "models", "networks", "expires"];
const HOUR: u64 = 3600;

/// How long a key works, by the field's value.
const SPANS: &[(&str, &str, Option<u64>)] = &[
    ("never", "never", None),
    ("24h", "in 24 hours", Some(24 * HOUR)),
    ("7d", "in 7 days", Some(7 * 24 * HOUR)),
    ("30d", "in 30 days", Some(30 * 24 * HOUR)),
    ("365d", "in a year", Some(365 * 24 * HOUR)),
];

/// `GET /keys/new`.
pub(crate) async fn show(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    let models = models(pages).await?;
    Ok(page(pages, request, StatusCode::OK, &request.query, &Problems::default(), &models))
}

/// `POST /keys`.
pub(crate) async fn create(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    let form = request.form();
    let mut problems = Problems::default();
    let new = read(&form, request.now, &mut problems);
    if problems.is_empty() {
        match pages.service.perform(Operation::KeyCreate(new)).await {
            Ok(OperationResult::KeyCreated { key, secret }) => {
                return Ok(created(pages, request, &key, &secret));
            }
            Ok(_) => return Err(PageError::unexpected()),
            Err(OperationError::Invalid(message)) => problems.take(&message, FIELDS),
            Err(OperationError::NotFound(message)) => problems.add("customer", message),
            Err(error) => return Err(error.into()),
        }
    }
    let models = models(pages).await?;
    Ok(page(pages, request, StatusCode::UNPROCESSABLE_ENTITY, &form, &problems, &models))
}

/// The policy that a form means; what is wrong with it goes to `problems`.
fn read(form: &Form, now: UnixMs, problems: &mut Problems) -> NewKey {
    let quota = match form.text("quota") {
        "" => None,
        text => text.parse::<Credits>().map_err(|error| problems.add("quota", error.to_string())).ok(),
    };
    let mut networks = Vec::new();
    for word in form.words("networks") {
        match network(&word) {
            Some(network) => networks.push(network),
            None => problems
                .add("networks", format!("expected an address or a range such as 10.0.0.0/8, got {word:?}")),
        }
    }
    let expires = form.text("expires");
    let span = SPANS.iter().find(|(value, ..)| *value == expires).and_then(|(.., seconds)| *seconds);
    for field in ["name", "customer"].into_iter().filter(|field| form.text(field).is_empty()) {
        problems.add(field, "is missing");
    }
    let policy = KeyPolicy {
        name: form.text("name").to_owned(),
        quota,
        models: form.words("models"),
        networks,
        expires: span.map(|seconds| now.plus(Duration::from_secs(seconds))),
        chat_format: form.text("chat_format").parse().unwrap_or(ChatFormat::Wrapped),
        ..KeyPolicy::default()
    };
    NewKey::with_policy(CustomerId::from(form.text("customer")), policy)
}

/// A range, or one address as a range.
fn network(word: &str) -> Option<IpNet> {
    word.parse().ok().or_else(|| word.parse::<std::net::IpAddr>().ok().map(IpNet::from))
}

/// Models and aliases that are served now.
async fn models(pages: &PageContext) -> Result<BTreeSet<String>, PageError> {
    let result = pages.service.perform(Operation::PluginList).await?;
    let OperationResult::Plugins { plugins } = result else { return Err(PageError::unexpected()) };
    let active = plugins.into_iter().filter(|plugin| matches!(plugin.state, PluginState::Active { .. }));
    Ok(active.flat_map(|plugin| plugin.models).collect())
}

fn page(
    pages: &PageContext,
    request: &PageRequest,
    status: StatusCode,
    form: &Form,
    problems: &Problems,
    models: &BTreeSet<String>,
) -> Response<ResponseBody> {
    let shell = Shell::new(request, pages.facts.sandbox.is_some(), "/keys", "New key");
    let spans: Vec<(&str, &str)> = SPANS.iter().map(|(value, text, _)| (*value, *text)).collect();
    let known: Vec<&str> = models.iter().map(String::as_str).collect();
    let models_help = match known.as_slice() {
        [] => "Ids or aliases, one a line. Empty: all models.".to_owned(),
        known => format!("Ids or aliases, one a line. Empty: all models. Served now: {}.", known.join(", ")),
    };
    let networks_help = format!(
        "Addresses or ranges, one a line. Empty: from everywhere. You come from {}.",
        request.address
    );
    shell.page(status, &html! {
        p.crumbs { a href="/keys" { "Keys" } }
        h1 { "New key" }
        form.stack method="post" action="/keys" novalidate {
            (problems.summary())
            (Field {
                name: "name", label: "Name", help: "For people, such as the program that uses it.",
                value: form.text("name"), required: true, decimal: false,
            }.show(problems))
            (Field {
                name: "customer", label: "Customer", help: "The customer that pays.",
                value: form.text("customer"), required: true, decimal: false,
            }.show(problems))
            (Field {
                name: "quota", label: "Quota, credits", help: "What it may spend in all. Empty: unlimited, up to the customer's balance.",
                value: form.text("quota"), required: false, decimal: true,
            }.show(problems))
            (lines("models", "Models", &models_help, &form.words("models").join("\n"), problems))
            (lines("networks", "Networks", &networks_help, &form.words("networks").join("\n"), problems))
            (select("expires", "Expires", &spans, form.text("expires")))
            (select("chat_format", "Chat completions", &[
                ("wrapped", "wrapped in {code, data}"),
                ("bare", "bare, as OpenAI's SDKs expect"),
            ], form.text("chat_format")))
            div.buttons { button.primary { "Create key" } a.button href="/keys" { "Cancel" } }
        }
    })
}

/// The only page that ever shows the key.
fn created(
    pages: &PageContext,
    request: &PageRequest,
    key: &KeyView,
    made: &Revealed,
) -> Response<ResponseBody> {
    let shell = Shell::new(request, pages.facts.sandbox.is_some(), "/keys", "Key created");
    let text = secret(made);
    shell.page(StatusCode::CREATED, &html! {
        p.crumbs { a href="/keys" { "Keys" } }
        h1 { "Key created: " bdi { (key.name) } }
        section.report data-warns-before-leaving {
            p { strong { "This is the key. It is shown this one time." } " The gateway keeps no copy that could be read." }
            (paste("new-key", "The new key", text))
            div.buttons { a.button.primary href={ "/keys?marked=" (key.id) } data-leaves { "I have stored it" } }
        }
        h2 { "Try it" }
        (recipes(pages, text))
    })
}

fn recipes(pages: &PageContext, text: &str) -> Markup {
    recipes::show(&pages.facts.public_url, &Keys { wrapped: text, bare: text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_a_policy() {
        let mut problems = Problems::default();
        let body = b"name=ci&customer=a&quota=2.5&models=x%0Ay&networks=10.0.0.0%2F8+%3A%3A1&expires=24h&chat_format=bare";
        let new = read(&Form::parse(body), UnixMs(1000), &mut problems);
        assert!(problems.is_empty());
        assert_eq!((new.quota, new.models.len(), new.networks.len()), (Some(Credits(2_500_000)), 2, 2));
        assert_eq!((new.expires, new.chat_format), (Some(UnixMs(86_401_000)), ChatFormat::Bare));
    }

    #[test]
    fn every_wrong_field_is_named() {
        let mut problems = Problems::default();
        read(&Form::parse(b"quota=1e3&networks=nowhere"), UnixMs(0), &mut problems);
        let text = problems.summary().into_string();
        for field in ["name", "customer", "quota", "networks"] {
            assert!(text.contains(&format!("href=\"#f-{field}\"")), "{field}: {text}");
        }
    }
}
