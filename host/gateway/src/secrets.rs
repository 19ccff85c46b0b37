//! Secrets by reference: read from the environment or a file into a type that never prints; and how connections leave, which may need
//! one for their proxy.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use gatehouse_files::read_at_most;
use gatehouse_model::{Secret, SecretRef};
use gatehouse_upstream::{OutgoingConfig, OutgoingRoute};

use crate::environment;

/// Longer than any credential; a larger file is the wrong file.
const MAX_BYTES: u64 = 64 << 10;

/// The secret a reference names.
///
/// # Errors
/// The reason and the remedy, never a part of the content.
pub(crate) fn resolve(reference: &SecretRef) -> Result<Secret<String>, String> {
    match reference {
        SecretRef::Env(name) => environment::variable(name)
            .map(Secret::new)
            .ok_or_else(|| format!("environment variable {name} is not set; set it before starting")),
        SecretRef::File(path) => read(path).map(Secret::new),
        SecretRef::Given(secret) => Ok(secret.clone()),
    }
}

fn read(path: &Path) -> Result<String, String> {
    let wrong = |why: &dyn std::fmt::Display| format!("file {}: {why}", path.display());
    let file = File::open(path)
        .map_err(|error| wrong(&format!("{error}; name a file that the gateway's user can read")))?;
    let text = read_at_most(file, MAX_BYTES).and_then(|bytes| io::read_to_string(&bytes[..]));
    Ok(text.map_err(|error| wrong(&error))?.trim().to_owned())
}

/// How the operator's own connections leave, where they need no more of the configuration.
#[derive(Clone, Debug)]
pub(crate) struct Outgoing {
    pub(crate) extra_roots_file: Option<PathBuf>,
    pub(crate) config: OutgoingConfig,
}

impl Outgoing {
    /// The same for a client.
    pub(crate) fn route(&self) -> OutgoingRoute<'_> {
        OutgoingRoute {
            extra_roots_file: self.extra_roots_file.as_deref(),
            outgoing: &self.config,
            secrets: &resolve,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_trimmed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, " sekret\n").unwrap();
        assert_eq!(resolve(&SecretRef::File(path)).unwrap().expose(), "sekret");
    }

    #[test]
    fn a_too_large_file_is_refused_without_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "x".repeat(70_000)).unwrap();
        let error = resolve(&SecretRef::File(path)).unwrap_err();
        assert!(error.contains("at most") && !error.contains("xxx"), "{error}");
    }
}
