//! The handle of the crate: providers and their accounts by name, permits of accounts now or in fair order once one is free,
//! and the fetcher. Owns nothing but the services it hands out.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use gatehouse_model::{Affinity, Clock, Conversation, CustomerId, Seed};
use tokio::sync::oneshot;
use url::Url;

use crate::client::connect::Gate;
use crate::client::dial::{Dial, Resolve, Sockets};
use crate::client::network::{self, Network};
use crate::config::check::{self, affinity};
use crate::config::credential::Secrets;
use crate::config::settings::{Config, ConfigError, ProviderConfig};
use crate::fetch::fetcher::Fetcher;
use crate::pool::account::{AccountState, NoPermit};
use crate::pool::accounts::{Pool, Wanted};
use crate::pool::customer_queue::PoolRules;
use crate::pool::operator::ProviderOverview;
use crate::pool::permits::{AccountPermit, CallPermit};
use crate::pool::waiting::{Claimant, Permits, Waiting};
use crate::providers::{AccountChange, PreparedProviders, Providers, Shared};
use crate::service::ServiceClient;

/// Everything that leaves. Cheap to clone.
#[derive(Clone)]
pub struct Upstream {
    providers: Arc<Providers>,
    fetcher: Fetcher,
}

impl Upstream {
    /// Checks the configuration and resolves its secrets through `secrets`, whose error says why not.
    pub fn new(
        config: &Config,
        secrets: Secrets<'_>,
        clock: Arc<dyn Clock>,
        seed: Arc<dyn Seed>,
        resolver: Arc<dyn Resolve>,
    ) -> Result<Self, ConfigError> {
        Self::with_dial(config, secrets, clock, seed, resolver, Arc::new(Sockets))
    }

    /// The same with another [`Dial`]: for tests without a network.
    pub fn with_dial(
        config: &Config,
        secrets: Secrets<'_>,
        clock: Arc<dyn Clock>,
        seed: Arc<dyn Seed>,
        resolver: Arc<dyn Resolve>,
        dial: Arc<dyn Dial>,
    ) -> Result<Self, ConfigError> {
        check::fairness(&config.fairness)?;
        let network = Network::new(resolver, dial, config.fetch.extra_roots_file.as_deref());
        let network = network.map_err(check::roots)?.through(check::outgoing(&config.outgoing, secrets)?);
        let rules = Arc::new(PoolRules::new(config.fairness.weights.clone()));
        let providers =
            Arc::new(Providers::new(Shared { network, gate: Gate::default(), rules, clock, seed }));
        let prepared = providers.prepare(&config.providers, secrets);
        let prepared = prepared.map_err(|mut errors| errors.swap_remove(0))?;
        let fetcher = Fetcher::new(&config.fetch, &config.webhooks, Arc::clone(&providers))?;
        providers.switch(prepared);
        Ok(Self { providers, fetcher })
    }

    /// Every value of `config` that cannot be used; one for each provider.
    #[must_use]
    pub fn check(config: &Config, secrets: Secrets<'_>) -> Vec<ConfigError> {
        let Config { providers, fetch, webhooks, fairness, outgoing } = config;
        let providers = providers.iter().filter_map(|(name, one)| check::provider(name, one, secrets).err());
        let others = [
            check::outgoing(outgoing, secrets).err(),
            network::roots(fetch.extra_roots_file.as_deref()).err().map(check::roots),
            check::private_hosts("fetch.allow_private", &fetch.allow_private).err(),
            check::private_hosts("webhooks.allow_private", &webhooks.allow_private).err(),
            check::fetch_limits(fetch).err(),
            check::fairness(fairness).err(),
        ];
        providers.chain(others.into_iter().flatten()).collect()
    }

    /// What works and should be known: secrets that cannot be taken out of what a provider says. Blocks.
    #[must_use]
    pub fn warnings(providers: &BTreeMap<String, ProviderConfig>, secrets: Secrets<'_>) -> Vec<ConfigError> {
        providers.iter().flat_map(|(name, one)| check::weak_secrets(name, one, secrets)).collect()
    }

