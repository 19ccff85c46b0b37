//! The types of the driver's interface: what `edge` and `admin` hand in and what they get back. The calls
//! themselves are methods of its services, in `submit`, `read`, `step` and `text`.

use std::sync::Arc;

use gatehouse_model::{Charge, Credits, Key, Prepared, TaskFailure, TaskId, UnixMs};
use serde::{Deserialize, Serialize};

use crate::body::CheckedBody;
use crate::request_report::RequestReport;

/// An asynchronous submission of an authenticated caller.
pub struct SubmitRequest {
    /// The caller's key.
    pub key: Arc<Key>,
    /// "images.generate", ...
    pub surface: &'static str,
    /// The task a follow-up names in its path.
    pub parent: Option<TaskId>,
    /// What the client sent.
    pub body: CheckedBody,
    /// The `Idempotency-Key` header.
    pub idempotency: Option<String>,
    /// Filled with what is left of the key's rates, and with what it holds and pays.
    pub report: RequestReport,
}

/// What the task in the path of a surface is called, where a client reads of it (spec: "message about the video").
#[must_use]
pub fn parent_kind(surface: &str) -> &'static str {
    if surface.starts_with("videos.") { "video" } else { "task" }
}

/// What a submission is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The durable task.
    pub task: TaskId,
    /// An earlier submission with the same idempotency key made it.
    pub repeated: bool,
}

/// What a request would come to, of which nothing was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DryRun {
    /// The model's own id.
    pub model: String,
    /// What it would be charged for.
    pub charges: Vec<DryRunCharge>,
    /// What would be held.
    pub sum: Credits,
    /// Whether the sum is an upper estimate.
    pub at_most: bool,
    /// The usual duration of such a task.
    pub expected_ms: Option<u32>,
    /// The task would be accepted and fail with this, as far as its sources tell.
    pub failure: Option<TaskFailure>,
    /// What its price comes from, where nothing but that price is asked; `None` too where it costs nothing.
    pub basis: Option<PriceBasis>,
}

/// What a request needs, whatever that costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PriceBasis {
    /// Units.
    Units {
        /// The units that the request is charged for.
        charge: Charge,
        /// The most that it may be charged for; without lines where that is the charge.
        at_most: Charge,
    },
    /// Tokens, at each target that may answer it.
    Text(Vec<TargetBasis>),
}

/// A text as one target's provider would be sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetBasis {
    /// `provider/upstream`.
    pub target: String,
    /// What would be sent.
    pub prepared: Prepared,
    /// Whether it costs there what the model's tokens do: the target has no other prices, and nothing that has a price is passed.
    pub is_plain: bool,
}

/// One charge of a dry run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DryRunCharge {
    /// From most to least specific.
    pub keys: Vec<String>,
    /// The first of them that has a price.
    pub key: String,
    /// What is counted.
    pub unit: ChargeUnit,
    /// How many: units of a task, or single tokens.
    pub quantity: u64,
    /// Of `per` units, or of a million tokens.
    pub unit_price: Credits,
    /// For how many units or tokens the price is.
    pub per: u32,
    /// Of all.
    pub sum: Credits,
}

/// What a charge counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChargeUnit {
    /// What the family charges by, by its name where the family says one.
    Unit(String),
    /// Tokens read.
    InputTokens,
    /// Tokens written.
    OutputTokens,
}

/// One line of `GET /v1/models`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelListing {
    /// Id or alias.
    pub id: String,
    /// The family that serves it.
    pub family: String,
    /// Surfaces it serves.
    pub surfaces: Vec<String>,
    /// What it makes, where its family says so.
    pub modality: Option<String>,
    /// Its limits and prices.
    pub facts: ModelFacts,
    /// When the version serving it was activated.
    pub since: UnixMs,
}

/// What an operator or a family says of a model beside its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelFacts {
    /// Tokens that a request and its answer may have together.
    pub context_tokens: Option<u32>,
    /// Tokens of the longest answer.
    pub max_output_tokens: Option<u64>,
    /// What it reads; empty where nobody says so.
    pub inputs: Vec<Modality>,
    /// Its prices, the least specific first.
    pub prices: Vec<ListedPrice>,
}

/// A kind of content that a model reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Modality {
    /// Words.
    Text,
    /// Pictures.
    Image,
    /// Sound.
    Audio,
    /// Films.
    Video,
    /// Documents.
    File,
}

/// One price of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedPrice {
    /// The price key; of a text model its id.
    pub key: String,
    /// What it is the price of.
    pub unit: &'static str,
    /// Of one unit.
    pub price: Credits,
}

/// A caller reads a task on a path of its family.
pub struct ViewRequest<'a> {
    /// The caller's key.
    pub key: &'a Key,
    /// The task.
    pub task: TaskId,
    /// "journey.read", ...
    pub surface: &'a str,
    /// What links begin with, without a trailing slash.
    pub base: &'a str,
}
