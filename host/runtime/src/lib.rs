//! Where plugins run: the only room that knows wasmtime.
//!
//! Owns the engine and its limits, the chain a version goes through before it may serve (admit, compile,
//! inspect, link, describe, fit, self-test, rehearse, switch), the watch after it, the registry of active families, the versions pinned by
//! live tasks, and every single call of a plugin: a fresh instance on a plugin thread, checked on its way
//! out. Never opens a socket, never reads a clock of its own, never keeps a task. Called by `driver`
//! (through [`PluginService`]) and by the plugin testkit (through [`ComponentRunner`]).
//!
//! ```text
//! bytes -> admit -> compile -> inspect -> link -> describe -> fit -> self-test -> rehearse -> switch   (load/, chain)
//! fresh -> watched -> on its own, or withdrawn                                         (watch, rescue)
//! call  -> queue -> thread -> fresh instance -> v1 words -> checks -> model words   (run, v1/, check)
//! ```
//! Time is the guest's own processor time, so a busy machine never kills an innocent call; and nothing in
//! the sandbox can wait, so processor time is all a guest can spend.

mod chain;
mod check;
mod component_runner;
mod config;
mod engine;
mod fault;
mod guest;
mod load;
mod notes;
mod registry;
mod rescue;
mod run;
mod service;
mod shelf;
mod talk;
mod text;
mod threads;
mod trust;
mod turns;
mod v1;
mod version;
mod versions;
mod wasi;
mod watch;

pub use chain::Offer;
pub use component_runner::ComponentRunner;
pub use config::{Config, Limits, STREAMS};
pub use fault::Fault;
pub use load::{
    AdmitError, DescribeError, FitError, InspectError, LiveSample, LiveState, LiveStates, OpenError, Refused,
    RehearseError, Report, SelfTestError, Stage, StageError, StageVerdict, Supplies,
};
pub use registry::{ModelRow, Registry, Resolved};
pub use rescue::{ServedBy, StateBefore};
pub use service::{Missing, PluginService, RemoveError, Route, VersionState, VersionSummary};
pub use talk::Relay;
pub use text::MAX_OUTPUT_TOKENS;
pub use trust::{NotAKey, PublicKey, Signature, SignatureError, SigningKey, Trust};
pub use version::Version;
pub use watch::CanaryConfig;
