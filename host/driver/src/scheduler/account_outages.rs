//! Looks at the accounts of all providers, and has the operators' webhooks told of one that cannot be used for longer than
//! `[tasks] account_down_s`, and once it can be again.
//!
//! An account cannot be used while its breaker is open or on trial, and while it is passed over because the provider refused its
//! credentials or its credit. One that an operator keeps from new work is nobody's news: what was told of it before waits until it
//! works again, and one that is no longer configured is forgotten. What was told before a restart is read from the deliveries to
//! these webhooks, and is over once a call of this process has succeeded.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::UnixMs;
use gatehouse_store::{DeliveryQuery, Durability, Store, StoreError};
use gatehouse_tasks::{AccountRecord, Command, OperatorRecord, WebhookDelivery, WebhookEvent, operators};
use gatehouse_upstream::{AccountOverview, BreakerState, ProviderOverview};
use serde::Deserialize;

use crate::shared::Shared;

/// Between two looks.
const INTERVAL: Duration = Duration::from_secs(5);
/// Webhooks of the operators, and deliveries of each, that a start looks at.
const MOST_WEBHOOKS: usize = 100;
const MOST_DELIVERIES: usize = 1000;

/// An account of a provider.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    provider: String,
    account: String,
}

/// What an account is found to be.
#[derive(Debug)]
enum Found {
    Usable,
    /// Nothing keeps it from use, and no call of this process has shown that it works.
    Untried,
    /// It cannot be used, for that reason.
    Troubled(String),
    /// An operator keeps it from new work: whether it could be used does not show.
    Drained,
}

/// What is known of accounts that could not be used at the last look, or were told to be down.
#[derive(Debug, Default)]
struct AccountOutages(BTreeMap<Name, AccountOutage>);

#[derive(Debug)]
struct AccountOutage {
    since: UnixMs,
    reason: String,
    /// Since when it can be used again, of one that was told.
    usable_since: Option<UnixMs>,
    is_told: bool,
    /// Whether an earlier process told of it: what this one knows of the account begins with nothing.
    is_remembered: bool,
}

/// An event of an account, as far as it is read again.
#[derive(Deserialize)]
struct Told {
    data: ToldAccount,
}

#[derive(Deserialize)]
struct ToldAccount {
    provider: String,
    account: String,
    since: String,
    reason: String,
}

impl AccountOutages {
    /// What the operators' webhooks were told before this process began, as far as its deliveries are kept.
    async fn remembered(store: &Store) -> Result<Self, StoreError> {
        let mut newest: BTreeMap<Name, (UnixMs, Option<AccountOutage>)> = BTreeMap::new();
        for webhook in store.list_webhooks(Some(operators()), None, MOST_WEBHOOKS).await?.rows {
            let query = DeliveryQuery { webhook: webhook.id, pending: false };
            for delivery in store.list_deliveries(query, None, MOST_DELIVERIES).await?.rows {
                let Some((name, outage)) = told_by(&delivery) else { continue };
                let known = newest.entry(name).or_default();
                if delivery.created > known.0 {
                    *known = (delivery.created, outage);
                }
            }
        }
        Ok(Self(newest.into_iter().filter_map(|(name, (_, outage))| Some((name, outage?))).collect()))
    }

    /// What is to be told after a look at all accounts. It counts as told once [`Self::told`] says so.
    fn look(&mut self, found: &BTreeMap<Name, Found>, patience: Duration, now: UnixMs) -> Vec<AccountRecord> {
        for (name, found) in found {
            let Found::Troubled(reason) = found else { continue };
            let known = self.0.entry(name.clone()).or_insert_with(|| AccountOutage {
                since: now,
                reason: String::new(),
                usable_since: None,
                is_told: false,
                is_remembered: false,
            });
            known.usable_since = None;
            known.reason.clone_from(reason);
        }
        let mut news = Vec::new();
        self.0.retain(|name, known| {
            let is_down = match found.get(name) {
                None => return false,
                Some(Found::Troubled(_)) => true,
                Some(Found::Usable) => false,
                Some(Found::Untried) if !known.is_remembered => false,
                Some(Found::Drained | Found::Untried) => {
                    known.usable_since = None;
                    return known.is_told;
                }
            };
            // It may be passed over again at its next call: what is told to be up has been so for as long.
            let since = if is_down { known.since } else { *known.usable_since.get_or_insert(now) };
            if is_down != known.is_told && now.since(since) >= patience {
                news.push(AccountRecord {
                    provider: name.provider.clone(),
                    account: name.account.clone(),
                    is_down,
                    since: known.since,
                    at: now,
                    reason: known.reason.clone(),
                });
            }
            is_down || known.is_told
        });
        news
    }

    /// That news is kept.
    fn told(&mut self, name: &Name, is_down: bool) {
        match self.0.get_mut(name) {
            Some(known) if is_down => known.is_told = true,
            _ => drop(self.0.remove(name)),
        }
    }
}

/// The account that a delivery told of, with its outage where it told that it is down.
fn told_by(delivery: &WebhookDelivery) -> Option<(Name, Option<AccountOutage>)> {
    let is_down = match delivery.event {
        WebhookEvent::AccountDown => true,
        WebhookEvent::AccountUp => false,
        _ => return None,
    };
    let Told { data } = serde_json::from_slice(&delivery.body).ok()?;
    let since = UnixMs::parse(&data.since).unwrap_or(delivery.created);
    let outage =
        AccountOutage { since, reason: data.reason, usable_since: None, is_told: true, is_remembered: true };
    let name = Name { provider: data.provider, account: data.account };
    Some((name, is_down.then_some(outage)))
}

