//! What is kept of a task's steps, for operators. Shapes and bounds only; never a credential.
//!
//! A row holds what led to one commit of the task, and is written with it. So a task has at most as many rows as commits,
//! and a step that changes nothing costs none: it is only counted, for the next row.

use gatehouse_model::{Digest, TaskId, UnixMs};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Rows of a task: the first half, and the newest of those after.
pub const MAX_STEP_ROWS: u64 = 128;
/// Rows of all tasks of one day of creation; beyond it steps are not kept.
pub const MAX_STEP_ROWS_OF_A_DAY: u64 = 1_000_000;
/// Steps of a row; of more the newest are kept.
pub const MAX_STEPS_OF_A_ROW: usize = 64;
/// Bytes of excerpts in a row; beyond it a step is kept without them.
pub const MAX_EXCERPTS_OF_A_ROW: usize = 16 * 1024;

/// What led to one commit of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRow {
    /// The task.
    pub task: TaskId,
    /// The task's revision since that commit.
    pub revision: u64,
    /// When it was sent.
    pub at: UnixMs,
    /// Oldest first.
    pub steps: Vec<StepRecord>,
    /// Older steps that had no room.
    #[serde(default)]
    pub left_out: u64,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRecord {
    /// When it began.
    pub at: UnixMs,
    /// How long it took.
    pub took_ms: u64,
    /// What was done.
    pub what: StepKind,
}

/// What a step did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StepKind {
    /// The plugin was told an event.
    Plugin {
        /// The version that was asked.
        digest: Digest,
        /// The event's word: "start", "joined", "reply", "outage", "probed", "timer", "cancel" or "lost".
        event: String,
        /// What it wants next: "call", "probe", "wait", "done" or "fail"; "fault" where it gave no answer.
        verdict: String,
        /// 0 to 100, as it said.
        progress: u8,
        /// Bytes of its state.
        state_bytes: u64,
        /// Its fault.
        #[serde(default)]
        fault: Option<String>,
    },
    /// A provider was called.
    Exchange(Box<ExchangeRecord>),
    /// Media were looked at.
    Probe {
        /// How many.
        media: u64,
    },
    /// Results were copied.
    Copy {
        /// How many.
        media: u64,
        /// Their bytes.
        bytes: u64,
    },
    /// The task waits from here on.
    Wait {
        /// Until when at the latest.
        until: UnixMs,
        /// "plugin" or "permit".
        reason: String,
    },
    /// The host decided something; the audit record says it too.
    Decision {
        /// For the operator.
        text: String,
    },
    /// Steps that changed nothing.
    Quiet {
        /// How many.
        steps: u64,
        /// When the last of them began.
        last: UnixMs,
    },
}

/// A call of a provider and its answer; what the admin API shows of it, too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct ExchangeRecord {
    /// The provider.
    pub provider: String,
    /// The account; empty where the call was made with those of other tasks.
    pub account: String,
    /// The method.
    pub method: String,
    /// Path or URL.
    // The values of its query are left out.
    pub url: String,
    /// The status of the answer.
    pub status: Option<u16>,
    /// Why there was no answer: "unreachable", "timeout", "broken", "too_large" or "refused".
    pub outage: Option<String>,
    /// Bytes of the request's body as the plugin wrote it; files that it names are not counted.
    pub sent_bytes: u64,
    /// Bytes of the answer's body as the plugin gets it.
    pub received_bytes: u64,
    /// The beginning of the request's body; empty where the row had no room for it.
    pub request: String,
    /// The beginning of the answer's body; likewise.
    pub reply: String,
}

impl StepRow {
    /// A row within its bounds.
    #[must_use]
    pub fn bounded(task: TaskId, revision: u64, at: UnixMs, mut steps: Vec<StepRecord>) -> Self {
        let left_out = steps.len().saturating_sub(MAX_STEPS_OF_A_ROW);
        steps.drain(..left_out);
        let mut room = MAX_EXCERPTS_OF_A_ROW;
        for step in steps.iter_mut().rev() {
            let StepKind::Exchange(exchange) = &mut step.what else { continue };
            let bytes = exchange.request.len() + exchange.reply.len();
            match room.checked_sub(bytes) {
                Some(rest) => room = rest,
                None => (exchange.request, exchange.reply) = (String::new(), String::new()),
            }
        }
        Self { task, revision, at, steps, left_out: left_out as u64 }
    }

    /// Where the row of that revision is kept: later ones take the place of earlier ones, except of the first half.
    #[must_use]
    pub fn position(revision: u64) -> u64 {
        let half = MAX_STEP_ROWS / 2;
        if revision < half { revision } else { half + revision % half }
    }
}
