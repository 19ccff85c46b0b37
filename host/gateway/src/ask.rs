//! One operation from the command line: on the store where it is free, through the door of the gateway that
//! has it open otherwise.

use std::path::Path;
use std::sync::Arc;

use gatehouse_admin::{ClientError, Door, Operation, OperationError, Outcome};
use gatehouse_store::{OpenError, Store};

use crate::config::Config;
use crate::data::{DataError, DataFolder};
use crate::operations::{Desk, Plugins, families_config};
use crate::{SystemClock, SystemSeed};

/// Why an operation has no outcome.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum AskError {
    /// There is nothing to look at.
    #[error("{0}: there is no store yet; start the gateway once, or name its data folder with --data")]
    NoStore(String),
    /// The data folder cannot be used.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The store cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A running gateway has the store, and its door does not open.
    #[error("a running gateway has this data folder, but {0}")]
    Door(String),
    /// The operation itself was refused.
    #[error(transparent)]
    Operation(#[from] OperationError),
}

/// Has `operation` performed on the data folder `root`.
///
/// # Errors
/// See [`AskError`].
pub(crate) async fn ask(config: &Config, root: &Path, operation: Operation) -> Result<Outcome, AskError> {
    let file = DataFolder::store(root);
    if !file.exists() && !operation.writes() {
        return match operation {
            // A component can be judged without a gateway.
            Operation::PluginCheck { .. } => in_passing(config, operation).await,
            _ => Err(AskError::NoStore(file.display().to_string())),
        };
    }
    let folder = DataFolder::open(root)?;
    match Store::open(&file, &config.data.store) {
        Ok(store) => {
            let outcome = desk(config, &folder, store.clone())?.perform(operation).await;
            store.close();
            Ok(outcome?)
        }
        Err(OpenError::Locked { .. }) => through_door(root, &operation).await,
        Err(other) => Err(other.into()),
    }
}

async fn in_passing(config: &Config, operation: Operation) -> Result<Outcome, AskError> {
    let failed = |error: std::io::Error| OperationError::Failed(format!("a folder to work in: {error}"));
    let passing = tempfile::tempdir().map_err(failed)?;
    let folder = DataFolder::open(passing.path())?;
    let store = Store::open(&DataFolder::store(passing.path()), &config.data.store)?;
    Ok(desk(config, &folder, store)?.perform(operation).await?)
}

fn desk(config: &Config, folder: &DataFolder, store: Store) -> Result<Desk, DataError> {
    Ok(Desk {
        store,
        plugins: Plugins::Closed(Box::new(families_config(folder.root().to_owned(), config))),
        pepper: folder.pepper(&SystemSeed)?,
        clock: Arc::new(SystemClock),
        seed: Arc::new(SystemSeed),
    })
}

async fn through_door(root: &Path, operation: &Operation) -> Result<Outcome, AskError> {
    let door =
        Door::read(root).map_err(|error| AskError::Door(format!("its door cannot be found: {error}")))?;
    let door =
        door.ok_or_else(|| AskError::Door("it shows no door (is it starting or stopping?)".to_owned()))?;
    gatehouse_admin::ask(&door, operation).await.map_err(|error| match error {
        ClientError::Refused(refused) => AskError::Operation(refused),
        other => AskError::Door(other.to_string()),
    })
}
