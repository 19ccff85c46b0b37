//! Plugins as operators read them: versions, what is checked or installed, the stages of a deployment and its report.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatehouse_model::{About, Digest, view};
use gatehouse_runtime::{
    DeployReport, Disabled, ManifestFacts, Package, StageReport, StageVerdict, VersionState, VersionSummary,
};
use gatehouse_tasks::{DeploymentKind, DeploymentOutcome, DeploymentRecord, StageRecord};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::system::DefaultView;
use crate::api::system::FamilyDefaultsFile;
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

impl DeployedView {
    /// What a deployment came to; its version is `state` now.
    pub(crate) fn of(report: DeployReport, state: &'static str, defaults: Vec<DefaultView>) -> Self {
        let replaced = report.replaced.map(|digest| digest.to_string());
        let stages = report.stages.iter().map(StageView::from).collect();
        Self { plugin: PluginVersion::deployed(report, state), replaced, stages, defaults }
    }
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
        Self { stage, verdict: verdict.parse().unwrap_or(StageVerdict::Skipped), took_ms, note }
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

/// A plugin to check or to install.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PluginOffer {
    /// Its bytes, in base64.
    pub component: Component,
    /// Refuse any other bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub sha256: Option<Digest>,
    /// The text of its signature file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// Whether it may leave out a model, alias or surface that its predecessor serves.
    #[serde(default)]
    pub allow_removal: bool,
    /// Prices, providers and models that come with it, in place of those in the component.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defaults: Option<FamilyDefaultsFile>,
}

impl PluginOffer {
    /// A component alone.
    #[must_use]
    pub fn of(component: Component) -> Self {
        Self { component, sha256: None, signature: None, allow_removal: false, defaults: None }
    }

    /// The defaults that it brings: the file of the operator, or else what the component carries. What is wrong with the
    /// component's sections is the deployment's to say.
    #[must_use]
    pub fn defaults(&self) -> Option<FamilyDefaultsFile> {
        self.defaults.clone().or_else(|| {
            let text = Package::read(&self.component.0).ok()?.defaults?;
            Some(FamilyDefaultsFile { name: "defaults of the plugin".to_owned(), text })
        })
    }
}

/// A component's bytes; base64 on the wire.
#[derive(Clone, PartialEq, Eq, JsonSchema)]
pub struct Component(#[schemars(with = "String")] pub Vec<u8>);

impl Component {
    /// The sha256 of the bytes.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(&self.0)
    }
}

impl std::fmt::Debug for Component {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Component({} bytes)", self.0.len())
    }
}

impl Serialize for Component {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Component {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        STANDARD.decode(text.as_bytes()).map(Self).map_err(serde::de::Error::custom)
    }
}

view! {
    /// The report of a deployment.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
    #[schemars(rename = "DeploymentReport")]
    pub(crate) struct DeploymentView of (row: DeploymentRecord) where {
        let some = |text: String| (!text.is_empty()).then_some(text);
    } {
        /// Counted from 1, over all families.
        pub number: u64 = row.number,
        /// When it ended.
        pub at: Moment = Moment(row.at),
        /// Who ordered it: a token, a session, the gateway itself.
        pub who: String = row.who,
        /// What was ordered.
        pub kind: DeploymentKindView = match row.kind {
            DeploymentKind::Install => DeploymentKindView::Install,
            DeploymentKind::Activate => DeploymentKindView::Activate,
            DeploymentKind::RollBack => DeploymentKindView::RollBack,
            DeploymentKind::Canary => DeploymentKindView::Canary,
            DeploymentKind::Found => DeploymentKindView::Found,
        },
        /// What it came to.
        pub outcome: DeploymentOutcomeView = match row.outcome {
            DeploymentOutcome::Switched => DeploymentOutcomeView::Switched,
            DeploymentOutcome::Unchanged => DeploymentOutcomeView::Unchanged,
            DeploymentOutcome::Refused => DeploymentOutcomeView::Refused,
        },
        /// The family; null where the component did not come so far as to tell.
        pub family: Option<String> = some(row.family),
        /// The semver of the version; null likewise.
        pub version: Option<String> = some(row.version),
        /// The sha256 of its component; null for a rollback that found no version.
        pub digest: Option<String> = row.digest.map(|digest| digest.to_string()),
        /// The version that served before; null for the first one, or the same.
        pub replaced: Option<String> = row.replaced.map(|digest| digest.to_string()),
        /// Why it was refused, or why the version before it was rolled back.
        pub reason: Option<String> = some(row.reason),
        /// Every stage in order; empty where none was run.
        pub stages: Vec<StageView> = row.stages.into_iter().map(StageView::from).collect(),
    }
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
