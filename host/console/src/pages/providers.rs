//! Providers: the health of each account, who waits, and the switch that keeps new work away from an account.

use std::time::Duration;

use gatehouse_admin::{
    AccountHealth, BreakerView, OperationError, ProviderAccountView, ProviderView, ResponseBody,
};
use gatehouse_model::{CustomerId, UnixMs};
use http::{Response, StatusCode};
use maud::{Markup, html};
use url::form_urlencoded::byte_serialize;

use crate::context::PageContext;
use crate::error::PageError;
use crate::format::{count, moment, span};
use crate::parts::elements::{Confirm, Tone, chip, empty};
use crate::parts::shell::{Shell, redirect};
use crate::request::PageRequest;

/// `GET /providers`.
pub(crate) fn show(pages: &PageContext, request: &PageRequest) -> Result<Response<ResponseBody>, PageError> {
    let providers = all(pages)?;
    let shell = Shell::new(request, pages.facts.sandbox.is_some(), "/providers", "Providers");
    Ok(shell.page(
        StatusCode::OK,
        &html! {
            h1 { "Providers" }
            p.muted { "Each account is one set of credentials. Lower priorities are used first, accounts of one priority by their weights." }
            @if providers.is_empty() {
                (empty("No provider is configured.", None, "gatehouse check-config"))
            }
            @for provider in &providers { (card(provider, request)) }
        },
    ))
}

/// Every provider, by name; without a gateway beside these pages there is nothing to show.
pub(super) fn all(pages: &PageContext) -> Result<Vec<ProviderView>, PageError> {
    match pages.service.providers() {
        Err(OperationError::Refused(_)) => Ok(Vec::new()),
        found => Ok(found?),
    }
}

/// `POST /providers/<provider>/drain`, the account in the form.
pub(crate) async fn drain(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    pages.service.switch_account(&request.id, request.form().text("account"), true).await?;
    Ok(redirect("/providers?done=drained"))
}

/// `POST /providers/<provider>/resume`, the account in the form.
pub(crate) async fn resume(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    pages.service.switch_account(&request.id, request.form().text("account"), false).await?;
    Ok(redirect("/providers?done=resumed"))
}

fn card(provider: &ProviderView, request: &PageRequest) -> Markup {
    let name = &provider.name;
    html! {
        section.card id=(name) aria-labelledby={ "provider-" (name) } {
            div.title { h2 id={ "provider-" (name) } { (name) } }
            (waiting(provider))
            div.scroll role="region" aria-label={ "Accounts of " (name) } tabindex="0" {
                table.cards {
                    caption { "Accounts of " (name) }
                    thead { tr {
                        th scope="col" { "Account" }
                        th scope="col" { "Health" }
                        th.right scope="col" { "In use" }
                        th scope="col" { "Breaker" }
                        th.right scope="col" { "Priority" }
                        th.right scope="col" { "Weight" }
                        th scope="col" { "Last error" }
                        @if request.is_operator() { th scope="col" { "Action" } }
                    } }
                    tbody { @for account in &provider.accounts { (row(account, request)) } }
                }
            }
        }
    }
}

/// Who waits for a permit, and how fast permits come.
fn waiting(provider: &ProviderView) -> Markup {
    let all = u64::try_from(provider.waiting).unwrap_or(u64::MAX);
    html! {
        @if all == 0 {
            p.muted { "Nothing waits for a permit." }
        } @else {
            p {
                (chip(Tone::Warn, "waiting")) " " (count(all)) " requests and tasks wait for a permit"
                @if let Some(ms) = provider.pace_ms { ", one is granted every " (span(Duration::from_millis(ms))) }
                ": "
                @for (at, one) in provider.waiting_by_customer.iter().enumerate() {
                    @if at > 0 { ", " }
                    a href=(super::customers::address(&CustomerId::from(one.customer.as_str()))) { (one.customer) } " " (one.waiting)
                }
                "."
            }
        }
    }
}

fn row(account: &ProviderAccountView, request: &PageRequest) -> Markup {
    html! {
        tr {
            td { (account.account) }
            td.wide data-label="Health" { (health(account, request.now)) }
            td.right data-label="In use" {
                span.num { (account.in_flight) " of " (account.limit) }
                @if let Some(rate) = account.rate_per_second { " " span.muted { (rate) " calls/s" } }
            }
            td.wide data-label="Breaker" { (breaker(account, request.now)) }
            td.right data-label="Priority" { (account.priority) }
            td.right data-label="Weight" { (account.weight) }
            td.wide data-label="Last error" { (last_errors(account, request.now)) }
            @if request.is_operator() { td { (action(account)) } }
        }
    }
}

fn health(account: &ProviderAccountView, now: UnixMs) -> Markup {
    let tone = match account.health {
        AccountHealth::Healthy => Tone::Ok,
        AccountHealth::Drained => Tone::Info,
        AccountHealth::Failing | AccountHealth::Refused => Tone::Error,
        AccountHealth::Paused | AccountHealth::Full => Tone::Warn,
    };
    html! {
        (chip(tone, account.health.as_str()))
        @match (account.health, account.refused_until, account.paused_until) {
            (AccountHealth::Refused, Some(until), _) => { " credentials or credit; tried again " (moment(until.0, now)) }
            (AccountHealth::Paused, _, Some(until)) => {
                " by the provider; goes on " (moment(until.0, now))
                @if let Some(since) = account.rate_limited_since { ", too many requests since " (moment(since.0, now)) }
            }
            (AccountHealth::Drained, ..) => { " gets no new work" }
            _ => {}
        }
    }
}

fn breaker(account: &ProviderAccountView, now: UnixMs) -> Markup {
    let tone = match account.breaker {
        BreakerView::Closed => Tone::Neutral,
        BreakerView::Open => Tone::Error,
        BreakerView::HalfOpen => Tone::Warn,
    };
    html! {
        (chip(tone, account.breaker.as_str()))
        @if let Some(until) = account.open_until { " one call is tried " (moment(until.0, now)) }
    }
}

fn last_errors(account: &ProviderAccountView, now: UnixMs) -> Markup {
    html! {
        @match account.last_errors.as_slice() {
            [] => { span.muted { "none" } }
            [last, earlier @ ..] => {
                (last.text) " " span.muted { (moment(last.at.0, now)) }
                @if !earlier.is_empty() {
                    details {
                        summary { (earlier.len()) " earlier" }
                        ul.plain { @for error in earlier {
                            li { (error.text) " " span.muted { (moment(error.at.0, now)) } }
                        } }
                    }
                }
            }
        }
    }
}

fn action(account: &ProviderAccountView) -> Markup {
    let provider: String = byte_serialize(account.provider.as_bytes()).collect();
    let id = format!("drain-{}-{}", account.provider, account.account);
    let name = format!("{}/{}", account.provider, account.account);
    let field = html! { input type="hidden" name="account" value=(account.account); };
    html! {
        @if account.drained {
            form method="post" action={ "/providers/" (provider) "/resume" } {
                (field)
                button aria-label={ "Resume " (name) } { "Resume" }
            }
        } @else {
            (Confirm {
                id: &id,
                button: "Drain",
                title: &format!("Drain {name}"),
                consequence: &format!(
                    "It gets no new task and no new text request. {} in flight there go on and are polled.",
                    account.in_flight
                ),
                action: &format!("/providers/{provider}/drain"),
                danger: false,
            }.with(&field))
        }
    }
}
