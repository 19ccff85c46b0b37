//! The handle of the crate: providers by name, and what they share.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arc_swap::ArcSwap;
use gatehouse_model::{Affinity, Clock, Secret, Seed};

use crate::client::connect::Private;
use crate::client::dial::{Dial, Sockets};
use crate::client::exchange::Http;
use crate::client::resolve::Resolve;
use crate::client::tls;
use crate::config::check;
use crate::config::credential::Secrets;
use crate::config::error::ConfigError;
use crate::config::settings::{Config, FetchConfig, ProviderConfig, SecretRef};
use crate::fetch_permits::FetchPermits;
use crate::pool::accounts::Pool;
use crate::pool::rules::PoolRules;
use crate::provider::{Network, Provider, affinity};

/// Everything that leaves. Cheap to clone.
#[derive(Clone)]
pub struct Upstream(Arc<Handle>);

struct Handle {
    /// The providers of this moment, replaced as a whole.
    providers: ArcSwap<Providers>,
    shared: Arc<Shared>,
}

type Providers = HashMap<String, Arc<Pool>>;

/// What stays as long as the process runs.
struct Shared {
    network: Network,
    rules: FetchRules,
    /// How customers share permits.
    pool_rules: Arc<PoolRules>,
    clock: Arc<dyn Clock>,
    seed: Arc<dyn Seed>,
}

/// What all fetches share.
pub(crate) struct FetchRules {
    /// The client for URLs of users.
    pub(crate) user: Http,
    /// Hosts that may be private.
    pub(crate) private: Private,
    /// Bytes a second, below which a fetch is given up.
    pub(crate) min_rate: u64,
    /// For URLs of users.
    pub(crate) permits: FetchPermits,
}

/// Providers that were checked and can be switched to; see [`Upstream::prepare`].
pub struct PreparedProviders(Providers);

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

impl Upstream {
    /// Checks the configuration and resolves its secrets through `secrets`, whose error says why not.
    ///
    /// # Errors
    /// The first value that cannot be used.
    pub fn new(
        config: &Config,
        secrets: &dyn Fn(&SecretRef) -> Result<Secret<String>, String>,
        clock: Arc<dyn Clock>,
        seed: Arc<dyn Seed>,
        resolver: Arc<dyn Resolve>,
    ) -> Result<Self, ConfigError> {
        Self::with_dial(config, secrets, clock, seed, resolver, Arc::new(Sockets))
    }

    /// The same with another [`Dial`]: for tests without a network.
    ///
    /// # Errors
    /// The first value that cannot be used.
    pub fn with_dial(
        config: &Config,
        secrets: &dyn Fn(&SecretRef) -> Result<Secret<String>, String>,
        clock: Arc<dyn Clock>,
        seed: Arc<dyn Seed>,
        resolver: Arc<dyn Resolve>,
        dial: Arc<dyn Dial>,
    ) -> Result<Self, ConfigError> {
        check::fairness(&config.fairness)?;
        let tls = tls::client(config.fetch.extra_roots_file.as_deref())?;
        let proxy = check::outgoing(&config.outgoing, secrets)?;
        let network = Network { resolver, dial, tls, proxy };
        let rules = fetch_rules(&config.fetch, &network);
        let empty = Providers::new();
        let pool_rules = Arc::new(PoolRules::new(config.fairness.weights.clone()));
        let providers = build(&config.providers, secrets, &network, &empty, &pool_rules, (&clock, &seed));
        let providers = providers.map_err(|mut errors| errors.swap_remove(0))?;
        let shared = Arc::new(Shared { network, rules: rules?, pool_rules, clock, seed });
        Ok(Self(Arc::new(Handle { providers: ArcSwap::from_pointee(providers), shared })))
    }

    /// Every value of `config` that cannot be used; one for each provider.
    #[must_use]
    pub fn check(
        config: &Config,
        secrets: &dyn Fn(&SecretRef) -> Result<Secret<String>, String>,
    ) -> Vec<ConfigError> {
        let providers = config.providers.iter();
        let providers = providers.filter_map(|(name, one)| check::provider(name, one, secrets).err());
        let fetch = tls::client(config.fetch.extra_roots_file.as_deref()).err();
        let private = check::private_hosts(&config.fetch).err();
        let limits = check::fetch_limits(&config.fetch).err();
        let fairness = check::fairness(&config.fairness).err();
        let outgoing = check::outgoing(&config.outgoing, secrets).err();
        providers.chain(outgoing).chain(fetch).chain(private).chain(limits).chain(fairness).collect()
    }

    /// What works and should be known: secrets that cannot be taken out of what a provider says. Blocks.
    #[must_use]
    pub fn warnings(
        providers: &BTreeMap<String, ProviderConfig>,
        secrets: &dyn Fn(&SecretRef) -> Result<Secret<String>, String>,
    ) -> Vec<ConfigError> {
        providers.iter().flat_map(|(name, one)| check::weak_secrets(name, one, secrets)).collect()
    }

