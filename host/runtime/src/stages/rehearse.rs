//! Stage eight: the version takes one step with copies of the states of live tasks.
//!
//! A state of its own state version is used as it is; one of a version that it claims to read is migrated first. The
//! event is the one that the task waits for. The answer is dropped and no call is made, so a pure function makes this
//! harmless. The stage refuses a version that faults, and one that fails a task with which the state's own version
//! goes on. States that the version does not claim to read stay with their own version.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gatehouse_model::{About, Action, Context, Digest, Event, TaskId, UnixMs, escape_control};

use crate::fault::Fault;
use crate::version::loaded::Version;

/// States tried.
pub(crate) const MAX_STATES: usize = 1000;
/// Time for all states; one state of each state version is tried in any case.
const TIME_LIMIT: Duration = Duration::from_secs(10);
/// Tasks that a refusal names.
const MAX_FAILURES: usize = 5;

/// The state of a live task.
#[derive(Clone, Debug)]
pub struct LiveState {
    /// The task.
    pub task: TaskId,
    /// The version that wrote the state.
    pub digest: Digest,
    /// The state version.
    pub state_version: u32,
    /// The state.
    pub state: Vec<u8>,
    /// The event that the task waits for.
    pub event: Event,
    /// The task's seed.
    pub seed: u64,
    /// When it was accepted.
    pub accepted_at: UnixMs,
    /// Its deadline.
    pub deadline: UnixMs,
}

/// States of the live tasks of one family.
#[derive(Clone, Debug, Default)]
pub struct LiveSample {
    /// The number of all tasks by state version.
    pub counts: BTreeMap<u32, usize>,
    /// Some of them; at least one of each state version.
    pub states: Vec<LiveState>,
}

/// The store of live tasks.
pub trait LiveStates: Send + Sync + 'static {
    /// About `limit` states of the live tasks of `family`, and at least one of each state version.
    fn sample(&self, family: &str, limit: usize) -> Result<LiveSample, String>;
}

/// Why a version must not take over the live tasks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RehearseError {
    /// Some live tasks could not go on with it.
    #[error("{} of {tried} live states could not go on with it: {}; {remedy}", failed.len(), list(failed))]
    Failed {
        /// States tried.
        tried: usize,
        /// Tasks, and the failure of a copy of each; at most five.
        failed: Vec<(TaskId, String)>,
        /// What to change.
        remedy: String,
    },
    /// The states could not be read.
    #[error("the live tasks could not be read: {0}")]
    Unreadable(String),
}

/// Each reason once, after the tasks that it holds for.
fn list(failed: &[(TaskId, String)]) -> String {
    let mut by_reason: Vec<(&str, Vec<String>)> = Vec::new();
    for (task, why) in failed {
        match by_reason.iter_mut().find(|(reason, _)| reason == why) {
            Some((_, tasks)) => tasks.push(task.to_string()),
            None => by_reason.push((why, vec![task.to_string()])),
        }
    }
    let each: Vec<String> =
        by_reason.into_iter().map(|(why, tasks)| format!("{}: {why}", tasks.join(", "))).collect();
    each.join("; ")
}

/// What an author does about states that a version cannot read.
fn remedy(about: &About, older: bool, own: bool) -> String {
    let now = about.state_version;
    let own = own.then(|| {
        format!(
            "if the form of the state has changed, count STATE_VERSION up (now {now}) or read the old form"
        )
    });
    let older =
        older.then(|| "read the older forms in `migrate`, or take them out of READS_STATE".to_owned());
    [own, older].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// Tries the sample on `version`, on this thread; returns a note for the report. `writers` are the versions that wrote
/// the states, as far as they load.
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
    one_of_each_version_first(&mut sample.states);
    let versions = sample.states.iter().map(|live| live.state_version).collect::<BTreeSet<_>>().len();
    let (begun, mut tried, mut failed) = (Instant::now(), 0, Vec::new());
    let (mut older, mut own) = (false, false);
    for live in sample.states {
        if failed.len() == MAX_FAILURES || (tried >= versions && begun.elapsed() > TIME_LIMIT) {
            break;
        }
        tried += 1;
        let task = live.task;
        if let Err(why) = try_state(version, &live, writers.get(&live.digest), now) {
            let is_own = live.state_version == about.state_version;
            (older, own) = (older || !is_own, own || is_own);
            failed.push((task, why));
        }
    }
    if !failed.is_empty() {
        return Err(RehearseError::Failed { tried, failed, remedy: remedy(about, older, own) });
    }
    Ok(match (read, pinned) {
        (0, 0) => "no live tasks".to_owned(),
        (_, 0) => format!("{tried} of {read} live states read"),
        _ => format!("{tried} of {read} live states read; {pinned} live tasks stay with their version"),
    })
}

/// Orders the states: one of each state version before the second of any.
fn one_of_each_version_first(states: &mut [LiveState]) {
    let mut seen: BTreeMap<u32, usize> = BTreeMap::new();
    states.sort_by_cached_key(|live| {
        let count = seen.entry(live.state_version).or_default();
        *count += 1;
        *count
    });
}

fn try_state(
    version: &Version,
    live: &LiveState,
    writer: Option<&Arc<Version>>,
    now: UnixMs,
) -> Result<(), String> {
    let from = live.state_version;
    let migrate = || {
        let answer = version.try_migrate(from, &live.state).unwrap_or_else(|fault| Err(fault.to_string()));
        answer.map_err(|why| format!("migrate from state version {from}: {}", escape_control(&why)))
    };
    let is_own = from == version.about().state_version;
    let migrated = if is_own { None } else { Some(migrate()?) };
    let state = migrated.as_ref().unwrap_or(&live.state);
    let why = match ends_badly(version, live, state, now) {
        Ok(None) => return Ok(()),
        Ok(Some(reason)) => format!("advance: it ends the task ({reason})"),
        Err(fault) => format!("advance: {fault}"),
    };
    // The version is to blame only if the version that wrote the state goes on.
    match writer.map(|writer| ends_badly(writer, live, &live.state, now)) {
        Some(Ok(None)) => Err(format!("{why}, where the version that wrote its state goes on")),
        Some(_) => Ok(()),
        None => Err(why),
    }
}

/// Why the task fails at its next event, if it does.
fn ends_badly(
    version: &Version,
    live: &LiveState,
    state: &[u8],
    now: UnixMs,
) -> Result<Option<String>, Fault> {
    let context = Context {
        now,
        seed: live.seed,
        task: Some(live.task),
        accepted_at: live.accepted_at,
        deadline: live.deadline,
        customer: String::new(),
        settings: version.settings(),
    };
    let step = version.try_advance(&context, state, live.event.clone())?;
    Ok(match step.next {
        Action::Fail(end) => Some(escape_control(&end.failure.message).into_owned()),
        _ => None,
    })
}
