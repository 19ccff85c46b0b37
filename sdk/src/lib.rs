//! Everything a plugin author needs to write a model family for Gatehouse. `sdk/README.md` is the guide.
//!
//! A family is a pure state machine: it checks requests, describes upstream calls and reads their answers.
//! The host does the rest: keys, money, durable tasks, sockets, media. A family has no clock, no network and
//! no secrets, and the same inputs always give the same outputs.
//!
//! * [`Family`] ties a family together; [`export_family!`] makes a component of it.
//! * [`Jobs`] is the half for images and videos, [`Text`] the half for text models.
//! * [`params`] reads typed parameters and writes refusals; [`pace`] decides when to poll again.
//! * [`log`] writes to the operator's log.
//!
//! The types are those generated from the contract, with builders. Where a family works with parsed JSON, or
//! with a state of its own type, the SDK has a type of its own and converts it.
//!
//! A plugin crate is `["cdylib", "rlib"]`: `cargo test` runs it natively, with the scripts of
//! `gatehouse-testkit`; `--target wasm32-wasip2` makes the component. `sdk/template` is one to copy.

#[doc(hidden)]
pub mod adapter;
#[doc(hidden)]
pub mod bindings;
mod contract;
mod export;
mod family;
mod jobs;
pub mod log;
pub mod pace;
pub mod params;
pub mod run;
mod text;

pub use contract::accepted::{Accepted, Stage};
pub use contract::call::{Body, Call, DEFAULT_TIMEOUT, Header, Part, Payload, Replay, Target};
pub use contract::completion::{
    Answered, Chunk, Obstacle, Prepared, Protocol, Route, Sse, TextFailure, TextRequest, Usage,
};
pub use contract::context::{Context, UnixMs};
pub use contract::failure::{Blame, Charge, Failure, Refusal};
pub use contract::manifest::{About, Model, SelfTest, Surface, Verdict};
pub use contract::media::{Facts, Finding, MediaKind, Probe, Product};
pub use contract::reply::{Outage, Reply, Unreadable};
pub use contract::step::{Action, Outcome, Step};
pub use contract::submission::{Event, Parent, Submission};
pub use family::Family;
pub use jobs::Jobs;
pub use params::InvalidParam;
pub use text::{Relay, Text};
