//! Looks at the accounts of all providers, and has the operators' webhooks told of one that cannot be used for longer than
//! `[tasks] account_down_s`, and once it can be again.
//!
//! An account cannot be used while its breaker is open or on trial, and while it is passed over because the provider refused its
//! credentials or its credit. One that an operator keeps from new work is nobody's news. What was told is known to this process
//! alone: one that is down is told again after a restart, once it has been found down for as long.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::UnixMs;
use gatehouse_tasks::{AccountRecord, Command, OperatorRecord};
use gatehouse_upstream::{AccountOverview, BreakerState, ProviderOverview};

use crate::shared::Shared;

/// Between two looks.
const INTERVAL: Duration = Duration::from_secs(5);

/// A provider and an account of it.
type Name = (String, String);

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
}

impl AccountOutages {
    /// What is to be told, after accounts were looked at: those that cannot be used, with the reason.
    fn look(
        &mut self,
        troubled: BTreeMap<Name, String>,
        patience: Duration,
        now: UnixMs,
    ) -> Vec<AccountRecord> {
        for (name, reason) in &troubled {
            let known = self.0.entry(name.clone()).or_insert_with(|| AccountOutage {
                since: now,
                reason: String::new(),
                usable_since: None,
                is_told: false,
            });
            known.usable_since = None;
            known.reason.clone_from(reason);
        }
        let mut news = Vec::new();
        self.0.retain(|name, known| {
            let is_troubled = troubled.contains_key(name);
            let told = |is_down: bool, known: &AccountOutage| AccountRecord {
                provider: name.0.clone(),
                account: name.1.clone(),
                is_down,
                since: known.since,
                at: now,
                reason: known.reason.clone(),
            };
            if is_troubled && !known.is_told && now.since(known.since) >= patience {
                known.is_told = true;
                news.push(told(true, known));
            }
            if is_troubled {
                return true;
            }
            // It may be passed over again at its next call: what is told to be up has been so for as long.
            let usable_since = *known.usable_since.get_or_insert(now);
            let is_over = !known.is_told || now.since(usable_since) >= patience;
            if is_over && known.is_told {
                news.push(told(false, known));
            }
            !is_over
        });
        news
    }
}

/// Those that cannot be used, and why.
fn troubled(providers: Vec<ProviderOverview>) -> BTreeMap<Name, String> {
    let accounts = providers.into_iter().flat_map(|provider| {
        let name = provider.name;
        provider.accounts.into_iter().map(move |account| (name.clone(), account))
    });
    let troubled = accounts.filter(|(_, account)| !account.drained).filter_map(|(provider, account)| {
        let reason = reason(&account)?;
        Some(((provider, account.name), reason))
    });
    troubled.collect()
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
    let mut outages = AccountOutages::default();
    while !patience.is_zero() {
        shared.clock.pause(INTERVAL).await;
        for news in outages.look(troubled(shared.upstream.overviews()), patience, shared.now()) {
            let (provider, account, reason) = (&news.provider, &news.account, &news.reason);
            match news.is_down {
                true => tracing::warn!(provider, account, reason, "an account cannot be used"),
                false => tracing::info!(provider, account, "an account can be used again"),
            }
            let record = Box::new(OperatorRecord::Account(news));
            if let Err(error) = shared.store.execute(Command::KeepRecord { record }).await {
                tracing::error!(%error, "the operators' webhooks are not told of an account");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);

    /// Looks at one account each second, as `states` says whether it is in trouble; what was told, by second.
    fn told(states: &str) -> Vec<(usize, bool)> {
        let mut outages = AccountOutages::default();
        let mut told = Vec::new();
        for (second, state) in states.chars().enumerate() {
            let at = UnixMs(1_000 * second as u64);
            let name = ("p".to_owned(), "a".to_owned());
            let troubled = (state == 'x').then(|| (name, "its calls fail".to_owned())).into_iter().collect();
            for news in outages.look(troubled, PATIENCE, at) {
                told.push((second, news.is_down));
            }
        }
        assert!(told.windows(2).all(|pair| pair[0].1 != pair[1].1), "down and up take turns: {told:?}");
        told
    }

    /// Without it an operator is woken by each breaker that opens for two seconds, or hears of one outage a hundred times.
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
        ] {
            assert_eq!(told(&states), expected, "{states}");
        }
    }
}
