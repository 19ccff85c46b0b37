//! The plugins built into the binary, and the rule when one of them replaces the active version of its family.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{fs, io};

use gatehouse_admin::Deployed;
use gatehouse_files::{if_exists, write_atomic};
use gatehouse_model::Digest;
use gatehouse_runtime::{PluginService, VersionState};

use crate::plugins::parallel::for_each;

/// One plugin of this binary, and the default configuration of its family.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BuiltInPlugin {
    /// The family.
    pub(crate) name: &'static str,
    /// The component.
    pub(crate) wasm: &'static [u8],
    /// Its digest: to hash all components again takes as long as most commands.
    pub(crate) digest: Digest,
    /// The family's default prices and providers.
    pub(crate) family_toml: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/plugins.rs"));

/// Those plugins, loaded once a run.
#[cfg(test)]
pub(crate) static LOADED: std::sync::LazyLock<Vec<gatehouse_runtime::ComponentRunner>> =
    std::sync::LazyLock::new(|| {
        use gatehouse_runtime::{ComponentRunner, Config};
        let (config, code) = (Config::new(PathBuf::new()), gatehouse_harness::code_cache());
        let load = |plugin: &BuiltInPlugin| {
            ComponentRunner::load_with(plugin.wasm, &config, code.as_deref()).unwrap()
        };
        PLUGINS.iter().map(load).collect()
    });

/// Why a built-in plugin could not be installed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BuiltInError {
    /// It was refused at a stage of its deployment.
    #[error("built-in plugin {family}: {reason}")]
    Stage {
        /// Its family.
        family: &'static str,
        /// Why.
        reason: String,
    },
    /// The record of installed versions could not be read or written.
    #[error("{}: {source}", path.display())]
    Record {
        /// The record.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Digests installed from a binary, by family. A version that the operator installed is never among them, so a newer
/// binary never replaces it.
#[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
struct Record(BTreeMap<String, Vec<Digest>>);

/// The built-in plugins that are to be installed: each whose family has no active version, or an earlier built-in one, and is not
/// switched off.
pub(crate) struct Installation<'a> {
    service: &'a PluginService,
    path: PathBuf,
    record: Record,
    plugins: Vec<BuiltInPlugin>,
    /// Those that would be wanted, had they not been rolled back; and why they were.
    rolled_back: Vec<(BuiltInPlugin, String)>,
}

impl<'a> Installation<'a> {
    /// Looks which of `plugins` are wanted. Families without code count as served: see
    /// [`families_without_code`](gatehouse_runtime::Deployments::families_without_code).
    pub(crate) fn of(
        service: &'a PluginService,
        folder: &Path,
        plugins: &[BuiltInPlugin],
    ) -> Result<Self, BuiltInError> {
        let path = folder.join("embedded.json");
        let record =
            Record::read(&path).map_err(|source| BuiltInError::Record { path: path.clone(), source })?;
        let without_code = service.families_without_code();
        let is_wanted = |plugin: &&BuiltInPlugin| {
            let has_code = !without_code.iter().any(|family| family == plugin.name);
            has_code && record.wants(service, plugin)
        };
        let (mut fresh, mut rolled_back) = (Vec::new(), Vec::new());
        for plugin in plugins.iter().filter(is_wanted) {
            match service.rollback_reason(&plugin.digest) {
                None => fresh.push(*plugin),
                Some(reason) => rolled_back.push((*plugin, reason)),
            }
        }
        Ok(Self { service, path, record, plugins: fresh, rolled_back })
    }

