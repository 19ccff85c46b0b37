//! One task: what it makes, and how far it is at any moment.
//!
//! Pure: callers pass the time.

use crate::midjourney::engine::buttons::Kind;
use crate::midjourney::engine::colour::{self, Hue};
use crate::midjourney::engine::version::Version;
use crate::midjourney::faults::Faults;
use crate::midjourney::record::TaskRecord;

/// A modal that comes later than this after the press is refused.
pub(crate) const MODAL_MS: u64 = 3_600_000;

/// Where the colours of a result come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hues {
    /// Drawn from text: the task's id decides.
    Fresh,
    /// So many, near the one it is made from.
    Near(Hue, usize),
    /// Exactly the one it is made from.
    Same(Hue),
}

/// When a task runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Waits for a modal.
    Modal,
    /// From a moment to another, if it ends at all.
    Runs { from: u64, end: Option<u64> },
    /// Stopped by the client at that moment.
    Cancelled(u64),
}

/// How far a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    NotStarted,
    Submitted,
    /// Percent.
    InProgress(u64),
    Modal,
    Success,
    Failure,
    Cancelled,
}

/// A task of the proxy.
#[derive(Clone)]
pub(crate) struct Task {
    pub(crate) record: TaskRecord,
    /// The engine's name of what it does, as clients read it.
    pub(crate) action: &'static str,
    pub(crate) kind: Kind,
    pub(crate) version: Version,
    /// The job's hash, a part of its buttons.
    pub(crate) hash: String,
    pub(crate) description: String,
    /// The prompt as the engine reads it.
    pub(crate) final_prompt: String,
    /// The client's own word, echoed.
    pub(crate) state: Option<String>,
    pub(crate) bot: &'static str,
    pub(crate) source: Hues,
    /// Of each tile, single or film.
    pub(crate) hues: Vec<Hue>,
    /// The texts of a describe.
    pub(crate) texts: Option<[String; 4]>,
    pub(crate) video_type: Option<&'static str>,
    pub(crate) milliseconds: u64,
    pub(crate) plan: Plan,
    /// Why it fails.
    pub(crate) failure: Option<String>,
    pub(crate) faults: Faults,
    /// The prompt a modal without one takes over.
    pub(crate) inherited: String,
    /// Steps since the task its prompt was sent with.
    pub(crate) steps: u32,
    pub(crate) reads: u32,
    pub(crate) downloads: u32,
}

impl Task {
    /// Width and height of what it makes, in tiles.
    pub(crate) fn tiles(&self) -> (u32, u32) {
        if self.kind == Kind::Grid { (2, 2) } else { (1, 1) }
    }

    pub(crate) fn phase(&self, now: u64) -> Phase {
        match self.plan {
            Plan::Modal => Phase::Modal,
            Plan::Cancelled(_) => Phase::Cancelled,
            Plan::Runs { from, .. } if now < from => Phase::NotStarted,
            Plan::Runs { end: None, .. } => Phase::InProgress(35),
            Plan::Runs { from, end: Some(end) } if now < end => {
                let percent = (now - from).saturating_mul(100) / (end - from).max(1);
                match percent {
                    0..10 => Phase::NotStarted,
                    10..20 => Phase::Submitted,
                    percent => Phase::InProgress(percent.min(99)),
                }
            }
            Plan::Runs { .. } => match self.failure.as_deref() {
                None => Phase::Success,
                Some("CANCEL") => Phase::Cancelled,
                Some(_) => Phase::Failure,
            },
        }
    }

    pub(crate) fn has_succeeded(&self, now: u64) -> bool {
        self.phase(now) == Phase::Success
    }

    /// Stops it, unless it is over.
    pub(crate) fn cancel(&mut self, now: u64) {
        if !matches!(self.phase(now), Phase::Success | Phase::Failure | Phase::Cancelled) {
            self.plan = Plan::Cancelled(now);
        }
    }

    /// When it began to run and when it ended, as far as it is.
    pub(crate) fn times(&self, now: u64) -> (Option<u64>, Option<u64>) {
        match self.plan {
            Plan::Modal => (None, None),
            Plan::Cancelled(at) => (None, Some(at)),
            Plan::Runs { from, end } => (Some(from).filter(|at| *at <= now), end.filter(|at| *at <= now)),
        }
    }

    /// A number that is the same at every read.
    pub(crate) fn seed(&self) -> String {
        u32::from_str_radix(self.hash.get(..8).unwrap_or_default(), 16).unwrap_or_default().to_string()
    }

    /// Chooses the colours; the digest is that of the task's id.
    pub(crate) fn colour(&mut self, digest: &[u8]) {
        self.hues = match self.source {
            Hues::Fresh => colour::fresh(digest),
            Hues::Near(hue, count) => colour::near(hue, count),
            Hues::Same(hue) => vec![hue],
        };
        self.record.colours = self.hues.iter().map(|hue| colour::rgb(*hue)).collect();
    }
}
