//! The sections of `gatehouse.toml`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use gatehouse_model::{Price, SecretRef};
use gatehouse_upstream::{FairnessConfig, FetchConfig, OutgoingConfig, ProviderConfig, WebhooksConfig};
use serde::Deserialize;

use super::database::DatabaseUrl;
use super::fleet::FleetConfig;
use crate::backup::BackupConfig;
use crate::telemetry::{LogConfig, TracesConfig};

/// The whole configuration.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    /// The public listener.
    pub(crate) server: gatehouse_edge::Config,
    /// The admin listener.
    pub(crate) admin: gatehouse_admin::Config,
    /// The data folder and the store.
    pub(crate) data: DataConfig,
    /// What this gateway is to others on the same database.
    pub(crate) fleet: FleetConfig,
    /// Tasks.
    pub(crate) tasks: gatehouse_driver::Config,
    /// Price keys and their prices.
    pub(crate) prices: BTreeMap<String, Price>,
    /// Prices that are laid over these, and over those of text models, for the customers that point to them by name.
    pub(crate) price_variants: BTreeMap<String, gatehouse_driver::PriceVariantConfig>,
    /// Text requests.
    pub(crate) text: gatehouse_driver::TextConfig,
    /// Text models by id.
    pub(crate) models: BTreeMap<String, gatehouse_driver::ModelConfig>,
    /// Copied results.
    pub(crate) media: gatehouse_media::Config,
    /// Backups.
    pub(crate) backup: BackupConfig,
    /// Fetches of URLs from clients and providers.
    pub(crate) fetch: FetchConfig,
    /// Posts to addresses of customers.
    pub(crate) webhooks: WebhooksConfig,
    /// How customers share permits.
    pub(crate) fairness: FairnessConfig,
    /// How connections leave.
    pub(crate) outgoing: OutgoingConfig,
    /// Upstream APIs.
    pub(crate) providers: BTreeMap<String, ProviderConfig>,
    /// Providers that no family needs for all it serves, also those without an account.
    #[serde(skip)]
    pub(crate) optional_providers: BTreeSet<String>,
    /// Families whose part of the configuration cannot be used. They are off.
    #[serde(skip)]
    pub(crate) unusable_families: BTreeSet<String>,
    /// Plugins.
    pub(crate) plugins: PluginsConfig,
    /// Logs.
    pub(crate) log: LogConfig,
    /// Traces.
    pub(crate) traces: TracesConfig,
    /// Simulated providers.
    pub(crate) sandbox: SandboxConfig,
}

/// The `[data]` table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct DataConfig {
    /// The data folder.
    pub(crate) folder: PathBuf,
    /// The database that the store is in; absent: a file in the folder.
    pub(crate) url: Option<DatabaseUrl>,
    /// The password to it.
    pub(crate) password: Option<SecretRef>,
    /// Memory and batches of the store.
    pub(crate) store: gatehouse_store::Config,
    /// MiB that must be free on the store's disk for a new task; absent: 256, or a tenth of a small disk.
    pub(crate) min_free_mib: Option<u32>,
}

impl Default for DataConfig {
    fn default() -> Self {
        Self {
            folder: PathBuf::from("gatehouse-data"),
            url: None,
            password: None,
            store: gatehouse_store::Config::default(),
            min_free_mib: None,
        }
    }
}

/// The `[plugins]` table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PluginsConfig {
    /// Threads that run plugins; 0 is one for each core.
    pub(crate) threads: usize,
    /// Text streams open at once; each holds an instance of its plugin.
    pub(crate) streams: usize,
    /// Limits of every plugin.
    pub(crate) limits: gatehouse_runtime::Limits,
    /// Limits of single families, in place of `limits`.
    pub(crate) limits_by_family: BTreeMap<String, gatehouse_runtime::Limits>,
    /// Refuses plugins that none of the trusted keys has signed.
    pub(crate) require_signature: bool,
    /// Trusted public keys, by any name.
    pub(crate) trusted_keys: BTreeMap<String, gatehouse_runtime::PublicKey>,
    /// When a fresh version, a canary, is rolled back.
    pub(crate) canary: gatehouse_runtime::CanaryConfig,
    /// What one compilation may use.
    pub(crate) compiler: gatehouse_runtime::CompilerLimits,
    /// A folder; a component copied into it is installed.
    pub(crate) watch_folder: Option<PathBuf>,
    /// What clients are told of models that are not served.
    pub(crate) unserved: gatehouse_runtime::Unserved,
    /// Paths that any family may declare, beside those below `/v1/<family>/`; `/v1/audio/*` are all below it.
    pub(crate) paths: Vec<String>,
    /// Single families.
    pub(crate) families: BTreeMap<String, FamilyConfig>,
    /// Settings for the plugin of each family, part of every call.
    pub(crate) settings: BTreeMap<String, serde_json::Value>,
}

impl Default for PluginsConfig {
    fn default() -> Self {
        Self {
            threads: 0,
            streams: gatehouse_runtime::STREAMS,
            require_signature: false,
            trusted_keys: Default::default(),
            canary: Default::default(),
            compiler: Default::default(),
            watch_folder: None,
            limits: gatehouse_runtime::Limits::default(),
            limits_by_family: BTreeMap::new(),
            unserved: Default::default(),
            paths: Vec::new(),
            families: BTreeMap::new(),
            settings: BTreeMap::new(),
        }
    }
}

/// A `[plugins.families.<family>]` table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FamilyConfig {
    /// Whether the family serves; its tasks go on either way.
    pub(crate) enabled: bool,
    /// Paths that it may declare beside its own.
    pub(crate) paths: Vec<String>,
}

impl Default for FamilyConfig {
    fn default() -> Self {
        Self { enabled: true, paths: Vec::new() }
    }
}

/// The `[sandbox]` table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SandboxConfig {
    /// Starts simulated providers and uses them instead of the real ones. On without a configuration file.
    pub(crate) enabled: bool,
    /// Duration of a simulated job in milliseconds.
    pub(crate) job_ms: u64,
    /// Lifetime of a simulated provider's links in seconds.
    pub(crate) link_seconds: u64,
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self { enabled: false, job_ms: 2000, link_seconds: 600 }
    }
}
