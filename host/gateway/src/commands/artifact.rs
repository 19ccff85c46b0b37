//! Plugins in an OCI registry, for the command line: what is pulled and pushed.
//!
//! The process that serves never asks a registry: a person does, with that person's credentials, and the bytes then go the way
//! of any file.
//!
//! Who somebody is at an OCI registry: by the environment, by the file that `docker login` writes, or by the credential helper that
//! this file names, which is run as docker runs it. Never shows a password, nor what a helper wrote.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatehouse_files::{if_exists, read_at_most};
use gatehouse_model::{Digest, Secret};
use gatehouse_runtime::interfaces;
use gatehouse_upstream::{ArtifactClient, ArtifactReference, Login, PulledArtifact};
use serde_json::{Value, json};

use crate::config::{Location, load_outgoing};
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
pub(super) async fn pull(
    reference: &ArtifactReference,
    location: &Location,
) -> Result<PulledArtifact, String> {
    let mut client = client(reference, location, Need::Read)?;
    client.pull(MAX_COMPONENT_BYTES).await.map_err(|error| format!("{reference}: {error}"))
}

/// Pushes a plugin; the reference that pins it.
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
    let outgoing = load_outgoing(location).map_err(|errors| errors.to_string())?;
    let login = login(&reference.registry, need)?;
    ArtifactClient::new(reference.clone(), login, &outgoing.route()).map_err(|error| error.to_string())
}

/// How long a helper may take: it may ask its user to unlock something.
const HELPER_TIME: Duration = Duration::from_secs(60);
/// How long a helper may stay once it has said all.
const LAST_MOMENT: Duration = Duration::from_secs(2);
/// The longest answer of a helper that is read.
const HELPER_BYTES: u64 = 64 * 1024;
/// The user that a helper names where its secret is no password.
const TOKEN_USER: &str = "<token>";

/// What a login is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// Most registries let everybody read.
    Read,
    Write,
}

/// The user of a registry.
///
/// # Errors
/// What is wrong with the file, or with the helper.
pub(super) fn login(registry: &str, need: Need) -> Result<Option<Login>, String> {
    let variable = environment::variable;
    if let (Some(user), Some(password)) =
        (variable("GATEHOUSE_OCI_USERNAME"), variable("GATEHOUSE_OCI_PASSWORD"))
    {
        return Ok(Some(Login { user, password: Secret::new(password) }));
    }
    let folder = variable("DOCKER_CONFIG").map(PathBuf::from);
    let folder = folder.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".docker")));
    let Some(file) = folder.map(|folder| folder.join("config.json")) else { return Ok(None) };
    let wrong = |why: String| format!("{}: {why}", file.display());
    let text = if_exists(fs::read_to_string(&file)).map_err(|error| wrong(error.to_string()))?;
    let Some(text) = text else { return Ok(None) };
    match kept(&text, registry).map_err(wrong)? {
        Kept::Nowhere => Ok(None),
        Kept::Here(login) => Ok(Some(login)),
        Kept::By(helper) => match (asked(&helper, registry), need) {
            (Ok(login), _) => Ok(login),
            // Most registries need none of it.
            (Err(_), Need::Read) => Ok(None),
            (Err(why), Need::Write) => Err(wrong(format!(
                "{helper} keeps the login of {registry}: {why}; or set GATEHOUSE_OCI_USERNAME and GATEHOUSE_OCI_PASSWORD"
            ))),
        },
    }
}

/// Where a login is.
enum Kept {
    Nowhere,
    Here(Login),
    /// By this program.
    By(String),
}

