//! `/plugins`, `/families` and `/deployments`: versions of plugins, which one serves each family, and how it came to that.
//!
//! A family that needs prices and providers of its own brings its `family.toml` in the JSON of its deployment.

use std::collections::BTreeMap;

use gatehouse_model::Digest;
use gatehouse_runtime::ManifestFacts;
use gatehouse_tasks::FieldChange;
use http::header::CONTENT_TYPE;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::api::configuration::DefaultView;
use crate::api::deployment::DeploymentView;
use crate::api::plugin_offer::{Component, PluginOffer};
use crate::api::result::{PluginOutcome, PluginState, PluginView, StageView, UninstalledView};
use crate::http::call::{Call, Outcome};
use crate::http::error::ApiError;
use crate::http::reply::Reply;
use crate::http::request::query::{Form, Parameter, filter, filter_any, option};
use crate::http::route::Route;
use crate::http::values::{List, Moment};

const STATES: &[&str] = &["active", "broken", "disabled", "kept", "pinned", "standby", "rolled_back"];
const FILTERS: [Parameter; 2] = [
    filter("family", Form::Text, "Only versions of this family."),
    filter_any("state", Form::OneOf(STATES), "Only versions in one of these states."),
];
const REMOVAL: Parameter = option(
    "allow_removal",
    Form::Flag,
    "Whether it may leave out a model, alias or surface that its predecessor serves.",
);
const SIGNATURE: Parameter = option("signature", Form::Text, "The text of its signature file.");
const SHA256: Parameter = option("sha256", Form::Text, "Refuse any other bytes.");

const FAMILY: Parameter = filter("family", Form::Text, "Only of this family.");

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/plugins", "listPlugins", "Lists plugin versions by family and digest.", list)
            .query(&FILTERS)
            .paged()
            .returns::<List<PluginVersion>>(),
        Route::post(
            "/plugins",
            "deployPlugin",
            "Deploys a component: every stage, the switch included. As JSON it brings its defaults.",
            deploy,
        )
        .query(&[SHA256, SIGNATURE, REMOVAL])
        .file::<PluginOffer>()
        .returns::<Deployment>(),
        Route::post(
            "/plugins/check",
            "checkPlugin",
            "Takes a component through every stage but the switch. As JSON it brings its defaults.",
            check,
        )
        .query(&[SHA256, SIGNATURE, REMOVAL])
        .file::<PluginOffer>()
        .returns::<Deployment>(),
        Route::post(
            "/plugins/{digest}/activate",
            "activatePlugin",
            "Switches a family to a version that is kept.",
            activate,
        )
        .query(&[REMOVAL])
        .returns::<Deployment>(),
        Route::delete("/plugins/{digest}", "removePlugin", "Deletes a version that serves nothing.", remove)
            .returns_nothing(),
        Route::get(
            "/families",
            "listFamilies",
            "Lists families with the version that serves each.",
            families,
        )
        .paged()
        .returns::<List<Family>>(),
        Route::post(
            "/families/{family}/rollback",
            "rollBackFamily",
            "Switches a family back to its previous version.",
            roll_back,
        )
        .returns::<Deployment>(),
        Route::post(
            "/families/{family}/disable",
            "disableFamily",
            "Keeps new requests away from a family until it is enabled; its tasks go on.",
            disable,
        )
        .returns::<DisabledFamily>(),
        Route::post(
            "/families/{family}/enable",
            "enableFamily",
            "Has a family serve again that was disabled, with the version it had.",
            enable,
        )
        .returns::<Deployment>(),
        Route::delete(
            "/families/{family}",
            "uninstallFamily",
            "Takes away a family, with every version of it and the defaults that came with it.",
            uninstall,
        )
        .returns::<UninstalledView>(),
        Route::get(
            "/deployments",
            "listDeployments",
            "Lists the reports of deployments, newest first; the last 1,000 are kept.",
            list_deployments,
        )
        .query(&[FAMILY])
        .paged()
        .returns::<List<DeploymentView>>(),
        Route::get(
            "/deployments/{number}",
            "getDeployment",
            "Shows one report with its stages.",
            show_deployment,
        )
        .returns::<DeploymentView>(),
    ]
}

