//! Versions of plugins, the stages of a deployment, and what it came to.

use std::collections::BTreeMap;

use gatehouse_model::{About, Digest};
use gatehouse_runtime::{
    DeployReport, Disabled, ManifestFacts, StageReport, StageVerdict, VersionState, VersionSummary,
};
use gatehouse_tasks::StageRecord;
use schemars::JsonSchema;
use serde::Serialize;

use super::configuration::DefaultView;
use crate::api::values::Moment;

/// A version of a plugin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PluginVersion {
    /// The family it serves.
    pub family: String,
    /// Its semver.
    pub version: String,
    /// The sha256 of the component.
    pub digest: String,
    /// `active`, `broken`, `disabled`, `kept`, `pinned`, `standby`, `rolled_back`; `checked` after a check, `serves` after a switch.
    pub state: &'static str,
    /// Since when it is active or disabled, until when it is standby, or when it was rolled back.
    pub at: Option<Moment>,
    /// Why it is broken, disabled or was rolled back.
    pub reason: Option<String>,
    /// Models it serves.
    pub models: Vec<String>,
    /// Other names of its models, by model.
    pub aliases: BTreeMap<String, Vec<String>>,
    /// Its name for people, where its manifest has one.
    pub title: Option<String>,
    /// Its licence, an SPDX expression.
    pub licence: Option<String>,
    /// Where to read more about it.
    pub homepage: Option<String>,
    /// What one unit of a price key is, by key.
    pub units: BTreeMap<String, String>,
}

/// What a deployment came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Deployment")]
pub(crate) struct DeployedView {
    /// The version.
    pub(crate) plugin: PluginVersion,
    /// The digest of the version that served before; null for the first one, or the same.
    pub(crate) replaced: Option<String>,
    /// Every stage in order.
    pub(crate) stages: Vec<StageView>,
    /// What became of the defaults that it brought, or would become.
    pub(crate) defaults: Vec<DefaultView>,
}

/// A family that was taken away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Uninstalled")]
pub(crate) struct UninstalledView {
    /// The family.
    pub(crate) family: String,
    /// The digests of the versions that were deleted.
    pub(crate) versions: Vec<String>,
    /// What became of the defaults that it brought.
    pub(crate) defaults: Vec<DefaultView>,
}

/// One stage of a deployment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Stage")]
pub struct StageView {
    /// `admit`, `compile`, ...
    pub stage: String,
    /// Its end.
    pub verdict: StageVerdict,
    /// How long it took.
    pub took_ms: u64,
    /// What it found, a sentence.
    pub note: String,
}

impl From<&StageReport> for StageView {
    fn from(stage: &StageReport) -> Self {
        let (stage, verdict, took_ms, note) =
            (stage.name.to_owned(), stage.verdict, stage.took_ms, stage.note.clone());
        Self { stage, verdict, took_ms, note }
    }
}

impl From<StageRecord> for StageView {
    fn from(record: StageRecord) -> Self {
        let StageRecord { stage, verdict, took_ms, note } = record;
        let all = [StageVerdict::Passed, StageVerdict::Refused];
        let verdict = all.into_iter().find(|one| one.as_str() == verdict).unwrap_or(StageVerdict::Skipped);
        Self { stage, verdict, took_ms, note }
    }
}

impl From<VersionSummary> for PluginVersion {
    fn from(version: VersionSummary) -> Self {
        let VersionSummary { family, version, digest, models, facts, state, .. } = version;
        let models = models.into_iter().map(|model| (model.id, model.aliases));
        let plain = Self::new(family, version, digest, models, facts, "kept");
        let by_configuration = "the configuration has its family switched off".to_owned();
        let by_operator = "an operator has switched its family off".to_owned();
        let (state, at, reason) = match state {
            VersionState::Active(since) => ("active", Some(since), None),
            VersionState::Broken(reason) => ("broken", None, Some(reason)),
            VersionState::Disabled(Disabled::ByConfiguration) => ("disabled", None, Some(by_configuration)),
            VersionState::Disabled(Disabled::ByOperator(since)) => {
                ("disabled", Some(since), Some(by_operator))
            }
            VersionState::Kept => ("kept", None, None),
            VersionState::Pinned => ("pinned", None, None),
            VersionState::Standby { until } => ("standby", Some(until), None),
            VersionState::RolledBack { at, reason } => ("rolled_back", Some(at), Some(reason)),
        };
        Self { state, at: at.map(Moment), reason, ..plain }
    }
}

impl PluginVersion {
    /// The version of a deployment, which is `state` now.
    pub(crate) fn deployed(report: DeployReport, state: &'static str) -> Self {
        let facts = (&report.about).into();
        let About { family, version, models, .. } = report.about;
        let models = models.into_iter().map(|model| (model.id, model.aliases));
        Self::new(family, version, report.digest, models, facts, state)
    }

    fn new(
        family: String,
        version: String,
        digest: Digest,
        models: impl Iterator<Item = (String, Vec<String>)>,
        facts: ManifestFacts,
        state: &'static str,
    ) -> Self {
        let named: Vec<(String, Vec<String>)> = models.collect();
        let ManifestFacts { title, licence, homepage, units } = facts;
        Self {
            family,
            version,
            digest: digest.to_string(),
            state,
            at: None,
            reason: None,
            models: named.iter().map(|(id, _)| id.clone()).collect(),
            aliases: named.into_iter().filter(|(_, aliases)| !aliases.is_empty()).collect(),
            title,
            licence,
            homepage,
            units,
        }
    }
}
