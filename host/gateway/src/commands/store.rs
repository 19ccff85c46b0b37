//! `store`: what is done to the database of a configuration, without a gateway.

use std::pin::pin;
use std::time::Duration;

use gatehouse_store::{CopyError, OpenError, Progress, Server, StoreCopy, copy_to_database, copy_to_file};
use serde_json::json;
use tokio::time::timeout;

use super::api::{ExecuteError, Performed, data_of};
use super::cli::{CopyTo, StoreCommand};
use super::print::Shown;
use crate::config::{DataConfig, Location, database};
use crate::data_folder::DataFolder;
use crate::terminal::show_progress;

/// Between two lines of progress.
const SHOWN: Duration = Duration::from_millis(200);

/// Runs one of its commands.
pub(super) async fn run(command: &StoreCommand, location: &Location) -> Performed {
    match command {
        StoreCommand::Migrate => migrate(location).await,
        StoreCommand::Copy { to } => copy(*to, location).await,
    }
}

/// Brings the database's tables to this release.
async fn migrate(location: &Location) -> Performed {
    let without = "a store in a file is brought to this release when it is opened";
    let server = server(&data_of(location)?, without)?;
    let made = server.migrate().await.map_err(|error| match error {
        OpenError::Taken { database } => {
            let text =
                format!("a gateway has the database {database}: stop it before its tables are changed");
            ExecuteError::Busy(text)
        }
        other => other.into(),
    })?;
    let steps: Vec<String> = made.iter().map(ToString::to_string).collect();
    let text = if steps.is_empty() {
        format!("{server}: nothing to do, its tables are those of this release\n")
    } else {
        format!("{server}: its tables are those of this release now; steps made: {}\n", steps.join(", "))
    };
    Ok(Shown::told(json!({"database": server.to_string(), "steps": made}), text))
}

/// Copies the store between its file and its database.
async fn copy(to: CopyTo, location: &Location) -> Performed {
    let data = data_of(location)?;
    let server = server(&data, "there is nothing to copy to or from")?;
    let file = DataFolder::store(&data.folder);
    if to == CopyTo::Database && !file.exists() {
        return Err(ExecuteError::NoStore(data.folder.display().to_string()));
    }
    let progress = Progress::default();
    let copying = async {
        match to {
            CopyTo::Database => copy_to_database(&file, &server, &progress).await,
            CopyTo::File => copy_to_file(&server, &file, &progress).await,
        }
    };
    let copied = shown(&progress, copying).await?;
    let rows: u64 = copied.rows.values().sum();
    let (from, to) = match to {
        CopyTo::Database => (file.display().to_string(), server.to_string()),
        CopyTo::File => (server.to_string(), file.display().to_string()),
    };
    let text = format!(
        "{to}: everything that was in {from}, {rows} rows, of them {} of the ledger\n\
         `gatehouse doctor` checks what the configuration names; {from} was not changed\n",
        copied.mark.entries
    );
    let json = json!({"from": from, "to": to, "rows": rows, "ledger_entries": copied.mark.entries});
    Ok(Shown::told(json, text))
}

/// The database of a configuration; without one, what is so without it.
pub(super) fn server(data: &DataConfig, without: &str) -> Result<Server, ExecuteError> {
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
