//! `/config`, `/doctor`, `/backups`, `/fleet` and `/console`: the configuration in effect, its reload, the examination of the ledger,
//! backups, the gateways of a database, and logins.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::access::{LoginLinkView, Role};
use crate::api::error::OperationError;
use crate::api::system::{BackupRun, DoctorRun, EffectiveView, FleetView, NewBackup, ReloadView};
use crate::audit::told;
use crate::http::call::{Call, Outcome};
use crate::http::request::query::{Form, option};
use crate::http::route::Route;
use crate::reply::Reply;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/config", "getConfig", config)
            .says("Shows the configuration, never a secret.")
            .returns::<EffectiveView>(),
        Route::post("/config/reload", "reloadConfig", reload)
            .says("Reads the configuration again, or changes nothing.")
            .returns::<ReloadView>(),
        Route::get("/doctor", "runDoctor", doctor)
            .says(
                "Sums up the ledger again and checks every hold and index: begins, or tells how far the \
                examination is.",
            )
            .query(&[option(
                "run",
                Form::Text,
                "Looks at the examination of this number; without it one begins.",
            )])
            .looks_up()
            .returns::<DoctorRun>(),
        Route::post("/backups", "createBackup", create_backup)
            .says(
                "Begins a backup of store, pepper, plugins and their defaults, of everything confirmed by \
                now.",
            )
            .body::<NewBackup>()
            .returns::<BackupRun>(),
        Route::get("/backups", "getBackup", backup)
            .says("Tells how far a backup is, and what it holds.")
            .query(&[option(
                "run",
                Form::Text,
                "Looks at the backup of this number; without it at the last one.",
            )])
            .looks_up()
            .returns::<BackupRun>(),
        Route::get("/fleet", "getFleet", fleet)
            .says(
                "Shows the gateways that share the database of data.url: who is at work, who waits, what is \
                left of the lease.",
            )
            .looks_up()
            .returns::<FleetView>(),
        Route::post("/console/links", "createLoginLink", login_link)
            .says("Makes a link that logs one person in to the console; it works once, for ten minutes.")
            .body::<NewLoginLink>()
            .creates::<LoginLinkView>(),
    ]
}

/// What a person may do who logs in.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewLoginLink {
    /// The role; operator without it.
    #[serde(default)]
    role: Role,
}

async fn login_link(call: Call) -> Outcome {
    let NewLoginLink { role } = call.json()?;
    call.describe(format!("console/{role}"), Vec::new());
    let links = call.links.ok_or_else(|| {
        OperationError::Refused("only a running gateway has a console; start it".to_owned())
    })?;
    Ok(Reply::created(&links.new_link(role)?))
}

async fn config(call: Call) -> Outcome {
    Ok(Reply::json(&call.service.reloads.effective().await?))
}

async fn reload(call: Call) -> Outcome {
    let view = call.service.reloads.reload().await?;
    let changes = view.changed.iter().chain(&view.accounts).map(|field| told(field, "changed"));
    call.describe("config", changes.collect());
    Ok(Reply::json(&view))
}

async fn create_backup(call: Call) -> Outcome {
    let NewBackup { to } = call.json()?;
    call.describe(format!("backup/{to}"), Vec::new());
    Ok(Reply::json(&call.service.backups.begin(to).await?))
}

async fn backup(call: Call) -> Outcome {
    let wanted = call.parsed("run", "the number of a backup")?;
    Ok(Reply::json(&call.service.backups.look(wanted).await?))
}

async fn fleet(call: Call) -> Outcome {
    Ok(Reply::json(&call.service.fleet.look().await?))
}

async fn doctor(call: Call) -> Outcome {
    let wanted = call.parsed("run", "the number of an examination")?;
    Ok(Reply::json(&call.service.doctor.look(wanted).await?))
}
