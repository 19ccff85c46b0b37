//! The store of a start: its file, or its database, and how long a start waits for either.
//!
//! A file, or a database, that another gateway has is waited for as long as that one may take to stop. A database that does not answer is
//! waited for without an end: it may start after its gateway, or be failing over, and a process that ends would only be started again.
//! A standby waits without an end for its place, too (`takeover`).

use std::sync::Arc;
use std::time::Duration;

use gatehouse_admin::Waiting;
use gatehouse_model::{Clock, UnixMs, metric};
use gatehouse_store::{OpenError, Server, Store};
use tokio::sync::watch;

use super::error::ServeError;
use super::takeover::Takeover;
use crate::config::{Config, database};
use crate::data_folder::{DataFolder, FolderLock};

/// Time for another gateway to stop and release the store, or for the lease of one that has crashed to end.
const LOCK_TIMEOUT: Duration = Duration::from_secs(12);
/// Between two looks whether it has.
const LOCK_PAUSE: Duration = Duration::from_millis(50);
/// Between two tries to reach a database.
const DATABASE_PAUSE: Duration = Duration::from_secs(1);

/// Opens the store of a configuration, and locks the folder where the store does not; returns once both are there.
pub(super) async fn open_store(
    folder: &DataFolder,
    takeover: &mut Takeover<'_>,
) -> Result<(Store, Option<FolderLock>), ServeError> {
    let config = takeover.config;
    let clock = &Arc::clone(&takeover.clock);
    let Some(server) = database(&config.data)? else {
        DataFolder::check_store(folder.root())?;
        return Ok((open_file(folder, config, &**clock).await?, None));
    };
    if DataFolder::store(folder.root()).exists() {
        tracing::warn!(
            database = %server,
            file = %DataFolder::store(folder.root()).display(),
            "data.url names a database, so the store in this file is not used; its keys and balances are not in the database"
        );
    }
    let lock = lock(folder, &**clock).await?;
    Ok((open_database(server, takeover, folder).await?, Some(lock)))
}

/// What `attempt` comes to, once another gateway has released it.
async fn once_released<T>(
    clock: &dyn Clock,
    mut attempt: impl AsyncFnMut() -> Result<T, ServeError>,
) -> Result<T, ServeError> {
    let mut other = Other::default();
    loop {
        match attempt().await {
            Err(ServeError::Store(OpenError::Locked { path }))
                if other.may_stop(clock.now(), &path.display()) =>
            {
                clock.pause(LOCK_PAUSE).await;
            }
            ended => return ended,
        }
    }
}

/// The folder for this process alone.
async fn lock(folder: &DataFolder, clock: &dyn Clock) -> Result<FolderLock, ServeError> {
    let locked = || OpenError::Locked { path: DataFolder::lock_file(folder.root()) };
    once_released(clock, async || Ok(folder.lock()?.ok_or_else(locked)?)).await
}

async fn open_file(folder: &DataFolder, config: &Config, clock: &dyn Clock) -> Result<Store, ServeError> {
    once_released(clock, async || {
        // A gateway whose store is a database has the folder by its lock alone.
        if DataFolder::is_locked(folder.root()) {
            return Err(OpenError::Locked { path: DataFolder::lock_file(folder.root()) }.into());
        }
        let (path, settings) = (DataFolder::store(folder.root()), config.data.store.clone());
        let open = move || {
            gatehouse_store::check_pages_after_crash(&path)?;
            Store::open(&path, &settings)
        };
        Ok(tokio::task::spawn_blocking(open).await??)
    })
    .await
}

async fn open_database(
    server: Server,
    takeover: &mut Takeover<'_>,
    folder: &DataFolder,
) -> Result<Store, ServeError> {
    let config = takeover.config;
    let clock = &Arc::clone(&takeover.clock);
    let (mut other, mut is_away) = (Other::default(), false);
    loop {
        let ended = match config.fleet.standby {
            true => takeover.until_free(&server, folder).await?,
            false => None,
        };
        let (database, settings, node) = (server.clone(), config.data.store.clone(), takeover.node.clone());
        let open = move || Store::open_postgres(database, &settings, node, ended);
        let opened = tokio::task::spawn_blocking(open).await?;
        match opened {
            // Another one that waited was faster, a command has it for a moment, or the database went away again.
            Err(
                OpenError::Taken { .. } | OpenError::Leased { .. } | OpenError::Database { passes: true, .. },
            ) if config.fleet.standby => {
                clock.pause(LOCK_PAUSE).await;
            }
            Err(OpenError::Taken { database } | OpenError::Leased { database, .. })
                if other.may_stop(clock.now(), &database) =>
            {
                clock.pause(LOCK_PAUSE).await;
            }
            Err(OpenError::Database { reason, passes: true }) => {
                if !is_away {
                    tracing::error!(database = %server, reason, "the database does not answer; the start waits until it does");
                    is_away = true;
                }
                // Supervisors ask whether the process lives; without an answer they would kill what waits.
                if takeover.page.is_none() {
                    let reason = format!("the database {server} does not answer");
                    let waiting = Waiting { reason, is_standby: false };
                    takeover.page = takeover.wait_page(folder.root(), watch::channel(waiting).1);
                }
                other = Other::default();
                clock.pause(DATABASE_PAUSE).await;
            }
            opened => {
                takeover.standby = None;
                if is_away {
                    tracing::info!(database = %server, "the database answers; the start goes on");
                }
                if config.fleet.standby && opened.is_ok() {
                    metrics::gauge!(metric::STANDBY).set(0.0);
                }
                return Ok(opened?);
            }
        }
    }
}

/// Another gateway that has the store.
#[derive(Default)]
struct Other {
    /// Until when it is waited for.
    end: Option<UnixMs>,
}

impl Other {
    /// Whether it is waited for still. The first time it is logged.
    fn may_stop(&mut self, now: UnixMs, store: &dyn std::fmt::Display) -> bool {
        let end = *self.end.get_or_insert_with(|| {
            tracing::warn!(%store, "another gatehouse has it; waiting for it to stop");
            now.plus(LOCK_TIMEOUT)
        });
        now < end
    }
}
