//! The report of a deployment: what each stage found, whether the version was accepted or refused.
//!
//! Why a deployment failed, by stage, and why the runtime does not start.

use std::io;
use std::path::PathBuf;
use std::time::Instant;

use gatehouse_model::{About, Digest, words};
use schemars::JsonSchema;
use serde::Serialize;

use crate::stages::admit::AdmitError;
use crate::stages::describe::DescribeError;
use crate::stages::fit::FitError;
use crate::stages::inspect::InspectError;
use crate::stages::rehearse::RehearseError;
use crate::stages::self_test::SelfTestError;

words! {
    /// The end of a stage.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum StageVerdict {
        /// The version may go on.
        Passed = "passed",
        /// The version was refused here.
        Refused = "refused",
        /// There was nothing to do.
        Skipped = "skipped",
    }
}

/// One stage of the pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageReport {
    /// "admit", "compile", ...
    pub name: &'static str,
    /// How it ended.
    pub verdict: StageVerdict,
    /// How long it took, ms.
    pub took_ms: u64,
    /// What it found, or why it refused: one sentence.
    pub note: String,
}

/// A deployment that succeeded, for the operator.
#[derive(Clone, Debug)]
pub struct DeployReport {
    /// The version's manifest.
    pub about: About,
    /// Its digest.
    pub digest: Digest,
    /// The size of its component.
    pub bytes: usize,
    /// Self-tests that passed; none run for a version that is loaded already.
    pub self_tests: usize,
    /// Whether it was compiled now; otherwise its code was kept.
    pub compiled: bool,
    /// Whether it serves now.
    pub active: bool,
    /// The version that served before.
    pub replaced: Option<Digest>,
    /// How long it took, ms.
    pub took_ms: u64,
    /// Every stage in order.
    pub stages: Vec<StageReport>,
}

/// A deployment that failed; the version before keeps serving.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub struct DeployError {
    /// The stages up to the one that refused.
    pub stages: Vec<StageReport>,
    /// The family and semver that the component describes, where it came so far as to tell.
    pub version: Option<(String, String)>,
    /// Why.
    pub why: Box<StageError>,
}

impl From<StageError> for DeployError {
    fn from(why: StageError) -> Self {
        Self { stages: Vec::new(), version: None, why: Box::new(why) }
    }
}

/// The stages so far.
#[derive(Default)]
pub(crate) struct StageLog {
    pub(crate) stages: Vec<StageReport>,
    /// The family and semver, once the component has described itself.
    pub(crate) version: Option<(String, String)>,
}

impl StageLog {
    /// Runs a stage and records its result.
    pub(crate) fn stage<T>(
        &mut self,
        name: &'static str,
        work: impl FnOnce() -> Result<(T, String), StageError>,
    ) -> Result<T, StageError> {
        let begun = Instant::now();
        let (verdict, note, outcome) = match work() {
            Ok((value, note)) => (StageVerdict::Passed, note, Ok(value)),
            Err(why) => (StageVerdict::Refused, without_stage(name, &why), Err(why)),
        };
        let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.stages.push(StageReport { name, verdict, took_ms, note });
        outcome
    }

    /// Keeps what the component calls itself.
    pub(crate) fn describe(&mut self, about: &About) {
        self.version = Some((about.family.clone(), about.version.clone()));
    }

    /// Records a stage that had nothing to do.
    pub(crate) fn skip(&mut self, name: &'static str, note: &str) {
        let note = note.to_owned();
        self.stages.push(StageReport { name, verdict: StageVerdict::Skipped, took_ms: 0, note });
    }
}

/// The reason alone: the row of the report names the stage.
fn without_stage(name: &str, why: &StageError) -> String {
    let text = why.to_string();
    let reason = text.strip_prefix(name).and_then(|rest| rest.strip_prefix(": "));
    reason.map(str::to_owned).unwrap_or(text)
}

/// The stage that refused a version, and why.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StageError {
    /// The bytes are no component, or too many.
    #[error("admit: {0}")]
    Admit(#[from] AdmitError),
    /// It does not compile, or the code could not be kept.
    #[error("compile: {0}")]
    Compile(String),
    /// It imports or exports the wrong interfaces, or needs too much.
    #[error("inspect: {0}")]
    Inspect(#[from] InspectError),
    /// The host failed; says nothing about the component.
    #[error("the host could not run it: {0}")]
    Host(String),
    /// An import has another type than it expects.
    #[error("link: {0}")]
    Link(String),
    /// Its manifest is not acceptable.
    #[error("describe: {0}")]
    Describe(#[from] DescribeError),
    /// This gateway cannot serve it.
    #[error("fit: {0}")]
    Fit(#[from] FitError),
    /// A self-test failed.
    #[error("self-test: {0}")]
    SelfTest(#[from] SelfTestError),
    /// Live tasks could not go on with it.
    #[error("rehearse: {0}")]
    Rehearse(#[from] RehearseError),
    /// The version to activate is not in the plugin store.
    #[error("no plugin version {0} is kept here")]
    NotKept(Digest),
    /// There is no such family; says which there are.
    #[error("{0}")]
    NoFamily(String),
    /// The family has no earlier version.
    #[error(
        "family {family:?} has no earlier version to go back to; `gatehouse plugin activate DIGEST` switches to any \
         version in the plugin store: {}",
        if kept.is_empty() { "there is no other one of this family".to_owned() } else { kept.join(", ") }
    )]
    NothingBefore {
        /// The family.
        family: String,
        /// Its versions that could be activated: digest and semver.
        kept: Vec<String>,
    },
    /// It passed every stage, and the plugin store could not be written.
    #[error("switch: {what}: {source}")]
    Switch {
        /// What was to be written.
        what: &'static str,
        /// Why it was not.
        source: io::Error,
    },
}

/// Why the plugin runtime cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// wasmtime refuses its settings on this machine.
    #[error("the plugin engine cannot start: {0}")]
    Engine(String),
    /// The memories of so many calls do not fit into the address space of this process.
    #[error(
        "plugins.streams: {streams} streams need more address space than this process has; set it to {most} or less"
    )]
    TooManyStreams {
        /// The configured number.
        streams: usize,
        /// A number that fits.
        most: usize,
    },
    /// Not even the memories of few calls fit into it.
    #[error(
        "plugins.limits.memory_mib: the plugin engine reserves address space for every call that may run at once, and this \
         process may not have enough: {reason}; remove the limit of address space (ulimit -v, LimitAS in its unit), or \
         lower plugins.limits.memory_mib, plugins.streams (now {streams}) and plugins.threads"
    )]
    AddressSpace {
        /// The configured number of streams.
        streams: usize,
        /// What the engine said.
        reason: String,
    },
    /// A thread could not be started.
    #[error("plugin threads cannot start: {0}")]
    Threads(#[source] io::Error),
    /// The plugin store is not usable.
    #[error("{}: {source}", path.display())]
    Folder {
        /// The folder or file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The cause chain of a wasmtime error on one line.
pub(crate) fn causes(error: &wasmtime::Error) -> String {
    format!("{error:#}")
}
