//! The sections of `gatehouse.toml`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use gatehouse_model::Credits;
use gatehouse_upstream::{FetchConfig, ProviderConfig};
use serde::Deserialize;

use crate::telemetry::LogConfig;

/// The whole configuration.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    /// The public listener.
    pub(crate) server: gatehouse_edge::Config,
    /// The operators' door.
    pub(crate) admin: gatehouse_admin::Config,
    /// Where everything is kept.
    pub(crate) data: DataConfig,
    /// Tasks.
    pub(crate) tasks: gatehouse_driver::Config,
    /// Price keys and their prices.
    pub(crate) prices: BTreeMap<String, Credits>,
    /// Requests answered while their client waits.
    pub(crate) text: gatehouse_driver::TextConfig,
    /// Text models by id.
    pub(crate) models: BTreeMap<String, gatehouse_driver::ModelConfig>,
    /// Copied results.
    pub(crate) media: gatehouse_media::Config,
    /// Fetching what clients and providers point to.
    pub(crate) fetch: FetchConfig,
    /// Upstream APIs.
    pub(crate) providers: BTreeMap<String, ProviderConfig>,
    /// Where plugins run.
    pub(crate) plugins: PluginsConfig,
    /// Logs.
    pub(crate) log: LogConfig,
    /// Simulated providers.
    pub(crate) sandbox: SandboxConfig,
}

/// The `[data]` table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct DataConfig {
    /// The folder everything is kept in.
    pub(crate) folder: PathBuf,
    /// How the store uses memory and groups its work.
    pub(crate) store: gatehouse_store::Config,
}

impl Default for DataConfig {
    fn default() -> Self {
        Self { folder: PathBuf::from("gatehouse-data"), store: gatehouse_store::Config::default() }
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
    /// What every plugin may use.
    pub(crate) limits: gatehouse_runtime::Limits,
    /// What single families may use instead.
    pub(crate) limits_by_family: BTreeMap<String, gatehouse_runtime::Limits>,
    /// Refuses plugins that none of the trusted keys has signed.
    pub(crate) require_signature: bool,
    /// Public keys whose signatures count, by any name.
    pub(crate) trusted_keys: BTreeMap<String, gatehouse_runtime::PublicKey>,
    /// When a fresh version is rolled back.
    #[serde(alias = "watch")]
    pub(crate) canary: gatehouse_runtime::CanaryConfig,
    /// A folder whose components are installed as they appear.
    pub(crate) watch_folder: Option<PathBuf>,
    /// What a family's plugin is told with every request.
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
            watch_folder: None,
            limits: gatehouse_runtime::Limits::default(),
            limits_by_family: BTreeMap::new(),
            settings: BTreeMap::new(),
        }
    }
}

/// The `[sandbox]` table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SandboxConfig {
    /// Starts simulated providers and talks to them instead of the real ones. Without any configuration
    /// file this is on.
    pub(crate) enabled: bool,
    /// Milliseconds a simulated job takes.
    pub(crate) job_ms: u64,
    /// Seconds a simulated provider's own link lives.
    pub(crate) link_seconds: u64,
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self { enabled: false, job_ms: 2000, link_seconds: 600 }
    }
}