    /// Checks other providers, and resolves their secrets again. Nothing changes. Blocks.
    ///
    /// # Errors
    /// Every value that cannot be used; one for each provider.
    pub fn prepare(
        &self,
        config: &BTreeMap<String, ProviderConfig>,
        secrets: &dyn Fn(&SecretRef) -> Result<Secret<String>, String>,
    ) -> Result<PreparedProviders, Vec<ConfigError>> {
        let Shared { network, pool_rules, clock, seed, .. } = &*self.0.shared;
        let before = self.0.providers.load();
        build(config, secrets, network, &before, pool_rules, (clock, seed)).map(PreparedProviders)
    }

    /// The accounts that differ in `prepared`, in order.
    #[must_use]
    pub fn changes(&self, prepared: &PreparedProviders) -> Vec<AccountChange> {
        let (old, new) = (self.0.providers.load(), &prepared.0);
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
    pub fn switch(&self, prepared: PreparedProviders) {
        let next = Arc::new(prepared.0);
        let before = self.0.providers.swap(Arc::clone(&next));
        for (name, old) in before.iter() {
            match next.get(name) {
                Some(new) => new.take_over(old),
                None => old.retire(),
            }
        }
    }

    /// The providers of this moment, which no switch changes.
    #[must_use]
    pub fn snapshot(&self) -> Self {
        let providers = ArcSwap::new(self.0.providers.load_full());
        Self(Arc::new(Handle { providers, shared: Arc::clone(&self.0.shared) }))
    }

    /// An account as plugins name it.
    #[must_use]
    pub fn affinity(&self, provider: &str, account: &str) -> Affinity {
        match self.pool(provider) {
            Some(pool) => pool.provider().affinity(account),
            None => affinity(provider, account),
        }
    }

    /// The name of the account with that affinity; `None` when it is no longer configured.
    #[must_use]
    pub fn account_of(&self, provider: &str, affinity: &str) -> Option<String> {
        self.pool(provider)?.account_of(affinity)
    }

    /// The longest reply a plugin gets of that provider, bytes.
    #[must_use]
    pub fn max_reply(&self, provider: &str) -> Option<u64> {
        Some(self.pool(provider)?.provider().checked.max_reply)
    }

    /// Whether an operator is asked about ambiguous calls of that provider.
    #[must_use]
    pub fn asks_when_ambiguous(&self, provider: &str) -> bool {
        self.pool(provider).is_some_and(|pool| pool.provider().checked.asks_when_ambiguous)
    }

    /// Whether a provider of this name is configured.
    #[must_use]
    pub fn knows(&self, provider: &str) -> bool {
        self.0.providers.load().contains_key(provider)
    }

    /// The names of all configured providers, in no order.
    #[must_use]
    pub fn providers(&self) -> Vec<String> {
        self.0.providers.load().keys().cloned().collect()
    }

    pub(crate) fn pool(&self, name: &str) -> Option<Arc<Pool>> {
        self.0.providers.load().get(name).cloned()
    }

    pub(crate) fn rules(&self) -> &FetchRules {
        &self.0.shared.rules
    }

    pub(crate) fn network(&self) -> &Network {
        &self.0.shared.network
    }

    pub(crate) fn rules_of_pools(&self) -> &PoolRules {
        &self.0.shared.pool_rules
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.0.shared.clock
    }

    pub(crate) fn seed(&self) -> &dyn Seed {
        &*self.0.shared.seed
    }
}

/// Every provider, checked; those that are in `before` too keep connections and states.
fn build(
    config: &BTreeMap<String, ProviderConfig>,
    secrets: Secrets<'_>,
    network: &Network,
    before: &Providers,
    rules: &Arc<PoolRules>,
    (clock, seed): (&Arc<dyn Clock>, &Arc<dyn Seed>),
) -> Result<Providers, Vec<ConfigError>> {
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
    let build = |(name, mut checked): (&String, check::Checked)| {
        let accounts = std::mem::take(&mut checked.accounts);
        let before = before.get(name).map(|pool| &**pool);
        let provider = Provider::new(name, checked, network, before.map(Pool::provider), (clock, seed));
        let pool =
            Pool::new(provider, accounts, before, Arc::clone(rules), Arc::clone(clock), Arc::clone(seed));
        (name.clone(), pool)
    };
    Ok(all.into_iter().map(build).collect())
}

fn fetch_rules(config: &FetchConfig, network: &Network) -> Result<FetchRules, ConfigError> {
    let private = check::private_hosts(config)?;
    let timeout = check::span("fetch.connect_timeout_ms".to_owned(), config.connect_timeout_ms)?;
    let user = network.client_without_pool(private.clone(), timeout);
    let permits = FetchPermits::new(check::fetch_limits(config)?);
    Ok(FetchRules { user, private, min_rate: config.min_bytes_per_second, permits })
}
