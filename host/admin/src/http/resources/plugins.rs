//! `/plugins`, `/families` and `/deployments`: versions of plugins, which one serves each family, and how it came to that.
//!
//! A family that needs prices and providers of its own brings its `family.toml` in the JSON of its deployment.

use std::collections::BTreeMap;

use gatehouse_tasks::FieldChange;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::api::plugin::{
    Component, DeployedView, DeploymentView, PluginOffer, PluginVersion, UninstalledView,
};
use crate::api::values::List;
use crate::error::ApiError;
use crate::http::call::{Call, Outcome};
use crate::http::request::body::{OCTET_STREAM, is_of_type};
use crate::http::request::query::{Form, Parameter, filter, filter_any, option};
use crate::http::route::Route;
use crate::reply::Reply;

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
        Route::get("/plugins", "listPlugins", list)
            .says("Lists plugin versions by family and digest.")
            .query(&FILTERS)
            .paged()
            .returns::<List<PluginVersion>>(),
        Route::post("/plugins", "deployPlugin", deploy)
            .says("Deploys a component: every stage, the switch included. As JSON it brings its defaults.")
            .query(&[SHA256, SIGNATURE, REMOVAL])
            .file::<PluginOffer>()
            .returns::<DeployedView>(),
        Route::post("/plugins/check", "checkPlugin", check)
            .says("Takes a component through every stage but the switch. As JSON it brings its defaults.")
            .query(&[SHA256, SIGNATURE, REMOVAL])
            .file::<PluginOffer>()
            .returns::<DeployedView>(),
        Route::post("/plugins/{digest}/activate", "activatePlugin", activate)
            .says("Switches a family to a version that is kept.")
            .query(&[REMOVAL])
            .returns::<DeployedView>(),
        Route::delete("/plugins/{digest}", "removePlugin", remove)
            .says("Deletes a version that serves nothing.")
            .returns_nothing(),
        Route::get("/families", "listFamilies", families)
            .says("Lists families with the version that serves each.")
            .paged()
            .returns::<List<Family>>(),
        Route::post("/families/{family}/rollback", "rollBackFamily", roll_back)
            .says("Switches a family back to its previous version.")
            .returns::<DeployedView>(),
        Route::post("/families/{family}/disable", "disableFamily", disable)
            .says("Keeps new requests away from a family until it is enabled; its tasks go on.")
            .returns::<DisabledFamily>(),
        Route::post("/families/{family}/enable", "enableFamily", enable)
            .says("Has a family serve again that was disabled, with the version it had.")
            .returns::<DeployedView>(),
        Route::delete("/families/{family}", "uninstallFamily", uninstall)
            .says("Takes away a family, with every version of it and the defaults that came with it.")
            .returns::<UninstalledView>(),
        Route::get("/deployments", "listDeployments", list_deployments)
            .says("Lists the reports of deployments, newest first; the last 1,000 are kept.")
            .query(&[FAMILY])
            .paged()
            .returns::<List<DeploymentView>>(),
        Route::get("/deployments/{number}", "getDeployment", show_deployment)
            .says("Shows one report with its stages.")
            .returns::<DeploymentView>(),
    ]
}

/// A family of models.
#[derive(Debug, Default, Serialize, JsonSchema)]
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

async fn list(call: Call) -> Outcome {
    let (family, states) = (call.query.one("family"), call.query.all("state"));
    let mut versions = call.service.versions.list().await?;
    versions.retain(|version| {
        family.is_none_or(|family| version.family == family)
            && (states.is_empty() || states.iter().any(|state| state == version.state))
    });
    call.list_of(versions, |version| format!("{}/{}", version.family, version.digest))
}

async fn families(call: Call) -> Outcome {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    for version in call.service.versions.list().await? {
        let name = version.family.clone();
        let family = families.entry(name.clone());
        let family = family.or_insert_with(|| Family { family: name, ..Family::default() });
        family.versions += 1;
        match version.state {
            "active" | "broken" => family.active = Some(version),
            "disabled" => family.disabled = Some(version),
            "standby" => family.standby = Some(version),
            _ => {}
        }
    }
    call.list_of(families.into_values().collect(), |family: &Family| family.family.clone())
}

async fn deploy(call: Call) -> Outcome {
    switched(&call, call.service.versions.install(offer(&call)?).await?)
}

async fn check(call: Call) -> Outcome {
    let done = call.service.versions.check(offer(&call)?).await?;
    call.describe(format!("plugins/{}", done.plugin.digest), Vec::new());
    Ok(Reply::json(&done))
}

/// JSON says everything itself; what belongs to bytes stands behind the question mark.
fn offer(call: &Call) -> Result<PluginOffer, ApiError> {
    if !is_of_type(&call.headers, OCTET_STREAM) {
        return call.json();
    }
    Ok(PluginOffer {
        sha256: call.parsed("sha256", "64 hexadecimal digits")?,
        signature: call.query.one("signature").map(str::to_owned),
        allow_removal: call.query.flag("allow_removal"),
        ..PluginOffer::of(Component(call.body.to_vec()))
    })
}

async fn activate(call: Call) -> Outcome {
    let done = call.service.versions.activate(call.path("digest"), call.query.flag("allow_removal")).await?;
    switched(&call, done)
}

async fn roll_back(call: Call) -> Outcome {
    switched(&call, call.service.versions.roll_back(call.path("family")).await?)
}

async fn enable(call: Call) -> Outcome {
    switched(&call, call.service.versions.enable(call.path("family")).await?)
}

async fn disable(call: Call) -> Outcome {
    let family = call.path("family").to_owned();
    let digest = call.service.versions.disable(&family).await?.to_string();
    Ok(Reply::json(&DisabledFamily { family, digest }))
}

async fn uninstall(call: Call) -> Outcome {
    Ok(Reply::json(&call.service.versions.uninstall(call.path("family")).await?))
}

async fn remove(call: Call) -> Outcome {
    let digest = call.service.versions.remove(call.path("digest")).await?;
    call.describe(format!("plugins/{digest}"), Vec::new());
    Ok(Reply::empty())
}

/// Reports a switch, which goes into the audit record.
fn switched(call: &Call, done: DeployedView) -> Outcome {
    let text = |digest: &String| Value::from(digest.as_str()).to_string();
    let change = FieldChange {
        field: format!("families.{}", done.plugin.family),
        before: done.replaced.as_ref().map(text),
        after: Some(text(&done.plugin.digest)),
    };
    call.describe(format!("plugins/{}", done.plugin.digest), vec![change]);
    Ok(Reply::json(&done))
}

async fn list_deployments(call: Call) -> Outcome {
    let family = call.query.one("family").map(str::to_owned);
    let page = call.service.store.list_deployments(family, call.position()?, call.query.limit()).await?;
    call.list(page.rows.into_iter().map(DeploymentView::from).collect(), page.next)
}

async fn show_deployment(call: Call) -> Outcome {
    Ok(Reply::json(&call.service.deployments.get(call.id("number", "deployment")?).await?))
}
