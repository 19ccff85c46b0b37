//! The `[providers.*]` and `[fetch]` tables, as written. Owns their shape and defaults; what the values must
//! satisfy is in `check`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gatehouse_model::{Secret, SecretRef, settings};
use serde::Deserialize;

use crate::auth::scheme::Auth;

/// A value that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}")]
pub struct ConfigError {
    /// The configuration key, e.g. `providers.bfl.base_url`.
    pub key: String,
    /// What was expected and what came, or what to do. What follows a semicolon is the remedy.
    pub problem: String,
}

pub(crate) fn error(key: String, problem: impl Into<String>) -> ConfigError {
    ConfigError { key, problem: problem.into() }
}

/// Everything an operator may say about what leaves.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Upstream APIs by the name plugins use.
    pub providers: BTreeMap<String, ProviderConfig>,
    /// Fetching media.
    pub fetch: FetchConfig,
    /// Posting to addresses of customers.
    pub webhooks: WebhooksConfig,
    /// How customers share what is scarce.
    pub fairness: FairnessConfig,
    /// How connections leave.
    pub outgoing: OutgoingConfig,
}

/// The `[outgoing]` table.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OutgoingConfig {
    /// A proxy that connections go through (CONNECT), such as `http://proxy.internal:3128`.
    pub proxy: Option<String>,
    /// Where the login for it is, `user:password`.
    pub proxy_login: Option<SecretRef>,
    /// Names, domains with a dot before them, addresses and networks that are reached without it.
    pub no_proxy: Vec<String>,
}

/// How the operator's own connections leave: those to a collector of traces and to a registry of plugins.
#[derive(Clone, Copy)]
pub struct OutgoingRoute<'a> {
    /// As [`FetchConfig::extra_roots_file`].
    pub extra_roots_file: Option<&'a Path>,
    /// The proxy between.
    pub outgoing: &'a OutgoingConfig,
    /// How its login is looked up; the error says why not.
    pub secrets: &'a dyn Fn(&SecretRef) -> Result<Secret<String>, String>,
}

/// The `[fairness]` table.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FairnessConfig {
    /// Shares of customers by id while several wait for permits of one provider; absent: 1.
    pub weights: BTreeMap<String, u32>,
}

/// One upstream API.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderConfig {
    /// Where its paths begin, e.g. `https://api.bfl.ai`.
    pub base_url: String,
    /// How an account authenticates that does not say otherwise.
    #[serde(default)]
    pub auth: Auth,
    /// Further origins a call may name in full, credentials included: `https://*.bfl.ai` or an exact one.
    #[serde(default)]
    pub origins: Vec<String>,
    /// Origins results may be fetched from, without credentials. Empty: the base and `origins`.
    #[serde(default)]
    pub media_origins: Vec<String>,
    /// A provider whose accounts these are too, by name: another API of the same company. What exists in an account of
    /// the one then is used through the account of that name of the other.
    #[serde(default)]
    pub accounts_of: Option<String>,
    /// Whether a family may serve without an account of it, all but what needs it.
    #[serde(default)]
    pub optional: bool,
    /// Whether an operator says what became of a call that left, may not be repeated and has no reply. Otherwise the plugin
    /// decides, and after a crash the task fails and is refunded.
    #[serde(default)]
    pub ask_when_ambiguous: bool,
    /// Whether a text stream is read on for a while after its client has left, so that the provider's own count is charged.
    /// Otherwise it is closed at once, and what the provider had written until then is charged.
    #[serde(default)]
    pub drain_cancelled: bool,
    /// A proxy of its own, or "none"; absent: that of `[outgoing]`.
    #[serde(default)]
    pub proxy: Option<String>,
    /// Headers that are sent along with every call.
    #[serde(default)]
    pub headers: BTreeMap<String, ExtraValue>,
    /// Parameters of the query that are sent along with every call.
    #[serde(default)]
    pub query: BTreeMap<String, ExtraValue>,
    /// Whether its calls say in which trace they are (`traceparent`, `tracestate`).
    #[serde(default)]
    pub trace: bool,
    /// Calls under way at once for each account that does not say otherwise.
    #[serde(default = "defaults::concurrency")]
    pub concurrency: u32,
    /// Of these, the last ones of each account that one customer alone does not get; absent: an eighth.
    #[serde(default)]
    pub reserve: Option<u32>,
    /// Calls a second for each account that does not say otherwise; absent: no limit.
    #[serde(default)]
    pub rate_per_second: Option<f64>,
    /// Milliseconds to resolve, connect and shake hands.
    #[serde(default = "defaults::connect_timeout_ms")]
    pub connect_timeout_ms: u64,
    /// Milliseconds a whole exchange may take, whatever the plugin asks for.
    #[serde(default = "defaults::total_timeout_ms")]
    pub total_timeout_ms: u64,
    /// Milliseconds the call that hands a job over may take, whatever the plugin asks for.
    #[serde(default = "defaults::submit_timeout_ms")]
    pub submit_timeout_ms: u64,
    /// MiB of a reply that is handed to the plugin.
    #[serde(default = "defaults::max_reply_mib")]
    pub max_reply_mib: u32,
    /// MiB of a reply that is kept as a blob.
    #[serde(default = "defaults::max_saved_mib")]
    pub max_saved_mib: u32,
    /// Sets of credentials by name.
    pub accounts: BTreeMap<String, AccountConfig>,
}

