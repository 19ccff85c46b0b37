//! Plugins in an OCI registry, for the command line: what is pulled and pushed.
//!
//! The process that serves never asks a registry: a person does, with that person's credentials, and the bytes then go the way
//! of any file.

use std::path::Path;

use gatehouse_model::Digest;
use gatehouse_runtime::interfaces;
use gatehouse_upstream::{ArtifactClient, ArtifactReference, PulledArtifact};
use serde_json::{Value, json};

use super::registry_login::{Need, login};
use crate::config::{Location, load_registry};
use crate::environment;
use crate::plugins::folder_watcher::MAX_COMPONENT_BYTES;

/// The reference that a command names in place of a file.
///
/// # Errors
/// What was expected, where it looks like a reference and cannot be read.
pub(super) fn reference(file: &Path) -> Result<Option<ArtifactReference>, String> {
    match file.to_str().filter(|text| ArtifactReference::is_meant(text)) {
        Some(text) => text.parse().map(Some),
        None => Ok(None),
    }
}

/// Pulls a plugin.
///
/// # Errors
/// Why not, in words.
pub(super) async fn pull(
    reference: &ArtifactReference,
    location: &Location,
) -> Result<PulledArtifact, String> {
    let mut client = client(reference, location, Need::Read)?;
    client.pull(MAX_COMPONENT_BYTES).await.map_err(|error| format!("{reference}: {error}"))
}

/// Pushes a plugin; the reference that pins it.
///
/// # Errors
/// Why not, in words.
pub(super) async fn push(
    wasm: Vec<u8>,
    signature: Option<String>,
    reference: &ArtifactReference,
    location: &Location,
) -> Result<ArtifactReference, String> {
    if reference.digest.is_some() {
        return Err(format!(
            "{reference}: expected a tag without a digest; the digest follows from what is pushed"
        ));
    }
    let (imports, exports) = interfaces(&wasm)?;
    let config = json!({
        "architecture": "wasm",
        "os": "wasip2",
        "layerDigests": [format!("sha256:{}", Digest::of(&wasm))],
        "component": {"imports": imports, "exports": exports, "target": Value::Null},
    });
    let mut client = client(reference, location, Need::Write)?;
    let pushed = client.push(wasm.into(), signature, config.to_string().into()).await;
    pushed.map(|digest| reference.pinned(digest)).map_err(|error| format!("{reference}: {error}"))
}

fn client(reference: &ArtifactReference, location: &Location, need: Need) -> Result<ArtifactClient, String> {
    let config = load_registry(location.file.as_deref(), &environment::overrides());
    let config = config.map_err(|errors| errors.to_string())?;
    let login = login(&reference.registry, need)?;
    ArtifactClient::new(reference.clone(), login, &config.route()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_no_reference() {
        assert_eq!(reference(Path::new("family.wasm")), Ok(None));
        assert_eq!(reference(Path::new("oci/family.wasm")), Ok(None));
        assert!(reference(Path::new("oci://ghcr.io/us/painter:1")).expect("read").is_some());
        assert!(reference(Path::new("oci://ghcr.io")).is_err());
    }
}
