//! The admin API as a command uses it: of the running gateway, or in this process over the store that no gateway has open,
//! by the same router.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use gatehouse_admin::{
    AdminEndpoint, AdminParts, AdminService, ApiAnswer, ApiRefusal, ApiRequest, Backend, ClientError,
    Configuration as _, EndpointOf, FamilyDefaultsFile, IDEMPOTENCY_KEY, LocalApi, OperationError, RemoteApi,
};
use gatehouse_model::{Clock as _, RequestId};
use gatehouse_process::{SystemClock, SystemSeed};
use gatehouse_store::{CopyError, Node, OpenError, Server, Store};
use http::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::OnceCell;

use super::print::{Shown, details, rows_at, table};
use crate::backup::BackupFolder;
use crate::config::{
    ConfigErrors, DataConfig, Location, database, load_admin_client, load_backup_buckets, load_data,
    load_with, settle_defaults,
};
use crate::data_folder::{DataError, DataFolder, FolderLock};
use crate::reload::OfflineConfiguration;
use crate::terminal::{Exit, print_error, show_progress};

/// The name in the audit record of a change to a store that no gateway has open.
const OFFLINE: &str = "command line, without a gateway";
/// A running gateway, and no file that says where.
const NO_ADMIN_FILE: &str = "it has no admin.json: it is starting or stopping, or the file was removed; kill -HUP to its process \
                             has it write the file again";
/// No gateway, or one that is not that far.
const NOT_LISTENING: &str = "its admin.json is written once it listens";
/// Rows of the largest page.
pub(super) const PAGE: usize = 100;

/// Why a command has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExecuteError {
    /// What stands on the command line cannot be used, in words.
    #[error("{0}")]
    Arguments(String),
    /// A command that only reads found no store.
    #[error("{0}: there is no store yet; start the gateway once, or name its data folder with --data")]
    NoStore(String),
    /// The configuration has errors.
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    /// Somebody else has what the command needs alone.
    #[error("{0}")]
    Busy(String),
    /// The command needs a gateway.
    #[error("{folder}: no gateway runs on this data folder; {why}")]
    NotRunning {
        /// The data folder.
        folder: String,
        /// Why it is needed.
        why: &'static str,
    },
    /// The data folder cannot be used.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The database of the configuration cannot be used.
    #[error(transparent)]
    Database(#[from] gatehouse_upstream::ConfigError),
    /// The store cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The store could not be copied.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// A running gateway has the store, and its admin API cannot be reached.
    #[error("a running gateway has this data folder, but {0}")]
    Unreachable(String),
    /// The service could not be opened, or refused an operation.
    #[error(transparent)]
    Operation(#[from] OperationError),
    /// The API refused the request.
    #[error(transparent)]
    Refused(#[from] ApiRefusal),
    /// A command wrote the configuration, and whether the gateway has taken it is not known.
    #[error(
        "{file} is written, but whether the gateway has taken it is not known: {why}; run `gatehouse reload`"
    )]
    Written {
        /// The file.
        file: String,
        /// Why that is not known.
        why: Box<ExecuteError>,
    },
}

impl From<String> for ExecuteError {
    fn from(why: String) -> Self {
        Self::Arguments(why)
    }
}

impl From<&ExecuteError> for Exit {
    fn from(error: &ExecuteError) -> Self {
        match error {
            ExecuteError::Arguments(_)
            | ExecuteError::Config(_)
            | ExecuteError::Database(_)
            | ExecuteError::Operation(OperationError::Misconfigured(_)) => Self::Misconfigured,
            ExecuteError::Refused(refusal) if refusal.reason == "invalid_configuration" => {
                Self::Misconfigured
            }
            ExecuteError::Refused(refusal) if refusal.status == 500 => Self::Broken,
            ExecuteError::Busy(_)
            | ExecuteError::NoStore(_)
            | ExecuteError::NotRunning { .. }
            | ExecuteError::Copy(CopyError::Copy(_)) => Self::Refused,
            ExecuteError::Open(error) | ExecuteError::Copy(CopyError::Open(error)) => Self::from(error),
            ExecuteError::Copy(_) => Self::Store,
            ExecuteError::Data(_)
            | ExecuteError::Unreachable(_)
            | ExecuteError::Operation(OperationError::Failed(_)) => Self::Broken,
            ExecuteError::Operation(_) | ExecuteError::Refused(_) => Self::Refused,
            ExecuteError::Written { why, .. } => Self::from(&**why),
        }
    }
}

