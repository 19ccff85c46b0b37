//! The watched folder: a component copied into it is taken through the chain and put away with a report.
//!
//! ```text
//! incoming/NAME.wasm (+ NAME.wasm.sig) -> accepted/<time>-NAME.wasm + <time>-NAME.wasm.report.json
//!                                      -> refused/...
//! ```
//! Polled, never on a request's path. A file counts as whole once two looks found it the same. Names are
//! data: only plain files directly in the folder are looked at, links are not followed, and where a file goes
//! is decided here. Whoever may write there may change what serves, so a folder open to everybody is refused.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gatehouse_admin::{Component, Operation, OperationError, Outcome};
use gatehouse_model::{Clock, Digest};
use gatehouse_runtime::PluginService;
use tokio::task::JoinHandle;

use crate::operations::Desk;
use crate::signing;

const LOOK: Duration = Duration::from_secs(1);
/// Looks a component waits for the signature it needs.
const SIGNATURE_LOOKS: u32 = 10;
/// More than any component an operator may allow; what is larger is not even read.
const MOST_BYTES: u64 = 64 << 20;
const MOST_SIGNATURE_BYTES: u64 = 4 << 10;

/// The watched folder and what has been seen in it.
pub(crate) struct Incoming {
    folder: PathBuf,
    signed_only: bool,
    seen: HashMap<OsString, Seen>,
}

/// A file as the last look found it.
struct Seen {
    shape: Shape,
    looks: u32,
}

/// What changes while a file is being written.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Shape {
    bytes: u64,
    inode: u64,
    changed: (i64, i64),
    signature: Option<(u64, i64, i64)>,
}

impl Incoming {
    /// Opens the folder, making it (0700) and its two subfolders where they are missing.
    ///
    /// # Errors
    /// The file system's, and a folder everybody may write to.
    pub(crate) fn open(folder: PathBuf, signed_only: bool) -> io::Result<Self> {
        for part in [folder.clone(), folder.join("accepted"), folder.join("refused")] {
            DirBuilder::new().recursive(true).mode(0o700).create(part)?;
        }
        if fs::metadata(&folder)?.permissions().mode() & 0o002 != 0 {
            let why =
                "everybody may write there, and so change what serves; take that right away (chmod o-w)";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        Ok(Self { folder, signed_only, seen: HashMap::new() })
    }

    /// Looks into the folder again and again, and has `desk` install what is whole.
    pub(crate) fn watch(
        mut self,
        desk: Arc<Desk>,
        families: PluginService,
        clock: Arc<dyn Clock>,
    ) -> JoinHandle<()> {
        tokio::spawn(async move {
            loop {
                clock.pause(LOOK).await;
                let looked = tokio::task::spawn_blocking(move || {
                    let whole = self.look();
                    (self, whole)
                });
                let Ok((incoming, whole)) = looked.await else { return };
                self = incoming;
                for name in whole {
                    self.take(&name, &desk, &families, clock.as_ref()).await;
                }
            }
        })
    }

    /// The names of the components that are whole, oldest name first.
    fn look(&mut self) -> Vec<OsString> {
        let found = match self.components() {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(folder = %self.folder.display(), %error, "the watched folder cannot be read");
                return Vec::new();
            }
        };
        self.seen.retain(|name, _| found.iter().any(|(there, _)| there == name));
        let mut whole = Vec::new();
        for (name, shape) in found {
            let looks = match self.seen.get(&name) {
                Some(seen) if seen.shape == shape => seen.looks + 1,
                _ => 1,
            };
            let complete = shape.signature.is_some() || !self.signed_only || looks >= SIGNATURE_LOOKS;
            if looks >= 2 && complete && shape.bytes > 0 {
                whole.push(name.clone());
            }
            self.seen.insert(name, Seen { shape, looks });
        }
        whole.sort();
        whole
    }

    fn components(&self) -> io::Result<Vec<(OsString, Shape)>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let name = entry?.file_name();
            let path = self.folder.join(&name);
            let hidden = name.as_encoded_bytes().starts_with(b".");
            if hidden || path.extension() != Some(OsStr::new("wasm")) {
                continue;
            }
            let Some(file) = plain(&path) else { continue };
            let stamp = |file: &Metadata| (file.mtime(), file.mtime_nsec());
            let signature = plain(&signing::beside(&path)).map(|file| {
                let (seconds, nanoseconds) = stamp(&file);
                (file.len(), seconds, nanoseconds)
            });
            let shape = Shape { bytes: file.len(), inode: file.ino(), changed: stamp(&file), signature };
            found.push((name, shape));
        }
        Ok(found)
    }

    async fn take(&mut self, name: &OsStr, desk: &Desk, families: &PluginService, clock: &dyn Clock) {
        let path = self.folder.join(name);
        let performed = match read(&path) {
            Ok((component, signature)) => {
                let digest = Digest::of(&component.0);
                match families.rollback_reason(&digest) {
                    // What an automatic watch took out, nothing automatic puts back.
                    Some(reason) => Err(OperationError::Refused(format!(
                        "version {} was withdrawn ({reason}); `gatehouse plugin activate` puts it back by hand",
                        digest.short()
                    ))),
                    None => {
                        desk.perform(Operation::PluginInstall { component, sha256: None, signature }).await
                    }
                }
            }
            Err(error) => Err(OperationError::Failed(format!("the file cannot be read: {error}"))),
        };
        self.seen.remove(name);
        let into = if performed.is_ok() { "accepted" } else { "refused" };
        match &performed {
            Ok(_) => tracing::info!(file = %path.display(), "component from the watched folder serves"),
            Err(error) => {
                tracing::error!(file = %path.display(), %error, "component from the watched folder refused");
            }
        }
        let stamp = clock.now();
        if let Err(error) = self.put_away(name, into, &format!("{stamp}"), &performed) {
            tracing::error!(file = %path.display(), %error, "the watched folder cannot be cleared");
        }
    }

    fn put_away(
        &self,
        name: &OsStr,
        into: &str,
        stamp: &str,
        performed: &Result<Outcome, OperationError>,
    ) -> io::Result<()> {
        let mut kept = OsString::from(format!("{stamp}-"));
        kept.push(name);
        let (from, to) = (self.folder.join(name), self.folder.join(into).join(kept));
        let mut report = to.clone().into_os_string();
        report.push(".report.json");
        let text = match performed {
            Ok(outcome) => serde_json::to_vec_pretty(outcome)?,
            Err(error) => serde_json::to_vec_pretty(error)?,
        };
        fs::write(report, text)?;
        if signing::beside(&from).exists() {
            fs::rename(signing::beside(&from), signing::beside(&to))?;
        }
        fs::rename(from, to)
    }
}