    /// The families that do not serve before they are installed.
    pub(crate) fn new_families(&self) -> impl Iterator<Item = &'static str> {
        let registry = self.service.registry();
        self.plugins.iter().map(|plugin| plugin.name).filter(move |name| registry.family(name).is_none())
    }

    /// Installs them, `at_once` of them at the same time, and tells `ended` of each family. A refused plugin is logged, and the
    /// others are installed all the same. What came of each, for the history of deployments. Blocks.
    ///
    /// # Errors
    /// See [`BuiltInError`]; a refused plugin is an error only when no model is left to serve.
    pub(crate) fn run(
        mut self,
        at_once: usize,
        ended: &(dyn Fn(&str) + Sync),
    ) -> Result<Vec<Deployed>, BuiltInError> {
        for (plugin, reason) in &self.rolled_back {
            let (family, digest) = (plugin.name, plugin.digest);
            tracing::warn!(family, %digest, reason, "built-in plugin was rolled back and is not installed again");
        }
        self.note_in_record()?;
        let installing: Vec<_> = self.plugins.iter().map(|plugin| (*plugin, OnceLock::new())).collect();
        for_each(&installing, at_once, |(plugin, outcome)| {
            // Installations follow one another; what takes long is done before.
            self.service.compile_ahead(&plugin.digest, plugin.wasm);
            // An operator may have switched it off meanwhile, or installed another version.
            if self.record.wants(self.service, plugin) {
                outcome.get_or_init(|| self.service.install(plugin.wasm));
            }
            ended(plugin.name);
        });
        let (mut refused, mut deployed) = (None, Vec::new());
        for (plugin, outcome) in installing {
            let (family, digest) = (plugin.name, plugin.digest);
            let Some(outcome) = outcome.into_inner() else { continue };
            match &outcome {
                Ok(_) => tracing::info!(family, %digest, "built-in plugin installed"),
                Err(error) => {
                    tracing::error!(family, %digest, %error, "built-in plugin not installed");
                    refused = Some(BuiltInError::Stage { family, reason: error.to_string() });
                }
            }
            deployed.push(Deployed::built_in(family, digest, outcome));
        }
        match refused {
            Some(error) if self.service.registry().models().is_empty() => Err(error),
            _ => Ok(deployed),
        }
    }

    /// Durable before the switch: after a crash in between, these versions must not pass for the operator's.
    fn note_in_record(&mut self) -> Result<(), BuiltInError> {
        let mut is_new = false;
        for plugin in &self.plugins {
            let known = self.record.0.entry(plugin.name.to_owned()).or_default();
            let digest = plugin.digest;
            if !known.contains(&digest) {
                known.push(digest);
                is_new = true;
            }
        }
        if !is_new {
            return Ok(());
        }
        self.record
            .write(&self.path)
            .map_err(|source| BuiltInError::Record { path: self.path.clone(), source })
    }
}

/// The active version of a family, and whether it could be loaded.
#[derive(Clone, Copy, Debug)]
struct Active {
    digest: Digest,
    serves: bool,
}

fn active(service: &PluginService, family: &str) -> Option<Active> {
    service.list().into_iter().filter(|version| version.family == family).find_map(|version| {
        let serves = match version.state {
            VersionState::Active(_) => true,
            VersionState::Broken(_) => false,
            _ => return None,
        };
        Some(Active { digest: version.digest, serves })
    })
}

/// Whether the built-in version `own` is to be installed, given the built-in versions installed before.
fn wanted(active: Option<Active>, own: Digest, known: &[Digest]) -> bool {
    active.is_none_or(|active| {
        let same = active.digest == own;
        // A built-in version that no longer loads is repaired; the operator repairs the operator's own.
        if active.serves {
            !same && known.contains(&active.digest)
        } else {
            same || known.contains(&active.digest)
        }
    })
}

impl Record {
    /// Whether a plugin is to be installed now.
    fn wants(&self, service: &PluginService, plugin: &BuiltInPlugin) -> bool {
        let known = self.0.get(plugin.name).map_or(&[][..], Vec::as_slice);
        !service.is_disabled(plugin.name) && wanted(active(service, plugin.name), plugin.digest, known)
    }

    fn read(path: &Path) -> io::Result<Self> {
        match if_exists(fs::read(path))? {
            Some(text) => Ok(serde_json::from_slice(&text)?),
            None => Ok(Self::default()),
        }
    }

    /// Durable when it returns.
    fn write(&self, path: &Path) -> io::Result<()> {
        write_atomic(path, &serde_json::to_vec_pretty(self)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operators_version_is_left_alone() {
        let [own, earlier, foreign] = [b"own", b"old", b"for"].map(|bytes| Digest::of(bytes));
        let cases = [
            (None, true),
            (Some((own, true)), false),
            (Some((own, false)), true),
            (Some((earlier, true)), true),
            (Some((earlier, false)), true),
            (Some((foreign, true)), false),
            (Some((foreign, false)), false),
        ];
        for (active, expected) in cases {
            let active = active.map(|(digest, serves)| Active { digest, serves });
            assert_eq!(wanted(active, own, &[earlier, own]), expected, "{active:?}");
        }
    }

    #[test]
    fn the_record_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("embedded.json");
        assert!(Record::read(&path).unwrap().0.is_empty());
        let record = Record(BTreeMap::from([("f".to_owned(), vec![Digest::of(b"x")])]));
        record.write(&path).unwrap();
        assert_eq!(Record::read(&path).unwrap().0, record.0);
    }
}