/// What a command shows.
pub(super) type Performed = Result<Shown, ExecuteError>;

/// What a command does with a store of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// It reads, and never makes a store.
    Read,
    /// The same, and the pages of its file are checked first.
    Examine,
    /// It writes nothing that stays; without a store it makes one that does not stay either.
    Check,
    /// It writes.
    Write,
}

/// The admin API for one command. Opened by its first request.
pub(super) struct Api<'l> {
    location: &'l Location,
    data: DataConfig,
    /// Whether what is shown on the way is JSON.
    pub(super) json: bool,
    /// Defaults that a plugin brings; the operator's part of the configuration may be complete only with them.
    brought: OnceLock<FamilyDefaultsFile>,
    reached: OnceCell<Reached>,
}

enum Reached {
    Running(RemoteApi),
    /// The store is this process's own; the folder is locked as long.
    Alone {
        api: LocalApi,
        store: Store,
        _lock: Option<FolderLock>,
        _temporary: Option<TempDir>,
    },
}

impl<'l> Api<'l> {
    /// For the data folder that the command line, the environment or the configuration names.
    pub(super) fn new(location: &'l Location, json: bool) -> Result<Self, ExecuteError> {
        let data = data_of(location)?;
        Ok(Self { location, data, json, brought: OnceLock::new(), reached: OnceCell::new() })
    }

    /// Where the operator's configuration and data are.
    pub(super) fn location(&self) -> &Location {
        self.location
    }

    /// The plugin of the request to come brings these defaults.
    pub(super) fn bring(&self, defaults: Option<FamilyDefaultsFile>) {
        // A second request of a command brings the same.
        defaults.into_iter().for_each(|defaults| drop(self.brought.set(defaults)));
    }

    /// Refuses where no gateway runs.
    pub(super) fn needs_gateway(&self, why: &'static str) -> Result<(), ExecuteError> {
        match DataFolder::is_in_use(&self.data.folder) {
            true => Ok(()),
            false => Err(not_running(&self.data.folder, why)),
        }
    }

    /// Does a request. One that may be repeated safely only by its sender's own key gets one.
    pub(super) async fn send(&self, request: ApiRequest) -> Result<ApiAnswer, ExecuteError> {
        let need = if *request.method() == Method::GET { Need::Read } else { Need::Write };
        self.send_as(request, need).await
    }

    /// The same with another need.
    pub(super) async fn send_as(&self, request: ApiRequest, need: Need) -> Result<ApiAnswer, ExecuteError> {
        let key = RequestId::new(SystemClock.now(), &SystemSeed).to_string();
        let request =
            if *request.method() == Method::POST { request.header(IDEMPOTENCY_KEY, &key) } else { request };
        // A database is waited for.
        let open = || async { tokio::task::block_in_place(|| self.open(need)) };
        match self.reached.get_or_try_init(open).await? {
            Reached::Running(api) => api.send(request).await.map_err(|error| match error {
                ClientError::Api(refused) => ExecuteError::Refused(refused),
                other => ExecuteError::Unreachable(other.to_string()),
            }),
            Reached::Alone { api, .. } => Ok(api.send(request).await?),
        }
    }

    /// A run of the gateway from its first request to its end; `progress` tells how far it is, and `path` is where that is seen.
    pub(super) async fn watch(
        &self,
        begin: ApiRequest,
        path: &str,
        progress: impl Fn(&Value) -> String,
    ) -> Result<Value, ExecuteError> {
        let mut run = self.send_as(begin, Need::Examine).await?.body;
        while run["state"] == "running" {
            show_progress(&progress(&run));
            let look = ApiRequest::get(&[path]).query("run", &run["run"]);
            run = self.send_as(look, Need::Examine).await?.body;
        }
        show_progress("");
        Ok(run)
    }

    /// The answer to a request as the row of a table.
    pub(super) async fn row(&self, request: ApiRequest, fields: &[&str]) -> Performed {
        self.told(request, |answer| table(std::slice::from_ref(answer), fields)).await
    }

    /// The answer to a request line by line.
    pub(super) async fn details(&self, request: ApiRequest, fields: &[&str]) -> Performed {
        self.told(request, |answer| details(answer, fields)).await
    }

