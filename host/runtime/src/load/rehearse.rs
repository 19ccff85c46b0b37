//! Stage eight: the version takes a step with copies of what live tasks remember, before any of them meets it.
//!
//! States it claims to read are migrated first; states of its own version are taken as they are. Then one
//! event is played, the one the task waits for. A pure function makes that harmless: whatever it answers is
//! thrown away and no call is made. It fails where the version faults, and where it gives a task up with
//! which the version that wrote the state goes on. States it does not claim to read stay with their version.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gatehouse_model::{Action, Context, Digest, Event, TaskId, UnixMs};

use crate::version::Version;

/// States looked at; as many of each version of state as there is room for.
pub(crate) const MOST_STATES: usize = 1000;
/// Time for all of them; every version of state is looked at once in any case.
const PATIENCE: Duration = Duration::from_secs(10);
/// Tasks named in a refusal.
const MOST_FAILURES: usize = 5;

/// What a live task remembers.
#[derive(Clone, Debug)]
pub struct LiveState {
    /// The task.
    pub task: TaskId,
    /// The build that wrote the state.
    pub digest: Digest,
    /// The version of the state.
    pub state_version: u32,
    /// The state.
    pub state: Vec<u8>,
    /// What the task is to be told next.
    pub event: Event,
    /// The task's randomness.
    pub seed: u64,
    /// When it was accepted.
    pub accepted_at: UnixMs,
    /// When it ends by itself.
    pub deadline: UnixMs,
}

/// States of one family's live tasks.
#[derive(Clone, Debug, Default)]
pub struct LiveSample {
    /// All of them, counted by version of state.
    pub counts: BTreeMap<u32, usize>,
    /// Some of them: at least one of each version of state.
    pub states: Vec<LiveState>,
}

/// Where live tasks are kept.
pub trait LiveStates: Send + Sync + 'static {
    /// At most about `most` states of the live tasks of `family`, and at least one of each version of state.
    ///
    /// # Errors
    /// Why they cannot be read.
    fn sample(&self, family: &str, most: usize) -> Result<LiveSample, String>;
}

/// Why a version must not meet the live tasks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RehearseError {
    /// It cannot go on with them.
    #[error("{} of {tried} live states could not go on with it: {}", failed.len(), list(failed))]
    Failed {
        /// States tried.
        tried: usize,
        /// Tasks, and what went wrong with a copy of each; at most five.
        failed: Vec<(TaskId, String)>,
    },
    /// The states could not be read.
    #[error("the live tasks could not be read: {0}")]
    Unreadable(String),
}

fn list(failed: &[(TaskId, String)]) -> String {
    let each: Vec<String> = failed.iter().map(|(task, why)| format!("{task}: {why}")).collect();
    each.join("; ")
}

/// Plays the sample on `version`, on this thread; a sentence for the report. `writers` are the versions that
/// wrote the states, as far as they can be had.
pub(crate) fn rehearse(
    version: &Version,
    mut sample: LiveSample,
    writers: &HashMap<Digest, Arc<Version>>,
    now: UnixMs,
) -> Result<String, RehearseError> {
    let about = version.about();
    let reads = |state: u32| state == about.state_version || about.reads_state.contains(&state);
    let (mut read, mut pinned) = (0, 0);
    for (state_version, count) in &sample.counts {
        *(if reads(*state_version) { &mut read } else { &mut pinned }) += count;
    }
    sample.states.retain(|live| reads(live.state_version));
    first_of_each_first(&mut sample.states);
    let versions = sample.states.iter().map(|live| live.state_version).collect::<BTreeSet<_>>().len();
    let (begun, mut tried, mut failed) = (Instant::now(), 0, Vec::new());
    for live in sample.states {
        if failed.len() == MOST_FAILURES || (tried >= versions && begun.elapsed() > PATIENCE) {
            break;
        }
        tried += 1;
        let task = live.task;
        if let Err(why) = play(version, &live, writers.get(&live.digest), now) {
            failed.push((task, why));
        }
    }
    if !failed.is_empty() {
        return Err(RehearseError::Failed { tried, failed });
    }
    Ok(match (read, pinned) {
        (0, 0) => "no live tasks".to_owned(),
        (_, 0) => format!("{tried} of {read} live states read"),
        _ => format!("{tried} of {read} live states read; {pinned} live tasks stay with their version"),
    })
}

/// One state of each version before the second of any.
fn first_of_each_first(states: &mut [LiveState]) {
    let mut seen: BTreeMap<u32, usize> = BTreeMap::new();
    states.sort_by_cached_key(|live| {
        let count = seen.entry(live.state_version).or_default();
        *count += 1;
        *count
    });
}

fn play(
    version: &Version,
    live: &LiveState,
    writer: Option<&Arc<Version>>,
    now: UnixMs,
) -> Result<(), String> {
    let own = live.state_version == version.about().state_version;
    let migrated = if own {
        None
    } else {
        let from = live.state_version;
        let answer = version.migrate(from, &live.state);
        Some(
            answer
                .unwrap_or_else(|fault| Err(fault.to_string()))
                .map_err(|why| format!("migrate from state version {from}: {why}"))?,
        )
    };
    let state = migrated.as_ref().unwrap_or(&live.state);
    let why = match gives_up(version, live, state, now) {
        Ok(None) => return Ok(()),
        Ok(Some(reason)) => format!("advance: it ends the task ({reason})"),
        Err(fault) => format!("advance: {fault}"),
    };
    // It is only its doing if the version that wrote the state goes on where it does not.
    match writer.map(|writer| gives_up(writer, live, &live.state, now)) {
        Some(Ok(None)) => Err(format!("{why}, where the version that wrote its state goes on")),
        Some(_) => Ok(()),
        None => Err(why),
    }
}

/// Why the task ends badly at its next event, if it does.
fn gives_up(
    version: &Version,
    live: &LiveState,
    state: &[u8],
    now: UnixMs,
) -> Result<Option<String>, crate::Fault> {
    let context = Context {
        now,
        seed: live.seed,
        task: Some(live.task),
        accepted_at: live.accepted_at,
        deadline: live.deadline,
        settings: version.settings(),
    };
    let step = version.advance_within(version.limits().load_ms.get(), &context, state, live.event.clone())?;
    Ok(match step.next {
        Action::Fail(failure) => Some(failure.message),
        _ => None,
    })
}
