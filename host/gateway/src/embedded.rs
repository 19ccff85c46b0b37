//! The plugins built into the binary, and when one of them replaces what a data folder runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use gatehouse_model::Digest;
use gatehouse_runtime::{PluginService, VersionState};

/// One plugin of this build, and the configuration its family comes with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Embedded {
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
pub(crate) enum EmbeddedError {
    /// It did not pass a stage of loading.
    #[error("built-in plugin {family}: {reason}")]
    Stage {
        /// Its family.
        family: &'static str,
        /// Why.
        reason: String,
    },
    /// The record of what was installed could not be read or written.
    #[error("{}: {source}", path.display())]
    Record {
        /// The record.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Which builds were installed from a binary: an operator's own version is never among them, and so is
/// never replaced by a newer binary.
#[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
struct Record(BTreeMap<String, Vec<Digest>>);

/// Installs each built-in plugin whose family runs nothing, or an earlier built-in build. One that does not
/// pass is logged and the others go on.
///
/// # Errors
/// See [`EmbeddedError`]; a plugin that did not pass only when there is then nothing to serve at all.
pub(crate) fn install(
    families: &PluginService,
    folder: &Path,
    plugins: &'static [Embedded],
) -> Result<(), EmbeddedError> {
    let path = folder.join("embedded.json");
    let failed = |source| EmbeddedError::Record { path: path.clone(), source };
    let mut record = Record::read(&path).map_err(failed)?;
    let mut refused = None;
    for plugin in plugins {
        let digest = Digest::of(plugin.wasm);
        let known = record.0.entry(plugin.name.to_owned()).or_default();
        if !wanted(active(families, plugin.name), digest, known) {
            continue;
        }
        if let Some(reason) = families.rollback_reason(&digest) {
            let family = plugin.name;
            tracing::warn!(family, %digest, reason, "built-in plugin was withdrawn and is not installed again");
            continue;
        }
        if !known.contains(&digest) {
            // Before the switch: a crash in between must not make this build look like the operator's.
            known.push(digest);
            record.write(&path).map_err(failed)?;
        }
        let family = plugin.name;
        match families.install(plugin.wasm) {
            Ok(_) => tracing::info!(family, %digest, "built-in plugin installed"),
            Err(error) => {
                tracing::error!(family, %digest, %error, "built-in plugin not installed");
                refused = Some(EmbeddedError::Stage { family, reason: error.to_string() });
            }
        }
    }
    match refused {
        Some(error) if families.registry().models().is_empty() => Err(error),
        _ => Ok(()),
    }
}

/// What a family runs, or should run and cannot.
#[derive(Clone, Copy, Debug)]
struct Active {
    digest: Digest,
    serves: bool,
}

fn active(families: &PluginService, family: &str) -> Option<Active> {
    families.list().into_iter().filter(|version| version.family == family).find_map(|version| {
        let serves = match version.state {
            VersionState::Active(_) => true,
            VersionState::Broken(_) => false,
            _ => return None,
        };
        Some(Active { digest: version.digest, serves })
    })
}

/// Whether the built-in build `own` is to be installed, given the builds once installed this way.
fn wanted(active: Option<Active>, own: Digest, known: &[Digest]) -> bool {
    active.is_none_or(|active| {
        let same = active.digest == own;
        // One of ours that no longer loads is repaired; the operator's is the operator's to repair.
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

    fn write(&self, path: &Path) -> io::Result<()> {
        let temporary = path.with_extension("json.new");
        fs::write(&temporary, serde_json::to_vec_pretty(self)?)?;
        fs::rename(temporary, path)
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