    /// The answer to a request in words of its own.
    pub(super) async fn told(&self, request: ApiRequest, words: impl Fn(&Value) -> String) -> Performed {
        let answer = self.send(request).await?.body;
        let text = words(&answer);
        Ok(Shown::told(answer, text))
    }

    /// The rows of a list as a table, at most so many.
    pub(super) async fn rows(&self, list: ApiRequest, most: usize, fields: &[&str]) -> Performed {
        self.listed(list, most, |rows| table(rows, fields)).await
    }

    /// The rows of a list in words of their own.
    pub(super) async fn listed(
        &self,
        list: ApiRequest,
        most: usize,
        words: impl Fn(&[Value]) -> String,
    ) -> Performed {
        let found = self.list(list, most, None).await?;
        let text = words(rows_at(&found, "data"));
        Ok(Shown::told(found, text))
    }

    /// The rows of a list, page after page, at most so many; from the position `cursor` on.
    pub(super) async fn list(
        &self,
        request: ApiRequest,
        most: usize,
        cursor: Option<String>,
    ) -> Result<Value, ExecuteError> {
        let (mut rows, mut next) = (Vec::new(), cursor);
        if most == 0 {
            return Ok(json!({"data": rows, "next": next}));
        }
        loop {
            let limit = most.saturating_sub(rows.len()).min(PAGE);
            let page = request.clone().query("limit", limit).query_if("cursor", next);
            let mut page = self.send(page).await?.body;
            if let Some(more) = page["data"].as_array_mut() {
                rows.append(more);
            }
            next = page["next"].as_str().map(str::to_owned);
            if next.is_none() || rows.len() >= most {
                return Ok(json!({"data": rows, "next": next}));
            }
        }
    }

    /// Ends the use of a store of its own.
    pub(super) fn close(self) {
        if let Some(Reached::Alone { store, .. }) = self.reached.into_inner() {
            store.close();
        }
    }

    fn open(&self, need: Need) -> Result<Reached, ExecuteError> {
        match database(&self.data)? {
            Some(server) => self.open_database(server),
            None => self.open_file(need),
        }
    }

    fn open_file(&self, need: Need) -> Result<Reached, ExecuteError> {
        let (location, root) = (self.location, self.data.folder.as_path());
        let file = DataFolder::store(root);
        DataFolder::check_store(root)?;
        if !file.exists() && need == Need::Check {
            return self.open_temporary();
        }
        if !file.exists() && need != Need::Write {
            // An error in the configuration may be why it is looked for in the wrong folder.
            load_with(location, None)?;
            return Err(ExecuteError::NoStore(file.display().to_string()));
        }
        if DataFolder::is_locked(root) {
            return remote(location, root).map(Reached::Running);
        }
        let folder = DataFolder::open(root, &print_error)?;
        if need == Need::Examine {
            match gatehouse_store::check_pages(&file) {
                // A running gateway examines its rows only.
                Ok(()) | Err(OpenError::Locked { .. }) => {}
                Err(damaged) => return Err(damaged.into()),
            }
        }
        match Store::open(&file, &self.data.store) {
            Ok(store) => self.alone_with(folder, None, store),
            Err(OpenError::Locked { .. }) => remote(location, root).map(Reached::Running),
            Err(other) => Err(other.into()),
        }
    }

    /// The gateway of this folder has the database, or this process takes it for a moment. One of another folder is not found.
    fn open_database(&self, server: Server) -> Result<Reached, ExecuteError> {
        let root = self.data.folder.as_path();
        let folder = DataFolder::open(root, &print_error)?;
        let Some(lock) = folder.lock()? else { return remote(self.location, root).map(Reached::Running) };
        // Without a name: it is no gateway that others know.
        let store = Store::open_postgres(server, &self.data.store, Node::default(), None)?;
        self.alone_with(folder, Some(lock), store)
    }

    fn alone_with(
        &self,
        folder: DataFolder,
        lock: Option<FolderLock>,
        store: Store,
    ) -> Result<Reached, ExecuteError> {
        // This process may change which versions are active, and so which defaults count.
        let settled = settle_defaults(&self.data.folder)
            .map_err(|error| OperationError::Failed(format!("defaults of plugins: {error}")).into());
        let opened = settled.and_then(|()| self.alone(folder, lock, store.clone(), None));
        opened.inspect_err(|_| store.close())
    }

