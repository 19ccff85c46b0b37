//! What a backup says of itself: its files with their digests, the rows of its store, and the end of its ledger.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use gatehouse_files::read_at_most;
use gatehouse_model::{Digest, Digester};
use gatehouse_store::{Progress, StoreCopy};
use gatehouse_tasks::LedgerMark;
use serde::{Deserialize, Serialize};

use super::BackupError;
use crate::data_folder::DataFolder;

/// The name of the file. It is written last: a folder without it is no whole backup.
pub(super) const NAME: &str = "manifest.json";
/// The one layout there is.
const FORMAT: u32 = 1;
/// Bytes of a file that are read at once.
const PIECE: usize = 256 << 10;
/// A manifest is never longer.
pub(super) const MAX_BYTES: u64 = 16 << 20;

/// The content of the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    format: u32,
    /// When the copy was begun.
    pub(crate) made_at: String,
    /// The release that made it.
    pub(crate) gatehouse: String,
    /// Rows of the store, by table.
    rows: BTreeMap<String, u64>,
    /// The ledger's length and the digest of all heads.
    pub(crate) ledger: LedgerMark,
    /// Every file, by its path below the folder.
    pub(crate) files: BTreeMap<String, FileDigest>,
}

/// A file's length and its digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileDigest {
    pub(super) bytes: u64,
    pub(super) sha256: Digest,
}

impl FileDigest {
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let (mut digester, mut bytes) = (Digester::default(), 0);
        let mut piece = vec![0; PIECE];
        loop {
            match file.read(&mut piece)? {
                0 => return Ok(Self { bytes, sha256: digester.finish() }),
                length => {
                    digester.update(&piece[..length]);
                    bytes += length as u64;
                }
            }
        }
    }
}

impl Manifest {
    /// Of a copy whose files are not looked at yet.
    pub(super) fn new(made_at: String, copy: StoreCopy) -> Self {
        let StoreCopy { rows, mark } = copy;
        let gatehouse = env!("CARGO_PKG_VERSION").to_owned();
        Self { format: FORMAT, made_at, gatehouse, rows, ledger: mark, files: BTreeMap::new() }
    }

    /// Reads the one of a backup in a folder.
    pub(super) fn read(folder: &Path) -> Result<Self, BackupError> {
        let read = File::open(folder.join(NAME)).and_then(|file| read_at_most(file, MAX_BYTES));
        let place = folder.display().to_string();
        match read {
            Ok(text) => Self::parse(&text, place),
            Err(error) => Err(BackupError::NoBackup(place, format!("{NAME}: {error}"))),
        }
    }

    /// Reads the text of the one at `place`.
    pub(super) fn parse(text: &[u8], place: String) -> Result<Self, BackupError> {
        let failed = |error: &dyn std::fmt::Display| BackupError::NoBackup(place.clone(), error.to_string());
        let manifest: Self =
            serde_json::from_slice(text).map_err(|error| failed(&format_args!("{NAME}: {error}")))?;
        if manifest.format != FORMAT {
            return Err(failed(&format_args!("it has format {}, expected {FORMAT}", manifest.format)));
        }
        match manifest.files.keys().find(|path| !is_plain(path)) {
            Some(path) => Err(failed(&format_args!("{NAME} names {path:?}, which is no file below it"))),
            None => Ok(manifest),
        }
    }

    /// The length of all files. One that was not written here may say anything.
    pub(super) fn bytes(&self) -> u64 {
        self.files.values().fold(0, |sum: u64, file| sum.saturating_add(file.bytes))
    }

    /// The files of `folder` are those of the manifest, and its store is sound and has the manifest's ledger.
    pub(super) fn verify(&self, folder: &Path) -> Result<(), BackupError> {
        for (name, expected) in &self.files {
            let path = folder.join(name);
            let found = FileDigest::of(&path).map_err(|error| BackupError::file(&path, error))?;
            if found != *expected {
                return Err(BackupError::Changed(path.display().to_string()));
            }
        }
        Ok(())
    }

    /// Looks at all of the store of `folder`, which stays as it is.
    pub(super) fn examine(&self, folder: &Path, progress: &Progress) -> Result<(), BackupError> {
        let path = DataFolder::store(folder);
        gatehouse_store::check_pages(&path)?;
        let (report, mark) = gatehouse_store::examine_file(&path, progress)?;
        if let Some(finding) = report.findings.first() {
            return Err(BackupError::Unsound(finding.clone()));
        }
        if mark != self.ledger {
            return Err(BackupError::Unsound(format!("{mark}; the manifest says: {}", self.ledger)));
        }
        Ok(())
    }
}

/// A relative path of names alone.
fn is_plain(path: &str) -> bool {
    !path.is_empty() && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

/// The path of a file below a folder, as the manifest writes it.
pub(super) fn name_of(path: &Path, folder: &Path) -> Option<String> {
    path.strip_prefix(folder).ok().and_then(Path::to_str).map(str::to_owned)
}

/// Every file below `folder`, in whatever depth; links are left out.
pub(super) fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            match entry.file_type()? {
                kind if kind.is_dir() => folders.push(entry.path()),
                kind if kind.is_file() => files.push(entry.path()),
                _ => {}
            }
        }
    }
    files.sort();
    Ok(files)
}
