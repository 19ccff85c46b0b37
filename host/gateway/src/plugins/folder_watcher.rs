//! The watched folder: a component copied into it is deployed, then moved into a subfolder with a report.
//!
//! ```text
//! incoming/NAME.wasm (+ NAME.wasm.sig) -> accepted/<time>-NAME.wasm + <time>-NAME.wasm.report.json
//!                                      -> refused/...
//! ```
//! Polled, apart from requests. A file counts as complete once two polls found it unchanged. One that changed before it was read
//! waits for the next polls, and so does one that has replaced what was read: the report of that stands alone. File names are not
//! trusted: only plain files directly in the folder are read, links are not followed, and the target's path is built
//! here. Write access to the folder is the right to deploy plugins, so a world-writable folder is refused.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gatehouse_admin::{AdminService, ApiRequest, Component, LocalApi, PluginOffer};
use gatehouse_files::read_at_most;
use gatehouse_model::{Clock, Digest, UnixMs};
use gatehouse_runtime::PluginService;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::signing;

/// More than the largest component a configuration can allow; larger files are not read.
pub(crate) const MAX_COMPONENT_BYTES: u64 = 64 << 20;
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Polls that a component waits for its required signature.
const SIGNATURE_POLLS: u32 = 10;
const MAX_SIGNATURE_BYTES: u64 = 4 << 10;

/// The watched folder and its files at the last poll.
pub(crate) struct FolderWatcher {
    folder: PathBuf,
    signed_only: bool,
    /// By name.
    seen: HashMap<OsString, Seen>,
}

/// A file at the last poll.
struct Seen {
    fingerprint: Fingerprint,
    /// How many polls found it like that.
    polls: u32,
    /// Whether it was deployed, and could not be moved away.
    is_done: bool,
}

/// The properties that change while a file is written.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fingerprint {
    file: Stamp,
    inode: u64,
    signature: Option<Stamp>,
}

/// The length of a file, and when it was changed.
type Stamp = (u64, i64, i64);

impl FolderWatcher {
    /// Opens the folder; creates it (0700) and its two subfolders if they are missing.
    ///
    /// # Errors
    /// The file system's, and a world-writable folder.
    pub(crate) fn open(folder: PathBuf, signed_only: bool) -> io::Result<Self> {
        for part in [folder.clone(), folder.join("accepted"), folder.join("refused")] {
            DirBuilder::new().recursive(true).mode(0o700).create(part)?;
        }
        if fs::metadata(&folder)?.permissions().mode() & 0o002 != 0 {
            let why = "the folder is world-writable, so every user could deploy plugins; run chmod o-w";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        Ok(Self { folder, signed_only, seen: HashMap::new() })
    }

    /// Polls the folder until the task is aborted, and installs every complete component.
    pub(crate) fn watch(
        mut self,
        service: Arc<AdminService>,
        plugins: PluginService,
        clock: Arc<dyn Clock>,
    ) -> JoinHandle<()> {
        tokio::spawn(async move {
            loop {
                clock.pause(POLL_INTERVAL).await;
                self.signed_only = plugins.requires_signature();
                let polled = tokio::task::spawn_blocking(move || {
                    let complete = self.poll();
                    (self, complete)
                });
                let Ok((watcher, complete)) = polled.await else { return };
                self = watcher;
                for (name, fingerprint) in complete {
                    self.deploy(&name, &fingerprint, &service, &plugins, clock.as_ref()).await;
                }
            }
        })
    }

    /// The complete components, in the order of their names.
    fn poll(&mut self) -> Vec<(OsString, Fingerprint)> {
        let found = match self.components() {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(folder = %self.folder.display(), %error, "the watched folder cannot be read");
                return Vec::new();
            }
        };
        self.seen.retain(|name, _| found.iter().any(|(present, _)| present == name));
        let mut complete = Vec::new();
        for (name, fingerprint) in found {
            let before = self.seen.get(&name).filter(|seen| seen.fingerprint == fingerprint);
            let (polls, is_done) = before.map_or((1, false), |seen| (seen.polls + 1, seen.is_done));
            let signed = fingerprint.signature.is_some() || !self.signed_only || polls >= SIGNATURE_POLLS;
            if polls >= 2 && signed && !is_done && fingerprint.file.0 > 0 {
                complete.push((name.clone(), fingerprint.clone()));
            }
            self.seen.insert(name, Seen { fingerprint, polls, is_done });
        }
        complete.sort_by(|one, other| one.0.cmp(&other.0));
        complete
    }