/// Every account that is configured.
fn found(providers: Vec<ProviderOverview>) -> BTreeMap<Name, Found> {
    let accounts = providers.into_iter().flat_map(|provider| {
        let name = provider.name;
        provider.accounts.into_iter().map(move |account| (name.clone(), account))
    });
    let found = accounts.map(|(provider, account)| {
        let found = match reason(&account) {
            _ if account.drained => Found::Drained,
            Some(reason) => Found::Troubled(reason),
            None if account.answers == 0 => Found::Untried,
            None => Found::Usable,
        };
        (Name { provider, account: account.name }, found)
    });
    found.collect()
}

fn reason(account: &AccountOverview) -> Option<String> {
    let what = match (account.refused_until, account.breaker) {
        (Some(_), _) => "the provider refuses its credentials or its credit",
        (None, BreakerState::Closed) => return None,
        (None, _) => "its calls fail",
    };
    let last = account.last_errors.first().map(|error| format!(": {}", error.text)).unwrap_or_default();
    Some(format!("{what}{last}"))
}

/// Runs until the process stops.
pub(crate) async fn report_outages(shared: Arc<Shared>) {
    let patience = Duration::from_secs(shared.config.account_down_s.into());
    let remembered = AccountOutages::remembered(&shared.store).await;
    let mut outages = remembered.unwrap_or_else(|error| {
        tracing::error!(%error, "what was told of accounts before is not known");
        AccountOutages::default()
    });
    while !patience.is_zero() {
        shared.clock.pause(INTERVAL).await;
        for news in outages.look(&found(shared.upstream.overviews()), patience, shared.now()) {
            let (provider, account, reason) = (&news.provider, &news.account, &news.reason);
            match news.is_down {
                true => tracing::warn!(provider, account, reason, "an account cannot be used"),
                false => tracing::info!(provider, account, "an account can be used again"),
            }
            let name = Name { provider: provider.clone(), account: account.clone() };
            let is_down = news.is_down;
            let command = Command::KeepRecord { record: Box::new(OperatorRecord::Account(news)) };
            // It waits for a store that cannot write now.
            match shared.store.execute_when_free(command, Durability::Immediate).await {
                Ok(Ok(_)) => outages.told(&name, is_down),
                Ok(Err(rejection)) => {
                    tracing::error!(%rejection, "the operators' webhooks are not told of an account");
                }
                Err(error) => tracing::error!(%error, "the operators' webhooks are not told of an account"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);

    /// Looks at one account each second, as `states` says whether it is in trouble; what was told, by second. In a second with a
    /// big letter nothing can be kept; with an `r` another process begins.
    fn told(states: &str) -> Vec<(usize, bool)> {
        let mut outages = AccountOutages::default();
        let mut told = Vec::new();
        for (second, state) in states.chars().enumerate() {
            let at = UnixMs(1_000 * second as u64);
            let name = Name { provider: "p".to_owned(), account: "a".to_owned() };
            if state == 'r' {
                outages.0.values_mut().for_each(|known| known.is_remembered = true);
            }
            let found = match state {
                'x' | 'X' => Some(Found::Troubled("its calls fail".to_owned())),
                'd' => Some(Found::Drained),
                'u' | 'r' => Some(Found::Untried),
                '-' => None,
                _ => Some(Found::Usable),
            };
            let found = found.map(|found| (name.clone(), found)).into_iter().collect();
            for news in outages.look(&found, PATIENCE, at).into_iter().filter(|_| state != 'X') {
                outages.told(&name, news.is_down);
                told.push((second, news.is_down));
            }
        }
        told
    }

    /// Without it an operator is woken by each breaker that opens for two seconds, hears of one outage a hundred times, or hears that
    /// an account works which nobody uses.
    #[test]
    fn an_outage_is_told_once_it_has_lasted_and_once_it_is_over() {
        let (down, up) = ("x".repeat(11), ".".repeat(11));
        for (states, expected) in [
            ("xxxxx.....".repeat(4), vec![]),
            (format!("{down}xxx"), vec![(10, true)]),
            (format!("{down}{up}...."), vec![(10, true), (21, false)]),
            // It comes back for a moment only.
            (format!("{down}...xxx{up}"), vec![(10, true), (27, false)]),
            (format!("{down}{up}{down}"), vec![(10, true), (21, false), (32, true)]),
            // What could not be kept is told later.
            ("x".repeat(10) + "XXxx", vec![(12, true)]),
            // Kept from new work: nothing is told until it is back.
            (format!("{down}{}", "d".repeat(30)), vec![(10, true)]),
            (format!("{down}.....dd{up}"), vec![(10, true), (28, false)]),
            (format!("{down}ddd{down}"), vec![(10, true)]),
            ("xxxxxxddddddxxxxx".to_owned(), vec![]),
            // A process that begins knows of no failure, and of no answer either.
            (format!("{down}r{}", "u".repeat(30)), vec![(10, true)]),
            (format!("{down}ruuu{up}"), vec![(10, true), (25, false)]),
            (format!("{down}{}", "u".repeat(11)), vec![(10, true), (21, false)]),
            // Taken out of the configuration, and back.
            (format!("{down}-{up}."), vec![(10, true)]),
        ] {
            assert_eq!(told(&states), expected, "{states}");
        }
    }
}