    /// Checks other providers, and resolves their secrets again. Nothing changes. Blocks.
    ///
    /// # Errors
    /// Every value that cannot be used; one for each provider.
    pub fn prepare(
        &self,
        config: &BTreeMap<String, ProviderConfig>,
        secrets: Secrets<'_>,
    ) -> Result<PreparedProviders, Vec<ConfigError>> {
        self.providers.prepare(config, secrets)
    }

    /// The accounts that differ in `prepared`, in order.
    #[must_use]
    pub fn changes(&self, prepared: &PreparedProviders) -> Vec<AccountChange> {
        self.providers.changes(prepared)
    }

    /// Switches to `prepared`. A call under way ends as it began; the state of an account that stays is kept.
    pub fn switch(&self, prepared: PreparedProviders) {
        self.providers.switch(prepared);
    }

    /// The providers of this moment, which no switch changes.
    #[must_use]
    pub fn snapshot(&self) -> Self {
        let providers = Arc::new(self.providers.snapshot());
        Self { fetcher: self.fetcher.of(Arc::clone(&providers)), providers }
    }

    /// Has calls of providers wait until these futures end, each at the last moment before its first byte: what comes before may take
    /// its time. Set once.
    pub fn begin_calls_when(&self, opened: impl Fn() -> BoxFuture<'static, ()> + Send + Sync + 'static) {
        self.providers.shared().gate.set(Box::new(opened));
    }

    /// A client of the operator's service at `endpoint`, over connections of its own.
    pub fn service_client(&self, endpoint: &Url) -> Result<ServiceClient, String> {
        ServiceClient::new(&self.providers.shared().network, endpoint)
    }

    /// What fetches media, and posts to addresses of customers.
    #[must_use]
    pub fn fetcher(&self) -> &Fetcher {
        &self.fetcher
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
        self.pool(provider).is_some()
    }

    /// The names of all configured providers, in no order.
    #[must_use]
    pub fn providers(&self) -> Vec<String> {
        self.providers.names()
    }

    /// Permits for a new job and for its first call, if nobody waits for them. With `pinned` only at that account.
    pub fn acquire_account(
        &self,
        provider: &str,
        customer: &CustomerId,
        pinned: Option<&str>,
    ) -> Result<Permits, NoPermit> {
        self.pool(provider).ok_or(NoPermit::Unknown)?.acquire_account(customer, pinned)
    }

    /// The same, or a position in the queue: `grant` gets the permits once it is this claimant's, outside of every lock.
    ///
    /// # Errors
    /// See [`NoPermit`]; with a position, except for [`NoPermit::Unknown`].
    pub fn acquire_or_wait(
        &self,
        provider: &str,
        claimant: &Claimant,
        wanted: Wanted,
        grant: impl FnOnce(Permits) + Send + 'static,
    ) -> Result<Permits, (NoPermit, Option<Waiting>)> {
        let pool = self.pool(provider).ok_or((NoPermit::Unknown, None))?;
        let outcome = pool.acquire_or_wait(claimant, wanted, None, grant);
        outcome.map_err(|(denials, waiting)| (denials.reason(), waiting))
    }

    /// The same at an account that was not `tried` yet; waits for it no longer than `max_wait`, and not at all where no
    /// account can be free by then. Of equal accounts that are free a `conversation` gets its own.
    ///
    /// # Errors
    /// See [`NoPermit`]; [`NoPermit::Unknown`] also when every account was tried.
    pub async fn wait_for_account(
        &self,
        provider: &str,
        claimant: &Claimant,
        tried: &[String],
        conversation: Option<Conversation>,
        max_wait: Duration,
    ) -> Result<Permits, NoPermit> {
        let pool = self.pool(provider).ok_or(NoPermit::Unknown)?;
        let (sender, mut granted) = oneshot::channel();
        let clock = &self.providers.shared().clock;
        let end = clock.now().plus(max_wait);
        // Permits that nobody receives are returned.
        let grant = move |permits| drop(sender.send(permits));
        let wanted = Wanted::Any(tried.to_vec());
        let (denials, waiting) = match pool.acquire_or_wait(claimant, wanted, conversation, grant) {
            Ok(permits) => return Ok(permits),
            Err(denied) => denied,
        };
        if waiting.is_none() || max_wait.is_zero() || !denials.may_end_by(end) {
            return Err(denials.reason());
        }
        tokio::select! {
            biased;
            permits = &mut granted => permits.map_err(|_| denials.reason()),
            () = clock.pause(max_wait) => {
                drop(waiting);
                granted.try_recv().map_err(|_| denials.reason())
            }
        }
    }

