//! A new webhook: its form, and the one page that shows its secret.

use gatehouse_admin::{
    EventName, NewWebhook, OperationError, ResponseBody, Revealed, WebhookEndpoint, WebhookEvent,
};
use http::{Response, StatusCode};
use maud::html;

use crate::context::PageContext;
use crate::error::PageError;
use crate::form::Form;
use crate::once;
use crate::parts::elements::paste;
use crate::parts::fields::{Field, Problems};
use crate::parts::shell::{Shell, secret};
use crate::request::PageRequest;

const FIELDS: &[&str] = &["customer", "url", "description", "events"];

/// `GET /webhooks/new`.
pub(crate) fn show(pages: &PageContext, request: &PageRequest) -> Response<ResponseBody> {
    page(pages, request, StatusCode::OK, &request.query, &Problems::default())
}

/// `POST /webhooks`.
pub(crate) async fn create(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    let form = request.form();
    let mut problems = Problems::default();
    for field in ["customer", "url"] {
        if form.text(field).is_empty() {
            problems.add(field, "is missing");
        }
    }
    if problems.is_empty() {
        match pages.service.create_webhook(read(&form)).await {
            Ok((webhook, made)) => return Ok(created(pages, request, &webhook, &made)),
            Err(OperationError::Invalid(message)) => problems.take(&message, FIELDS),
            Err(OperationError::NotFound(message) | OperationError::Refused(message)) => {
                problems.add("customer", message);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(page(pages, request, StatusCode::UNPROCESSABLE_ENTITY, &form, &problems))
}

/// The webhook that a form means. All events ticked is what none is: all.
fn read(form: &Form) -> NewWebhook {
    let chosen: Vec<EventName> =
        form.all("event").filter_map(WebhookEvent::parse).filter_map(EventName::of).collect();
    NewWebhook {
        customer: form.text("customer").to_owned(),
        url: form.text("url").to_owned(),
        events: if chosen.len() == WebhookEvent::TASKS.len() { Vec::new() } else { chosen },
        description: form.text("description").to_owned(),
    }
}

fn page(
    pages: &PageContext,
    request: &PageRequest,
    status: StatusCode,
    form: &Form,
    problems: &Problems,
) -> Response<ResponseBody> {
    let shell = Shell::new(request, pages.facts.sandbox.is_some(), "/webhooks", "New webhook");
    let chosen: Vec<&str> = form.all("event").collect();
    shell.page(status, &html! {
        p.crumbs { a href="/webhooks" { "Webhooks" } }
        h1 { "New webhook" }
        form.stack method="post" action="/webhooks" novalidate {
            (once::field(request.number))
            (problems.summary())
            (Field {
                name: "customer", label: "Customer", help: "Whose tasks it hears of.",
                value: form.text("customer"), required: true, decimal: false,
            }.show(problems))
            (Field {
                name: "url", label: "Address", help: "Where events are posted to, such as https://example.com/hook.",
                value: form.text("url"), required: true, decimal: false,
            }.show(problems))
            (Field {
                name: "description", label: "Note", help: "For people.",
                value: form.text("description"), required: false, decimal: false,
            }.show(problems))
            fieldset {
                legend { "Events" }
                @for event in WebhookEvent::TASKS {
                    @let name = event.as_str();
                    label.check {
                        input type="checkbox" name="event" value=(name) checked[chosen.is_empty() || chosen.contains(&name)];
                        " " (name)
                    }
                }
            }
            div.buttons { button.primary { "Create webhook" } a.button href="/webhooks" { "Cancel" } }
        }
    })
}

/// The only page that ever shows the secret.
pub(super) fn created(
    pages: &PageContext,
    request: &PageRequest,
    webhook: &WebhookEndpoint,
    made: &Revealed,
) -> Response<ResponseBody> {
    let shell = Shell::new(request, pages.facts.sandbox.is_some(), "/webhooks", "Signing secret");
    shell.page(StatusCode::CREATED, &html! {
        p.crumbs { a href="/webhooks" { "Webhooks" } }
        h1 { "Signing secret of " bdi { (webhook.url) } }
        section.report data-warns-before-leaving {
            p { strong { "This is the secret. It is shown this one time." } " The gateway keeps it encrypted and never shows it again." }
            (paste("new-secret", "The new secret", secret(made)))
            @if let Some(old) = &webhook.old_secret {
                p { "The secret before signs too until " time datetime=(old.until) { (old.until) } "." }
            }
            div.buttons { a.button.primary href={ "/webhooks/" (webhook.id) } data-leaves { "I have stored it" } }
        }
        h2 { "Verify what comes" }
        (paste("verify", "Lines that verify an event", VERIFY))
    })
}

/// With a library of standardwebhooks.com.
const VERIFY: &str = "\
// npm install standardwebhooks
import { Webhook } from \"standardwebhooks\";
const webhook = new Webhook(process.env.WEBHOOK_SECRET);
// The body as it came, before it is parsed; throws where the signature is wrong.
const event = webhook.verify(rawBody, request.headers);
// An event may come twice: headers[\"webhook-id\"] is the same then.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_names_its_events() {
        for (form, expected) in [
            ("customer=a&url=u", vec![]),
            ("event=task.failed", vec![EventName::Failed]),
            ("event=task.completed&event=task.failed&event=task.cancelled", vec![]),
            ("event=webhook.test&event=task.cancelled", vec![EventName::Cancelled]),
        ] {
            assert_eq!(read(&Form::parse(form.as_bytes())).events, expected, "{form}");
        }
    }
}
