//! The host's types for the plugin contract (`wit/v1`), except calls (see `call`) and texts (see `text`).
//!
//! `runtime` converts between these and the bindings of one contract version, so that no other crate
//! sees generated types. What is journalled (calls, replies, events) is serialisable.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::contract::call::{Call, Outage, Reply};
use crate::contract::charge::Charge;
use crate::contract::facts::Facts;
use crate::contract::json::Json;
use crate::contract::names::{Claim, OwnedName, Parent};
use crate::ids::TaskId;
use crate::time::UnixMs;
use gatehouse_contract::{Edit, ModelName};

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
    /// Opaque and stable for one customer; never a key or a customer id. Empty where there is no customer.
    pub customer: String,
    /// The operator's table for the plugin, as JSON.
    pub settings: std::sync::Arc<str>,
}

/// A request as a plugin judges it.
#[derive(Clone, Debug)]
pub struct Submission {
    /// "images.generate", ...
    pub surface: String,
    /// The model that was found for it.
    pub model: ModelName,
    /// JSON, with long media already cut out.
    pub body: Json,
    /// The tasks it follows up; their owner has been checked.
    pub parents: Vec<Parent>,
    /// Names in the body that its customer owns. All others are as unknown as names that never existed.
    pub owned: Vec<OwnedName>,
    /// Facts about the blobs cut out of `body`.
    pub blobs: Vec<Facts>,
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
    /// What the task costs where its outcome does not settle.
    pub charge: Charge,
    /// The most that it may settle for; without lines where that is the charge.
    pub at_most: Charge,
    /// Where the task starts.
    pub stage: Stage,
    /// 0 to 100.
    pub progress: u8,
    /// How long such a job usually takes.
    pub expected_ms: Option<u32>,
    /// The plugin's state.
    pub state: Vec<u8>,
    /// Kept with the task, and handed over with [`Event::Start`] or [`Event::Joined`] only.
    pub brief: Bytes,
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

/// Why a task is to be stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// The client asked for it.
    Client,
    /// The task's time is over.
    Deadline,
}

/// An input of a plugin's state machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// The task begins, with its brief. The brief is stored in the task's record, not in the event.
    Start(#[serde(skip)] Bytes),
    /// An accepted request joins the task: its brief, which is stored like that of `Start`.
    Joined(#[serde(skip)] Bytes),
    /// A call was answered.
    Reply(Reply),
    /// A call was not answered.
    Outage(Outage),
    /// Media were looked at.
    Probed(Vec<Finding>),
    /// The wait is over.
    Timer,
    /// The task is to be stopped.
    Cancel(Cause),
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
    /// The part of it that is kept; without one, all of it.
    #[serde(default)]
    pub edit: Option<Edit>,
}

/// A good end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The client's `result`, JSON with `media:<n>` and `expires:<n>` in it.
    #[serde(with = "crate::contract::json")]
    pub public: Json,
    /// Kept for follow-ups, JSON.
    #[serde(with = "crate::contract::json")]
    pub private: Json,
    /// What to copy.
    pub products: Vec<Product>,
    /// Names the customer owns from now on.
    #[serde(default)]
    pub claims: Vec<Claim>,
    /// Bill this, up to what was held. Replaces the task's own charge; charges of joined requests stay as they are.
    pub settle: Option<Charge>,
}

/// What clients and follow-ups see of a task that goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterimView {
    /// The client's `result` so far, JSON with `media:<n>` and `expires:<n>` in it.
    #[serde(with = "crate::contract::json")]
    pub public: Json,
    /// Kept for follow-ups, JSON.
    #[serde(with = "crate::contract::json")]
    pub private: Json,
    /// What to copy.
    pub products: Vec<Product>,
}

/// Who caused a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Blame {
    /// The request asks for what cannot be done.
    Request,
    /// A moderation filter stopped it.
    Moderation,
    /// Somebody stopped the work at the provider.
    Cancelled,
    /// The customer has reached a limit of the provider.
    Limit,
    /// The work took too long.
    Timeout,
    /// The provider's.
    Upstream,
    /// The operator's account at the provider; clients read it as the provider's.
    Account,
}

/// Why an accepted task ends badly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Who caused it.
    pub blame: Blame,
    /// The reason, for the client.
    pub message: String,
}

/// A bad end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedOutcome {
    /// Why.
    pub failure: Failure,
    /// What the client still gets, JSON with placeholders. `None` keeps the last interim view.
    pub public: Option<Json>,
    /// Kept for follow-ups, JSON.
    pub private: Option<Json>,
    /// What to copy.
    pub products: Vec<Product>,
    /// Names the customer owns from now on.
    pub claims: Vec<Claim>,
}

impl From<Failure> for FailedOutcome {
    fn from(failure: Failure) -> Self {
        Self { failure, public: None, private: None, products: Vec::new(), claims: Vec::new() }
    }
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
    Fail(FailedOutcome),
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
    /// What clients see from now on, when it changes.
    pub view: Option<InterimView>,
    /// What next.
    pub next: Action,
}
