//! `/config` and `/doctor`: the configuration in effect, its reload, and the examination of the ledger.

use std::collections::BTreeMap;

use gatehouse_tasks::FieldChange;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::api::configuration::{EffectiveView, ReloadView};
use crate::http::call::{Call, Outcome};
use crate::http::reply::Reply;
use crate::http::route::Route;

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
