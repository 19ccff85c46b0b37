//! `backup` and `restore`.

use std::ffi::OsString;
use std::path::{PathBuf, absolute};

use clap::builder::{OsStringValueParser, TypedValueParser as _, ValueParser};
use gatehouse_admin::{ApiRequest, OperationError};
use gatehouse_media::BucketFiles;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::api::{Api, ExecuteError, Performed, data_of};
use super::print::{Shown, text_at};
use crate::backup::{BackupError, Source, restore as restore_from};
use crate::config::{Location, load_backup_buckets};
use crate::terminal::show_progress;

/// The place of a backup, as a command line names it.
#[derive(Clone, Debug)]
pub(crate) enum BackupLocation {
    /// A folder.
    Folder(PathBuf),
    /// An address of a bucket.
    Bucket(String),
}

impl BackupLocation {
    /// An address of another kind, or one with a slip in it, is no folder: a backup there would look like one in a bucket.
    fn of(place: OsString) -> Result<Self, String> {
        let text = place.to_str().unwrap_or_default();
        let is_like_s3 = text.get(..3).is_some_and(|begin| begin.eq_ignore_ascii_case("s3:"));
        if BucketFiles::is_address(text) {
            return Ok(Self::Bucket(text.to_owned()));
        }
        if is_like_s3 || text.contains("://") || place.is_empty() {
            return Err(format!("expected a folder or s3://BUCKET/PREFIX, got {text:?}"));
        }
        Ok(Self::Folder(place.into()))
    }
}

/// Reads a place on the command line.
pub(super) fn location() -> ValueParser {
    OsStringValueParser::new().try_map(BackupLocation::of).into()
}

/// Begins a backup to one of the two, and waits for its end.
pub(super) async fn back_up(
    folder: Option<BackupLocation>,
    to: Option<BackupLocation>,
    api: &Api<'_>,
) -> Performed {
    let to = match folder.or(to).expect("one of the two is required") {
        // The gateway has another working folder.
        BackupLocation::Folder(folder) => absolute(folder)
            .map_err(|error| ExecuteError::Arguments(format!("FOLDER: {error}")))?
            .display()
            .to_string(),
        BackupLocation::Bucket(address) => address,
    };
    let begin = ApiRequest::post(&["backups"]).json(&json!({"to": to}));
    let progress = |run: &Value| match run["bytes_to_send"].as_u64() {
        None | Some(0) => format!("copied and checked {} of {} rows", run["done"], run["of"]),
        Some(of) => format!("sent {} of {of} bytes", run["sent_bytes"]),
    };
    let backup = api.watch(begin, "backups", progress).await?["backup"].take();
    let text = in_words(&backup);
    Ok(Shown::told(backup, text))
}

fn in_words(backup: &Value) -> String {
    let [location, made, digest] = ["location", "made", "ledger_digest"].map(|name| text_at(backup, name));
    format!(
        "{location}: everything as of {made}, {} rows in {} files of {} bytes\n\
         the ledger has {} entries and adds up; digest of all heads: {digest}\n",
        backup["rows"], backup["files"], backup["bytes"], backup["ledger_entries"],
    )
}

/// Restores the backup at one of the two. Asks no gateway.
pub(super) fn restore(
    folder: Option<BackupLocation>,
    from: Option<BackupLocation>,
    location: &Location,
    runtime: Runtime,
) -> Performed {
    let data = data_of(location)?;
    if data.url.is_some() {
        let text = "data.url names a database: restore it with pg_restore, and with it `pepper`, `plugins` and `defaults` of \
             the data folder; a backup that `gatehouse backup` made is of a store in a file";
        return Err(OperationError::Refused(text.to_owned()).into());
    }
    let (root, place) = (data.folder, folder.or(from).expect("one of the two is required"));
    let source = match &place {
        BackupLocation::Folder(folder) => Source::Folder(folder),
        BackupLocation::Bucket(address) => {
            let bucket = load_backup_buckets(location)?.open(address);
            Source::Bucket(bucket.map_err(|error| ExecuteError::Arguments(error.to_string()))?, runtime)
        }
    };
    let restored = absolute(&root)
        .map_err(|error| BackupError::file(&root, error))
        .and_then(|root| restore_from(&source, &root, &show_progress));
    show_progress("");
    let restored = restored.map_err(|error| OperationError::Refused(error.to_string()))?;
    let text = format!(
        "{}: everything as of {}, made by {}, {} files\n{}\nwhat was accepted after that moment is not known to it\n",
        root.display(),
        restored.made_at,
        restored.gatehouse,
        restored.files.len(),
        restored.ledger,
    );
    let json = json!({
        "folder": root, "made": restored.made_at, "release": restored.gatehouse, "files": restored.files.len(),
    });
    Ok(Shown::told(json, text))
}