    fn components(&self) -> io::Result<Vec<(OsString, Fingerprint)>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let name = entry?.file_name();
            let path = self.folder.join(&name);
            let hidden = name.as_encoded_bytes().starts_with(b".");
            if hidden || path.extension() != Some(OsStr::new("wasm")) {
                continue;
            }
            found.extend(fingerprint(&path).map(|fingerprint| (name, fingerprint)));
        }
        Ok(found)
    }

    async fn deploy(
        &mut self,
        name: &OsStr,
        fingerprint: &Fingerprint,
        service: &Arc<AdminService>,
        plugins: &PluginService,
        clock: &dyn Clock,
    ) {
        let path = self.folder.join(name);
        let (file, expected) = (path.clone(), fingerprint.clone());
        let result = match tokio::task::spawn_blocking(move || read_if(&file, &expected)).await {
            Ok(None) => return,
            Ok(Some(read)) => install(read, service, plugins).await,
            Err(error) => Err(unreadable(&error.into())),
        };
        match &result {
            Ok(_) => tracing::info!(file = %path.display(), "component from the watched folder deployed"),
            Err(refused) => {
                let error = &refused.message;
                tracing::error!(file = %path.display(), error, "component from the watched folder refused");
            }
        }
        self.finish(name, fingerprint, clock.now(), &result);
    }

    /// Moves a component away that was `deployed` or refused. What has replaced it meanwhile stays.
    fn finish(&mut self, name: &OsStr, deployed: &Fingerprint, at: UnixMs, result: &Result<Value, Refused>) {
        let path = self.folder.join(name);
        self.seen.remove(name);
        if fingerprint(&path).as_ref() != Some(deployed) {
            tracing::warn!(file = %path.display(), "changed or removed while it was deployed: what is there now comes next");
            if let Err(error) = self.report(name, at, result) {
                tracing::error!(file = %path.display(), %error, "the report of what was replaced is not written");
            }
            return;
        }
        if let Err(error) = self.archive(name, at, result) {
            let why = "the component cannot be moved out of the watched folder; it is not deployed again before it changes";
            tracing::error!(file = %path.display(), %error, "{why}");
            // Its signature may be gone.
            let stayed = fingerprint(&path);
            let stayed = stayed.filter(|now| (now.file, now.inode) == (deployed.file, deployed.inode));
            if let Some(fingerprint) = stayed {
                self.seen.insert(name.to_owned(), Seen { fingerprint, polls: 1, is_done: true });
            }
        }
    }

    /// Writes what became of a component; where the component itself belongs beside that.
    fn report(&self, name: &OsStr, at: UnixMs, result: &Result<Value, Refused>) -> io::Result<PathBuf> {
        let (into, report) = match result {
            Ok(result) => ("accepted", result),
            Err(refused) => ("refused", &refused.report),
        };
        let mut kept = OsString::from(format!("{at}-"));
        kept.push(name);
        let to = self.folder.join(into).join(kept);
        let mut file = to.clone().into_os_string();
        file.push(".report.json");
        fs::write(file, serde_json::to_vec_pretty(report)?)?;
        Ok(to)
    }

    fn archive(&self, name: &OsStr, at: UnixMs, result: &Result<Value, Refused>) -> io::Result<()> {
        let (from, to) = (self.folder.join(name), self.report(name, at, result)?);
        if signing::signature_path(&from).exists() {
            fs::rename(signing::signature_path(&from), signing::signature_path(&to))?;
        }
        fs::rename(from, to)
    }
}

/// Why a component was not deployed: in words, and as the report beside it, which has the form of the admin API's errors.
struct Refused {
    message: String,
    report: Value,
}

impl Refused {
    fn of(message: String) -> Self {
        let report = json!({"error": {"message": message}});
        Self { message, report }
    }
}

/// A component as it was read: its digest, and its signature if it has one.
type Read = (Component, Digest, Option<String>);

