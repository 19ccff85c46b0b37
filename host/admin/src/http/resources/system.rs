//! `/config`, `/doctor` and `/console`: the configuration in effect, its reload, the examination of the ledger, and logins.

use gatehouse_tasks::FieldChange;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::access::caller::{LoginLinkView, Role};
use crate::api::configuration::{EffectiveView, ReloadView};
use crate::api::doctor::DoctorRun;
use crate::api::error::OperationError;
use crate::http::call::{Call, Outcome};
use crate::http::request::query::{Form, option};
use crate::http::route::Route;
use crate::reply::Reply;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/config", "getConfig", "Shows the configuration, never a secret.", config)
            .returns::<EffectiveView>(),
        Route::post(
            "/config/reload",
            "reloadConfig",
            "Reads the configuration again, or changes nothing.",
            reload,
        )
        .returns::<ReloadView>(),
        Route::get(
            "/doctor",
            "runDoctor",
            "Sums up the ledger again and checks every hold and index: begins, or tells how far the examination is.",
            doctor,
        )
        .query(&[option("run", Form::Text, "Looks at the examination of this number; without it one begins.")])
        .looks_up()
        .returns::<DoctorRun>(),
        Route::post(
            "/console/links",
            "createLoginLink",
            "Makes a link that logs one person in to the console; it works once, for ten minutes.",
            login_link,
        )
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
    Ok(Reply::json(&call.service.effective_configuration().await?))
}

async fn reload(call: Call) -> Outcome {
    let view = call.service.reload_configuration().await?;
    let changes = view.changed.iter().chain(&view.accounts).map(|field| FieldChange {
        field: field.clone(),
        before: None,
        after: Some(Value::from("changed").to_string()),
    });
    call.describe("config", changes.collect());
    Ok(Reply::json(&view))
}

async fn doctor(call: Call) -> Outcome {
    let wanted = call.parsed("run", "the number of an examination")?;
    Ok(Reply::json(&call.doctor.look(&call.service, wanted).await?))
}