/// One set of credentials at a provider.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AccountConfig {
    /// How it authenticates; absent: as the provider's accounts do.
    pub auth: Option<Auth>,
    /// Where its key id (access key) is; `auth` jwt and hmac need one.
    pub key_id: Option<SecretRef>,
    /// Where its secret is: the key itself, or a service account's key file. Only `auth = "none"` needs none.
    pub secret: Option<SecretRef>,
    /// Lower numbers are used first; the next one only while these cannot be.
    pub priority: u32,
    /// Share among accounts of equal priority; absent: 1.
    pub weight: Option<u32>,
    /// Calls under way at once.
    pub concurrency: Option<u32>,
    /// Calls a second.
    pub rate_per_second: Option<f64>,
}

/// A value that is sent along with calls.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "expected a text, { env = \"NAME\" } or { file = \"path\" }")]
pub enum ExtraValue {
    /// As it is.
    Plain(String),
    /// A secret.
    Secret(SecretRef),
}

settings! {
    /// Fetching media that users or providers point to.
    #[derive(Clone, Debug, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct FetchConfig {
        /// `host` or `host:port` that may be fetched, here or by a provider, although its address is private or its
        /// port unusual.
        pub allow_private: Vec<String> = vec![],
        /// Milliseconds to resolve, connect and shake hands.
        pub connect_timeout_ms: u64 = defaults::connect_timeout_ms(),
        /// Bytes a second a fetch must bring on average once it is ten seconds old.
        pub min_bytes_per_second: u64 = 4096,
        /// Fetches of clients' links under way at once; more wait, shared by customer.
        pub concurrency: u32 = 256,
        /// Of these, those of one customer.
        pub concurrency_per_customer: u32 = 64,
        /// Of these, those from one host.
        pub concurrency_per_host: u32 = 32,
        /// PEM file of root certificates trusted besides the built-in ones, for calls too.
        pub extra_roots_file: Option<PathBuf> = None,
        /// In sandbox mode, the folder of files that are fetched in the place of addresses of documentation.
        #[serde(skip)]
        pub stand_ins: Option<String> = None,
    }
}

/// The `[webhooks]` table: posting to addresses of customers.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WebhooksConfig {
    /// `host` or `host:port` that may be posted to although its address is private or its port unusual.
    pub allow_private: Vec<String>,
}

impl Config {
    /// Every secret that must be resolved, with the configuration key that wants it.
    pub fn secrets(&self) -> impl Iterator<Item = (String, &SecretRef)> {
        self.providers.iter().flat_map(|(provider, config)| {
            let extra = [("headers", &config.headers), ("query", &config.query)];
            let extra = extra.into_iter().flat_map(move |(field, values)| {
                values.iter().filter_map(move |(name, value)| match value {
                    ExtraValue::Secret(secret) => {
                        Some((format!("providers.{provider}.{field}.{name}"), secret))
                    }
                    ExtraValue::Plain(_) => None,
                })
            });
            let of_accounts = config.accounts.iter().flat_map(move |(account, config)| {
                let fields = [("key_id", &config.key_id), ("secret", &config.secret)];
                fields.into_iter().filter_map(move |(field, secret)| {
                    let key = format!("providers.{provider}.accounts.{account}.{field}");
                    secret.as_ref().map(|secret| (key, secret))
                })
            });
            of_accounts.chain(extra)
        })
    }
}

mod defaults {
    pub(super) const fn concurrency() -> u32 {
        64
    }
    pub(super) const fn connect_timeout_ms() -> u64 {
        10_000
    }
    pub(super) const fn total_timeout_ms() -> u64 {
        300_000
    }
    pub(super) const fn submit_timeout_ms() -> u64 {
        60_000
    }
    pub(super) const fn max_reply_mib() -> u32 {
        8
    }
    pub(super) const fn max_saved_mib() -> u32 {
        200
    }
}