    /// In a folder that goes with this process.
    fn open_temporary(&self) -> Result<Reached, ExecuteError> {
        let failed = |error: std::io::Error| OperationError::Failed(format!("temporary folder: {error}"));
        let temporary = tempfile::tempdir().map_err(failed)?;
        let folder = DataFolder::open(temporary.path(), &print_error)?;
        let store = Store::open(&DataFolder::store(temporary.path()), &gatehouse_store::Config::default())?;
        self.alone(folder, None, store, Some(temporary))
    }

    /// The service on that folder, with the configuration for the one that the operator has named.
    fn alone(
        &self,
        folder: DataFolder,
        lock: Option<FolderLock>,
        store: Store,
        temporary: Option<TempDir>,
    ) -> Result<Reached, ExecuteError> {
        let location = Location { data: Some(self.data.folder.clone()), ..self.location.clone() };
        let (root, clock) = (folder.root(), Arc::new(SystemClock));
        let configuration = OfflineConfiguration::new(&location, root);
        let plugins = match self.brought.get() {
            // The operator's part may be complete only with the defaults.
            Some(defaults) => configuration.draft(defaults)?,
            None => load_with(&location, None)?.config.runtime(root.to_owned()),
        };
        let buckets = load_backup_buckets(&location)?;
        let service = AdminService::new(AdminParts {
            store: store.clone(),
            backend: Backend::Offline(Box::new(plugins)),
            configuration: Arc::new(configuration),
            backups: Arc::new(BackupFolder::new(root, lock.is_none(), buckets, clock.clone())),
            server: database(&self.data)?,
            pepper: folder.pepper(&SystemSeed, &store)?,
            clock,
            seed: Arc::new(SystemSeed),
        });
        let api = LocalApi::new(service, OFFLINE);
        Ok(Reached::Alone { api, store, _lock: lock, _temporary: temporary })
    }
}

/// Where the data is. A running gateway needs no configuration of a command that names its folder, and without one the
/// errors are found later.
pub(super) fn data_of(location: &Location) -> Result<DataConfig, ExecuteError> {
    let data = load_data(location);
    match (data, &location.data) {
        (Ok(data), None) => Ok(data),
        (Ok(data), Some(folder)) => Ok(DataConfig { folder: folder.clone(), ..data }),
        (Err(_), Some(folder)) => Ok(DataConfig { folder: folder.clone(), ..DataConfig::default() }),
        (Err(errors), None) => Err(errors.into()),
    }
}

fn not_running(root: &Path, why: &'static str) -> ExecuteError {
    ExecuteError::NotRunning { folder: root.display().to_string(), why }
}

/// The listener of the running gateway, without a look at its store: for what asks every few seconds.
pub(super) fn running(location: &Location) -> Result<RemoteApi, ExecuteError> {
    let root = data_of(location)?.folder;
    if !EndpointOf::Operator.path(&root).exists() {
        return Err(not_running(&root, NOT_LISTENING));
    }
    remote(location, &root)
}

/// The listener of a gateway that starts or waits for the place of another, which answers without a token alone.
pub(super) fn waiting(location: &Location) -> Result<RemoteApi, ExecuteError> {
    let root = data_of(location)?.folder;
    let endpoint = EndpointOf::Waiting
        .read(&root)
        .map_err(|error| ExecuteError::Unreachable(format!("its file cannot be read: {error}")))?;
    remote_at(location, endpoint.ok_or_else(|| not_running(&root, NOT_LISTENING))?)
}

/// Where the running gateway is, and what it is shown.
fn remote(location: &Location, root: &Path) -> Result<RemoteApi, ExecuteError> {
    let endpoint = EndpointOf::Operator
        .read(root)
        .map_err(|error| ExecuteError::Unreachable(format!("its admin.json cannot be read: {error}")))?
        .ok_or_else(|| ExecuteError::Unreachable(NO_ADMIN_FILE.to_owned()))?;
    remote_at(location, endpoint)
}

fn remote_at(location: &Location, endpoint: AdminEndpoint) -> Result<RemoteApi, ExecuteError> {
    // As for the data folder, a file with an error elsewhere does no harm to a command that needs nothing of it.
    let client = match load_admin_client(location) {
        Ok(configured) => location.client.clone().or(configured),
        Err(_) if !endpoint.tls || location.client.ca.is_some() => location.client.clone(),
        Err(errors) => return Err(errors.into()),
    };
    Ok(RemoteApi::new(endpoint, client))
}