/// What the file's text says of a registry. An error never quotes it.
fn kept(text: &str, registry: &str) -> Result<Kept, String> {
    let value: Value =
        serde_json::from_str(text).map_err(|_| "expected JSON, as `docker login` writes it")?;
    let helper = value["credHelpers"][registry].as_str().or_else(|| value["credsStore"].as_str());
    if let Some(name) = helper.filter(|name| !name.is_empty()) {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if !name.bytes().all(is_name) {
            return Err("credsStore, credHelpers: expected the end of a program's name, without its folder"
                .to_owned());
        }
        return Ok(Kept::By(format!("docker-credential-{name}")));
    }
    let Some(encoded) = value["auths"][registry]["auth"].as_str() else { return Ok(Kept::Nowhere) };
    let decoded = STANDARD.decode(encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    match decoded.as_deref().and_then(|text| text.split_once(':')) {
        Some((user, password)) => {
            Ok(Kept::Here(Login { user: user.to_owned(), password: Secret::new(password.to_owned()) }))
        }
        None => Err(format!("expected user and password in base64 as `auth` of {registry}")),
    }
}

/// What a helper says; `None` where it has no login of the registry.
fn asked(helper: &str, registry: &str) -> Result<Option<Login>, String> {
    let mut child = Command::new(helper)
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    if let Some(mut input) = child.stdin.take() {
        // One that reads nothing answers all the same.
        drop(input.write_all(registry.as_bytes()));
    }
    let answer = read(&mut child);
    // One that says too much, or nothing in time, is not waited for; nor is one that has said all and stays.
    if answer.is_err() || !ends_soon(&mut child) {
        drop(child.kill());
    }
    let ended = child.wait().map_err(|error| error.to_string())?;
    let answer = answer?;
    if !ended.success() {
        // The word by which docker tells it too.
        let is_unknown = String::from_utf8_lossy(&answer).contains("credentials not found");
        return if is_unknown { Ok(None) } else { Err(format!("it failed ({ended})")) };
    }
    let value: Value = serde_json::from_slice(&answer).unwrap_or_default();
    match (value["Username"].as_str(), value["Secret"].as_str()) {
        (Some(TOKEN_USER), _) => Err("it has a token and no password, which is not supported".to_owned()),
        (Some(user), Some(secret)) => {
            Ok(Some(Login { user: user.to_owned(), password: Secret::new(secret.to_owned()) }))
        }
        _ => Err("expected JSON with Username and Secret, got something else".to_owned()),
    }
}

/// Whether it ends within a moment, now that its output has ended.
fn ends_soon(child: &mut Child) -> bool {
    let began = std::time::Instant::now();
    while began.elapsed() < LAST_MOMENT {
        match child.try_wait() {
            Ok(None) => std::thread::sleep(Duration::from_millis(10)),
            _ => return true,
        }
    }
    false
}

fn read(child: &mut Child) -> Result<Vec<u8>, String> {
    let output = child.stdout.take().ok_or("its output cannot be read")?;
    let (sender, answer) = mpsc::channel();
    std::thread::spawn(move || {
        // Nobody waits any more.
        drop(sender.send(read_at_most(output, HELPER_BYTES)));
    });
    let read = answer.recv_timeout(HELPER_TIME);
    let seconds = HELPER_TIME.as_secs();
    let bytes = read.map_err(|_| format!("it did not answer within {seconds} s"))?;
    bytes.map_err(|error| error.to_string())
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

    #[test]
    fn a_login_is_found_in_the_file_of_docker() {
        let auth = STANDARD.encode("me:hunter2:3");
        let auths =
            json!({"ghcr.io": {"auth": auth}, "helped.example": {}, "bad.example": {"auth": "hunter2"}});
        let plain = json!({"auths": auths}).to_string();
        let helped = json!({"auths": auths, "credHelpers": {"helped.example": "pass"}}).to_string();
        let stored = json!({"auths": auths, "credsStore": "desktop"}).to_string();
        let folder = json!({"credsStore": "../hunter2"}).to_string();
        for (text, registry, expected) in [
            (plain.as_str(), "ghcr.io", "me hunter2:3"),
            (&plain, "other.example", "nowhere"),
            (&plain, "helped.example", "nowhere"),
            (&helped, "helped.example", "by docker-credential-pass"),
            (&helped, "ghcr.io", "me hunter2:3"),
            (&stored, "ghcr.io", "by docker-credential-desktop"),
            (&plain, "bad.example", "expected user and password in base64 as `auth` of bad.example"),
            (
                &folder,
                "ghcr.io",
                "credsStore, credHelpers: expected the end of a program's name, without its folder",
            ),
            ("hunter2", "ghcr.io", "expected JSON, as `docker login` writes it"),
        ] {
            let found = match kept(text, registry) {
                Ok(Kept::Nowhere) => "nowhere".to_owned(),
                Ok(Kept::Here(login)) => format!("{} {}", login.user, login.password.expose().as_str()),
                Ok(Kept::By(helper)) => format!("by {helper}"),
                Err(why) => why,
            };
            assert_eq!(found, expected, "{registry}");
        }
    }
}
