//! Reports of deployments as operators read them later.

use gatehouse_tasks::{DeploymentKind, DeploymentOutcome, DeploymentRecord};
use schemars::JsonSchema;
use serde::Serialize;

use super::plugin::StageView;
use crate::api::values::Moment;

/// The report of a deployment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "DeploymentReport")]
pub(crate) struct DeploymentView {
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
    pub stages: Vec<StageView>,
}

/// What was ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "DeploymentKind")]
pub(crate) enum DeploymentKindView {
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "DeploymentOutcome")]
pub(crate) enum DeploymentOutcomeView {
    /// Another version serves.
    Switched,
    /// The version served already.
    Unchanged,
    /// The version before serves on.
    Refused,
}

impl From<DeploymentRecord> for DeploymentView {
    fn from(row: DeploymentRecord) -> Self {
        let some = |text: String| (!text.is_empty()).then_some(text);
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
            stages: row.stages.into_iter().map(StageView::from).collect(),
        }
    }
}
