//! One webhook: what it hears of, its secrets, and its deliveries with every attempt.

use std::time::Duration;

use gatehouse_admin::{DeliveryQuery, DeliveryState, ResponseBody, WebhookDelivery, WebhookEndpoint};
use gatehouse_model::{DeliveryId, UnixMs};
use http::{Response, StatusCode};
use maud::{Markup, html};

use super::actions;
use super::list::{last, state};
use crate::context::PageContext;
use crate::error::PageError;
use crate::format::{count, moment, short_id, span};
use crate::pages::customers::address;
use crate::parts::elements::{Confirm, Tone, chip};
use crate::parts::shell::Shell;
use crate::request::PageRequest;

/// Deliveries on one page.
const ROWS: usize = 50;

/// `GET /webhooks/<id>`, with `before` for older deliveries.
pub(crate) async fn show(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    let id = actions::id(request)?;
    let webhook = pages.service.webhook_row(id)?;
    let before = request.query.text("before");
    let before: Option<DeliveryId> =
        (!before.is_empty()).then(|| before.parse()).transpose().map_err(|error| {
            PageError::new(StatusCode::UNPROCESSABLE_ENTITY, format!("before: {error}, got {before:?}"))
        })?;
    let query = DeliveryQuery { webhook: id, pending: false };
    let page = pages.service.deliveries_page(query, before, ROWS).await?;
    let shell = Shell::new(request, pages.facts.sandbox.is_some(), "/webhooks", "Webhook");
    Ok(shell.page(StatusCode::OK, &html! {
        p.crumbs { a href="/webhooks" { "Webhooks" } }
        div.title { h1 { bdi { (webhook.url) } } (state(&webhook)) }
        @if let Some(disabled) = &webhook.disabled {
            p { "Nothing is sent since " (moment(disabled.at, request.now)) ": " (disabled.reason) ". What waits is sent once it is enabled." }
        }
        (facts(&webhook, request.now))
        @if request.is_operator() { (buttons(&webhook)) }
        h2 #deliveries { "Deliveries" }
        @if request.is_operator() && webhook.disabled.is_none() { (resend(&webhook)) }
        @if page.rows.is_empty() {
            p.muted { "Nothing was sent in the last seven days." }
        } @else {
            div.scroll role="region" aria-label="Deliveries" tabindex="0" {
                table.cards {
                    caption { "Deliveries" }
                    thead { tr {
                        th scope="col" { "When" }
                        th scope="col" { "Event" }
                        th scope="col" { "Task" }
                        th scope="col" { "State" }
                        th scope="col" { "Attempts" }
                        @if request.is_operator() { th scope="col" { "Action" } }
                    } }
                    tbody { @for delivery in &page.rows { (row(delivery, &webhook, request)) } }
                }
            }
        }
        @if let Some(next) = page.next { p { a href={ "/webhooks/" (id) "?before=" (next) } { "Older" } } }
    }))
}

fn facts(webhook: &WebhookEndpoint, now: UnixMs) -> Markup {
    let events: Vec<&str> = webhook.events.iter().map(|event| event.as_str()).collect();
    html! {
        dl.facts {
            dt { "Id" } dd { code { (webhook.id) } }
            dt { "Customer" } dd { a href=(address(&webhook.customer)) { (webhook.customer) } }
            dt { "Events" } dd { @if events.is_empty() { "all" } @else { (events.join(", ")) } }
            @if !webhook.description.is_empty() { dt { "Note" } dd { bdi { (webhook.description) } } }
            dt { "Secret" } dd {
                "made " (moment(webhook.secret.created, now))
                @if let Some(old) = webhook.old_secret.as_ref().filter(|old| now < old.until) {
                    "; the one before signs too, until " (moment(old.until, now))
                }
            }
            dt { "Waiting" } dd { (count(webhook.pending.into())) }
            dt { "Last result" } dd { (last(webhook, now)) }
            dt { "Last success" } dd {
                @if let Some(at) = webhook.last_success { (moment(at, now)) } @else { span.muted { "none" } }
            }
        }
    }
}

