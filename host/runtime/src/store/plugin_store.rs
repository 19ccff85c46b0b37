//! The plugin store: a folder with components by digest, compiled code by digest and engine, and the lists of versions.
//!
//! ```text
//! plugins/<sha256>.wasm                 the component, byte by byte as it was installed
//! plugins/<sha256>-<engine>.cwasm       its code, compiled here; mapped, so never rewritten
//! plugins/<sha256>-<engine>.cwasm.sum   the digest of the code
//! plugins/<sha256>.sig                  its signature, if it has one
//! plugins/<sha256>.manifest.json        what it declares, to be read without loading it
//! plugins/active.json                   family -> {digest, since, ...}
//! plugins/withdrawn.json                digest -> {family, at, reason}: the rolled back versions
//! ```
//! Every file is written atomically and durably, and is readable by its owner alone. Never decides which version
//! serves. Calls block.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use gatehouse_files::{if_exists, remove_unfinished, write_atomic};
use gatehouse_model::{Digest, UnixMs};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};

use crate::store::manifest_index::ManifestEntry;

const ACTIVE: &str = "active.json";
/// The end of the names of compiled code.
const CODE: &str = ".cwasm";
/// Keeps its first name, for the data folders that have it.
const ROLLED_BACK: &str = "withdrawn.json";

/// How many earlier versions of a family the list remembers.
const EARLIER: usize = 8;

/// The active version of a family, as the list has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ActiveEntry {
    pub(crate) digest: Digest,
    pub(crate) since: UnixMs,
    /// The versions that served before it, the latest first.
    #[serde(default, deserialize_with = "one_or_many")]
    pub(crate) before: Vec<Digest>,
    /// The end of its canary period.
    #[serde(default, rename = "watched_until")]
    pub(crate) canary_until: Option<UnixMs>,
    /// Since when an operator has the family switched off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) disabled: Option<UnixMs>,
}

impl ActiveEntry {
    /// The versions before `digest`, which replaces this one or is this one.
    pub(crate) fn before(&self, digest: &Digest) -> Vec<Digest> {
        let all = std::iter::once(self.digest).chain(self.before.iter().copied());
        all.filter(|before| before != digest).take(EARLIER).collect()
    }
}

/// Earlier releases kept the latest one alone.
fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Digest>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMany {
        Many(Vec<Digest>),
        One(Option<Digest>),
    }
    Ok(match OneOrMany::deserialize(deserializer)? {
        OneOrMany::Many(all) => all,
        OneOrMany::One(one) => one.into_iter().collect(),
    })
}

/// One rolled back version, as the list has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rollback {
    pub(crate) family: String,
    pub(crate) at: UnixMs,
    pub(crate) reason: String,
}

/// The folder `plugins` of a data folder.
#[derive(Debug)]
pub(crate) struct PluginStore {
    dir: PathBuf,
}

impl PluginStore {
    /// Opens the folder, or creates it, and removes the files of interrupted writes.
    pub(crate) fn open(data_dir: &Path) -> Result<Self, (PathBuf, io::Error)> {
        let dir = folder(data_dir);
        let failed = |error| (dir.clone(), error);
        make_private(&dir).map_err(failed)?;
        remove_unfinished(&dir).map_err(failed)?;
        Ok(Self { dir })
    }

    /// A folder of compiled code alone, which several processes may use at once: what looks unfinished may be another's.
    pub(crate) fn of_code(dir: &Path) -> io::Result<Self> {
        make_private(dir)?;
        Ok(Self { dir: dir.to_owned() })
    }

