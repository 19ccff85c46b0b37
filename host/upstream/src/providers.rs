//! The providers of this moment, by name, and how they are replaced as a whole. Owns what stays as long as the process runs:
//! network, clock, chance, and the rules by which customers share permits. Calls `config`, `provider` and `pool`.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arc_swap::ArcSwap;
use gatehouse_model::{Clock, Seed};

use crate::client::connect::Gate;
use crate::client::network::Network;
use crate::config::check::{self, Checked};
use crate::config::credential::Secrets;
use crate::config::settings::{ConfigError, ProviderConfig};
use crate::pool::accounts::Pool;
use crate::pool::customer_queue::PoolRules;
use crate::provider::Provider;

/// The providers of this moment.
pub(crate) struct Providers {
    pools: ArcSwap<Pools>,
    shared: Arc<Shared>,
}

type Pools = HashMap<String, Arc<Pool>>;

/// What stays as long as the process runs.
pub(crate) struct Shared {
    pub(crate) network: Network,
    /// What calls wait for before they leave.
    pub(crate) gate: Gate,
    /// How customers share permits.
    pub(crate) rules: Arc<PoolRules>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) seed: Arc<dyn Seed>,
}

/// Providers that were checked and can be switched to; see [`Upstream::prepare`](crate::Upstream::prepare).
pub struct PreparedProviders(Pools);

/// One account that differs between two configurations.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccountChange {
    /// It is new; its configuration key.
    Added(String),
    /// It is gone; its configuration key.
    Removed(String),
    /// Its secret has another value, or it authenticates in another way; the secret's configuration key.
    NewSecret(String),
}

impl Providers {
    /// None yet.
    pub(crate) fn new(shared: Shared) -> Self {
        Self { pools: ArcSwap::default(), shared: Arc::new(shared) }
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    pub(crate) fn get(&self, name: &str) -> Option<Arc<Pool>> {
        self.pools.load().get(name).cloned()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.pools.load().keys().cloned().collect()
    }

    /// The same, which no switch changes.
    pub(crate) fn snapshot(&self) -> Self {
        Self { pools: ArcSwap::new(self.pools.load_full()), shared: Arc::clone(&self.shared) }
    }

    /// Every provider, checked; those that there are already keep connections and states.
    pub(crate) fn prepare(
        &self,
        config: &BTreeMap<String, ProviderConfig>,
        secrets: Secrets<'_>,
    ) -> Result<PreparedProviders, Vec<ConfigError>> {
        let (mut all, mut errors) = (Vec::new(), Vec::new());
        for (name, settings) in config {
            match check::provider(name, settings, secrets) {
                Ok(checked) => all.push((name, checked)),
                Err(error) => errors.push(error),
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let before = self.pools.load();
        let pool = |(name, checked): (&String, Checked)| {
            let before = before.get(name).map(|pool| &**pool);
            (name.clone(), self.shared.pool(name, checked, before))
        };
        Ok(PreparedProviders(all.into_iter().map(pool).collect()))
    }

    /// The accounts that differ in `prepared`, in order.
    pub(crate) fn changes(&self, prepared: &PreparedProviders) -> Vec<AccountChange> {
        let (old, new) = (self.pools.load(), &prepared.0);
        let mut changes = Vec::new();
        for (name, pool) in new {
            for account in pool.accounts() {
                let key = format!("providers.{name}.accounts.{}", account.name);
                let known = old.get(name).map(|pool| pool.accounts()).unwrap_or_default();
                match known.iter().find(|known| known.name == account.name) {
                    None => changes.push(AccountChange::Added(key)),
                    Some(known) if !known.credential.is_same(&account.credential) => {
                        changes.push(AccountChange::NewSecret(format!("{key}.secret")));
                    }
                    Some(_) => {}
                }
            }
        }
        for (name, pool) in old.iter() {
            let kept = new.get(name).map(|pool| pool.accounts()).unwrap_or_default();
            let gone = pool.accounts().iter().filter(|old| !kept.iter().any(|kept| kept.name == old.name));
            changes.extend(gone.map(|account| {
                AccountChange::Removed(format!("providers.{name}.accounts.{}", account.name))
            }));
        }
        changes.sort();
        changes
    }

    /// Switches to `prepared`. A call under way ends as it began; the state of an account that stays is kept.
    pub(crate) fn switch(&self, prepared: PreparedProviders) {
        let next = Arc::new(prepared.0);
        let before = self.pools.swap(Arc::clone(&next));
        for (name, old) in before.iter() {
            match next.get(name) {
                Some(new) => new.take_over(old),
                None => old.retire(),
            }
        }
    }
}

impl Shared {
    fn pool(&self, name: &str, mut checked: Checked, before: Option<&Pool>) -> Arc<Pool> {
        let Self { network, gate, rules, clock, seed } = self;
        let accounts = std::mem::take(&mut checked.accounts);
        let provider = Provider::new(name, checked, network, gate, before.map(Pool::provider), clock, seed);
        Pool::new(provider, accounts, before, Arc::clone(rules), Arc::clone(clock), Arc::clone(seed))
    }
}
