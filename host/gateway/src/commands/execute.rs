//! Performs one operation of the command line: on the store itself where no gateway has it open, otherwise through
//! the admin API of the running gateway.

use std::path::Path;
use std::sync::Arc;

use gatehouse_admin::{
    Actor, AdminEndpoint, AdminService, Backend, ClientError, Configuration as _, Operation, OperationError,
    OperationResult, PluginOffer,
};
use gatehouse_store::{OpenError, Store};

use crate::config::{
    ConfigErrors, DataConfig, Location, load, load_admin_client, load_data, settle_defaults,
};
use crate::data_folder::{DataError, DataFolder};
use crate::environment;
use crate::exit::Exit;
use crate::plugins::built_in::PLUGINS;
use crate::reload::OfflineConfiguration;
use crate::system::{SystemClock, SystemSeed};
use crate::terminal::print_error;

/// Why an operation has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ExecuteError {
    /// An operation that only reads found no store.
    #[error("{0}: there is no store yet; start the gateway once, or name its data folder with --data")]
    NoStore(String),
    /// The configuration has errors.
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    /// A reload found no gateway.
    #[error("{0}: no gateway runs on this data folder; it reads its configuration when it starts")]
    NotRunning(String),
    /// Providers were asked for, and there is no gateway.
    #[error("{0}: no gateway runs on this data folder; only a running one knows the state of its providers")]
    NoProviders(String),
    /// Prices were asked for, and there is no gateway.
    #[error("{0}: no gateway runs on this data folder; only a running one knows the prices of its plugins")]
    NoPrices(String),
    /// A login link was wanted, and there is no gateway.
    #[error("{0}: no gateway runs on this data folder; start it, it prints a link to its console")]
    NoConsole(String),
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
            ExecuteError::Config(_) | ExecuteError::Operation(OperationError::Misconfigured(_)) => {
                Self::Misconfigured
            }
            ExecuteError::Open(OpenError::Locked { .. })
            | ExecuteError::NoStore(_)
            | ExecuteError::NotRunning(_)
            | ExecuteError::NoProviders(_)
            | ExecuteError::NoPrices(_)
            | ExecuteError::NoConsole(_) => Self::Refused,
            ExecuteError::Open(_) => Self::Store,
            ExecuteError::Data(_)
            | ExecuteError::Unreachable(_)
            | ExecuteError::Operation(OperationError::Failed(_)) => Self::Broken,
            ExecuteError::Operation(_) => Self::Refused,
        }
    }
}

/// Who changes a store that no gateway has open, as the audit record names it.
const OFFLINE: &str = "command line, without a gateway";

/// A running gateway, and no file that says where.
const NO_ADMIN_FILE: &str = "it has no admin.json: it is starting or stopping, or the file was removed; kill -HUP to its process \
                             has it write the file again";

/// Performs `operation`. A running gateway does it under its own configuration; without one, the configuration is
/// read here.
///
/// # Errors
/// See [`ExecuteError`].
pub(crate) async fn execute(
    location: &Location,
    operation: Operation,
) -> Result<OperationResult, ExecuteError> {
    let data = load_data(location.file.as_deref(), &environment::overrides());
    let data = match (data, &location.data) {
        (Ok(data), None) => data,
        (Ok(data), Some(folder)) => DataConfig { folder: folder.clone(), ..data },
        // A running gateway needs no configuration of this command, and without one its errors are found below.
        (Err(_), Some(folder)) => DataConfig { folder: folder.clone(), ..DataConfig::default() },
        (Err(errors), None) => return Err(errors.into()),
    };
    let root = data.folder.clone();
    let file = DataFolder::store(&root);
    if !Store::is_in_use(&file) {
        match operation {
            Operation::Reload => return Err(ExecuteError::NotRunning(root.display().to_string())),
            Operation::ConsoleLink { .. } => return Err(ExecuteError::NoConsole(root.display().to_string())),
            Operation::Prices | Operation::PricePreview { .. } => {
                return Err(ExecuteError::NoPrices(root.display().to_string()));
            }
            Operation::ProviderList | Operation::ProviderDrain { .. } | Operation::ProviderResume { .. } => {
                return Err(ExecuteError::NoProviders(root.display().to_string()));
            }
            _ => {}
        }
    }
    DataFolder::check_store(&root)?;
    if !file.exists() && !operation.writes() {
        return match operation {
            // A component can be checked without a gateway.
            Operation::PluginCheck { .. } => in_temporary_folder(location, &root, operation).await,
            _ => {
                // An error in the configuration may be why it is looked for in the wrong folder.
                load(location, PLUGINS, environment::overrides())?;
                Err(ExecuteError::NoStore(file.display().to_string()))
            }
        };
    }
    let folder = DataFolder::open(&root, &print_error)?;
    if matches!(operation, Operation::Doctor) {
        match Store::check_pages(&file) {
            // A running gateway examines its rows only.
            Ok(()) | Err(OpenError::Locked { .. }) => {}
            Err(damaged) => return Err(damaged.into()),
        }
    }
    match Store::open(&file, &data.store) {
        Ok(store) => {
            // This process may change which versions are active, and so which defaults count.
            let settled = settle_defaults(&root)
                .map_err(|error| OperationError::Failed(format!("defaults of plugins: {error}")).into());
            let service = settled.and_then(|()| service(location, &root, &folder, store.clone(), &operation));
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
        Err(OpenError::Locked { .. }) => through_admin_api(location, &root, &operation).await,
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
    Ok(service(location, root, &folder, store, &operation)?.perform(operation).await?)
}

/// The service on the data folder `folder`, with the configuration for `root`.
fn service(
    location: &Location,
    root: &Path,
    folder: &DataFolder,
    store: Store,
    operation: &Operation,
) -> Result<AdminService, ExecuteError> {
    let location = Location { data: Some(root.to_owned()), ..location.clone() };
    let configuration = OfflineConfiguration::new(&location, folder.root());
    let plugins = match operation.offer().and_then(PluginOffer::defaults) {
        // The operator's part may be complete only with the defaults.
        Some(defaults) => configuration.draft(&defaults)?,
        None => load(&location, PLUGINS, environment::overrides())?.config.runtime(folder.root().to_owned()),
    };
    let pepper = folder.pepper(&SystemSeed, &store)?;
    Ok(AdminService {
        store,
        backend: Backend::Offline(Box::new(plugins)),
        configuration: Arc::new(configuration),
        pepper,
        clock: Arc::new(SystemClock),
        seed: Arc::new(SystemSeed),
        public: std::sync::OnceLock::new(),
    })
}

async fn through_admin_api(
    location: &Location,
    root: &Path,
    operation: &Operation,
) -> Result<OperationResult, ExecuteError> {
    let unreachable = |text: String| ExecuteError::Unreachable(text);
    let endpoint = AdminEndpoint::read(root)
        .map_err(|error| unreachable(format!("its admin.json cannot be read: {error}")))?
        .ok_or_else(|| unreachable(NO_ADMIN_FILE.to_owned()))?;
    // As for the data folder, a file with an error elsewhere does no harm to a command that needs nothing of it.
    let client = match load_admin_client(location.file.as_deref(), &environment::overrides()) {
        Ok(configured) => location.client.clone().or(configured),
        Err(_) if !endpoint.tls || location.client.ca.is_some() => location.client.clone(),
        Err(errors) => return Err(errors.into()),
    };
    gatehouse_admin::perform(&endpoint, &client, operation).await.map_err(|error| match error {
        ClientError::Refused(refused) => ExecuteError::Operation(refused),
        other => unreachable(other.to_string()),
    })
}