/// A version of a plugin.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct PluginVersion {
    /// The family it serves.
    family: String,
    /// Its semver.
    version: String,
    /// The sha256 of the component.
    digest: String,
    /// `active`, `broken`, `disabled`, `kept`, `pinned`, `standby`, `rolled_back`; `checked` after a check, `serves` after a switch.
    state: String,
    /// Since when it is active or disabled, until when it is standby, or when it was rolled back.
    at: Option<Moment>,
    /// Why it is broken, disabled or was rolled back.
    reason: Option<String>,
    /// Models it serves.
    models: Vec<String>,
    /// Other names of its models, by model.
    aliases: BTreeMap<String, Vec<String>>,
    /// Its name for people, where its manifest has one.
    title: Option<String>,
    /// Its licence, an SPDX expression.
    licence: Option<String>,
    /// Where to read more about it.
    homepage: Option<String>,
    /// What one unit of a price key is, by key.
    units: BTreeMap<String, String>,
}

/// What a deployment came to.
#[derive(Debug, Serialize, JsonSchema)]
struct Deployment {
    /// The version.
    plugin: PluginVersion,
    /// The digest of the version that served before; null for the first one, or the same.
    replaced: Option<String>,
    /// Every stage in order.
    stages: Vec<StageView>,
    /// What became of the defaults that it brought, or would become.
    defaults: Vec<DefaultView>,
}

/// A family of models.
#[derive(Debug, Serialize, JsonSchema)]
struct Family {
    /// Its name.
    family: String,
    /// The version that serves it; null when none does.
    active: Option<PluginVersion>,
    /// The version that would serve it, where the family is switched off.
    disabled: Option<PluginVersion>,
    /// The version that takes over from a canary.
    standby: Option<PluginVersion>,
    /// How many versions of it there are.
    versions: usize,
}

/// A family that was switched off.
#[derive(Debug, Serialize, JsonSchema)]
struct DisabledFamily {
    /// The family.
    family: String,
    /// The digest of the version that would serve it.
    digest: String,
}

impl From<PluginView> for PluginVersion {
    fn from(plugin: PluginView) -> Self {
        let ManifestFacts { title, licence, homepage, units } = plugin.facts;
        let (state, at, reason) = match plugin.state {
            PluginState::Active { since } => ("active", Some(since), None),
            PluginState::Broken { reason } => ("broken", None, Some(reason)),
            PluginState::DisabledByConfiguration => {
                ("disabled", None, Some("the configuration has its family switched off".to_owned()))
            }
            PluginState::DisabledByOperator { since } => {
                ("disabled", Some(since), Some("an operator has switched its family off".to_owned()))
            }
            PluginState::Checked => ("checked", None, None),
            PluginState::Kept => ("kept", None, None),
            PluginState::Pinned => ("pinned", None, None),
            PluginState::Serves => ("serves", None, None),
            PluginState::Standby { until } => ("standby", Some(until), None),
            PluginState::RolledBack { at, reason } => ("rolled_back", Some(at), Some(reason)),
        };
        Self {
            family: plugin.family,
            version: plugin.version,
            digest: plugin.digest.to_string(),
            state: state.to_owned(),
            at: at.map(Moment),
            reason,
            models: plugin.models,
            aliases: plugin.aliases,
            title,
            licence,
            homepage,
            units,
        }
    }
}

/// All versions, by family and digest. They are in memory, and as many as an operator installed.
async fn versions(call: &Call) -> Result<Vec<PluginVersion>, ApiError> {
    let plugins = call.service.plugins().await?.into_iter();
    let mut versions: Vec<_> = plugins.map(PluginVersion::from).collect();
    versions.sort_by(|one, other| (&one.family, &one.digest).cmp(&(&other.family, &other.digest)));
    Ok(versions)
}

async fn list(call: Call) -> Outcome {
    let (family, states) = (call.query.one("family"), call.query.all("state"));
    let mut versions = versions(&call).await?;
    versions.retain(|version| {
        family.is_none_or(|family| version.family == family)
            && (states.is_empty() || states.contains(&version.state))
    });
    page(&call, versions, |version| format!("{}/{}", version.family, version.digest))
}

async fn families(call: Call) -> Outcome {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    for version in versions(&call).await? {
        let name = version.family.clone();
        let family = families.entry(name.clone()).or_insert(Family {
            family: name,
            active: None,
            disabled: None,
            standby: None,
            versions: 0,
        });
        family.versions += 1;
        match version.state.as_str() {
            "active" | "broken" => family.active = Some(version),
            "disabled" => family.disabled = Some(version),
            "standby" => family.standby = Some(version),
            _ => {}
        }
    }
    page(&call, families.into_values().collect(), |family| family.family.clone())
}

