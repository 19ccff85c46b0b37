//! `/config`, `/doctor` and `/console`: the configuration in effect, its reload, the examination of the ledger, and logins.

use std::collections::BTreeMap;

use gatehouse_tasks::FieldChange;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::api::configuration::{EffectiveView, ReloadView};
use crate::api::error::OperationError;
use crate::api::result::LoginLinkView;
use crate::http::access::caller::Role;
use crate::http::call::{Call, Outcome};
use crate::http::reply::Reply;
use crate::http::route::Route;
use crate::http::values::Moment;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/config", "getConfig", "Shows the configuration, never a secret.", config)
            .returns::<ConfigView>(),
        Route::post(
            "/config/reload",
            "reloadConfig",
            "Reads the configuration again, or changes nothing.",
            reload,
        )
        .returns::<Reloaded>(),
        Route::get(
            "/doctor",
            "runDoctor",
            "Sums up the ledger again and checks every hold and index.",
            doctor,
        )
        .returns::<DoctorReport>(),
        Route::post(
            "/console/links",
            "createLoginLink",
            "Makes a link that logs one person in to the console; it works once, for ten minutes.",
            login_link,
        )
        .body::<NewLoginLink>()
        .creates::<LoginLink>(),
    ]
}

/// The configuration.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Config")]
struct ConfigView {
    /// Every key with its value, tables as objects. A secret is told as `(secret) from ...` or `not set`.
    values: Map<String, Value>,
    /// Keys whose value here is not in effect before a restart.
    needs_restart: Vec<String>,
}

/// What a reload changed; values are never shown.
#[derive(Debug, Serialize, JsonSchema)]
struct Reloaded {
    /// Keys with another value, now in effect.
    changed: Vec<String>,
    /// Accounts of providers that are new, gone, or have another secret.
    accounts: Vec<String>,
    /// Keys with another value that need a restart.
    needs_restart: Vec<String>,
    /// What active plugins lack from now on.
    warnings: Vec<String>,
}

/// The doctor's report.
#[derive(Debug, Serialize, JsonSchema)]
struct DoctorReport {
    /// Whether nothing is wrong.
    sound: bool,
    /// Violated invariants, a sentence each.
    findings: Vec<String>,
    /// Rows checked, by kind.
    counts: BTreeMap<String, u64>,
    /// Difference between the ledger and the balances.
    imbalance_micro: i64,
}

/// What a person may do who logs in.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewLoginLink {
    /// The role; operator without it.
    #[serde(default)]
    role: Role,
}

/// A link that logs one person in.
#[derive(Debug, Serialize, JsonSchema)]
struct LoginLink {
    /// The same link under every name that a browser on the gateway's machine may use, the best first.
    urls: Vec<String>,
    /// What it allows.
    role: Role,
    /// When it stops working.
    expires: Moment,
}

async fn login_link(call: Call) -> Outcome {
    let NewLoginLink { role } = call.json()?;
    call.describe(format!("console/{role}"), Vec::new());
    let links = call.links.ok_or_else(|| {
        OperationError::Refused("only a running gateway has a console; start it".to_owned())
    })?;
    let LoginLinkView { urls, role, expires } = links.new_link(role)?;
    let urls = urls.into_iter().map(|url| url.0).collect();
    Ok(Reply::created(&LoginLink { urls, role, expires: expires.into() }))
}

async fn config(call: Call) -> Outcome {
    let EffectiveView { values, needs_restart } = call.service.effective_configuration().await?;
    Ok(Reply::json(&ConfigView { values, needs_restart }))
}

async fn reload(call: Call) -> Outcome {
    let ReloadView { changed, accounts, needs_restart, warnings } =
        call.service.reload_configuration().await?;
    let changes = changed.iter().chain(&accounts).map(|field| FieldChange {
        field: field.clone(),
        before: None,
        after: Some(Value::from("changed").to_string()),
    });
    call.describe("config", changes.collect());
    Ok(Reply::json(&Reloaded { changed, accounts, needs_restart, warnings }))
}

async fn doctor(call: Call) -> Outcome {
    let report = call.service.examination().await?;
    Ok(Reply::json(&DoctorReport {
        sound: report.is_clean(),
        findings: report.findings,
        counts: report.counts,
        imbalance_micro: report.imbalance.0,
    }))
}
