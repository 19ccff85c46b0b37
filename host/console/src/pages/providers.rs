//! Providers: the health of each account, and the customers that wait.

use std::time::Duration;

use gatehouse_admin::ApiRequest;
use maud::{Markup, html};
use serde_json::Value;

use crate::error::Outcome;
use crate::format::{count, span};
use crate::kinds::accounts::ACCOUNTS;
use crate::parts::elements::{Tone, chip, empty};
use crate::parts::shell::Shell;
use crate::request::PageRequest;
use crate::resource::column::customer;
use crate::resource::list::every;
use crate::resource::text;

/// `GET /providers`.
pub(crate) async fn show(request: PageRequest) -> Outcome {
    let providers = match every(&request, || ApiRequest::get(&["providers"])).await {
        Ok(providers) => providers,
        // There is no gateway beside these pages, so there is nothing to show.
        Err(refusal) if refusal.status == 409 => Vec::new(),
        Err(refusal) => return Err(refusal.into()),
    };
    let shell = Shell::new(&request, "/providers", "Providers");
    Ok(shell.show(&html! {
        h1 { "Providers" }
        p.muted { "Each account is one set of credentials. Lower priorities are used first, accounts of one priority by their weights." }
        @if providers.is_empty() { (empty("No provider is configured.", None, "gatehouse check-config")) }
        @for provider in &providers { (card(provider, &request)) }
    }))
}

fn card(provider: &Value, request: &PageRequest) -> Markup {
    let name = text(provider, "name");
    let named = |account: &Value| {
        let mut row = account.clone();
        row["id"] = format!("{name}/{}", text(account, "account")).into();
        row
    };
    let accounts: Vec<Value> = provider["accounts"].as_array().into_iter().flatten().map(named).collect();
    html! {
        section.card id=(name) aria-labelledby={ "provider-" (name) } {
            div.title { h2 id={ "provider-" (name) } { (name) } }
            (waiting(provider))
            (ACCOUNTS.table(&accounts, &format!("Accounts of {name}"), request))
        }
    }
}

/// Who waits for a permit, and how fast permits come.
fn waiting(provider: &Value) -> Markup {
    let all = provider["waiting"].as_u64().unwrap_or_default();
    if all == 0 {
        return html! { p.muted { "Nothing waits for a permit." } };
    }
    html! {
        p {
            (chip(Tone::Warn, "waiting")) " " (count(all)) " requests and tasks wait for a permit"
            @if let Some(ms) = provider["pace_ms"].as_u64() { ", one is granted every " (span(Duration::from_millis(ms))) }
            ": "
            @for (at, one) in provider["waiting_by_customer"].as_array().into_iter().flatten().enumerate() {
                @if at > 0 { ", " }
                (customer(text(one, "customer"))) " " (one["waiting"])
            }
            "."
        }
    }
}
