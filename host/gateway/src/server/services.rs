//! The services below the listeners: store, plugins, upstream, media, and the driver over them.
//!
//! The public API for the admin service: its requests go to the edge without a listener between.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gatehouse_admin::{
    AdminParts, AdminService, Backend, Logs, Pending, PublicApi, PublicEndpoint, PublicRefusal, ServedBody,
    StoredStates,
};
use gatehouse_driver::{Disk, DiskSpace, Driver, DryRun, Parts, Recovery};
use gatehouse_edge::LocalRequests;
use gatehouse_files::Space;
use gatehouse_media::MediaStore;
use gatehouse_model::{Clock, CustomerId, Key, Pepper, Seed, Tracer};
use gatehouse_runtime::PluginService;
use gatehouse_store::Store;
use gatehouse_upstream::Upstream;
use http::{Request, Response};

use super::error::ServeError;
use super::memory::{compilers, waiting_files_mib};
use super::open_store::open_store;
use super::takeover::Takeover;
use crate::acme::{Acme, external_account};
use crate::backup::{BackupFolder, remove_unsent};
use crate::config::{Config, database, settle_defaults};
use crate::data_folder::{DataFolder, FolderLock};
use crate::reload::RunningConfiguration;
use crate::secrets;

const BUCKET_TIMEOUT: Duration = Duration::from_secs(10);

/// The services below the driver.
pub(super) struct Services {
    pub(super) folder: DataFolder,
    pub(super) lock: Option<FolderLock>,
    pub(super) pepper: Pepper,
    pub(super) store: Store,
    pub(super) plugins: PluginService,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) seed: Arc<dyn Seed>,
}

impl Services {
    /// Opens the data folder, its store and its plugins, as far as those need not be compiled.
    pub(super) async fn open(
        config: &Config,
        root: &Path,
        takeover: &mut Takeover<'_>,
    ) -> Result<Self, ServeError> {
        let (clock, seed) = (Arc::clone(&takeover.clock), Arc::clone(&takeover.seed));
        let folder = DataFolder::open(root, &|report| tracing::warn!("{report}"))?;
        let (store, lock) = open_store(&folder, takeover).await?;
        // After the store: its lock allows one process to create a pepper, to switch plugins and to make a backup.
        if let Err(error) = remove_unsent(root) {
            tracing::warn!(%error, "what a backup to a bucket has left was not removed");
        }
        let (of_pepper, random, rows) = (folder.clone(), seed.clone(), store.clone());
        let pepper = tokio::task::spawn_blocking(move || of_pepper.pepper(&*random, &rows)).await??;
        settle_defaults(root).map_err(ServeError::Defaults)?;
        let plugins = gatehouse_runtime::Config { compilers: compilers(), ..config.runtime(root.to_owned()) };
        let (time, live) = (clock.clone(), StoredStates(store.clone()));
        let plugins = tokio::task::spawn_blocking(move || {
            let service = PluginService::open_compiled(plugins, time)?;
            service.rehearse_on(Arc::new(live));
            Ok::<_, ServeError>(service)
        });
        let plugins = plugins.await??;
        Ok(Self { folder, lock, pepper, store, plugins, clock, seed })
    }

    /// The driver, and what recovers the tasks of the last process.
    pub(super) async fn join_driver(
        &self,
        config: &Config,
        upstream: Upstream,
        tracer: Option<Arc<Tracer>>,
    ) -> Result<(Driver, Recovery), ServeError> {
        let media = MediaStore::open(
            config.media.clone(),
            self.folder.root(),
            &secrets::resolve,
            self.pepper.clone(),
            upstream.clone(),
            self.clock.clone(),
            self.seed.clone(),
        )?;
        check_bucket(&media).await?;
        let disks = disks(config, self.folder.root(), &media);
        let mut tasks = config.tasks.clone();
        tasks.prices.clone_from(&config.prices);
        tasks.price_variants.clone_from(&config.price_variants);
        tasks.text.clone_from(&config.text);
        tasks.models.clone_from(&config.models);
        tasks.waiting_files_mib.get_or_insert_with(waiting_files_mib);
        tasks.webhooks_over_http = config.sandbox.enabled;
        let joined = Driver::join(Parts {
            store: self.store.clone(),
            plugins: self.plugins.clone(),
            upstream,
            media,
            config: tasks,
            clock: self.clock.clone(),
            seed: self.seed.clone(),
            pepper: self.pepper.clone(),
            tracer,
            disks,
        });
        Ok(joined?)
    }

