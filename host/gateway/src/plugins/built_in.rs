//! The plugins built into the binary, and the rule when one of them replaces the active version of its family.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use gatehouse_admin::Deployed;
use gatehouse_files::write_atomic;
use gatehouse_model::Digest;
use gatehouse_runtime::{PluginService, VersionState};

/// One plugin of this binary, and the default configuration of its family.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BuiltInPlugin {
    /// The family.
    pub(crate) name: &'static str,
    /// The component.
    pub(crate) wasm: &'static [u8],
    /// The family's default prices and providers.
    pub(crate) family_toml: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/plugins.rs"));

/// Why a built-in plugin could not be installed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
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

/// Installs each built-in plugin whose family has no active version, or an earlier built-in one, and is not switched off. A
/// refused plugin is logged, and the others are installed all the same. What came of each, for the history of deployments.
///
/// # Errors
/// See [`BuiltInError`]; a refused plugin is an error only when no model is left to serve.
pub(crate) fn install(
    service: &PluginService,
    folder: &Path,
    plugins: &'static [BuiltInPlugin],
) -> Result<Vec<Deployed>, BuiltInError> {
    let path = folder.join("embedded.json");
    let failed = |source| BuiltInError::Record { path: path.clone(), source };
    let mut record = Record::read(&path).map_err(failed)?;
    let (mut refused, mut deployed) = (None, Vec::new());
    for plugin in plugins {
        let digest = Digest::of(plugin.wasm);
        let known = record.0.entry(plugin.name.to_owned()).or_default();
        if service.is_disabled(plugin.name) || !wanted(active(service, plugin.name), digest, known) {
            continue;
        }
        if let Some(reason) = service.rollback_reason(&digest) {
            let family = plugin.name;
            tracing::warn!(family, %digest, reason, "built-in plugin was rolled back and is not installed again");
            continue;
        }
        if !known.contains(&digest) {
            // Durable before the switch: after a crash in between, this version must not pass for the operator's.
            known.push(digest);
            record.write(&path).map_err(failed)?;
        }
        let family = plugin.name;
        let outcome = service.install(plugin.wasm);
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
        Some(error) if service.registry().models().is_empty() => Err(error),
        _ => Ok(deployed),
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
    fn read(path: &Path) -> io::Result<Self> {
        match fs::read(path) {
            Ok(text) => serde_json::from_slice(&text).map_err(io::Error::from),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
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