/// A page of rows that are in the order of their positions.
fn page<T: Serialize>(call: &Call, rows: Vec<T>, position: impl Fn(&T) -> String) -> Outcome {
    let after = call.position::<String>()?;
    let rest = rows.into_iter().filter(|row| after.as_ref().is_none_or(|after| position(row) > *after));
    let mut rows: Vec<T> = rest.take(call.query.limit() + 1).collect();
    let more = rows.len() > call.query.limit();
    rows.truncate(call.query.limit());
    let next = rows.last().map(position).filter(|_| more);
    Ok(call.list(rows, next.as_deref()))
}

async fn deploy(call: Call) -> Outcome {
    let done = call.service.install_plugin(offer(&call)?).await?;
    Ok(switched(&call, done))
}

async fn check(call: Call) -> Outcome {
    let done = call.service.check_plugin(offer(&call)?).await?;
    call.describe(format!("plugins/{}", done.plugin.digest), Vec::new());
    Ok(Reply::json(&Deployment::from(done)))
}

/// JSON says everything itself; what belongs to bytes stands behind the question mark.
fn offer(call: &Call) -> Result<PluginOffer, ApiError> {
    let kind = call.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !kind.starts_with("application/octet-stream") {
        return call.json();
    }
    let sha256 = call.query.one("sha256").map(|text| {
        text.parse().map_err(|error| ApiError::field("sha256", format!("sha256: {error}, got {text:?}")))
    });
    Ok(PluginOffer {
        sha256: sha256.transpose()?,
        signature: call.query.one("signature").map(str::to_owned),
        allow_removal: call.query.flag("allow_removal"),
        ..PluginOffer::of(Component(call.body.to_vec()))
    })
}

async fn activate(call: Call) -> Outcome {
    let done = call.service.activate_plugin(call.path("digest"), call.query.flag("allow_removal")).await?;
    Ok(switched(&call, done))
}

async fn roll_back(call: Call) -> Outcome {
    let done = call.service.roll_back_plugin(call.path("family")).await?;
    Ok(switched(&call, done))
}

async fn enable(call: Call) -> Outcome {
    let done = call.service.enable_family(call.path("family")).await?;
    Ok(switched(&call, done))
}

async fn disable(call: Call) -> Outcome {
    let family = call.path("family").to_owned();
    let digest = call.service.disable_family(&family).await?.to_string();
    Ok(Reply::json(&DisabledFamily { family, digest }))
}

async fn uninstall(call: Call) -> Outcome {
    Ok(Reply::json(&call.service.uninstall_family(call.path("family")).await?))
}

async fn remove(call: Call) -> Outcome {
    let digest = call.service.remove_plugin(call.path("digest")).await?;
    call.describe(format!("plugins/{digest}"), Vec::new());
    Ok(Reply::empty())
}

/// Reports a switch, which goes into the audit record.
fn switched(call: &Call, done: PluginOutcome) -> Reply {
    let text = |digest: Digest| Value::from(digest.to_string()).to_string();
    let change = FieldChange {
        field: format!("families.{}", done.plugin.family),
        before: done.replaced.map(text),
        after: Some(text(done.plugin.digest)),
    };
    call.describe(format!("plugins/{}", done.plugin.digest), vec![change]);
    Reply::json(&Deployment::from(done))
}

impl From<PluginOutcome> for Deployment {
    fn from(done: PluginOutcome) -> Self {
        let PluginOutcome { plugin, replaced, stages, defaults } = done;
        Self { plugin: plugin.into(), replaced: replaced.map(|digest| digest.to_string()), stages, defaults }
    }
}

async fn list_deployments(call: Call) -> Outcome {
    let family = call.query.one("family").map(str::to_owned);
    let page = call.service.deployments_page(family, call.position()?, call.query.limit()).await?;
    Ok(call.list(page.rows, page.next.map(|number| number.to_string()).as_deref()))
}

async fn show_deployment(call: Call) -> Outcome {
    Ok(Reply::json(&call.service.deployment(call.id("number", "deployment")?)?))
}
