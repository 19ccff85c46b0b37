//! The way of a version from bytes to service. Each stage has its own reason to say no, the old version
//! keeps serving meanwhile, and nothing on the request path waits for any of it.

mod admit;
mod compile;
mod describe;
mod fit;
mod inspect;
mod rehearse;
mod report;
mod selftest;
mod workshop;

use std::io;
use std::path::PathBuf;

use gatehouse_model::Digest;

pub use admit::AdmitError;
pub use describe::DescribeError;
pub use fit::{FitError, Supplies};
pub use inspect::InspectError;
pub use rehearse::{LiveSample, LiveState, LiveStates, RehearseError};
pub use report::{Refused, Report, Stage, StageVerdict};
pub use selftest::SelfTestError;

pub(crate) use admit::admit;
pub(crate) use compile::Compiler;
pub(crate) use fit::supplied;
pub(crate) use rehearse::{MOST_STATES, rehearse};
pub(crate) use report::Journal;
pub(crate) use workshop::{Candidate, Workshop};

/// The stage at which a version was turned away, and why.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StageError {
    /// The bytes are no component, or too many.
    #[error("admit: {0}")]
    Admit(#[from] AdmitError),
    /// It does not compile, or the result could not be kept.
    #[error("compile: {0}")]
    Compile(String),
    /// It asks for or offers the wrong interfaces, or needs too much.
    #[error("inspect: {0}")]
    Inspect(#[from] InspectError),
    /// The host's own trouble; says nothing about the component.
    #[error("the host could not run it: {0}")]
    Host(String),
    /// An interface it imports is not as it expects.
    #[error("link: {0}")]
    Link(String),
    /// Its manifest is not acceptable.
    #[error("describe: {0}")]
    Describe(#[from] DescribeError),
    /// This gateway cannot serve it.
    #[error("fit: {0}")]
    Fit(#[from] FitError),
    /// It does not keep its own promises.
    #[error("self-test: {0}")]
    SelfTest(#[from] SelfTestError),
    /// Live tasks could not go on with it.
    #[error("rehearse: {0}")]
    Rehearse(#[from] RehearseError),
    /// It is to be activated and is not here.
    #[error("no plugin version {0} is kept here")]
    NotKept(Digest),
    /// There is nothing to go back to.
    #[error("family {0:?} has no earlier version to go back to")]
    NothingBefore(String),
    /// It passed, and could not be put in place.
    #[error("switch: {what}: {source}")]
    Switch {
        /// What was to be written.
        what: &'static str,
        /// Why it was not.
        source: io::Error,
    },
}

/// Why the room cannot open.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// wasmtime refuses its settings on this machine.
    #[error("the plugin engine cannot start: {0}")]
    Engine(String),
    /// A thread could not be started.
    #[error("plugin threads cannot start: {0}")]
    Threads(#[source] io::Error),
    /// The folder of versions is not usable.
    #[error("{}: {source}", path.display())]
    Folder {
        /// The folder or file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The whole cause chain of a wasmtime error on one line.
pub(crate) fn chain(error: &wasmtime::Error) -> String {
    format!("{error:#}")
}
