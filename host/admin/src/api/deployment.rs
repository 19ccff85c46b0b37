//! Reports of deployments as operators read them later.

use gatehouse_tasks::{DeploymentKind, DeploymentOutcome, DeploymentRecord, StageRecord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::http::values::Moment;

/// The report of a deployment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DeploymentReport")]
pub struct DeploymentView {
    /// Counted from 1, over all families.
    pub number: u64,
    /// When it ended.
    pub at: Moment,
    /// Who ordered it: a token, a session, the gateway itself.
    pub who: String,
    /// What was ordered.
    pub kind: DeploymentKindView,
    /// What it came to.
    pub outcome: DeploymentOutcomeView,
    /// The family; null where the component did not come so far as to tell.
    pub family: Option<String>,
    /// The semver of the version; null likewise.
    pub version: Option<String>,
    /// The sha256 of its component; null for a rollback that found no version.
    pub digest: Option<String>,
    /// The version that served before; null for the first one, or the same.
    pub replaced: Option<String>,
    /// Why it was refused, or why the version before it was rolled back.
    pub reason: Option<String>,
    /// Every stage in order; empty where none was run.
    pub stages: Vec<DeploymentStageView>,
}

/// What was ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "DeploymentKind")]
pub enum DeploymentKindView {
    /// A component was installed.
    Install,
    /// A kept version was activated.
    Activate,
    /// An operator went back to the version before.
    RollBack,
    /// A canary failed, and the version before it took over.
    Canary,
    /// The version served when the gateway started, and no report says how it came to that.
    Found,
}

/// What a deployment came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "DeploymentOutcome")]
pub enum DeploymentOutcomeView {
    /// Another version serves.
    Switched,
    /// The version served already.
    Unchanged,
    /// The version before serves on.
    Refused,
}

/// One stage of a deployment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DeploymentStage")]
pub struct DeploymentStageView {
    /// `admit`, `compile`, ...
    pub stage: String,
    /// `passed`, `refused` or `skipped`.
    pub verdict: String,
    /// How long it took.
    pub took_ms: u64,
    /// What it found, a sentence.
    pub note: String,
}

impl DeploymentKindView {
    /// For people.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Install => "installed",
            Self::Activate => "activated",
            Self::RollBack => "rolled back by an operator",
            Self::Canary => "canary rolled back",
            Self::Found => "found at a start",
        }
    }
}

impl DeploymentOutcomeView {
    /// For people.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Switched => "switched",
            Self::Unchanged => "served already",
            Self::Refused => "refused",
        }
    }
}

impl From<DeploymentRecord> for DeploymentView {
    fn from(row: DeploymentRecord) -> Self {
        let some = |text: String| (!text.is_empty()).then_some(text);
        let stage = |StageRecord { stage, verdict, took_ms, note }: StageRecord| DeploymentStageView {
            stage,
            verdict,
            took_ms,
            note,
        };
        Self {
            number: row.number,
            at: Moment(row.at),
            who: row.who,
            kind: match row.kind {
                DeploymentKind::Install => DeploymentKindView::Install,
                DeploymentKind::Activate => DeploymentKindView::Activate,
                DeploymentKind::RollBack => DeploymentKindView::RollBack,
                DeploymentKind::Canary => DeploymentKindView::Canary,
                DeploymentKind::Found => DeploymentKindView::Found,
            },
            outcome: match row.outcome {
                DeploymentOutcome::Switched => DeploymentOutcomeView::Switched,
                DeploymentOutcome::Unchanged => DeploymentOutcomeView::Unchanged,
                DeploymentOutcome::Refused => DeploymentOutcomeView::Refused,
            },
            family: some(row.family),
            version: some(row.version),
            digest: row.digest.map(|digest| digest.to_string()),
            replaced: row.replaced.map(|digest| digest.to_string()),
            reason: some(row.reason),
            stages: row.stages.into_iter().map(stage).collect(),
        }
    }
}
