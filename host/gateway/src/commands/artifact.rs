//! Plugins in an OCI registry, for the command line: where the credentials are, and what is pulled and pushed.
//!
//! The process that serves never asks a registry: a person does, with that person's credentials, and the bytes then go the way
//! of any file.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatehouse_model::{Digest, Secret};
use gatehouse_runtime::interfaces;
use gatehouse_upstream::{ArtifactClient, ArtifactReference, Login, PulledArtifact};
use serde_json::{Value, json};

use crate::config::{Location, load_extra_roots};
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

/// What a login is for.
#[derive(Clone, Copy)]
enum Need {
    /// Most registries let everybody read.
    Read,
    Write,
}

fn client(reference: &ArtifactReference, location: &Location, need: Need) -> Result<ArtifactClient, String> {
    let roots = load_extra_roots(location.file.as_deref(), &environment::overrides());
    let roots = roots.map_err(|errors| errors.to_string())?;
    let login = login(&reference.registry, need)?;
    ArtifactClient::new(reference.clone(), login, roots.as_deref()).map_err(|error| error.to_string())
}

/// The user of a registry: of the environment, or else of the file that `docker login` writes.
fn login(registry: &str, need: Need) -> Result<Option<Login>, String> {
    let variable = environment::variable;
    if let (Some(user), Some(password)) =
        (variable("GATEHOUSE_OCI_USERNAME"), variable("GATEHOUSE_OCI_PASSWORD"))
    {
        return Ok(Some(Login { user, password: Secret::new(password) }));
    }
    let folder = variable("DOCKER_CONFIG").map(PathBuf::from);
    let folder = folder.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".docker")));
    let Some(file) = folder.map(|folder| folder.join("config.json")) else { return Ok(None) };
    match fs::read_to_string(&file) {
        Ok(text) => login_of(&text, registry, need).map_err(|why| format!("{}: {why}", file.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{}: {error}", file.display())),
    }
}

/// The same of the file's text. An error never quotes it.
fn login_of(text: &str, registry: &str, need: Need) -> Result<Option<Login>, String> {
    let value: Value =
        serde_json::from_str(text).map_err(|_| "expected JSON, as `docker login` writes it")?;
    let Some(entry) = value["auths"].get(registry) else { return Ok(None) };
    let Some(encoded) = entry["auth"].as_str() else {
        // A program keeps it, and nobody may need it.
        if matches!(need, Need::Read) {
            return Ok(None);
        }
        let why = format!(
            "the login of {registry} is kept by a credential helper; set GATEHOUSE_OCI_USERNAME and GATEHOUSE_OCI_PASSWORD"
        );
        return Err(why);
    };
    let decoded = STANDARD.decode(encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let split = decoded.as_deref().and_then(|text| text.split_once(':'));
    match split {
        Some((user, password)) => {
            Ok(Some(Login { user: user.to_owned(), password: Secret::new(password.to_owned()) }))
        }
        None => Err(format!("expected user and password in base64 as `auth` of {registry}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_found_in_the_file_of_docker() {
        let auth = STANDARD.encode("me:hunter2:3");
        let text = json!({"auths": {"ghcr.io": {"auth": auth}, "helped.example": {}, "bad.example": {"auth": "hunter2"}}});
        let text = text.to_string();
        let found = login_of(&text, "ghcr.io", Need::Read).expect("read").expect("a login");
        assert_eq!((found.user.as_str(), found.password.expose().as_str()), ("me", "hunter2:3"));
        assert!(login_of(&text, "other.example", Need::Write).expect("read").is_none());
        assert!(login_of(&text, "helped.example", Need::Read).expect("read").is_none());
        for (text, registry, part) in [
            (text.as_str(), "helped.example", "credential helper"),
            (text.as_str(), "bad.example", "in base64"),
            ("hunter2", "ghcr.io", "expected JSON"),
        ] {
            let error = login_of(text, registry, Need::Write).map(drop).expect_err("refused");
            assert!(error.contains(part) && !error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn a_file_is_no_reference() {
        assert_eq!(reference(Path::new("family.wasm")), Ok(None));
        assert_eq!(reference(Path::new("oci/family.wasm")), Ok(None));
        assert!(reference(Path::new("oci://ghcr.io/us/painter:1")).expect("read").is_some());
        assert!(reference(Path::new("oci://ghcr.io")).is_err());
    }
}