/// A plain file; a link to one is none.
fn plain(path: &Path) -> Option<Metadata> {
    fs::symlink_metadata(path).ok().filter(Metadata::is_file)
}

fn read(path: &Path) -> io::Result<(Component, Option<String>)> {
    let limited = |path: &Path, most: u64| {
        let mut bytes = Vec::new();
        fs::File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("more than {most} bytes")));
        }
        Ok(bytes)
    };
    let component = Component(limited(path, MOST_BYTES)?);
    let beside = signing::beside(path);
    let signature = match plain(&beside) {
        Some(_) => {
            let bytes = limited(&beside, MOST_SIGNATURE_BYTES)?;
            Some(
                String::from_utf8(bytes)
                    .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?,
            )
        }
        None => None,
    };
    Ok((component, signature))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(incoming: &mut Incoming) -> Vec<String> {
        incoming.look().iter().map(|name| name.display().to_string()).collect()
    }

    #[test]
    fn a_file_is_taken_once_two_looks_agree() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("in");
        let mut incoming = Incoming::open(folder.clone(), false).unwrap();
        let file = folder.join("a.wasm");
        fs::write(&file, b"half").unwrap();
        assert!(look(&mut incoming).is_empty());
        fs::write(&file, b"half and more").unwrap();
        assert!(look(&mut incoming).is_empty(), "it has grown");
        fs::write(folder.join("a.wasm.sig"), b"sig").unwrap();
        assert!(look(&mut incoming).is_empty(), "its signature has just come");
        assert_eq!(look(&mut incoming), ["a.wasm"]);
    }

    #[test]
    fn only_plain_components_are_looked_at() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("in");
        let mut incoming = Incoming::open(folder.clone(), false).unwrap();
        fs::write(outer.path().join("outside.wasm"), b"x").unwrap();
        std::os::unix::fs::symlink("../outside.wasm", folder.join("link.wasm")).unwrap();
        fs::create_dir(folder.join("folder.wasm")).unwrap();
        for name in [".hidden.wasm", "a.wasm.tmp", "b.txt", "empty.wasm", "wasm"] {
            let bytes: &[u8] = if name == "empty.wasm" { b"" } else { b"x" };
            fs::write(folder.join(name), bytes).unwrap();
        }
        for _ in 0..3 {
            assert!(look(&mut incoming).is_empty());
        }
    }

    #[test]
    fn a_signature_that_is_needed_is_waited_for_but_not_for_ever() {
        let outer = tempfile::tempdir().unwrap();
        let mut incoming = Incoming::open(outer.path().join("in"), true).unwrap();
        fs::write(outer.path().join("in/a.wasm"), b"x").unwrap();
        for _ in 1..SIGNATURE_LOOKS {
            assert!(look(&mut incoming).is_empty());
        }
        assert_eq!(look(&mut incoming), ["a.wasm"], "to be refused as unsigned");
    }

    #[test]
    fn a_folder_everybody_may_write_to_is_refused() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("in");
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(Incoming::open(folder, false).err().unwrap().to_string().contains("chmod o-w"));
    }

    #[test]
    fn what_was_judged_is_put_away_with_its_report() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("in");
        let incoming = Incoming::open(folder.clone(), false).unwrap();
        fs::write(folder.join("a.wasm"), b"x").unwrap();
        fs::write(folder.join("a.wasm.sig"), b"s").unwrap();
        let refused = Err(OperationError::Refused("no".to_owned()));
        incoming.put_away(OsStr::new("a.wasm"), "refused", "7", &refused).unwrap();
        let report = fs::read_to_string(folder.join("refused/7-a.wasm.report.json")).unwrap();
        assert!(report.contains("\"no\""), "{report}");
        assert!(folder.join("refused/7-a.wasm").exists() && folder.join("refused/7-a.wasm.sig").exists());
        assert!(!folder.join("a.wasm").exists() && !folder.join("a.wasm.sig").exists());
    }
}