/// Installs a component that was read.
async fn install(
    read: io::Result<Read>,
    service: &Arc<AdminService>,
    plugins: &PluginService,
) -> Result<Value, Refused> {
    let (component, digest, signature) = read.map_err(|error| unreadable(&error))?;
    if let Some(reason) = plugins.rollback_reason(&digest) {
        // An automatic rollback is undone by hand only.
        return Err(Refused::of(format!(
            "version {} was rolled back ({reason}); `gatehouse plugin activate` switches to it again",
            digest.short()
        )));
    }
    let offer = PluginOffer { signature, ..PluginOffer::of(component) };
    let api = LocalApi::new(Arc::clone(service), "watched folder");
    match api.send(ApiRequest::post(&["plugins"]).json(&offer)).await {
        Ok(answer) => Ok(answer.body),
        Err(refusal) => Err(Refused { message: refusal.message, report: refusal.body }),
    }
}

fn unreadable(error: &io::Error) -> Refused {
    Refused::of(format!("the file cannot be read: {error}"))
}

/// What a plain file and its signature are like now.
fn fingerprint(path: &Path) -> Option<Fingerprint> {
    let stamp = |file: &Metadata| (file.len(), file.mtime(), file.mtime_nsec());
    let file = plain_file(path)?;
    let signature = plain_file(&signing::signature_path(path)).as_ref().map(stamp);
    Some(Fingerprint { file: stamp(&file), inode: file.ino(), signature })
}

/// The metadata of a plain file; `None` for a link.
fn plain_file(path: &Path) -> Option<Metadata> {
    fs::symlink_metadata(path).ok().filter(Metadata::is_file)
}

/// Reads a component; `None` unless it is still as `expected` afterwards, and so was while it was read.
fn read_if(path: &Path, expected: &Fingerprint) -> Option<io::Result<Read>> {
    let read = read(path);
    (fingerprint(path).as_ref() == Some(expected)).then_some(read)
}

