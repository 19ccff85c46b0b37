//! The folder of versions: components by digest, code by digest and engine, and which are active.
//!
//! ```text
//! plugins/<sha256>.wasm                 the component, exactly as it came
//! plugins/<sha256>-<engine>.cwasm       its code, made here; mapped, so never rewritten
//! plugins/<sha256>-<engine>.cwasm.sum   the digest of the code
//! plugins/<sha256>.sig                  who vouches for it, where somebody does
//! plugins/active.json                   family -> {digest, since, ...}
//! plugins/withdrawn.json                digest -> {family, at, reason}: what failed its watch
//! ```
//! Every file appears whole or not at all (temporary file, fsync, rename, fsync of the folder) and is
//! readable by its owner alone.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use gatehouse_model::{Digest, UnixMs};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

const ACTIVE: &str = "active.json";
const WITHDRAWN: &str = "withdrawn.json";
const TEMPORARY: &str = ".tmp";

/// One line of the list of active versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) digest: Digest,
    pub(crate) since: UnixMs,
    /// The version it replaced, to go back to.
    #[serde(default)]
    pub(crate) before: Option<Digest>,
    /// Until when it is watched.
    #[serde(default)]
    pub(crate) watched_until: Option<UnixMs>,
}

/// One line of the list of versions that failed their watch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Withdrawal {
    pub(crate) family: String,
    pub(crate) at: UnixMs,
    pub(crate) reason: String,
}

/// The folder.
#[derive(Debug)]
pub(crate) struct Shelf {
    dir: PathBuf,
}

impl Shelf {
    /// Opens the folder, making it if need be, and sweeps out what an interrupted write left behind.
    pub(crate) fn open(data_dir: &Path) -> Result<Self, (PathBuf, io::Error)> {
        let dir = data_dir.join("plugins");
        let wrong = |error| (dir.clone(), error);
        make_private(&dir).map_err(wrong)?;
        for entry in fs::read_dir(&dir).map_err(wrong)? {
            let path = entry.map_err(wrong)?.path();
            if path.extension().is_some_and(|extension| extension == &TEMPORARY[1..]) {
                fs::remove_file(&path).map_err(wrong)?;
            }
        }
        Ok(Self { dir })
    }

