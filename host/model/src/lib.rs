//! Plain data that every crate shares.
//!
//! Owns the shapes (ids, money, time, tasks, keys, the host's side of the plugin contract) and the rules
//! that belong to a shape alone (an id's form, checked arithmetic, an API key's checksum).
//! Never does I/O, never reads a clock or a random source (both come in behind [`Clock`] and [`Seed`]),
//! never knows HTTP, redb or wasmtime. Every crate may depend on it; it depends on none.

mod apikey;
mod contract;
mod credits;
mod customer;
mod digest;
mod ids;
pub mod metric;
mod secret;
mod task;
mod time;

pub use apikey::{ApiKey, KeyDigest, MalformedKey, Pepper};
pub use contract::about::{About, ModelInfo, Offers, SelfTest, SurfaceInfo, Verdict};
pub use contract::call::{Body, Call, Header, Outage, Part, Payload, Replay, Reply, Target};
pub use contract::edit::{Clip, Edit, Tile};
pub use contract::task_contract::{
    Accepted, Action, Blame, Charge, Context, Event, Facts, Failure, Finding, MediaKind, Outcome, Parent,
    Probe, Product, Refusal, Stage, Step, Submission,
};
pub use contract::text::{
    Answered, Chunk, Obstacle, Prepared, Protocol, Sse, TextFailure, TextRequest, TextRoute, Usage,
};
pub use credits::Credits;
pub use customer::{ChatFormat, Customer, Key};
pub use digest::Digest;
pub use ids::{BlobId, BrokenId, CustomerId, KeyId, MediaId, RequestId, Seed, TaskId};
pub use secret::Secret;
pub use task::{AccountAssignment, FailureKind, Media, Phase, Status, Task, TaskFailure};
pub use time::{Clock, Pause, UnixMs};
