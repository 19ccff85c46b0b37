//! `backup` and `restore`.

use std::ffi::{OsStr, OsString};
use std::path::{PathBuf, absolute};

use gatehouse_admin::ApiRequest;
use gatehouse_media::BucketFiles;
use serde_json::{Value, json};

use super::api::{Api, ExecuteError, Need, Performed, data_of};
use super::cli::{BackupArgs, RestoreArgs};
use super::print::{Shown, text_at};
use super::run::runtime;
use crate::backup::{BackupError, Source, restore as restore_from};
use crate::config::{Location, load_backup_buckets};
use crate::environment;
use crate::exit::Exit;
use crate::terminal::{print, print_error, show_progress};

/// The place of a backup, as a command line names it.
#[derive(Clone, Debug)]
pub(crate) enum BackupLocation {
    /// A folder.
    Folder(PathBuf),
    /// An address of a bucket.
    Bucket(String),
}

impl From<BackupArgs> for BackupLocation {
    fn from(args: BackupArgs) -> Self {
        Self::of(args.folder, args.to)
    }
}

impl From<RestoreArgs> for BackupLocation {
    fn from(args: RestoreArgs) -> Self {
        Self::of(args.folder, args.from)
    }
}

impl BackupLocation {
    /// One of the two is given.
    fn of(folder: Option<PathBuf>, place: Option<OsString>) -> Self {
        match place.as_deref().and_then(OsStr::to_str) {
            Some(text) if BucketFiles::is_address(text) => Self::Bucket(text.to_owned()),
            _ => Self::Folder(folder.or(place.map(PathBuf::from)).unwrap_or_default()),
        }
    }
}

/// Begins a backup, and waits for its end.
pub(super) async fn back_up(place: &BackupLocation, api: &Api<'_>) -> Performed {
    let to = match place {
        // The gateway has another working folder.
        BackupLocation::Folder(folder) => absolute(folder)
            .map_err(|error| ExecuteError::Arguments(format!("FOLDER: {error}")))?
            .display()
            .to_string(),
        BackupLocation::Bucket(address) => address.clone(),
    };
    let begin = ApiRequest::post(&["backups"]).json(&json!({"to": to}));
    let mut run = api.send_as(begin, Need::Examine).await?.body;
    while run["state"] == "running" {
        show_progress(&match run["bytes_to_send"].as_u64() {
            None | Some(0) => format!("copied and checked {} of {} rows", run["done"], run["of"]),
            Some(of) => format!("sent {} of {of} bytes", run["sent_bytes"]),
        });
        let look = ApiRequest::get(&["backups"]).query("run", &run["run"]);
        run = api.send_as(look, Need::Examine).await?.body;
    }
    show_progress("");
    let backup = run["backup"].take();
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

/// Restores a backup. Asks no gateway.
pub(super) fn restore(place: &BackupLocation, location: &Location, as_json: bool) -> Exit {
    let root = match data_of(location) {
        Ok(data) if data.url.is_some() => {
            print_error(
                "data.url names a database: restore it with pg_restore, and with it `pepper`, `plugins` and `defaults` of the data \
                 folder; a backup that `gatehouse backup` made is of a store in a file",
            );
            return Exit::Refused;
        }
        Ok(data) => data.folder,
        Err(error) => {
            print_error(&error.to_string());
            return Exit::Misconfigured;
        }
    };
    let source = match source(place, location) {
        Ok(source) => source,
        Err(exit) => return exit,
    };
    let restored = absolute(&root)
        .map_err(|error| BackupError::file(&root, error))
        .and_then(|root| restore_from(&source, &root, &show_progress));
    show_progress("");
    match restored {
        Err(error) => {
            print_error(&error.to_string());
            Exit::Refused
        }
        Ok(restored) if as_json => {
            let shown = json!({"folder": root, "made": restored.made_at, "release": restored.release, "files": restored.files});
            print(&format!("{shown}\n"))
        }
        Ok(restored) => print(&format!(
            "{}: everything as of {}, made by {}, {} files\n{}\nwhat was accepted after that moment is not known to it\n",
            root.display(),
            restored.made_at,
            restored.release,
            restored.files,
            restored.ledger,
        )),
    }
}

/// What a restore reads from, before anything is read.
fn source<'a>(place: &'a BackupLocation, location: &Location) -> Result<Source<'a>, Exit> {
    let address = match place {
        BackupLocation::Folder(folder) => return Ok(Source::Folder(folder)),
        BackupLocation::Bucket(address) => address,
    };
    let misconfigured = |error: &dyn std::fmt::Display| {
        print_error(&error.to_string());
        Exit::Misconfigured
    };
    let buckets = load_backup_buckets(location.file.as_deref(), &environment::overrides());
    let buckets = buckets.map_err(|errors| misconfigured(&errors))?;
    let bucket = buckets.open(address).map_err(|error| misconfigured(&error))?;
    let runtime = runtime(1).ok_or(Exit::Broken)?;
    Ok(Source::Bucket(bucket, runtime))
}
