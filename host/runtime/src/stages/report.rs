//! The report of a deployment: what each stage found, whether the version was accepted or refused.

use std::time::Instant;

use gatehouse_model::{About, Digest};
use schemars::JsonSchema;
use serde::Serialize;

use crate::stages::error::StageError;

/// The end of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StageVerdict {
    /// The version may go on.
    Passed,
    /// The version was refused here.
    Refused,
    /// There was nothing to do.
    Skipped,
}

impl StageVerdict {
    /// Its word, in the API and in reports that are kept.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Refused => "refused",
            Self::Skipped => "skipped",
        }
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
