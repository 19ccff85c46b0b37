//! The plugin service that operations work on: the running gateway's, or one that is opened for a command. Owns the way to it.

use std::sync::Arc;

use gatehouse_model::{Clock, Digest};
use gatehouse_runtime::PluginService;
use gatehouse_store::Store;

use super::live_states::StoredStates;
use crate::api::error::OperationError;
use crate::service::job::on_blocking_thread;

/// Streams of a plugin runtime that a command opens for itself.
const OFFLINE_STREAMS: usize = 8;

/// Hands out the plugin service.
pub(in crate::service) struct PluginSource {
    origin: Origin,
    store: Store,
    clock: Arc<dyn Clock>,
}

/// Where the plugin service comes from.
pub(in crate::service) enum Origin {
    /// The running gateway has it.
    Running(PluginService),
    /// It is opened with this configuration.
    Offline(Box<gatehouse_runtime::Config>),
}

impl PluginSource {
    pub(in crate::service) fn new(origin: Origin, store: Store, clock: Arc<dyn Clock>) -> Self {
        Self { origin, store, clock }
    }

    pub(super) async fn service(&self) -> Result<PluginService, OperationError> {
        match &self.origin {
            Origin::Running(plugins) => Ok(plugins.clone()),
            Origin::Offline(config) => {
                // Nobody reads a stream here, and each reserves address space.
                let config =
                    gatehouse_runtime::Config { streams: OFFLINE_STREAMS, ..config.as_ref().clone() };
                let clock = self.clock.clone();
                let opened = on_blocking_thread(move || {
                    PluginService::open(config, clock).inspect(|service| service.complete_start())
                });
                let plugins =
                    opened.await?.map_err(|error| OperationError::Failed(format!("plugins: {error}")))?;
                plugins.rehearse_on(Arc::new(StoredStates(self.store.clone())));
                Ok(plugins)
            }
        }
    }
}

/// One of the versions that a live task needs, by the store: without a running gateway none is loaded for it.
pub(super) fn needed_by_task(store: &Store, versions: &[Digest]) -> Result<Option<Digest>, OperationError> {
    let mut last = None;
    loop {
        let tasks = store.live_tasks_behind(last)?;
        let Some(newest) = tasks.last() else { return Ok(None) };
        last = Some(newest.id);
        if let Some(task) = tasks.iter().find(|task| versions.contains(&task.digest)) {
            return Ok(Some(task.digest));
        }
    }
}