fn buttons(webhook: &WebhookEndpoint) -> Markup {
    let path = format!("/webhooks/{}", webhook.id);
    html! {
        div.buttons {
            @if webhook.disabled.is_none() {
                form method="post" action={ (path) "/test" } { button { "Send test event" } }
            }
            (Confirm {
                id: "rotate", button: "Rotate secret", title: "Rotate the signing secret",
                consequence: "A new secret is made and shown once. The present one signs too for 24 hours.",
                action: &format!("{path}/rotate"), danger: false,
            }.show())
            @if webhook.old_secret.is_some() {
                (Confirm {
                    id: "retire", button: "Retire old secret", title: "Retire the secret before",
                    consequence: "It signs no more from now on. A receiver that knows only this one refuses every event.",
                    action: &format!("{path}/retire"), danger: true,
                }.show())
            }
            @if webhook.disabled.is_some() {
                form method="post" action={ (path) "/enable" } { button { "Enable" } }
            } @else {
                (Confirm {
                    id: "disable", button: "Disable", title: "Disable the webhook",
                    consequence: "Ends of tasks are told to it no more. What waits is sent once it is enabled, within seven days.",
                    action: &format!("{path}/disable"), danger: false,
                }.show())
            }
            (Confirm {
                id: "remove", button: "Remove", title: "Remove the webhook",
                consequence: &format!("{} events that wait are never sent.", webhook.pending),
                action: &format!("{path}/remove"), danger: true,
            }.show())
        }
    }
}

/// Failed events of a range, sent again.
fn resend(webhook: &WebhookEndpoint) -> Markup {
    let fields = [("from", "From"), ("before", "Before")];
    html! {
        details.box {
            summary { "Send failed events again" }
            form.stack method="post" action={ "/webhooks/" (webhook.id) "/resend" } aria-labelledby="deliveries" {
                @for (name, label) in fields {
                    div.field {
                        label for={ "f-" (name) } { (label) }
                        p.help id={ (name) "-help" } { "UTC, such as 2026-11-21T09:30:00Z. Empty: no bound but the seven days." }
                        input id={ "f-" (name) } name=(name) aria-describedby={ (name) "-help" };
                    }
                }
                label.check { input type="checkbox" name="delivered" value="1"; " Delivered ones too" }
                div.buttons { button { "Send again" } }
                p.muted { "Newest first, at most 500 at a time." }
            }
        }
    }
}

fn row(delivery: &WebhookDelivery, webhook: &WebhookEndpoint, request: &PageRequest) -> Markup {
    let (id, now) = (delivery.id, request.now);
    html! {
        tr {
            td { (moment(delivery.created, now)) }
            td data-label="Event" { (delivery.event.as_str()) }
            td data-label="Task" {
                @if let Some(task) = delivery.task { a href={ "/tasks/" (task) } { (short_id(task)) } }
                @else { span.muted { "none" } }
            }
            td.wide data-label="State" { (progress(delivery, now)) }
            td.wide data-label="Attempts" { (attempts(delivery, now)) }
            @if request.is_operator() {
                td {
                    @if webhook.disabled.is_none() {
                        form method="post" action={ "/deliveries/" (id) "/resend" } {
                            button aria-label={ "Resend " (id) } { "Resend" }
                        }
                    }
                }
            }
        }
    }
}

fn progress(delivery: &WebhookDelivery, now: UnixMs) -> Markup {
    html! {
        @match &delivery.state {
            DeliveryState::Pending { due } => { (chip(Tone::Warn, "waiting")) " next attempt " (moment(*due, now)) }
            DeliveryState::Delivered { at } => { (chip(Tone::Ok, "delivered")) " " (moment(*at, now)) }
            DeliveryState::Failed { reason, .. } => { (chip(Tone::Error, "failed")) " " (reason) }
        }
    }
}

fn attempts(delivery: &WebhookDelivery, now: UnixMs) -> Markup {
    html! {
        @if delivery.attempts.is_empty() {
            span.muted { "none yet" }
        } @else {
            details {
                summary { (delivery.attempts.len()) }
                ul.plain {
                    @for attempt in &delivery.attempts {
                        li {
                            @match attempt.status { Some(status) => { (status) } None => { (attempt.error) } }
                            " after " (span(Duration::from_millis(attempt.took_ms))) ", " (moment(attempt.at, now))
                            @if !attempt.answer.is_empty() { br; code { (attempt.answer) } }
                        }
                    }
                }
            }
        }
    }
}
