//! `backup` and `restore`.

use std::path::{Path, absolute};

use gatehouse_admin::ApiRequest;
use serde_json::{Value, json};

use super::api::{Api, ExecuteError, Need, Performed, data_of};
use super::print::{Shown, text_at};
use crate::backup::{BackupError, restore as restore_folder};
use crate::config::Location;
use crate::exit::Exit;
use crate::terminal::{print, print_error, show_progress};

/// Begins a backup, and waits for its end.
pub(super) async fn back_up(folder: &Path, api: &Api<'_>) -> Performed {
    // The gateway has another working folder.
    let folder = absolute(folder).map_err(|error| ExecuteError::Arguments(format!("FOLDER: {error}")))?;
    let begin = ApiRequest::post(&["backups"]).json(&json!({"folder": folder.display().to_string()}));
    let mut run = api.send_as(begin, Need::Examine).await?.body;
    while run["state"] == "running" {
        show_progress(&format!("copied and checked {} of {} rows", run["done"], run["of"]));
        let look = ApiRequest::get(&["backups"]).query("run", &run["run"]);
        run = api.send_as(look, Need::Examine).await?.body;
    }
    show_progress("");
    let backup = run["backup"].take();
    let text = in_words(&backup);
    Ok(Shown::told(backup, text))
}

fn in_words(backup: &Value) -> String {
    let (folder, made, digest) =
        (text_at(backup, "folder"), text_at(backup, "made"), text_at(backup, "ledger_digest"));
    format!(
        "{folder}: everything as of {made}, {} rows in {} files of {} bytes\n\
         the ledger has {} entries and adds up; digest of all heads: {digest}\n",
        backup["rows"], backup["files"], backup["bytes"], backup["ledger_entries"],
    )
}

/// Restores a backup. Asks no gateway.
pub(super) fn restore(folder: &Path, location: &Location, as_json: bool) -> Exit {
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
    let restored = absolute(&root)
        .map_err(|error| BackupError::file(&root, error))
        .and_then(|root| restore_folder(folder, &root, &show_progress));
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
