//! The plugin runtime's configuration, from the sections it depends on.

use std::path::PathBuf;

use gatehouse_model::Digest;
use gatehouse_runtime::{Inventory, OwnPath, Trust};
use gatehouse_upstream::OutgoingRoute;

use super::sections::Config;
use crate::backup::BucketSettings;
use crate::plugins::built_in::PLUGINS;
use crate::plugins::compiler;
use crate::secrets;

impl Config {
    /// How the operator's own connections leave.
    pub(crate) fn outgoing_route(&self) -> OutgoingRoute<'_> {
        OutgoingRoute {
            extra_roots_file: self.fetch.extra_roots_file.as_deref(),
            outgoing: &self.outgoing,
            secrets: &secrets::resolve,
        }
    }

    /// How buckets of backups are reached.
    pub(crate) fn backup_buckets(&self) -> BucketSettings {
        BucketSettings::new(
            &self.backup,
            (self.media.url.as_deref(), &self.media.s3),
            self.data.min_free_mib,
            self.fetch.extra_roots_file.clone(),
            self.outgoing.clone(),
        )
    }

    /// Configures the plugin runtime for the data folder `data`.
    #[must_use]
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
            built_in: PLUGINS.iter().map(|plugin| Digest::of(plugin.wasm)).collect(),
            inventory: Some(Inventory {
                own_paths: gatehouse_edge::own_paths().map(own_path).collect(),
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

fn own_path((path, text): (&str, Option<&str>)) -> OwnPath {
    OwnPath { path: path.to_owned(), text: text.map(str::to_owned) }
}
