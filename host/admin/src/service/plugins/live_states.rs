//! Samples of live task states for the rehearsal of a plugin version: read from the store, never changed.

use std::collections::BTreeMap;

use gatehouse_model::{Event, Outage, Phase, Task};
use gatehouse_runtime::{LiveSample, LiveState, LiveStates};
use gatehouse_store::Store;

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