    /// The component of that digest; an error when the file is damaged.
    pub(crate) fn component(&self, digest: &Digest) -> io::Result<Option<Vec<u8>>> {
        let path = self.component_path(digest);
        let Some(bytes) = if_exists(fs::read(&path))? else { return Ok(None) };
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

    /// Removes a component and all that belongs to it.
    pub(crate) fn drop_component(&self, digest: &Digest) -> io::Result<()> {
        fs::remove_file(self.component_path(digest))?;
        if_exists(fs::remove_file(self.signature_path(digest)))?;
        if_exists(fs::remove_file(manifest_path(&self.dir, digest)))?;
        self.drop_code(digest)
    }

    /// The manifest entry of a component; `None` when there is none or it is unreadable, and must be made again.
    pub(crate) fn manifest(&self, digest: &Digest) -> Option<ManifestEntry> {
        read_manifest(&self.dir, digest)
    }

    pub(crate) fn keep_manifest(&self, digest: &Digest, entry: &ManifestEntry) -> io::Result<()> {
        write_atomic(&manifest_path(&self.dir, digest), &serde_json::to_vec_pretty(entry)?)
    }

    /// The signature kept beside a component.
    pub(crate) fn signature(&self, digest: &Digest) -> io::Result<Option<String>> {
        if_exists(fs::read_to_string(self.signature_path(digest)))
    }

    pub(crate) fn keep_signature(&self, digest: &Digest, text: &str) -> io::Result<()> {
        write_atomic(&self.signature_path(digest), text.as_bytes())
    }

    /// The rolled back versions.
    pub(crate) fn rolled_back(&self) -> io::Result<BTreeMap<Digest, Rollback>> {
        read_map(&self.dir.join(ROLLED_BACK))
    }

    pub(crate) fn write_rolled_back(&self, entries: &BTreeMap<Digest, Rollback>) -> io::Result<()> {
        write_atomic(&self.dir.join(ROLLED_BACK), &serde_json::to_vec_pretty(entries)?)
    }

    pub(crate) fn has_component(&self, digest: &Digest) -> bool {
        self.component_path(digest).is_file()
    }

    pub(crate) fn keep_component(&self, digest: &Digest, wasm: &[u8]) -> io::Result<()> {
        if self.component(digest).is_ok_and(|kept| kept.is_some()) {
            return Ok(());
        }
        write_atomic(&self.component_path(digest), wasm)
    }

    /// The code for that component and engine, if it is whole.
    pub(crate) fn code(&self, digest: &Digest, engine_hash: &str) -> Option<PathBuf> {
        whole(self.code_path(digest, engine_hash))
    }

    /// Whether there is a file for that code, which may be damaged.
    pub(crate) fn has_code(&self, digest: &Digest, engine_hash: &str) -> bool {
        self.code_path(digest, engine_hash).is_file()
    }

    /// Keeps `code` and drops the code of other engines for the same component.
    pub(crate) fn keep_code(&self, digest: &Digest, engine_hash: &str, code: &[u8]) -> io::Result<PathBuf> {
        self.drop_code(digest)?;
        let path = self.code_path(digest, engine_hash);
        write_atomic(&path, code)?;
        write_atomic(&sum_path(&path), Digest::of(code).to_string().as_bytes())?;
        Ok(path)
    }

    /// Removes the code of that component; mapped code stays mapped.
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

    /// Removes code without a component, the latest `most` of them excepted: code of versions that were checked.
    pub(crate) fn drop_checked_code(&self, most: usize) -> io::Result<()> {
        let mut checked = BTreeMap::new();
        for entry in fs::read_dir(&self.dir)? {
            let entry = entry?;
            let name = entry.file_name();
            let digest =
                name.to_str().filter(|name| name.ends_with(CODE)).and_then(|name| name.split('-').next());
            let Some(Ok(digest)) = digest.map(str::parse::<Digest>) else { continue };
            if !self.has_component(&digest) {
                checked.insert((entry.metadata()?.modified()?, digest), digest);
            }
        }
        checked.into_values().rev().skip(most).try_for_each(|digest| self.drop_code(&digest))
    }

    /// The active versions as last written.
    pub(crate) fn active(&self) -> io::Result<BTreeMap<String, ActiveEntry>> {
        read_map(&self.active_path())
    }

    pub(crate) fn write_active(&self, entries: &BTreeMap<String, ActiveEntry>) -> io::Result<()> {
        write_atomic(&self.active_path(), &serde_json::to_vec_pretty(entries)?)
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

    fn code_path(&self, digest: &Digest, engine_hash: &str) -> PathBuf {
        self.dir.join(code_name(digest, engine_hash))
    }
}

/// The name of the file of that component's code for that engine.
pub(super) fn code_name(digest: &Digest, engine_hash: &str) -> String {
    format!("{digest}-{engine_hash}{CODE}")
}

/// That file of code, if it is there and as its digest says.
pub(super) fn whole(path: PathBuf) -> Option<PathBuf> {
    let expected: Digest = fs::read_to_string(sum_path(&path)).ok()?.parse().ok()?;
    let code = fs::read(&path).ok()?;
    if Digest::of(&code) == expected {
        return Some(path);
    }
    tracing::warn!(path = %path.display(), "kept plugin code is damaged and will be compiled again");
    None
}

/// The active version of each family in `data_dir`, as last listed. Opens nothing, so any process may ask.
///
/// # Errors
/// The file system's, and a list that does not read.
pub fn active_versions(data_dir: &Path) -> io::Result<BTreeMap<String, Digest>> {
    let active: BTreeMap<String, ActiveEntry> = read_map(&folder(data_dir).join(ACTIVE))?;
    Ok(active.into_iter().map(|(family, entry)| (family, entry.digest)).collect())
}

/// The schema of the operator's settings of each family in `data_dir` whose active version publishes one. Opens nothing
/// else.
pub fn settings_schemas(data_dir: &Path) -> io::Result<BTreeMap<String, String>> {
    let active = active_versions(data_dir)?.into_iter();
    let schema = |(family, digest)| {
        let entry = read_manifest(&folder(data_dir), &digest)?;
        Some((family, entry.settings_schema?))
    };
    Ok(active.filter_map(schema).collect())
}

fn read_manifest(folder: &Path, digest: &Digest) -> Option<ManifestEntry> {
    serde_json::from_slice(&fs::read(manifest_path(folder, digest)).ok()?).ok()
}

fn manifest_path(folder: &Path, digest: &Digest) -> PathBuf {
    folder.join(format!("{digest}.manifest.json"))
}

fn folder(data_dir: &Path) -> PathBuf {
    data_dir.join("plugins")
}

/// A list in JSON; empty when there is no file.
fn read_map<K: DeserializeOwned + Ord, V: DeserializeOwned>(path: &Path) -> io::Result<BTreeMap<K, V>> {
    let Some(bytes) = if_exists(fs::read(path))? else { return Ok(BTreeMap::new()) };
    serde_json::from_slice(&bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

fn sum_path(code: &Path) -> PathBuf {
    code.with_added_extension("sum")
}

fn make_private(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    // Code is mapped from this folder: close it also when another program made it.
    fs::set_permissions(dir, Permissions::from_mode(0o700))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::store::manifest_index::ManifestFacts;

    fn store() -> (tempfile::TempDir, PluginStore) {
        let dir = tempfile::tempdir().unwrap();
        let store = PluginStore::open(dir.path()).unwrap();
        (dir, store)
    }

    #[test]
    fn a_damaged_component_is_an_error() {
        let (_dir, store) = store();
        let digest = Digest::of(b"wasm");
        assert_eq!(store.component(&digest).unwrap(), None);
        store.keep_component(&digest, b"wasm").unwrap();
        assert_eq!(store.component(&digest).unwrap().as_deref(), Some(&b"wasm"[..]));
        fs::write(store.component_path(&digest), b"wash").unwrap();
        assert!(store.component(&digest).unwrap_err().to_string().contains("damaged"));
        store.keep_component(&digest, b"wasm").unwrap();
        assert!(store.component(&digest).unwrap().is_some());
    }

    #[test]
    fn code_is_found_only_if_it_is_whole_and_for_its_engine() {
        let (_dir, store) = store();
        let digest = Digest::of(b"wasm");
        let path = store.keep_code(&digest, "one", b"code").unwrap();
        assert_eq!(store.code(&digest, "one"), Some(path.clone()));
        assert_eq!(store.code(&digest, "two"), None);
        fs::write(&path, b"bode").unwrap();
        assert_eq!(store.code(&digest, "one"), None);
        fs::remove_file(sum_path(&path)).unwrap();
        fs::write(&path, b"code").unwrap();
        assert_eq!(store.code(&digest, "one"), None);
        let newer = store.keep_code(&digest, "two", b"more").unwrap();
        assert!(!path.exists() && newer.exists());
        store.drop_code(&digest).unwrap();
        assert!(!newer.exists() && !sum_path(&newer).exists());
    }

    #[test]
    fn the_list_of_active_versions_survives_a_restart_and_unfinished_files_do_not() {
        let (dir, store) = store();
        assert!(store.active().unwrap().is_empty());
        let entry = ActiveEntry {
            digest: Digest::of(b"wasm"),
            since: UnixMs(7),
            before: vec![Digest::of(b"old")],
            canary_until: Some(UnixMs(9)),
            disabled: None,
        };
        store.write_active(&BTreeMap::from([("f".to_owned(), entry.clone())])).unwrap();
        let text = fs::read_to_string(store.active_path()).unwrap();
        assert!(text.contains("\"watched_until\": 9"), "the name on disk: {text}");
        let leftover = store.dir.join("x.wasm.tmp");
        fs::write(&leftover, b"half").unwrap();
        let again = PluginStore::open(dir.path()).unwrap();
        assert_eq!(again.active().unwrap()["f"], entry);
        assert_eq!(active_versions(dir.path()).unwrap(), BTreeMap::from([("f".to_owned(), entry.digest)]));
        assert!(!leftover.exists());
        // As earlier releases wrote it.
        let list = json!({"f": {"digest": entry.digest, "since": 7, "before": entry.before[0]},
            "g": {"digest": entry.digest, "since": 7, "before": null}, "h": {"digest": entry.digest, "since": 7}});
        fs::write(again.active_path(), list.to_string()).unwrap();
        let read = again.active().unwrap();
        assert_eq!(
            (&read["f"].before, read["g"].before.len(), read["h"].before.len()),
            (&entry.before, 0, 0)
        );
        fs::write(again.active_path(), b"{").unwrap();
        assert!(again.active().is_err());
    }

    #[test]
    fn code_of_checked_versions_is_kept_up_to_a_number() {
        let (_dir, store) = store();
        let digests = [&b"kept"[..], b"one", b"two", b"three"].map(Digest::of);
        store.keep_component(&digests[0], b"kept").unwrap();
        for (age, digest) in (0..).zip(digests) {
            let path = store.keep_code(&digest, "e", b"code").unwrap();
            let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(age);
            fs::File::options().write(true).open(path).unwrap().set_modified(at).unwrap();
        }
        store.drop_checked_code(2).unwrap();
        let found = digests.map(|digest| store.code(&digest, "e").is_some());
        assert_eq!(found, [true, false, true, true], "the component's own, and the latest two");
    }

    #[test]
    fn files_are_readable_by_their_owner_alone() {
        let (_dir, store) = store();
        let digest = Digest::of(b"wasm");
        let path = store.keep_code(&digest, "one", b"code").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(&store.dir).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_manifest_is_kept_with_its_component() {
        let (_dir, store) = store();
        let digest = Digest::of(b"wasm");
        let entry = ManifestEntry {
            family: "f".to_owned(),
            version: "1.0.0".to_owned(),
            models: vec!["m".to_owned()],
            aliases: BTreeMap::from([("m".to_owned(), vec!["n".to_owned()])]),
            surfaces: vec![],
            routes: vec![],
            state_version: 2,
            reads_state: vec![1],
            settings_schema: Some("{}".to_owned()),
            facts: ManifestFacts { title: Some("A family".to_owned()), ..ManifestFacts::default() },
        };
        store.keep_component(&digest, b"wasm").unwrap();
        assert_eq!(store.manifest(&digest), None);
        store.keep_manifest(&digest, &entry).unwrap();
        assert_eq!(store.manifest(&digest), Some(entry));
        fs::write(manifest_path(&store.dir, &digest), b"{").unwrap();
        assert_eq!(store.manifest(&digest), None, "an unreadable entry is made again");
        store.drop_component(&digest).unwrap();
        assert!(!manifest_path(&store.dir, &digest).exists());
        store.drop_component(&digest).unwrap_err();
    }
}
