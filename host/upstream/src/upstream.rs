//! The handle of the crate: providers by name, and what they share.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use gatehouse_model::{Clock, Secret, Seed};

use crate::auth::token_endpoint::TokenAccess;
use crate::client::connect::{Connector, Private};
use crate::client::dial::{Dial, Sockets};
use crate::client::exchange::{self, Http};
use crate::client::resolve::Resolve;
use crate::client::tls;
use crate::config::check::{self, Checked};
use crate::config::error::ConfigError;
use crate::config::origin::Pattern;
use crate::config::settings::{Config, SecretRef};
use crate::pool::account::NoPermit;
use crate::pool::accounts::{AccountPermit, CallPermit, Pool};

/// Everything that leaves. Cheap to clone.
#[derive(Clone)]
pub struct Upstream(Arc<Shared>);

struct Shared {
    providers: HashMap<String, Provider>,
    rules: FetchRules,
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
}

/// One provider: its rules, its clients, its accounts.
pub(crate) struct Provider {
    pub(crate) checked: Checked,
    /// For calls: may be private where the operator wrote the origin out.
    pub(crate) calls: Http,
    /// For results, likewise.
    pub(crate) media: Http,
    /// For the tokens of its service accounts, likewise.
    pub(crate) tokens: TokenAccess,
    pool: Arc<Pool>,
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
        let tls = tls::client(config.fetch.extra_roots_file.as_deref())?;
        let mut providers = HashMap::new();
        for (name, settings) in &config.providers {
            let mut checked = check::provider(name, settings, secrets, clock.now())?;
            let accounts = std::mem::take(&mut checked.accounts);
            let client = |private| {
                let (resolver, dial, tls) = (Arc::clone(&resolver), Arc::clone(&dial), Arc::clone(&tls));
                exchange::client(Connector::new(resolver, dial, tls, private, checked.connect_timeout))
            };
            let calls = client(written_out(&checked.origins));
            let media = client(written_out(&checked.media_origins));
            let (http, clock, seed) =
                (client(written_out(&checked.token_origins)), Arc::clone(&clock), Arc::clone(&seed));
            let tokens = TokenAccess { http, clock: Arc::clone(&clock), seed: Arc::clone(&seed) };
            let pool = Pool::new(name, accounts, clock, seed);
            providers.insert(name.clone(), Provider { checked, calls, media, tokens, pool });
        }
        let private = check::private_hosts(&config.fetch)?;
        let timeout = check::span("fetch.connect_timeout_ms".to_owned(), config.fetch.connect_timeout_ms)?;
        let user = exchange::client(Connector::new(resolver, dial, tls, private.clone(), timeout));
        let rules = FetchRules { user, private, min_rate: config.fetch.min_bytes_per_second };
        Ok(Self(Arc::new(Shared { providers, rules, clock, seed })))
    }

    /// Permits for a new job and for its first call. With `pinned` only at that account.
    ///
    /// # Errors
    /// See [`NoPermit`].
    pub fn acquire_account(
        &self,
        provider: &str,
        pinned: Option<&str>,
    ) -> Result<(AccountPermit, CallPermit), NoPermit> {
        self.provider(provider).ok_or(NoPermit::Unknown)?.pool.acquire_account(pinned)
    }

    /// The same at an account that was not `tried` yet.
    ///
    /// # Errors
    /// See [`NoPermit`]; [`NoPermit::Unknown`] also when every account was tried.
    pub fn acquire_other_account(
        &self,
        provider: &str,
        tried: &[String],
    ) -> Result<(AccountPermit, CallPermit), NoPermit> {
        self.provider(provider).ok_or(NoPermit::Unknown)?.pool.acquire_other_account(tried)
    }

    /// A permit for a further call of a job in flight at `account`.
    ///
    /// # Errors
    /// See [`NoPermit`]; never [`NoPermit::Busy`].
    pub fn acquire_call(&self, provider: &str, account: &str) -> Result<CallPermit, NoPermit> {
        self.provider(provider).ok_or(NoPermit::Unknown)?.pool.acquire_call(account)
    }

    /// Reports an account failure that only the reader of the answer can recognise (a 400 about credit).
    pub fn report_failure(&self, permit: &AccountPermit) {
        permit.report_failure();
    }

    /// The permit of a job that an earlier process began, even above the limit. `None` when the account is no
    /// longer configured.
    #[must_use]
    pub fn resume(&self, provider: &str, account: &str) -> Option<AccountPermit> {
        self.provider(provider)?.pool.resume(account)
    }

    /// The name of the account with that affinity; `None` when it is no longer configured.
    #[must_use]
    pub fn account_of(&self, provider: &str, affinity: &str) -> Option<String> {
        self.provider(provider)?.pool.account_of(affinity)
    }

    /// The longest reply a plugin gets of that provider, bytes.
    #[must_use]
    pub fn max_reply(&self, provider: &str) -> Option<u64> {
        Some(self.provider(provider)?.checked.max_reply)
    }

    /// Whether a provider of this name is configured.
    #[must_use]
    pub fn knows(&self, provider: &str) -> bool {
        self.0.providers.contains_key(provider)
    }

    /// The names of all configured providers, in no order.
    pub fn providers(&self) -> impl Iterator<Item = &str> {
        self.0.providers.keys().map(String::as_str)
    }

    pub(crate) fn provider(&self, name: &str) -> Option<&Provider> {
        self.0.providers.get(name)
    }

    pub(crate) fn rules(&self) -> &FetchRules {
        &self.0.rules
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.0.clock
    }

    pub(crate) fn seed(&self) -> &dyn Seed {
        &*self.0.seed
    }
}

/// Hosts an operator wrote out in full may be private: that is how a provider on the same machine is meant.
fn written_out(patterns: &[Pattern]) -> Private {
    let exact = patterns.iter().filter_map(Pattern::exact);
    exact.map(|origin| (origin.bare_host().to_owned(), Some(origin.port()))).collect::<HashSet<_>>()
}
