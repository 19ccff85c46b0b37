//! `store`: what is done to the database of a configuration, without a gateway.

use gatehouse_store::OpenError;
use serde_json::json;

use super::api::{ExecuteError, data_of};
use super::cli::StoreCommand;
use super::run::runtime;
use crate::config::{Location, database};
use crate::exit::Exit;
use crate::terminal::{print, print_error};

/// Runs one of its commands.
pub(super) fn run(command: &StoreCommand, location: &Location, as_json: bool) -> Exit {
    let outcome = match command {
        StoreCommand::Migrate => migrate(location, as_json),
    };
    outcome.unwrap_or_else(|error| {
        print_error(&error.to_string());
        Exit::from(&error)
    })
}

/// Brings the database's tables to this release.
fn migrate(location: &Location, as_json: bool) -> Result<Exit, ExecuteError> {
    let Some(server) = database(&data_of(location)?)? else {
        let text =
            "data.url names no database; a store in a file is brought to this release when it is opened";
        return Err(ExecuteError::Arguments(text.to_owned()));
    };
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
