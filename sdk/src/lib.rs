//! Everything a plugin author needs to write a model family for Gatehouse. `sdk/README.md` is the guide.
//!
//! A family is a pure state machine: it checks requests, describes upstream calls and reads their answers.
//! The host does the rest: keys, money, durable tasks, sockets, media. A family has no clock, no network and
//! no secrets, and the same inputs always give the same outputs.
//!
//! * [`Family`] ties a family together; [`export_family!`] makes a component of it.
//! * [`Jobs`] is the interface for images and videos, [`Text`] the one for text models, [`Dialect`] the one for a
//!   provider's own text protocol; [`Views`] and [`Bulk`] are optional beside `Jobs`.
//! * [`params`] reads typed parameters and writes refusals; [`source`] tells the forms of a medium's source apart.
//! * [`job`] is the machine of a job that is submitted and polled; [`pace`] decides when to poll again.
//! * [`log`] writes to the operator's log.
//!
//! The types are those generated from the contract, with builders. Where a family works with parsed JSON, or
//! with a state of its own type, the SDK has a type of its own and converts it.
//!
//! A plugin crate is `["cdylib", "rlib"]`: `cargo test` runs it natively, with the scripts of
//! `gatehouse-testkit`; `--target wasm32-wasip2` makes the component. `gatehouse plugin new` writes one.

#[doc(hidden)]
pub mod adapter;
#[doc(hidden)]
pub mod bindings;
mod contract;
mod export;
mod interfaces;
pub mod job;
pub mod lenient;
pub mod log;
pub mod pace;
pub mod params;
pub mod provider;
pub mod run;
pub mod source;
#[doc(hidden)]
pub mod worlds;

pub use contract::accepted::{Accepted, Stage};
pub use contract::call::{
    Affinity, Body, Call, DEFAULT_TIMEOUT, Header, Part, Payload, Raw, Reading, Replay, Shared, Target,
};
pub use contract::completion::{
    Answered, Chunk, Counter, Obstacle, Prepared, Protocol, Route, Sse, TextFailure, TextRequest, Usage,
};
pub use contract::context::{Context, UnixMs};
pub use contract::direct::{DirectRequest, Exchange, Plan, Response};
pub use contract::failure::{Blame, Charge, Failure, Line, Problem, Refusal};
pub use contract::json::Extra;
pub use contract::manifest::{
    About, HttpRoute, Model, ModelName, NameAt, NoSettings, ParentAt, Receipt, RouteMethod, RouteUse,
    SelfTest, Surface, Verdict,
};
pub use contract::media::{Clip, Edit, Facts, Finding, MediaKind, Probe, Product, Tile};
pub use contract::parent::{Claim, Owned, Parent, Status, TaskView};
pub use contract::reply::{Outage, Reply, Unreadable};
pub use contract::step::{Action, Ending, Outcome, Step, View};
pub use contract::submission::{Cause, Event, Submission};
pub use contract::translation::{DialectPrepared, DialectRequest, Framing};
pub use interfaces::bulk::Bulk;
pub use interfaces::dialect::{Dialect, FrameReader};
pub use interfaces::direct::Direct;
pub use interfaces::family::Family;
pub use interfaces::jobs::Jobs;
pub use interfaces::text::{Relay, Text};
pub use interfaces::views::Views;
pub use params::InvalidParam;