    /// How long a further job of that customer would wait for a permit at the present pace; `None` while none of its jobs
    /// waits, or too few permits came to tell.
    #[must_use]
    pub fn estimated_wait(&self, provider: &str, customer: &CustomerId) -> Option<Duration> {
        self.pool(provider)?.estimated_wait(customer)
    }

    /// A permit for a further call of a job in flight at `account`.
    ///
    /// # Errors
    /// See [`NoPermit`]; never [`NoPermit::Busy`].
    pub fn acquire_call(&self, provider: &str, account: &str) -> Result<CallPermit, NoPermit> {
        self.pool(provider).ok_or(NoPermit::Unknown)?.acquire_call(account)
    }

    /// An answer of that account shows that its provider refuses it; nothing where it is not configured any more.
    pub fn report_refused(&self, provider: &str, account: &str) {
        if let Some(pool) = self.pool(provider) {
            pool.report_refused(account);
        }
    }

    /// Whether work may be given to an account of the provider that was not `tried` yet: one that is not drained.
    #[must_use]
    pub fn has_account_besides(&self, provider: &str, tried: &[String]) -> bool {
        self.pool(provider).is_some_and(|pool| pool.has_account(tried, |_, _| true))
    }

    /// The same of an account that the provider does not refuse.
    #[must_use]
    pub fn has_whole_account_besides(&self, provider: &str, tried: &[String]) -> bool {
        self.pool(provider).is_some_and(|pool| pool.has_account(tried, AccountState::is_whole))
    }

    /// The same of an account that no pause and no open breaker keeps from answering now.
    #[must_use]
    pub fn has_working_account_besides(&self, provider: &str, tried: &[String]) -> bool {
        self.pool(provider).is_some_and(|pool| pool.has_account(tried, AccountState::is_working))
    }

    /// Whether accounts of the provider have the same priority, so that a conversation has one of its own.
    #[must_use]
    pub fn has_equal_accounts(&self, provider: &str) -> bool {
        let Some(pool) = self.pool(provider) else { return false };
        let all = pool.accounts();
        let has_equal = |at: usize| all[..at].iter().any(|other| other.priority == all[at].priority);
        (1..all.len()).any(has_equal)
    }

    /// The permit of a job that an earlier process began, even above the limit. `None` when the account is no
    /// longer configured.
    #[must_use]
    pub fn resume(&self, provider: &str, account: &str, customer: &CustomerId) -> Option<AccountPermit> {
        self.pool(provider)?.resume(account, customer)
    }

    /// Whether [`Upstream::expect_several_customers`] was called.
    #[must_use]
    pub fn has_several_customers(&self) -> bool {
        self.providers.shared().rules.has_several_customers()
    }

    /// There are several customers: from now on one alone does not get the reserve of an account.
    pub fn expect_several_customers(&self) {
        self.providers.shared().rules.expect_several_customers();
    }

    /// One provider; `None` where no such provider is configured.
    #[must_use]
    pub fn overview(&self, provider: &str) -> Option<ProviderOverview> {
        Some(self.pool(provider)?.overview())
    }

    /// Every provider, by name.
    #[must_use]
    pub fn overviews(&self) -> Vec<ProviderOverview> {
        let mut names = self.providers();
        names.sort_unstable();
        names.iter().filter_map(|name| self.overview(name)).collect()
    }

    /// Keeps new work away from an account, or lets it come again. Returns what it was before; `None` where there is no
    /// such account.
    #[must_use]
    pub fn drain(&self, provider: &str, account: &str, drained: bool) -> Option<bool> {
        self.pool(provider)?.drain(account, drained)
    }

    pub(crate) fn pool(&self, name: &str) -> Option<Arc<Pool>> {
        self.providers.get(name)
    }
}