    /// The certificate that an authority issues, as far as it is kept.
    pub(super) fn open_acme(&self, config: &Config, upstream: &Upstream) -> Result<Option<Acme>, ServeError> {
        let Some(acme) = config.server.acme.clone() else { return Ok(None) };
        let bound_to = external_account(&acme).map_err(ServeError::Acme)?;
        let client = upstream.service_client(&acme.directory);
        let client = client.map_err(|why| ServeError::Acme(format!("directory: {why}")))?;
        Ok(Some(Acme::open(acme, bound_to, client, self.folder.acme(), self.clock.clone())?))
    }

    /// The admin service of the running gateway.
    pub(super) fn admin_service(
        &self,
        config: &Config,
        driver: &Driver,
        configuration: Arc<RunningConfiguration>,
    ) -> AdminService {
        let (is_file, buckets) = (self.lock.is_none(), config.backup_buckets());
        let backups = BackupFolder::new(self.folder.root(), is_file, buckets, self.clock.clone());
        AdminService::new(AdminParts {
            store: self.store.clone(),
            backend: Backend::Running { plugins: self.plugins.clone(), driver: driver.clone() },
            configuration,
            backups: Arc::new(backups),
            // It was found before.
            server: database(&config.data).ok().flatten(),
            pepper: self.pepper.clone(),
            clock: self.clock.clone(),
            seed: self.seed.clone(),
        })
    }
}

/// Asks the bucket of media once. One that refuses will go on refusing; one that does not answer may be back soon, and what
/// needs no files is served meanwhile.
async fn check_bucket(media: &MediaStore) -> Result<(), ServeError> {
    match tokio::time::timeout(BUCKET_TIMEOUT, media.check()).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error @ gatehouse_media::Error::Bucket { refused: true, .. })) => {
            Err(ServeError::Bucket(error))
        }
        Ok(Err(error)) => {
            tracing::warn!(%error, "requests with files are refused and results wait until it answers");
            Ok(())
        }
        Err(_) => {
            tracing::warn!(
                "the media bucket does not answer: requests with files are refused and results wait until it does"
            );
            Ok(())
        }
    }
}

/// The disks of the store and, where it is one of this machine, of media; both names even for one disk, since each has
/// its own mark.
fn disks(config: &Config, root: &Path, media: &MediaStore) -> Vec<Disk> {
    let disk = |name, mark_mib, folder: PathBuf| {
        Disk::new(name, mark_mib, move || {
            let Space { free, size } = gatehouse_files::space(&folder)?;
            Ok(DiskSpace { free, size })
        })
    };
    let store = disk("store", config.data.min_free_mib, root.to_owned());
    let media = media.folder().map(|folder| disk("media", config.media.min_free_mib, folder.to_owned()));
    [store].into_iter().chain(media).collect()
}

/// The edge of this process, as operators use it.
pub(super) struct LocalApi {
    pub(super) requests: LocalRequests,
    /// What links in answers begin with.
    pub(super) base_url: String,
}

impl PublicApi for LocalApi {
    fn price(
        &self,
        target: String,
        body: Bytes,
        customer: Option<CustomerId>,
    ) -> Pending<Result<DryRun, PublicRefusal>> {
        let requests = self.requests.clone();
        Box::pin(async move {
            let found = requests.price(&target, body, customer).await;
            found.map_err(|error| PublicRefusal {
                status: error.status,
                param: error.param,
                message: error.message,
            })
        })
    }

    fn respond(&self, key: Arc<Key>, request: Request<Bytes>) -> Pending<Response<ServedBody>> {
        let (requests, base_url) = (self.requests.clone(), self.base_url.clone());
        Box::pin(async move { requests.respond(key, request, base_url).await })
    }

    fn logs(&self) -> Logs {
        Logs { requests: self.requests.log(), process: gatehouse_process::process_log() }
    }

    fn endpoints(&self) -> Vec<PublicEndpoint> {
        let rows = self.requests.routes();
        let rows = rows.into_iter().filter(|row| row.method == "POST");
        rows.map(|row| PublicEndpoint {
            surface: row.surface,
            path: row.path,
            model_in_body: row.model.is_none(),
        })
        .collect()
    }
}
