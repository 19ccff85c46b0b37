//! `/providers`: providers with their accounts' health, and the switch that keeps new work away from an account.

use schemars::JsonSchema;
use serde::Serialize;

use crate::api::provider::{AccountErrorView, ProviderAccountView, ProviderView, WaitingView};
use crate::http::call::{Call, Outcome};
use crate::http::reply::Reply;
use crate::http::route::Route;
use crate::http::values::{List, Moment};
use crate::service::{account_changes, account_object};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/providers", "listProviders", "Lists providers by name, each with its accounts.", list)
            .paged()
            .returns::<List<Provider>>(),
        Route::get("/providers/{provider}", "getProvider", "Shows one provider.", show).returns::<Provider>(),
        Route::get(
            "/providers/{provider}/accounts/{account}",
            "getProviderAccount",
            "Shows one account of a provider.",
            show_account,
        )
        .returns::<ProviderAccount>(),
        Route::post(
            "/providers/{provider}/accounts/{account}/drain",
            "drainAccount",
            "Keeps new work away from an account; what is in flight goes on. Ends with the process.",
            drain,
        )
        .returns::<ProviderAccount>(),
        Route::post(
            "/providers/{provider}/accounts/{account}/resume",
            "resumeAccount",
            "Lets new work come to a drained account again.",
            resume,
        )
        .returns::<ProviderAccount>(),
    ]
}

/// A provider.
#[derive(Debug, Serialize, JsonSchema)]
struct Provider {
    /// Its name.
    name: String,
    /// Its accounts.
    accounts: Vec<ProviderAccount>,
    /// Requests and tasks that wait for a permit of any of them.
    waiting: usize,
    /// The customers that wait with most of them; at most twenty.
    waiting_by_customer: Vec<WaitingCustomer>,
    /// From one permit to the next while others wait; null while that is not known.
    pace_ms: Option<u64>,
}

/// What one customer waits with.
#[derive(Debug, Serialize, JsonSchema)]
struct WaitingCustomer {
    /// The customer.
    customer: String,
    /// Its requests and tasks.
    waiting: usize,
}

/// An account of a provider.
#[derive(Debug, Serialize, JsonSchema)]
struct ProviderAccount {
    /// The provider.
    provider: String,
    /// The account's name.
    account: String,
    /// "healthy", or the first reason against new work: "drained", "failing", "refused", "paused" or "full".
    health: &'static str,
    /// Whether an operator keeps new work away.
    drained: bool,
    /// Lower numbers are used first.
    priority: u32,
    /// Its share among accounts of the same priority.
    weight: u64,
    /// Permits in use. A task of an earlier process has its own even above the limit.
    in_flight: u64,
    /// All permits.
    limit: u64,
    /// Permits that are not in use.
    free: u64,
    /// Permits, at the end of them, for customers who use less.
    reserve: u64,
    /// Calls a second, if they are limited.
    rate_per_second: Option<f64>,
    /// "closed", "open" or "half-open".
    breaker: &'static str,
    /// Until when an open breaker stays so.
    open_until: Option<Moment>,
    /// Until when it is not used, because the provider asked for a pause.
    paused_until: Option<Moment>,
    /// Since when every answer was "too many requests".
    rate_limited_since: Option<Moment>,
    /// Until when it is passed over, because its credentials or its credit were refused.
    refused_until: Option<Moment>,
    /// At most five, newest first; without secrets, and without text of bodies.
    last_errors: Vec<LastError>,
}

/// An error of an account.
#[derive(Debug, Serialize, JsonSchema)]
struct LastError {
    /// When.
    at: Moment,
    /// The status or the outage, and what is known of its cause.
    text: String,
}

impl From<ProviderView> for Provider {
    fn from(view: ProviderView) -> Self {
        let ProviderView { name, accounts, waiting, waiting_by_customer, pace_ms } = view;
        let customer = |WaitingView { customer, waiting }| WaitingCustomer { customer: customer.0, waiting };
        Self {
            name,
            accounts: accounts.into_iter().map(ProviderAccount::from).collect(),
            waiting,
            waiting_by_customer: waiting_by_customer.into_iter().map(customer).collect(),
            pace_ms,
        }
    }
}

impl From<ProviderAccountView> for ProviderAccount {
    fn from(view: ProviderAccountView) -> Self {
        let error = |AccountErrorView { at, text }| LastError { at: Moment(at), text };
        Self {
            free: view.free(),
            provider: view.provider,
            account: view.account,
            health: view.health.as_str(),
            drained: view.drained,
            priority: view.priority,
            weight: view.weight,
            in_flight: view.in_flight,
            limit: view.limit,
            reserve: view.reserve,
            rate_per_second: view.rate_per_second,
            breaker: view.breaker.as_str(),
            open_until: view.open_until.map(Moment),
            paused_until: view.paused_until.map(Moment),
            rate_limited_since: view.rate_limited_since.map(Moment),
            refused_until: view.refused_until.map(Moment),
            last_errors: view.last_errors.into_iter().map(error).collect(),
        }
    }
}

async fn list(call: Call) -> Outcome {
    let after = call.position()?;
    let all = call.service.providers()?.into_iter();
    let mut rest = all.filter(|provider| after.as_ref().is_none_or(|after| provider.name > *after));
    let page: Vec<Provider> = rest.by_ref().take(call.query.limit()).map(Provider::from).collect();
    let next = page.last().map(|provider| provider.name.clone()).filter(|_| rest.next().is_some());
    Ok(call.list(page, next.as_deref()))
}

async fn show(call: Call) -> Outcome {
    let provider = call.service.provider(call.path("provider"))?;
    Ok(Reply::json(&Provider::from(provider)))
}

async fn show_account(call: Call) -> Outcome {
    let account = call.service.provider_account(call.path("provider"), call.path("account"))?;
    Ok(Reply::json(&ProviderAccount::from(account)))
}

async fn drain(call: Call) -> Outcome {
    switch(&call, true)
}

async fn resume(call: Call) -> Outcome {
    switch(&call, false)
}

fn switch(call: &Call, drained: bool) -> Outcome {
    let (provider, account) = (call.path("provider"), call.path("account"));
    let (view, before) = call.service.drain_account(provider, account, drained)?;
    call.describe(account_object(provider, account), account_changes(before, drained));
    Ok(Reply::json(&ProviderAccount::from(view)))
}
