//! Signatures on the author's side: create a key pair, sign a component, find the signature file of a component.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use gatehouse_files::if_exists;
use gatehouse_process::SystemSeed;
use gatehouse_runtime::SigningKey;

use crate::terminal::at;

/// `<component>.sig`.
pub(crate) fn signature_path(component: &Path) -> PathBuf {
    let mut name = component.as_os_str().to_owned();
    name.push(".sig");
    name.into()
}

/// The text of the named signature file, or of `<component>.sig` if it exists.
pub(crate) fn signature_of(component: &Path, named: Option<&Path>) -> Result<Option<String>, String> {
    let path = named.map_or_else(|| signature_path(component), Path::to_owned);
    let read = fs::read_to_string(&path);
    let read = if named.is_none() { if_exists(read) } else { read.map(Some) };
    read.map_err(at(&path))
}

/// Writes a fresh private key into `file`; returns the text for the author.
///
/// # Errors
/// The file system's, in words; an existing file is never overwritten.
pub(crate) fn keygen(file: &Path) -> Result<String, String> {
    let key = SigningKey::mint(&SystemSeed);
    let written =
        fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file).and_then(|mut into| {
            writeln!(into, "{}", key.reveal())?;
            into.sync_all()
        });
    written.map_err(at(file))?;
    let public = key.public();
    Ok(format!(
        "{public}\n\nFor the operator's configuration:\n[plugins.trusted_keys]\nname = \"{public}\"\n"
    ))
}

/// Signs `component` with the key in `key`; returns the text for the author.
///
/// # Errors
/// The file system's, in words, or a file that holds no key.
pub(crate) fn sign(component: &Path, key: &Path) -> Result<String, String> {
    let text = fs::read_to_string(key).map_err(at(key))?;
    let key = SigningKey::parse(&text).map_err(at(key))?;
    let wasm = fs::read(component).map_err(at(component))?;
    let target = signature_path(component);
    fs::write(&target, format!("{}\n", key.sign(&wasm))).map_err(at(&target))?;
    Ok(format!("{}\n", target.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_found_beside_its_component() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let (key, wasm) = (folder.path().join("key"), folder.path().join("a.wasm"));
        fs::write(&wasm, b"bytes").unwrap();
        assert_eq!(signature_of(&wasm, None), Ok(None));
        assert!(signature_of(&wasm, Some(&key)).is_err());
        let text = keygen(&key).unwrap();
        assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(keygen(&key).unwrap_err().contains("exists"));
        sign(&wasm, &key).unwrap();
        let public = text.lines().next().unwrap();
        assert!(signature_of(&wasm, None).unwrap().unwrap().contains(public));
        assert!(sign(&wasm, &wasm).unwrap_err().contains("expected an Ed25519 key"));
    }
}
