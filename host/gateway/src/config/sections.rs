//! The sections of `gatehouse.toml`, and the plugin runtime's configuration, from the sections it depends on.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use gatehouse_model::{Price, SecretRef, settings};
use gatehouse_process::{LogConfig, TracesConfig};
use gatehouse_runtime::{Inventory, OwnPath, Trust};
use gatehouse_upstream::{FairnessConfig, FetchConfig, OutgoingConfig, ProviderConfig, WebhooksConfig};
use serde::Deserialize;

use super::database::{DatabaseUrl, FleetConfig};
use crate::backup::{BackupConfig, BucketSettings};
use crate::plugins::built_in::PLUGINS;
use crate::plugins::compiler;
use crate::secrets::Outgoing;

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

settings! {
    /// The `[data]` table.
    #[derive(Clone, Debug, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub(crate) struct DataConfig {
        /// The data folder.
        pub(crate) folder: PathBuf = PathBuf::from("gatehouse-data"),
        /// The database that the store is in; absent: a file in the folder.
        pub(crate) url: Option<DatabaseUrl> = None,
        /// The password to it.
        pub(crate) password: Option<SecretRef> = None,
        /// Memory and batches of the store.
        pub(crate) store: gatehouse_store::Config = gatehouse_store::Config::default(),
        /// MiB that must be free on the store's disk for a new task; absent: 256, or a tenth of a small disk.
        pub(crate) min_free_mib: Option<u32> = None,
    }
}

settings! {
    /// The `[plugins]` table.
    #[derive(Clone, Debug, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub(crate) struct PluginsConfig {
        /// Threads that run plugins; 0 is one for each core.
        pub(crate) threads: usize = 0,
        /// Text streams open at once; each holds an instance of its plugin.
        pub(crate) streams: usize = gatehouse_runtime::STREAMS,
        /// Limits of every plugin.
        pub(crate) limits: gatehouse_runtime::Limits = gatehouse_runtime::Limits::default(),
        /// Limits of single families, in place of `limits`.
        pub(crate) limits_by_family: BTreeMap<String, gatehouse_runtime::Limits> = BTreeMap::new(),
        /// Refuses plugins that none of the trusted keys has signed.
        pub(crate) require_signature: bool = false,
        /// Trusted public keys, by any name.
        pub(crate) trusted_keys: BTreeMap<String, gatehouse_runtime::PublicKey> = Default::default(),
        /// When a fresh version, a canary, is rolled back.
        pub(crate) canary: gatehouse_runtime::CanaryConfig = Default::default(),
        /// What one compilation may use.
        pub(crate) compiler: gatehouse_runtime::CompilerLimits = Default::default(),
        /// A folder; a component copied into it is installed.
        pub(crate) watch_folder: Option<PathBuf> = None,
        /// What clients are told of models that are not served.
        pub(crate) unserved: gatehouse_runtime::Unserved = Default::default(),
        /// Paths that any family may declare, beside those below `/v1/<family>/`; `/v1/audio/*` are all below it.
        pub(crate) paths: Vec<String> = Vec::new(),
        /// Single families.
        pub(crate) families: BTreeMap<String, FamilyConfig> = BTreeMap::new(),
        /// Settings for the plugin of each family, part of every call.
        pub(crate) settings: BTreeMap<String, serde_json::Value> = BTreeMap::new(),
    }
}

settings! {
    /// A `[plugins.families.<family>]` table.
    #[derive(Clone, Debug, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub(crate) struct FamilyConfig {
        /// Whether the family serves; its tasks go on either way.
        pub(crate) enabled: bool = true,
        /// Paths that it may declare beside its own.
        pub(crate) paths: Vec<String> = Vec::new(),
    }
}

settings! {
    /// The `[sandbox]` table.
    #[derive(Clone, Debug, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub(crate) struct SandboxConfig {
        /// Starts simulated providers and uses them instead of the real ones. On without a configuration file.
        pub(crate) enabled: bool = false,
        /// Duration of a simulated job in milliseconds.
        pub(crate) job_ms: u64 = 2000,
        /// Lifetime of a simulated provider's links in seconds.
        pub(crate) link_seconds: u64 = 600,
    }
}

impl Config {
    /// How the operator's own connections leave.
    pub(crate) fn outgoing(&self) -> Outgoing {
        let extra_roots_file = self.fetch.extra_roots_file.clone();
        Outgoing { extra_roots_file, config: self.outgoing.clone() }
    }

    /// What the upstream client has of it: every provider that has an account, and how connections leave.
    pub(crate) fn upstream(&self) -> gatehouse_upstream::Config {
        let mut providers = self.providers.clone();
        providers.retain(|_, provider| !provider.accounts.is_empty());
        gatehouse_upstream::Config {
            providers,
            fetch: self.fetch.clone(),
            webhooks: self.webhooks.clone(),
            fairness: self.fairness.clone(),
            outgoing: self.outgoing.clone(),
        }
    }

    /// How buckets of backups are reached.
    pub(crate) fn backup_buckets(&self) -> BucketSettings {
        let media = &self.media;
        let min_free_mib = self.data.min_free_mib;
        BucketSettings::new(&self.backup, media.url.as_deref(), &media.s3, min_free_mib, self.outgoing())
    }

    /// Configures the plugin runtime for the data folder `data`.
    pub(crate) fn runtime(&self, data: PathBuf) -> gatehouse_runtime::Config {
        let plugins = &self.plugins;
        // In sandbox mode every provider is simulated and gets an account.
        let configured =
            self.providers.iter().filter(|(_, it)| self.sandbox.enabled || !it.accounts.is_empty());
        let disabled = plugins.families.iter().filter(|(_, family)| !family.enabled);
        gatehouse_runtime::Config {
            data_dir: data,
            threads: plugins.threads,
            streams: plugins.streams,
            limits: plugins.limits,
            limits_by_family: plugins.limits_by_family.clone(),
            settings: plugins.settings.clone(),
            unserved: plugins.unserved,
            disabled: disabled.map(|(family, _)| family).chain(&self.unusable_families).cloned().collect(),
            trust: Trust { keys: plugins.trusted_keys.clone(), required: plugins.require_signature },
            built_in: PLUGINS.iter().map(|plugin| plugin.digest).collect(),
            inventory: Some(Inventory {
                own_paths: gatehouse_edge::own_paths()
                    .map(|(path, text)| OwnPath { path: path.to_owned(), text: text.map(str::to_owned) })
                    .collect(),
                paths: plugins.paths.clone(),
                paths_by_family: plugins
                    .families
                    .iter()
                    .map(|(name, own)| (name.clone(), own.paths.clone()))
                    .collect(),
                providers: configured.map(|(name, _)| name.clone()).collect(),
                optional: self.optional_providers.clone(),
                prices: self.prices.keys().cloned().collect(),
            }),
            canary: plugins.canary,
            compiler: plugins.compiler,
            compilers: 1,
            packaged_code: compiler::packaged_code(),
            compiler_process: Some(compiler::process()),
        }
    }
}