fn read(path: &Path) -> io::Result<Read> {
    let component = Component(read_at_most(fs::File::open(path)?, MAX_COMPONENT_BYTES)?);
    let signature_path = signing::signature_path(path);
    let signature = match plain_file(&signature_path) {
        Some(_) => {
            let bytes = read_at_most(fs::File::open(&signature_path)?, MAX_SIGNATURE_BYTES)?;
            Some(io::read_to_string(&bytes[..])?)
        }
        None => None,
    };
    let digest = Digest::of(&component.0);
    Ok((component, digest, signature))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A watcher of a new folder, and that folder.
    fn watcher(signed_only: bool) -> (FolderWatcher, PathBuf, tempfile::TempDir) {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("in");
        (FolderWatcher::open(folder.clone(), signed_only).unwrap(), folder, outer)
    }

    fn poll(watcher: &mut FolderWatcher) -> Vec<String> {
        watcher.poll().iter().map(|(name, _)| name.display().to_string()).collect()
    }

    #[test]
    fn a_file_is_complete_once_two_polls_agree() {
        let (mut watcher, folder, _outer) = watcher(false);
        let file = folder.join("a.wasm");
        fs::write(&file, b"half").unwrap();
        assert!(poll(&mut watcher).is_empty());
        fs::write(&file, b"half and more").unwrap();
        assert!(poll(&mut watcher).is_empty(), "it has grown");
        fs::write(folder.join("a.wasm.sig"), b"sig").unwrap();
        assert!(poll(&mut watcher).is_empty(), "its signature has just come");
        assert_eq!(poll(&mut watcher), ["a.wasm"]);
    }

    /// The one file that two polls find, which is complete then.
    fn complete(watcher: &mut FolderWatcher) -> (OsString, Fingerprint) {
        assert!(watcher.poll().is_empty());
        let mut found = watcher.poll();
        assert_eq!(found.len(), 1);
        found.remove(0)
    }

    /// A half-written component would be refused, and moved away while it is written.
    #[test]
    fn a_file_that_changes_before_it_is_read_waits() {
        let (mut watcher, folder, _outer) = watcher(false);
        let file = folder.join("b.wasm");
        fs::write(&file, b"old").unwrap();
        let (name, polled) = complete(&mut watcher);
        assert_eq!(name, "b.wasm");
        let (component, ..) = read_if(&file, &polled).unwrap().unwrap();
        assert_eq!(component.0, b"old");
        fs::write(&file, b"half of the").unwrap();
        assert!(read_if(&file, &polled).is_none());
        let (_, polled) = complete(&mut watcher);
        assert!(read_if(&file, &polled).is_some());
        fs::remove_file(&file).unwrap();
        assert!(read_if(&file, &polled).is_none());
    }

    /// A version that nobody has looked at would be reported as accepted.
    #[test]
    fn what_replaces_a_component_meanwhile_stays_and_comes_next() {
        let (mut watcher, folder, _outer) = watcher(false);
        let (file, next) = (folder.join("a.wasm"), folder.join("next"));
        fs::write(&file, b"1").unwrap();
        let (name, polled) = complete(&mut watcher);
        // Of the same length, moved over it.
        fs::write(&next, b"2").unwrap();
        fs::rename(&next, &file).unwrap();
        watcher.finish(&name, &polled, UnixMs(7), &Ok(json!({"version": "1"})));
        assert_eq!(fs::read(&file).unwrap(), b"2");
        let accepted: Vec<OsString> =
            fs::read_dir(folder.join("accepted")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(accepted, ["1970-01-01T00:00:00.007Z-a.wasm.report.json"]);
        let (name, polled) = complete(&mut watcher);
        watcher.finish(&name, &polled, UnixMs(8), &Ok(json!({"version": "2"})));
        assert_eq!(fs::read(folder.join("accepted/1970-01-01T00:00:00.008Z-a.wasm")).unwrap(), b"2");
        assert!(!file.exists());
    }

    /// It would be deployed every other second for ever.
    #[test]
    fn what_cannot_be_moved_away_is_deployed_once() {
        let (mut watcher, folder, _outer) = watcher(false);
        // No file may have that name with the moment before it.
        let file = folder.join(format!("{}.wasm", "a".repeat(240)));
        fs::write(&file, b"1").unwrap();
        let (name, polled) = complete(&mut watcher);
        watcher.finish(&name, &polled, UnixMs(7), &Ok(Value::Null));
        assert!(file.exists());
        for _ in 0..3 {
            assert!(poll(&mut watcher).is_empty());
        }
        fs::write(&file, b"another").unwrap();
        complete(&mut watcher);
    }

    #[test]
    fn only_plain_wasm_files_are_read() {
        let (mut watcher, folder, outer) = watcher(false);
        fs::write(outer.path().join("outside.wasm"), b"x").unwrap();
        std::os::unix::fs::symlink("../outside.wasm", folder.join("link.wasm")).unwrap();
        fs::create_dir(folder.join("folder.wasm")).unwrap();
        for name in [".hidden.wasm", "a.wasm.tmp", "b.txt", "empty.wasm", "wasm"] {
            let bytes: &[u8] = if name == "empty.wasm" { b"" } else { b"x" };
            fs::write(folder.join(name), bytes).unwrap();
        }
        for _ in 0..3 {
            assert!(poll(&mut watcher).is_empty());
        }
    }

    #[test]
    fn a_required_signature_is_awaited_for_a_limited_time() {
        let (mut watcher, folder, _outer) = watcher(true);
        fs::write(folder.join("a.wasm"), b"x").unwrap();
        for _ in 1..SIGNATURE_POLLS {
            assert!(poll(&mut watcher).is_empty());
        }
        assert_eq!(poll(&mut watcher), ["a.wasm"], "to be refused as unsigned");
    }

    #[test]
    fn a_world_writable_folder_is_refused() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("in");
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(FolderWatcher::open(folder, false).err().unwrap().to_string().contains("chmod o-w"));
    }

    #[test]
    fn a_deployed_file_is_archived_with_its_report() {
        let (watcher, folder, _outer) = watcher(false);
        fs::write(folder.join("a.wasm"), b"x").unwrap();
        fs::write(folder.join("a.wasm.sig"), b"s").unwrap();
        let refused = Err(Refused::of("no".to_owned()));
        watcher.archive(OsStr::new("a.wasm"), UnixMs(7), &refused).unwrap();
        let report =
            fs::read_to_string(folder.join("refused/1970-01-01T00:00:00.007Z-a.wasm.report.json")).unwrap();
        assert!(report.contains("\"no\""), "{report}");
        assert!(
            folder.join("refused/1970-01-01T00:00:00.007Z-a.wasm").exists()
                && folder.join("refused/1970-01-01T00:00:00.007Z-a.wasm.sig").exists()
        );
        assert!(!folder.join("a.wasm").exists() && !folder.join("a.wasm.sig").exists());
    }
}
