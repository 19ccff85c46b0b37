//! The rooms below the listeners: opened from the configuration and joined by the driver.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_driver::{Driver, Parts};
use gatehouse_media::MediaStore;
use gatehouse_model::{Clock, Pepper, Seed};
use gatehouse_runtime::PluginService;
use gatehouse_store::{OpenError, Store};
use gatehouse_upstream::{ConfigError, SystemResolver, Upstream};

use crate::config::Config;
use crate::data::DataFolder;
use crate::embedded::{self, PLUGINS};
use crate::operations::{Desk, Plugins, StoredStates, families_config};
use crate::serve::ServeError;
use crate::{SystemClock, SystemSeed, secrets};

/// A gateway that stops needs a moment until its store is free for the next one.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);

/// The rooms below the driver.
pub(crate) struct Rooms {
    pub(crate) folder: DataFolder,
    pub(crate) pepper: Pepper,
    pub(crate) store: Store,
    pub(crate) families: PluginService,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) seed: Arc<dyn Seed>,
}

impl Rooms {
    /// Opens the data folder, its store and its plugins.
    pub(crate) async fn open(config: &Config, root: &Path) -> Result<Self, ServeError> {
        let (clock, seed): (Arc<dyn Clock>, Arc<dyn Seed>) = (Arc::new(SystemClock), Arc::new(SystemSeed));
        let folder = DataFolder::open(root)?;
        let store = open_store(&folder, config, clock.as_ref()).await?;
        // Only now: whoever has the store's lock is the only one to make a pepper or switch a plugin.
        let pepper = folder.pepper(seed.as_ref())?;
        let (plugins, time) = (families_config(root.to_owned(), config), clock.clone());
        let (record, live) = (folder.plugins(), StoredStates(store.clone()));
        let families = tokio::task::spawn_blocking(move || {
            let families = PluginService::open(plugins, time)?;
            families.rehearse_on(Arc::new(live));
            embedded::install(&families, &record, PLUGINS)?;
            Ok::<_, ServeError>(families)
        });
        let families = families.await??;
        Ok(Self { folder, pepper, store, families, clock, seed })
    }

    /// The driver over these rooms: it recovers what the last process left.
    pub(crate) async fn join(&self, config: &Config) -> Result<Driver, ServeError> {
        let upstream = upstream(config)?;
        let media = MediaStore::open(
            config.media.clone(),
            self.folder.root(),
            self.pepper.clone(),
            upstream.clone(),
            self.clock.clone(),
            self.seed.clone(),
        )?;
        let mut tasks = config.tasks.clone();
        tasks.prices.clone_from(&config.prices);
        tasks.text.clone_from(&config.text);
        tasks.models.clone_from(&config.models);
        let driver = Driver::start(Parts {
            store: self.store.clone(),
            plugins: self.families.clone(),
            upstream,
            media,
            config: tasks,
            clock: self.clock.clone(),
            seed: self.seed.clone(),
        });
        Ok(driver.await?)
    }

    /// The operations on these rooms.
    pub(crate) fn desk(&self) -> Desk {
        Desk {
            store: self.store.clone(),
            plugins: Plugins::Serving(self.families.clone()),
            pepper: self.pepper.clone(),
            clock: self.clock.clone(),
            seed: self.seed.clone(),
        }
    }
}

/// What leaves the house, with every secret looked up.
pub(crate) fn upstream(config: &Config) -> Result<Upstream, ConfigError> {
    let mut leaving =
        gatehouse_upstream::Config { providers: config.providers.clone(), fetch: config.fetch.clone() };
    leaving.providers.retain(|_, provider| !provider.accounts.is_empty());
    Upstream::new(
        &leaving,
        &secrets::resolve,
        Arc::new(SystemClock),
        Arc::new(SystemSeed),
        Arc::new(SystemResolver),
    )
}

async fn open_store(folder: &DataFolder, config: &Config, clock: &dyn Clock) -> Result<Store, ServeError> {
    let file = DataFolder::store(folder.root());
    let end = clock.now().plus(LOCK_PATIENCE);
    let mut told = false;
    loop {
        let (path, settings) = (file.clone(), config.data.store.clone());
        match tokio::task::spawn_blocking(move || Store::open(&path, &settings)).await? {
            Err(OpenError::Locked { path }) if clock.now() < end => {
                if !told {
                    tracing::warn!(file = %path.display(), "another gatehouse has the store; waiting for it to stop");
                    told = true;
                }
                clock.pause(Duration::from_millis(50)).await;
            }
            opened => return Ok(opened?),
        }
    }
}
