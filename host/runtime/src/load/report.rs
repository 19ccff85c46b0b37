//! What a version went through, stage by stage, whether it was let in or not.

use std::time::Instant;

use gatehouse_model::{About, Digest};

use super::StageError;

/// How a stage ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageVerdict {
    /// Well.
    Passed,
    /// The version was turned away here.
    Refused,
    /// There was nothing to do.
    Skipped,
}

/// One stage of the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// "admit", "compile", ...
    pub name: &'static str,
    /// How it ended.
    pub verdict: StageVerdict,
    /// How long it took, ms.
    pub took_ms: u64,
    /// What was found, a sentence.
    pub note: String,
}

/// What a version went through, for the operator.
#[derive(Clone, Debug)]
pub struct Report {
    /// Its manifest.
    pub about: About,
    /// Its digest.
    pub digest: Digest,
    /// The size of its component.
    pub bytes: usize,
    /// Self-tests that passed; none are run for a version that is loaded already.
    pub self_tests: usize,
    /// Whether it was compiled now rather than found compiled.
    pub compiled: bool,
    /// Whether it serves now.
    pub active: bool,
    /// The version that served before.
    pub replaced: Option<Digest>,
    /// How long it took, ms.
    pub took_ms: u64,
    /// Every stage in order.
    pub stages: Vec<Stage>,
}

/// A version turned away; whatever served keeps serving.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub struct Refused {
    /// The stages up to the one that refused.
    pub stages: Vec<Stage>,
    /// Why.
    pub why: Box<StageError>,
}

impl From<StageError> for Refused {
    fn from(why: StageError) -> Self {
        Self { stages: Vec::new(), why: Box::new(why) }
    }
}

/// The stages so far.
#[derive(Default)]
pub(crate) struct Journal {
    pub(crate) stages: Vec<Stage>,
}

impl Journal {
    /// Runs a stage and writes down how it went.
    pub(crate) fn stage<T>(
        &mut self,
        name: &'static str,
        work: impl FnOnce() -> Result<(T, String), StageError>,
    ) -> Result<T, StageError> {
        let begun = Instant::now();
        let (verdict, note, outcome) = match work() {
            Ok((value, note)) => (StageVerdict::Passed, note, Ok(value)),
            Err(why) => (StageVerdict::Refused, why.to_string(), Err(why)),
        };
        let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.stages.push(Stage { name, verdict, took_ms, note });
        outcome
    }

    /// Writes down a stage that had nothing to do.
    pub(crate) fn skip(&mut self, name: &'static str, note: &str) {
        let note = note.to_owned();
        self.stages.push(Stage { name, verdict: StageVerdict::Skipped, took_ms: 0, note });
    }
}
