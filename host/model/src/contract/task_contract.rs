//! The host's types for the plugin contract (`wit/v1`), except calls (see `call`) and texts (see `text`).
//!
//! `runtime` converts between these and the bindings of one contract version, so that no other crate
//! sees generated types. What is journalled (calls, replies, events) is serialisable.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::contract::call::{Call, Outage, Reply};
use crate::ids::TaskId;
use crate::time::UnixMs;

/// Everything a plugin may not look up itself.
#[derive(Clone, Debug)]
pub struct Context {
    /// The host's time.
    pub now: UnixMs,
    /// Fixed for the life of a task.
    pub seed: u64,
    /// `None` while a request is being judged.
    pub task: Option<TaskId>,
    /// When the task was accepted; `now` while a request is being judged.
    pub accepted_at: UnixMs,
    /// When the host fails the task by itself.
    pub deadline: UnixMs,
    /// The operator's table for the plugin, as JSON.
    pub settings: std::sync::Arc<[u8]>,
}

/// A request as a plugin judges it.
#[derive(Clone, Debug)]
pub struct Submission {
    /// "images.generate", ...
    pub surface: String,
    /// JSON, with long media already cut out.
    pub body: Bytes,
    /// The task a follow-up refers to; its owner has been checked.
    pub parent: Option<Parent>,
    /// Facts about the blobs cut out of `body`.
    pub blobs: Vec<Facts>,
}

/// What a follow-up may know of its parent.
#[derive(Clone, Debug)]
pub struct Parent {
    /// The parent's id.
    pub task: TaskId,
    /// The parent's canonical model.
    pub model: String,
    /// Whether it ended well.
    pub completed: bool,
    /// What the client reads as `result`, JSON.
    pub public: Vec<u8>,
    /// What the family kept, JSON.
    pub private: Vec<u8>,
}

/// Why a request is refused at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A bad field (its JSON path) or a bad request as a whole.
    Invalid {
        /// JSON path, `None` for the whole request.
        field: Option<String>,
        /// What was expected and what came.
        message: String,
    },
    /// Something the request names does not exist.
    NotFound(String),
    /// Something the request names may not be used.
    Forbidden(String),
}

/// Who caused a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Blame {
    /// The request asks for what cannot be done.
    Request,
    /// A moderation filter stopped it.
    Moderation,
    /// The provider's, or the operator's account there.
    Upstream,
}

/// Why an accepted task ends badly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Who caused it.
    pub blame: Blame,
    /// The reason, for the client.
    pub message: String,
}

/// What to bill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    /// Price keys, most specific first.
    pub keys: Vec<String>,
    /// Units of the price.
    pub quantity: u32,
}

/// What a piece of media is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MediaKind {
    /// A still picture.
    Image,
    /// Moving pictures.
    Video,
    /// Sound.
    Audio,
    /// Anything else.
    Other,
}

/// What the host found out about a piece of media.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Its kind.
    pub kind: MediaKind,
    /// Its type by its own bytes.
    pub mime: String,
    /// Its length.
    pub bytes: u64,
    /// Pixels.
    pub width: Option<u32>,
    /// Pixels.
    pub height: Option<u32>,
    /// Length in time.
    pub milliseconds: Option<u64>,
    /// Frames per 1000 seconds.
    pub fps_milli: Option<u32>,
    /// Whether it has a sound track.
    pub has_audio: Option<bool>,
    /// Whether it has transparency.
    pub has_alpha: Option<bool>,
    /// `blob:<id>` when the host keeps the bytes for this task.
    pub blob: Option<String>,
}

/// A stage of work, as the plugin sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Stage {
    /// Durable here, nothing sent.
    Submitted,
    /// Accepted by the provider and queued.
    Pending,
    /// The provider works on it.
    Processing,
}

/// A plugin's yes to a submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The model's own id.
    pub model: String,
    /// What to hold.
    pub charge: Charge,
    /// Where the task starts.
    pub stage: Stage,
    /// 0 to 100.
    pub progress: u8,
    /// How long such a job usually takes.
    pub expected_ms: Option<u32>,
    /// The plugin's state.
    pub state: Vec<u8>,
    /// Accepted only to fail.
    pub doomed: Option<Failure>,
}

/// A question about media.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// URL, `data:` URI or `blob:<id>`.
    pub source: String,
    /// Keep the bytes for this task.
    pub keep: bool,
}

/// The answer to a probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// As asked.
    pub source: String,
    /// The facts, or why there are none, in words a client may read.
    pub found: Result<Facts, String>,
}

/// An input of a plugin's state machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// The task begins.
    Start,
    /// A call was answered.
    Reply(Reply),
    /// A call was not answered.
    Outage(Outage),
    /// Media were looked at.
    Probed(Vec<Finding>),
    /// The wait is over.
    Timer,
    /// The client wants to stop.
    Cancel,
    /// A product could not be copied.
    Lost {
        /// The product's source.
        source: String,
        /// Why.
        reason: String,
    },
}

/// A result the host copies before the task completes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Product {
    /// URL, `data:` URI or `blob:<id>`.
    pub source: String,
    /// What to call it when the bytes do not say.
    pub mime: Option<String>,
}

/// A good end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The client's `result`, JSON with `media:<n>` and `expires:<n>` in it.
    #[serde(with = "serde_bytes")]
    pub public: Vec<u8>,
    /// Kept for follow-ups, JSON.
    #[serde(with = "serde_bytes")]
    pub private: Vec<u8>,
    /// What to copy.
    pub products: Vec<Product>,
    /// Bill less than was held.
    pub settle: Option<Charge>,
}

/// What a plugin wants next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// An upstream request.
    Call(Call),
    /// Facts about media.
    Probe(Vec<Probe>),
    /// A timer, not before this moment.
    Wait(UnixMs),
    /// A good end.
    Done(Outcome),
    /// A bad end.
    Fail(Failure),
}

/// One answer of a plugin's state machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The new state.
    pub state: Vec<u8>,
    /// The present stage of the work.
    pub stage: Stage,
    /// 0 to 100.
    pub progress: u8,
    /// What next.
    pub next: Action,
}
