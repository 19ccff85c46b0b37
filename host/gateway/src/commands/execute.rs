//! Checks or installs a plugin: on the store itself where no gateway has it open, otherwise through the running
//! gateway.

use std::path::Path;

use gatehouse_admin::{Actor, ClientError, Operation, OperationError, OperationResult};
use gatehouse_store::{OpenError, Store};

use super::api::{ExecuteError, OFFLINE, data_of, endpoint, service, settle};
use crate::config::Location;
use crate::data_folder::DataFolder;
use crate::terminal::print_error;

/// Performs `operation`. A running gateway does it under its own configuration; without one, the configuration is
/// read here.
///
/// # Errors
/// See [`ExecuteError`].
pub(crate) async fn execute(
    location: &Location,
    operation: Operation,
) -> Result<OperationResult, ExecuteError> {
    let data = data_of(location)?;
    let root = data.folder.clone();
    let file = DataFolder::store(&root);
    DataFolder::check_store(&root)?;
    // A component can be checked without a gateway.
    if !file.exists() && matches!(operation, Operation::PluginCheck { .. }) {
        return in_temporary_folder(location, &root, operation).await;
    }
    let folder = DataFolder::open(&root, &print_error)?;
    match Store::open(&file, &data.store) {
        Ok(store) => {
            let service = settle(&root)
                .and_then(|()| service(location, &root, &folder, store.clone(), operation.defaults()));
            let result = match service {
                Ok(service) => {
                    let performed = Actor::local(OFFLINE).during(service.perform(operation)).await;
                    performed.map_err(ExecuteError::from)
                }
                Err(error) => Err(error),
            };
            store.close();
            result
        }
        Err(OpenError::Locked { .. }) => {
            let (endpoint, client) = endpoint(location, &root)?;
            gatehouse_admin::perform(&endpoint, &client, &operation).await.map_err(|error| match error {
                ClientError::Refused(refused) => ExecuteError::Operation(refused),
                other => ExecuteError::Unreachable(other.to_string()),
            })
        }
        Err(other) => Err(other.into()),
    }
}

async fn in_temporary_folder(
    location: &Location,
    root: &Path,
    operation: Operation,
) -> Result<OperationResult, ExecuteError> {
    let failed = |error: std::io::Error| OperationError::Failed(format!("temporary folder: {error}"));
    let temporary = tempfile::tempdir().map_err(failed)?;
    let folder = DataFolder::open(temporary.path(), &print_error)?;
    let store = Store::open(&DataFolder::store(temporary.path()), &gatehouse_store::Config::default())?;
    Ok(service(location, root, &folder, store, operation.defaults())?.perform(operation).await?)
}
