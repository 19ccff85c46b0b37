//! The plugin service that operations work on: the running gateway's, or one that is opened for a command. Owns the way to it.
//!
//! Samples of live task states for the rehearsal of a plugin version: read from the store, never changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use gatehouse_model::{Clock, Digest, Event, Outage, Phase, Task};
use gatehouse_runtime::{LiveSample, LiveState, LiveStates, PluginService};
use gatehouse_store::Store;

use crate::api::error::OperationError;
use crate::service::gateway::Backend;
use crate::service::job::on_blocking_thread;

/// Streams of a plugin runtime that a command opens for itself.
const OFFLINE_STREAMS: usize = 8;

/// Hands out the plugin service.
pub(in crate::service) struct PluginSource {
    backend: Backend,
    store: Store,
    clock: Arc<dyn Clock>,
}

impl PluginSource {
    pub(in crate::service) fn new(backend: Backend, store: Store, clock: Arc<dyn Clock>) -> Self {
        Self { backend, store, clock }
    }

    pub(super) async fn service(&self) -> Result<PluginService, OperationError> {
        match &self.backend {
            Backend::Running { plugins, .. } => Ok(plugins.clone()),
            Backend::Offline(config) => {
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

/// The live tasks of an open store.
pub struct StoredStates(pub Store);

impl LiveStates for StoredStates {
    fn sample(&self, family: &str, max: usize) -> Result<LiveSample, String> {
        let mut groups: BTreeMap<u32, Group> = BTreeMap::new();
        let mut last = None;
        loop {
            let tasks = self.0.live_tasks_behind(last).map_err(|error| error.to_string())?;
            let Some(newest) = tasks.last() else { break };
            last = Some(newest.id);
            // A task with a decided failure never calls its plugin again.
            for task in tasks.into_iter().filter(|task| task.family == family && task.failure.is_none()) {
                groups.entry(task.state_version).or_default().add(task, max);
            }
        }
        let share = (max / groups.len().max(1)).max(1);
        let counts = groups.iter().map(|(version, group)| (*version, group.seen)).collect();
        let states = groups.into_values().flat_map(|group| group.spread(share)).collect();
        Ok(LiveSample { counts, states })
    }
}

/// Tasks whose states have one version. The sample is spread evenly over old and young ones, because states
/// change with age.
#[derive(Default)]
struct Group {
    seen: usize,
    /// Every so many is kept; doubled whenever there are too many.
    stride: usize,
    kept: Vec<LiveState>,
}

impl Group {
    fn add(&mut self, task: Task, max: usize) {
        self.stride = self.stride.max(1);
        if self.seen.is_multiple_of(self.stride) {
            self.kept.push(live(task));
        }
        self.seen += 1;
        if self.kept.len() > max {
            self.kept = every_second(std::mem::take(&mut self.kept));
            self.stride *= 2;
        }
    }

    fn spread(self, share: usize) -> Vec<LiveState> {
        let mut kept = self.kept;
        while kept.len() > share {
            kept = every_second(kept);
        }
        kept
    }
}

fn every_second<T>(all: Vec<T>) -> Vec<T> {
    all.into_iter().step_by(2).collect()
}

fn live(task: Task) -> LiveState {
    LiveState {
        task: task.id,
        digest: task.digest,
        state_version: task.state_version,
        state: task.state,
        event: match task.phase {
            Phase::Run(event) => event,
            // It waits for a reply, perhaps for long; a version must know what to do without one.
            Phase::Ambiguous { outage, .. } => Event::Outage(outage.unwrap_or(Outage::Broken)),
            _ => Event::Timer,
        },
        seed: task.seed,
        accepted_at: task.created,
        deadline: task.deadline,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_spread_and_never_empty() {
        let check = |count: usize, share: usize, expected: &[usize]| {
            let mut kept: Vec<usize> = (0..count).collect();
            while kept.len() > share {
                kept = every_second(kept);
            }
            assert_eq!(kept, expected, "{count} {share}");
        };
        check(0, 1, &[]);
        check(1, 1, &[0]);
        check(5, 1, &[0]);
        check(8, 4, &[0, 2, 4, 6]);
        check(9, 4, &[0, 4, 8]);
    }
}
