//! A new key: its form, and the one page that shows its secret.

use std::collections::BTreeSet;

use gatehouse_admin::{KeyView, NewKey, OperationError, ResponseBody, Revealed};
use gatehouse_model::{ChatFormat, CustomerId, UnixMs};
use http::{Response, StatusCode};
use maud::{Markup, html};

use super::super::recipes::{self, Keys};
use super::policy::{self, Values};
use crate::context::PageContext;
use crate::error::PageError;
use crate::form::Form;
use crate::once;
use crate::parts::elements::paste;
use crate::parts::fields::{Field, Problems};
use crate::parts::shell::{Shell, secret};
use crate::request::PageRequest;

/// `GET /keys/new`.
pub(crate) async fn show(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    let models = policy::models(pages).await?;
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
        match pages.service.create_key(new).await {
            Ok((key, secret)) => return Ok(created(pages, request, &key, &secret)),
            Err(OperationError::Invalid(message)) => problems.take(&message, policy::FIELDS),
            Err(OperationError::NotFound(message)) => problems.add("customer", message),
            Err(error) => return Err(error.into()),
        }
    }
    let models = policy::models(pages).await?;
    Ok(page(pages, request, StatusCode::UNPROCESSABLE_ENTITY, &form, &problems, &models))
}

/// The key that a form means; what is wrong with it goes to `problems`.
fn read(form: &Form, now: UnixMs, problems: &mut Problems) -> NewKey {
    let policy = policy::read(form, None, now, problems);
    if form.text("customer").is_empty() {
        problems.add("customer", "is missing");
    }
    let new = NewKey::with_policy(CustomerId::from(form.text("customer")), policy);
    NewKey { force: policy::is_forced(form), ..new }
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
    let values = Values::typed(form);
    shell.page(
        status,
        &html! {
            p.crumbs { a href="/keys" { "Keys" } }
            h1 { "New key" }
            form.stack method="post" action="/keys" novalidate {
                (once::field(request.number))
                (problems.summary())
                (Field {
                    name: "name", label: "Name", help: "For people, such as the program that uses it.",
                    value: form.text("name"), required: true, decimal: false,
                }.show(problems))
                (Field {
                    name: "customer", label: "Customer", help: "The customer that pays.",
                    value: form.text("customer"), required: true, decimal: false,
                }.show(problems))
                (policy::fields(request, &values, None, models, problems))
                div.buttons { button.primary { "Create key" } a.button href="/keys" { "Cancel" } }
            }
        },
    )
}

/// The only page that ever shows the key.
pub(super) fn created(
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
        (recipes(pages, text, key.chat_format == ChatFormat::Bare))
    })
}

fn recipes(pages: &PageContext, text: &str, is_bare: bool) -> Markup {
    recipes::show(&pages.facts.public_url, &Keys { any: text, openai: text, is_bare })
}

#[cfg(test)]
mod tests {
    use gatehouse_model::Credits;

    use super::*;

    #[test]
    fn a_form_names_its_customer() {
        let mut problems = Problems::default();
        let new =
            read(&Form::parse(b"name=ci&customer=a&quota=2.5&expires=24h"), UnixMs(1000), &mut problems);
        assert!(problems.is_empty());
        assert_eq!((new.customer.0.as_str(), new.quota), ("a", Some(Credits(2_500_000))));
        assert_eq!(new.expires, Some(UnixMs(86_401_000)));
        read(&Form::parse(b"name=ci"), UnixMs(1000), &mut problems);
        let text = problems.summary().into_string();
        assert!(text.contains("href=\"#f-customer\"") && !text.contains("#f-name"), "{text}");
    }
}
