//! The configuration made usable: every value checked, every secret resolved (see `credential`). What is wrong is told by
//! its key, with what was expected and what came.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{Affinity, Digest};
use url::Url;

use crate::auth::credential::Credential;
use crate::auth::extra::Extra;
use crate::auth::scheme::Auth;
use crate::client::connect::Private;
use crate::client::dial::{Sockets, SystemResolver};
use crate::client::network::Network;
use crate::client::origin::{Origin, Pattern, has_login};
use crate::client::proxy::{Exempt, Proxy};
use crate::config::credential::{self, Secrets};
use crate::config::extra;
use crate::config::settings::{
    AccountConfig, ConfigError, FairnessConfig, FetchConfig, OutgoingConfig, OutgoingRoute, ProviderConfig,
    error,
};

/// A provider, checked.
pub(crate) struct Checked {
    /// With a slash at its end.
    pub(crate) base: Url,
    /// How accounts authenticate that do not say otherwise.
    pub(crate) auth: Auth,
    /// Where credentials may go; the base's own origin is the first.
    pub(crate) origins: Vec<Pattern>,
    pub(crate) media_origins: Vec<Pattern>,
    /// Token endpoints that the operator wrote out.
    pub(crate) token_origins: Vec<Pattern>,
    pub(crate) connect_timeout: Duration,
    pub(crate) total_timeout: Duration,
    /// For a call that hands a job over.
    pub(crate) submit_timeout: Duration,
    pub(crate) max_reply: u64,
    pub(crate) max_saved: u64,
    /// Whether an operator is asked about ambiguous calls.
    pub(crate) asks_when_ambiguous: bool,
    /// Whether the stream of a client that has left is read on.
    pub(crate) drains_cancelled: bool,
    /// A proxy of its own, or that it has none; absent: as everything else.
    pub(crate) proxy: Option<Option<Arc<Proxy>>>,
    /// What is sent along with every call.
    pub(crate) extra: Extra,
    /// Whether calls say in which trace they are.
    pub(crate) is_traced: bool,
    /// Whose accounts these are too, by name.
    pub(crate) accounts_of: Option<String>,
    pub(crate) accounts: Vec<Account>,
}

/// An account, checked: one set of credentials and its limits.
pub(crate) struct Account {
    pub(crate) name: String,
    /// Its name for plugins.
    pub(crate) affinity: Affinity,
    /// Shared with the same account of an earlier configuration, and the token with it.
    pub(crate) credential: Arc<Credential>,
    pub(crate) priority: u32,
    pub(crate) weight: u64,
    /// All permits.
    pub(crate) concurrency: u64,
    /// Permits, at the end of them, that no customer gets who already uses as many as are left.
    pub(crate) reserve: u64,
    /// Calls a second, if they are limited.
    pub(crate) rate: Option<f64>,
}

/// The bounds of fetches of clients' links.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FetchLimits {
    pub(crate) in_all: usize,
    pub(crate) of_customer: usize,
    pub(crate) of_host: usize,
}

/// 96 bits: two accounts of one gateway never share an affinity by chance.
const AFFINITY_BYTES: usize = 12;

/// The affinity of an account of a provider that shares none: a digest, so that an operator's name for an account reaches no
/// client.
#[must_use]
pub fn affinity(provider: &str, account: &str) -> Affinity {
    Digest::of_fields(&[b"affinity", provider.as_bytes(), account.as_bytes()]).prefix(AFFINITY_BYTES)
}

const WEAK: &str = "the secret is too short or too uniform to be found in what the provider says, so an echo of it is not \
     removed; use a longer one if the provider allows it";

const MIB: u64 = 1024 * 1024;
/// One permit in so many is in reserve, unless the operator says otherwise.
const USUAL_RESERVE: u64 = 8;

