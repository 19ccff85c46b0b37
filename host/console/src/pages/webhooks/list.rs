//! All webhooks, or those of one customer.

use gatehouse_admin::{ResponseBody, WebhookEndpoint};
use gatehouse_model::{CustomerId, UnixMs, WebhookId};
use http::{Response, StatusCode};
use maud::{Markup, html};

use crate::context::PageContext;
use crate::error::PageError;
use crate::format::{count, moment};
use crate::pages::customers::address;
use crate::parts::elements::{Tone, chip, empty};
use crate::parts::shell::Shell;
use crate::request::PageRequest;

/// Rows on one page.
const ROWS: usize = 50;

/// `GET /webhooks`, with `customer` for those of one and `after` for the next page.
pub(crate) async fn show(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    let customer = request.query.text("customer");
    let after = request.query.text("after");
    let after: Option<WebhookId> =
        (!after.is_empty()).then(|| after.parse()).transpose().map_err(|error| {
            PageError::new(StatusCode::UNPROCESSABLE_ENTITY, format!("after: {error}, got {after:?}"))
        })?;
    let wanted = (!customer.is_empty()).then(|| CustomerId::from(customer));
    let page = pages.service.webhooks_page(wanted, after, ROWS).await?;
    let shell = Shell::new(request, pages.facts.sandbox.is_some(), "/webhooks", "Webhooks");
    Ok(shell.page(StatusCode::OK, &html! {
        div.title {
            h1 { "Webhooks" }
            @if request.is_operator() { a.button.primary href="/webhooks/new" data-new { "New webhook" } }
        }
        p.muted { "The ends of a customer's tasks are posted to its own servers, signed, and sent again until they are taken." }
        form.toolbar method="get" role="search" {
            label for="customer" { "Customer" }
            input #customer type="search" name="customer" value=(customer) data-search;
            button { "Show" }
        }
        @if page.rows.is_empty() {
            (empty("There are no webhooks.", None, "gatehouse webhook create https://example.com/hook --account CUSTOMER"))
        } @else {
            div.scroll role="region" aria-label="Webhooks" tabindex="0" {
                table.cards {
                    caption { "Webhooks" }
                    thead { tr {
                        th scope="col" { "Webhook" }
                        th scope="col" { "Customer" }
                        th scope="col" { "State" }
                        th.right scope="col" { "Waiting" }
                        th scope="col" { "Secret" }
                        th scope="col" { "Last result" }
                    } }
                    tbody { @for webhook in &page.rows { (row(webhook, request.now)) } }
                }
            }
        }
        @if let Some(next) = page.next {
            p { a href={ "/webhooks?customer=" (customer) "&after=" (next) } { "More" } }
        }
    }))
}

fn row(webhook: &WebhookEndpoint, now: UnixMs) -> Markup {
    html! {
        tr {
            td.wide { a href={ "/webhooks/" (webhook.id) } { bdi { (webhook.url) } } }
            td data-label="Customer" { a href=(address(&webhook.customer)) { (webhook.customer) } }
            td data-label="State" { (state(webhook)) }
            td.right data-label="Waiting" { (count(webhook.pending.into())) }
            td data-label="Secret" { (moment(webhook.secret.created, now)) }
            td.wide data-label="Last result" { (last(webhook, now)) }
        }
    }
}

/// Whether anything is sent, and whether it arrives.
pub(super) fn state(webhook: &WebhookEndpoint) -> Markup {
    match (&webhook.disabled, webhook.failing_since) {
        (Some(_), _) => chip(Tone::Error, "disabled"),
        (None, Some(_)) => chip(Tone::Warn, "failing"),
        (None, None) => chip(Tone::Ok, "enabled"),
    }
}

/// The last attempt of any delivery.
pub(super) fn last(webhook: &WebhookEndpoint, now: UnixMs) -> Markup {
    html! {
        @match &webhook.last_attempt {
            None => { span.muted { "nothing was sent yet" } }
            Some(attempt) => {
                @match attempt.status { Some(status) => { (status) } None => { (attempt.error) } }
                " " span.muted { (moment(attempt.at, now)) }
            }
        }
    }
}
