//! Plain data that every crate shares.
//!
//! Owns the shapes (ids, money, time, tasks, keys, the host's side of the plugin contract) and the rules
//! that belong to a shape alone (an id's form, checked arithmetic, an API key's checksum).
//! Never does I/O, never reads a clock or a random source (both come in behind [`Clock`] and [`Seed`]),
//! never knows HTTP, redb or wasmtime. Every crate may depend on it; it depends on none.

mod about;
mod account;
mod apikey;
mod call;
mod contract;
mod credits;
mod digest;
mod ids;
pub mod metric;
mod secret;
mod task;
mod text;
mod time;

pub use about::{About, ModelInfo, Offers, SelfTest, SurfaceInfo, Verdict};
pub use account::{ChatFormat, Customer, Key};
pub use apikey::{ApiKey, KeyDigest, MalformedKey, Pepper};
pub use call::{Body, Call, Header, Outage, Part, Payload, Replay, Reply, Target};
pub use contract::{
    Accepted, Action, Blame, Charge, Context, Event, Facts, Failure, Finding, MediaKind, Outcome, Parent,
    Probe, Product, Refusal, Stage, Step, Submission,
};
pub use credits::Credits;
pub use digest::Digest;
pub use ids::{BlobId, BrokenId, CustomerId, KeyId, MediaId, RequestId, Seed, TaskId};
pub use secret::Secret;
pub use task::{AccountAssignment, FailureKind, Media, Phase, Status, Task, TaskFailure};
pub use text::{
    Answered, Chunk, Obstacle, Prepared, Protocol, Sse, TextFailure, TextRequest, TextRoute, Usage,
};
pub use time::{Clock, Pause, UnixMs};
