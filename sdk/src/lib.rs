//! Everything a plugin author needs to write a model family for Gatehouse.
//!
//! A family is a pure state machine: it judges requests, names upstream calls, and reads their answers.
//! The host does the rest: keys, money, durable tasks, sockets, media. So a family has no clock, no
//! network and no secrets, and the same inputs always give the same outputs.
//!
//! * [`Family`] ties a family together; [`export_family!`] makes a component of it.
//! * [`Jobs`] is the half for images and videos, [`Text`] the half for chat.
//! * [`params`] reads typed parameters and words mistakes; [`pace`] says when to poll again.
//! * [`log`] reaches the operator.
//!
//! A plugin crate is `["cdylib", "rlib"]`: `cargo test` runs it natively, with the scripts of
//! `gatehouse-testkit`, and `--target wasm32-wasip2` makes the component. `sdk/template` is one to copy.

#[doc(hidden)]
pub mod adapter;
#[doc(hidden)]
pub mod bindings;

mod about;
mod accepted;
mod call;
mod convert;
mod family;
mod jobs;
pub mod log;
mod media;
pub mod pace;
pub mod params;
mod phrase;
mod reply;
pub mod run;
mod step;
mod text;
mod words;

pub use about::{About, Model, SelfTest, Surface, Verdict};
pub use accepted::{Accepted, Stage};
pub use call::{Body, Call, DEFAULT_TIMEOUT, Part, Payload, Replay, Target};
pub use family::Family;
pub use jobs::{Event, Jobs, Parent, Submission};
pub use media::{Facts, Finding, MediaKind, Probe, Product};
pub use params::Mistake;
pub use reply::{Outage, Reply, Unreadable};
pub use step::{Action, Outcome, Step};
pub use text::{
    Answered, Chunk, Obstacle, Prepared, Protocol, Relay, Route, Sse, Text, TextFailure, TextRequest, Usage,
};
pub use words::{Blame, Charge, Context, Failure, Refusal, UnixMs};