    /// The component of that digest; an error when the file no longer has it.
    pub(crate) fn component(&self, digest: &Digest) -> io::Result<Option<Vec<u8>>> {
        let path = self.component_path(digest);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if Digest::of(&bytes) != *digest {
            let why = format!("{} is damaged: its content has another digest", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        Ok(Some(bytes))
    }

    /// The digests of every kept component, sorted.
    pub(crate) fn components(&self) -> io::Result<Vec<Digest>> {
        let mut kept = Vec::new();
        for entry in fs::read_dir(&self.dir)? {
            let name = entry?.file_name();
            let digest = name.to_str().and_then(|name| name.strip_suffix(".wasm"));
            kept.extend(digest.and_then(|digest| digest.parse::<Digest>().ok()));
        }
        kept.sort_unstable();
        Ok(kept)
    }

    /// Removes a component and its code.
    pub(crate) fn drop_component(&self, digest: &Digest) -> io::Result<()> {
        fs::remove_file(self.component_path(digest))?;
        match fs::remove_file(self.signature_path(digest)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        self.drop_code(digest)
    }

    /// The signature kept beside a component.
    pub(crate) fn signature(&self, digest: &Digest) -> io::Result<Option<String>> {
        match fs::read_to_string(self.signature_path(digest)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn keep_signature(&self, digest: &Digest, text: &str) -> io::Result<()> {
        self.write(&self.signature_path(digest), text.as_bytes())
    }

    /// The versions that failed their watch.
    pub(crate) fn withdrawn(&self) -> io::Result<BTreeMap<Digest, Withdrawal>> {
        read_map(&self.dir.join(WITHDRAWN))
    }

    pub(crate) fn write_withdrawn(&self, rows: &BTreeMap<Digest, Withdrawal>) -> io::Result<()> {
        self.write(&self.dir.join(WITHDRAWN), &serde_json::to_vec_pretty(rows)?)
    }

    pub(crate) fn has_component(&self, digest: &Digest) -> bool {
        self.component_path(digest).is_file()
    }

    pub(crate) fn keep_component(&self, digest: &Digest, wasm: &[u8]) -> io::Result<()> {
        if self.component(digest).is_ok_and(|kept| kept.is_some()) {
            return Ok(());
        }
        self.write(&self.component_path(digest), wasm)
    }

    /// The code for that component and engine, provided it is whole.
    pub(crate) fn code(&self, digest: &Digest, fits: &str) -> Option<PathBuf> {
        let path = self.code_path(digest, fits);
        let expected: Digest = fs::read_to_string(sum_path(&path)).ok()?.parse().ok()?;
        let code = fs::read(&path).ok()?;
        if Digest::of(&code) == expected {
            return Some(path);
        }
        tracing::warn!(path = %path.display(), "kept plugin code is damaged and will be made again");
        None
    }

    /// Keeps `code` and drops what other engines made of the same component.
    pub(crate) fn keep_code(&self, digest: &Digest, fits: &str, code: &[u8]) -> io::Result<PathBuf> {
        self.drop_code(digest)?;
        let path = self.code_path(digest, fits);
        self.write(&path, code)?;
        self.write(&sum_path(&path), Digest::of(code).to_string().as_bytes())?;
        Ok(path)
    }

    /// Removes the code of that component; what is mapped stays mapped.
    pub(crate) fn drop_code(&self, digest: &Digest) -> io::Result<()> {
        let prefix = format!("{digest}-");
        for entry in fs::read_dir(&self.dir)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(&prefix) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// The active versions as last written.
    pub(crate) fn active(&self) -> io::Result<BTreeMap<String, Row>> {
        read_map(&self.active_path())
    }

    pub(crate) fn write_active(&self, rows: &BTreeMap<String, Row>) -> io::Result<()> {
        self.write(&self.active_path(), &serde_json::to_vec_pretty(rows)?)
    }

    pub(crate) fn active_path(&self) -> PathBuf {
        self.dir.join(ACTIVE)
    }

    fn component_path(&self, digest: &Digest) -> PathBuf {
        self.dir.join(format!("{digest}.wasm"))
    }

    fn signature_path(&self, digest: &Digest) -> PathBuf {
        self.dir.join(format!("{digest}.sig"))
    }

    fn code_path(&self, digest: &Digest, fits: &str) -> PathBuf {
        self.dir.join(format!("{digest}-{fits}.cwasm"))
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let temporary = with_suffix(path, TEMPORARY);
        // A leftover of a write that failed in this process; renamed ones are gone.
        let _ = fs::remove_file(&temporary);
        let mut file = private_file(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, path)?;
        File::open(&self.dir)?.sync_all()
    }
}

/// A list in JSON; empty when there is no file.
fn read_map<K: DeserializeOwned + Ord, V: DeserializeOwned>(path: &Path) -> io::Result<BTreeMap<K, V>> {
    match fs::read(path) {
        Ok(bytes) => {
            serde_json::from_slice(&bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeMap::new()),
        Err(error) => Err(error),
    }
}

fn sum_path(code: &Path) -> PathBuf {
    with_suffix(code, ".sum")
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn make_private(dir: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)?;
    // Code is mapped from here: close the folder also when somebody else made it.
    #[cfg(unix)]
    fs::set_permissions(dir, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    Ok(())
}

fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shelf() -> (tempfile::TempDir, Shelf) {
        let dir = tempfile::tempdir().unwrap();
        let shelf = Shelf::open(dir.path()).unwrap();
        (dir, shelf)
    }

    #[test]
    fn what_is_kept_is_found_and_damage_is_noticed() {
        let (_dir, shelf) = shelf();
        let digest = Digest::of(b"wasm");
        assert_eq!(shelf.component(&digest).unwrap(), None);
        shelf.keep_component(&digest, b"wasm").unwrap();
        assert_eq!(shelf.component(&digest).unwrap().as_deref(), Some(&b"wasm"[..]));
        fs::write(shelf.component_path(&digest), b"wash").unwrap();
        assert!(shelf.component(&digest).unwrap_err().to_string().contains("damaged"));
        shelf.keep_component(&digest, b"wasm").unwrap();
        assert!(shelf.component(&digest).unwrap().is_some());
    }

    #[test]
    fn code_is_trusted_only_whole_and_for_its_engine() {
        let (_dir, shelf) = shelf();
        let digest = Digest::of(b"wasm");
        let path = shelf.keep_code(&digest, "one", b"code").unwrap();
        assert_eq!(shelf.code(&digest, "one"), Some(path.clone()));
        assert_eq!(shelf.code(&digest, "two"), None);
        fs::write(&path, b"bode").unwrap();
        assert_eq!(shelf.code(&digest, "one"), None);
        fs::remove_file(sum_path(&path)).unwrap();
        fs::write(&path, b"code").unwrap();
        assert_eq!(shelf.code(&digest, "one"), None);
        let newer = shelf.keep_code(&digest, "two", b"more").unwrap();
        assert!(!path.exists() && newer.exists());
        shelf.drop_code(&digest).unwrap();
        assert!(!newer.exists() && !sum_path(&newer).exists());
    }

    #[test]
    fn the_list_of_active_versions_survives_and_leftovers_do_not() {
        let (dir, shelf) = shelf();
        assert!(shelf.active().unwrap().is_empty());
        let row = Row {
            digest: Digest::of(b"wasm"),
            since: UnixMs(7),
            before: Some(Digest::of(b"old")),
            watched_until: None,
        };
        shelf.write_active(&BTreeMap::from([("f".to_owned(), row)])).unwrap();
        let leftover = shelf.dir.join("x.wasm.tmp");
        fs::write(&leftover, b"half").unwrap();
        let again = Shelf::open(dir.path()).unwrap();
        assert_eq!(again.active().unwrap()["f"], row);
        assert!(!leftover.exists());
        fs::write(again.active_path(), b"{").unwrap();
        assert!(again.active().is_err());
    }

    #[cfg(unix)]
    #[test]
    fn files_are_for_their_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let (_dir, shelf) = shelf();
        let digest = Digest::of(b"wasm");
        let path = shelf.keep_code(&digest, "one", b"code").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(&shelf.dir).unwrap().permissions().mode() & 0o777, 0o700);
    }
}
