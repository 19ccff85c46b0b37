//! Performs one operation of the command line: on the store itself where no gateway has it open, otherwise through
//! the admin API of the running gateway.

use std::path::Path;
use std::sync::Arc;

use gatehouse_admin::{
    AdminEndpoint, AdminService, Backend, ClientError, Operation, OperationError, OperationResult,
};
use gatehouse_store::{OpenError, Store};

use crate::config::Config;
use crate::data_folder::{DataError, DataFolder};
use crate::exit::Exit;
use crate::system::{SystemClock, SystemSeed};

/// Why an operation has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ExecuteError {
    /// An operation that only reads found no store.
    #[error("{0}: there is no store yet; start the gateway once, or name its data folder with --data")]
    NoStore(String),
    /// The data folder cannot be used.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The store cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A running gateway has the store, and its admin API cannot be reached.
    #[error("a running gateway has this data folder, but {0}")]
    Unreachable(String),
    /// The operation itself was refused.
    #[error(transparent)]
    Operation(#[from] OperationError),
}

impl From<&ExecuteError> for Exit {
    fn from(error: &ExecuteError) -> Self {
        match error {
            ExecuteError::Open(OpenError::Locked { .. }) | ExecuteError::NoStore(_) => Self::Refused,
            ExecuteError::Open(_) => Self::Store,
            ExecuteError::Data(_)
            | ExecuteError::Unreachable(_)
            | ExecuteError::Operation(OperationError::Failed(_)) => Self::Broken,
            ExecuteError::Operation(_) => Self::Refused,
        }
    }
}

/// Performs `operation` on the data folder `root`.
///
/// # Errors
/// See [`ExecuteError`].
pub(crate) async fn execute(
    config: &Config,
    root: &Path,
    operation: Operation,
) -> Result<OperationResult, ExecuteError> {
    let file = DataFolder::store(root);
    if !file.exists() && !operation.writes() {
        return match operation {
            // A component can be checked without a gateway.
            Operation::PluginCheck { .. } => in_temporary_folder(config, operation).await,
            _ => Err(ExecuteError::NoStore(file.display().to_string())),
        };
    }
    let folder = DataFolder::open(root)?;
    match Store::open(&file, &config.data.store) {
        Ok(store) => {
            let result = service(config, &folder, store.clone())?.perform(operation).await;
            store.close();
            Ok(result?)
        }
        Err(OpenError::Locked { .. }) => through_admin_api(root, &operation).await,
        Err(other) => Err(other.into()),
    }
}

async fn in_temporary_folder(config: &Config, operation: Operation) -> Result<OperationResult, ExecuteError> {
    let failed = |error: std::io::Error| OperationError::Failed(format!("temporary folder: {error}"));
    let temporary = tempfile::tempdir().map_err(failed)?;
    let folder = DataFolder::open(temporary.path())?;
    let store = Store::open(&DataFolder::store(temporary.path()), &config.data.store)?;
    Ok(service(config, &folder, store)?.perform(operation).await?)
}

fn service(config: &Config, folder: &DataFolder, store: Store) -> Result<AdminService, DataError> {
    Ok(AdminService {
        store,
        backend: Backend::Offline(Box::new(config.runtime(folder.root().to_owned()))),
        pepper: folder.pepper(&SystemSeed)?,
        clock: Arc::new(SystemClock),
        seed: Arc::new(SystemSeed),
    })
}

async fn through_admin_api(root: &Path, operation: &Operation) -> Result<OperationResult, ExecuteError> {
    let unreachable = |text: String| ExecuteError::Unreachable(text);
    let endpoint = AdminEndpoint::read(root)
        .map_err(|error| unreachable(format!("its admin.json cannot be read: {error}")))?
        .ok_or_else(|| unreachable("it has no admin.json (is it starting or stopping?)".to_owned()))?;
    gatehouse_admin::perform(&endpoint, operation).await.map_err(|error| match error {
        ClientError::Refused(refused) => ExecuteError::Operation(refused),
        other => unreachable(other.to_string()),
    })
}