/// Checks `[providers.<name>]`.
pub(crate) fn provider(
    name: &str,
    config: &ProviderConfig,
    secrets: Secrets<'_>,
) -> Result<Checked, ConfigError> {
    let key = |field: &str| format!("providers.{name}.{field}");
    let (base, own) = base(&config.base_url).map_err(|problem| error(key("base_url"), problem))?;
    let mut origins = vec![Pattern::Exact(own)];
    origins.extend(patterns(&key("origins"), &config.origins)?);
    let mut media_origins = patterns(&key("media_origins"), &config.media_origins)?;
    if media_origins.is_empty() {
        media_origins.clone_from(&origins);
    }
    if config.accounts.is_empty() {
        let problem = format!("expected at least one account, e.g. [providers.{name}.accounts.main]");
        return Err(error(key("accounts"), problem));
    }
    let (mut accounts, mut token_origins) = (vec![], vec![]);
    for (account, own) in &config.accounts {
        let (account, token_origin) = self::account(name, config, account, own, secrets)?;
        accounts.push(account);
        token_origins.extend(token_origin.map(Pattern::Exact));
    }
    Ok(Checked {
        base,
        auth: config.auth.clone(),
        origins,
        media_origins,
        token_origins,
        connect_timeout: span(key("connect_timeout_ms"), config.connect_timeout_ms)?,
        total_timeout: span(key("total_timeout_ms"), config.total_timeout_ms)?,
        submit_timeout: span(key("submit_timeout_ms"), config.submit_timeout_ms)?,
        max_reply: at_least_one(key("max_reply_mib"), config.max_reply_mib)? * MIB,
        max_saved: at_least_one(key("max_saved_mib"), config.max_saved_mib)? * MIB,
        asks_when_ambiguous: config.ask_when_ambiguous,
        drains_cancelled: config.drain_cancelled,
        proxy: config.proxy.as_deref().map(|text| own_proxy(key("proxy"), text)).transpose()?,
        extra: extra::check(name, config, &accounts, secrets)?,
        is_traced: config.trace,
        accounts_of: config.accounts_of.clone(),
        accounts,
    })
}

/// The proxy of a provider that names one, or none.
fn own_proxy(key: String, text: &str) -> Result<Option<Arc<Proxy>>, ConfigError> {
    if text == "none" {
        return Ok(None);
    }
    let proxy = Proxy::new(text, None, Vec::new());
    proxy.map(|proxy| Some(Arc::new(proxy))).map_err(|problem| error(key, problem))
}

/// Checks `[outgoing]`: the proxy that everything goes through, if there is one.
pub(crate) fn outgoing(
    config: &OutgoingConfig,
    secrets: Secrets<'_>,
) -> Result<Option<Arc<Proxy>>, ConfigError> {
    let exempt = Exempt::parse_all(&config.no_proxy)
        .map_err(|(at, problem)| error(format!("outgoing.no_proxy[{at}]"), problem))?;
    let Some(address) = &config.proxy else { return Ok(None) };
    let login = config.proxy_login.as_ref().map(secrets).transpose();
    let login = login.map_err(|problem| error("outgoing.proxy_login".to_owned(), problem))?;
    if login.as_ref().is_some_and(|login| !login.expose().contains(':')) {
        return Err(error("outgoing.proxy_login".to_owned(), "expected user:password"));
    }
    let proxy = Proxy::new(address, login.as_ref(), exempt);
    proxy.map(|proxy| Some(Arc::new(proxy))).map_err(|problem| error("outgoing.proxy".to_owned(), problem))
}

/// The network that a route leads through.
///
/// # Errors
/// What cannot be used, with its key.
pub(crate) fn network(route: &OutgoingRoute<'_>) -> Result<Network, String> {
    let network = Network::new(Arc::new(SystemResolver), Arc::new(Sockets), route.extra_roots_file)
        .map_err(|problem| roots(problem).to_string())?;
    let proxy = outgoing(route.outgoing, route.secrets).map_err(|error| error.to_string())?;
    Ok(network.through(proxy))
}

/// The secrets of a provider that cannot be taken out of what it says; none where the provider cannot be used.
pub(crate) fn weak_secrets(name: &str, config: &ProviderConfig, secrets: Secrets<'_>) -> Vec<ConfigError> {
    let Ok(checked) = provider(name, config, secrets) else { return vec![] };
    let weak = checked.accounts.iter().filter(|account| account.credential.is_weak);
    let weak = weak.map(|account| format!("providers.{name}.accounts.{}.secret", account.name));
    weak.chain(extra::weak(name, config, secrets)).map(|key| error(key, WEAK)).collect()
}

/// Hosts that may be private, of the list at `key`: (host, port), `None` for the usual ports.
pub(crate) fn private_hosts(key: &str, entries: &[String]) -> Result<Private, ConfigError> {
    let private = |entry: &String| {
        // The parser would overlook white space and read on behind the host.
        let is_plain =
            !entry.contains(|c: char| c.is_whitespace() || c.is_control() || "/\\?#@*%".contains(c));
        let url = Url::parse(&format!("http://{entry}/")).ok().filter(|_| is_plain);
        let origin = url.as_ref().and_then(Origin::of).ok_or_else(|| {
            let problem = format!("expected host or host:port, got {entry:?}");
            error(key.to_owned(), problem)
        })?;
        // The parser drops `:80` as the default, so the text itself says whether a port was meant.
        let port = entry.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
        Ok((origin.bare_host().to_owned(), port))
    };
    entries.iter().map(private).collect()
}

