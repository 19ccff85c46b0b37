//! `store`: what is done to the database of a configuration, without a gateway.

use std::pin::pin;
use std::time::Duration;

use gatehouse_store::{CopyError, OpenError, Progress, Server, StoreCopy, copy_to_database, copy_to_file};
use serde_json::json;
use tokio::time::timeout;

use super::api::{ExecuteError, data_of};
use super::cli::{CopyTo, StoreCommand};
use super::run::runtime;
use crate::config::{DataConfig, Location, database};
use crate::data_folder::DataFolder;
use crate::exit::Exit;
use crate::terminal::{print, print_error, show_progress};

/// Between two lines of progress.
const SHOWN: Duration = Duration::from_millis(200);

/// Runs one of its commands.
pub(super) fn run(command: &StoreCommand, location: &Location, as_json: bool) -> Exit {
    let outcome = match command {
        StoreCommand::Migrate => migrate(location, as_json),
        StoreCommand::Copy { to } => copy(*to, location, as_json),
    };
    outcome.unwrap_or_else(|error| {
        print_error(&error.to_string());
        Exit::from(&error)
    })
}

/// Brings the database's tables to this release.
fn migrate(location: &Location, as_json: bool) -> Result<Exit, ExecuteError> {
    let without = "a store in a file is brought to this release when it is opened";
    let server = server(&data_of(location)?, without)?;
    let Some(runtime) = runtime(1) else { return Ok(Exit::Broken) };
    let made = runtime.block_on(server.migrate()).map_err(|error| match error {
        OpenError::Taken { database } => {
            let text =
                format!("a gateway has the database {database}: stop it before its tables are changed");
            ExecuteError::Busy(text)
        }
        other => other.into(),
    })?;
    if as_json {
        return Ok(print(&format!("{}\n", json!({"database": server.to_string(), "steps": made}))));
    }
    let steps: Vec<String> = made.iter().map(ToString::to_string).collect();
    Ok(print(&if steps.is_empty() {
        format!("{server}: nothing to do, its tables are those of this release\n")
    } else {
        format!("{server}: its tables are those of this release now; steps made: {}\n", steps.join(", "))
    }))
}

/// Copies the store between its file and its database.
fn copy(to: CopyTo, location: &Location, as_json: bool) -> Result<Exit, ExecuteError> {
    let data = data_of(location)?;
    let server = server(&data, "there is nothing to copy to or from")?;
    let file = DataFolder::store(&data.folder);
    if to == CopyTo::Database && !file.exists() {
        return Err(ExecuteError::NoStore(data.folder.display().to_string()));
    }
    let Some(runtime) = runtime(1) else { return Ok(Exit::Broken) };
    let progress = Progress::default();
    let copied = runtime.block_on(shown(&progress, async {
        match to {
            CopyTo::Database => copy_to_database(&file, &server, &progress).await,
            CopyTo::File => copy_to_file(&server, &file, &progress).await,
        }
    }))?;
    let rows: u64 = copied.rows.values().sum();
    let (from, to) = match to {
        CopyTo::Database => (file.display().to_string(), server.to_string()),
        CopyTo::File => (server.to_string(), file.display().to_string()),
    };
    if as_json {
        let shown = json!({"from": from, "to": to, "rows": rows, "ledger_entries": copied.mark.entries});
        return Ok(print(&format!("{shown}\n")));
    }
    Ok(print(&format!(
        "{to}: everything that was in {from}, {rows} rows, of them {} of the ledger\n\
         `gatehouse doctor` checks what the configuration names; {from} was not changed\n",
        copied.mark.entries
    )))
}

fn server(data: &DataConfig, without: &str) -> Result<Server, ExecuteError> {
    let server = database(data)?;
    server.ok_or_else(|| ExecuteError::Arguments(format!("data.url names no database; {without}")))
}

/// Shows how far a copy has come.
async fn shown(
    progress: &Progress,
    copying: impl Future<Output = Result<StoreCopy, CopyError>>,
) -> Result<StoreCopy, CopyError> {
    let mut copying = pin!(copying);
    loop {
        if let Ok(copied) = timeout(SHOWN, &mut copying).await {
            show_progress("");
            return copied;
        }
        let (done, of) = progress.so_far();
        show_progress(&format!("copied {done} of {of} rows"));
    }
}