/// Checks `[fairness]`.
pub(crate) fn fairness(config: &FairnessConfig) -> Result<(), ConfigError> {
    config.weights.iter().try_for_each(|(customer, weight)| {
        at_least_one(format!("fairness.weights.{customer}"), *weight).map(drop)
    })
}

/// The bounds of `[fetch]`.
pub(crate) fn fetch_limits(config: &FetchConfig) -> Result<FetchLimits, ConfigError> {
    let limit = |field: &str, value: u32| match value {
        0 => Err(error(format!("fetch.{field}"), "expected a number of fetches from 1, got 0")),
        value => Ok(usize::try_from(value).unwrap_or(usize::MAX)),
    };
    Ok(FetchLimits {
        in_all: limit("concurrency", config.concurrency)?,
        of_customer: limit("concurrency_per_customer", config.concurrency_per_customer)?,
        of_host: limit("concurrency_per_host", config.concurrency_per_host)?,
    })
}

/// A problem with the roots of `[fetch]`.
pub(crate) fn roots(problem: String) -> ConfigError {
    error("fetch.extra_roots_file".to_owned(), problem)
}

/// A time that is not zero.
pub(crate) fn span(key: String, ms: u64) -> Result<Duration, ConfigError> {
    if ms == 0 {
        Err(error(key, "expected milliseconds above 0, got 0"))
    } else {
        Ok(Duration::from_millis(ms))
    }
}

/// The base with one slash at its end: paths of calls are relative to it.
pub(crate) fn base(text: &str) -> Result<(Url, Origin), String> {
    let mut url = Url::parse(text).map_err(|_| format!("expected an http(s) URL, got {text:?}"))?;
    let origin = Origin::of(&url).ok_or_else(|| format!("expected an http(s) URL, got {text:?}"))?;
    if has_login(&url) {
        return Err("credentials do not belong in a URL; use accounts.<name>.secret".to_owned());
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(format!("expected a URL without query and fragment, got {text:?}"));
    }
    url.set_path(&format!("{}/", url.path().trim_end_matches('/')));
    Ok((url, origin))
}

fn patterns(key: &str, texts: &[String]) -> Result<Vec<Pattern>, ConfigError> {
    let read = |(at, text): (usize, &String)| {
        Pattern::parse(text).map_err(|problem| error(format!("{key}[{at}]"), problem))
    };
    texts.iter().enumerate().map(read).collect()
}

fn account(
    provider: &str,
    all: &ProviderConfig,
    name: &str,
    own: &AccountConfig,
    secrets: Secrets<'_>,
) -> Result<(Account, Option<Origin>), ConfigError> {
    let key = |field: &str| format!("providers.{provider}.accounts.{name}.{field}");
    let (credential, token_origin) = credential::check(provider, name, all, own, secrets)?;
    let rate = own.rate_per_second.or(all.rate_per_second);
    if let Some(rate) = rate.filter(|rate| !(rate.is_finite() && *rate > 0.0)) {
        return Err(error(key("rate_per_second"), format!("expected a number above 0, got {rate}")));
    }
    let concurrency = at_least_one(key("concurrency"), own.concurrency.unwrap_or(all.concurrency))?;
    let reserve = all.reserve.map_or(concurrency / USUAL_RESERVE, u64::from);
    if reserve >= concurrency {
        let problem =
            format!("expected less than the concurrency of account {name:?}, {concurrency}, got {reserve}");
        return Err(error(format!("providers.{provider}.reserve"), problem));
    }
    let weight = at_least_one(key("weight"), own.weight.unwrap_or(1))?;
    let affinity = affinity(all.accounts_of.as_deref().unwrap_or(provider), name);
    let (name, credential, priority) = (name.to_owned(), Arc::new(credential), own.priority);
    let account = Account { name, affinity, credential, priority, weight, concurrency, reserve, rate };
    Ok((account, token_origin))
}

fn at_least_one(key: String, value: u32) -> Result<u64, ConfigError> {
    if value == 0 { Err(error(key, "expected 1 or more, got 0")) } else { Ok(u64::from(value)) }
}
