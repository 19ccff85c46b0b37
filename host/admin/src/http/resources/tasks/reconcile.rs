//! `/tasks/{task}/reconcile`: an operator's ruling about a call whose outcome nobody knows.

use gatehouse_model::TaskId;

use super::task::TaskLine;
use crate::api::task::TaskRuling;
use crate::http::call::{Call, Outcome};
use crate::http::route::Route;
use crate::reply::Reply;
use crate::service::ruling_changes;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::post(
            "/tasks/{task}/reconcile",
            "reconcileTask",
            "Rules on the ambiguous call of a task: it is sent again, given up with a refund, or has a reply. 409 for a task \
             that waits for no ruling, and once its time is over.",
            reconcile,
        )
        .idempotent()
        .body::<TaskRuling>()
        .returns::<TaskLine>(),
    ]
}

async fn reconcile(call: Call) -> Outcome {
    let id: TaskId = call.id("task", "task")?;
    let ruling: TaskRuling = call.json()?;
    let (object, made) = (format!("tasks/{id}"), id.to_string());
    call.describe(object.as_str(), ruling_changes(&ruling));
    let prepared = call.service.rulings.prepare(id, &ruling).await?;
    let command = prepared.command.clone();
    let committed = call.commit(command, (object, &made), 200, ruling_changes(&ruling)).await;
    let is_new = committed.as_ref().is_ok_and(|committed| committed.before.is_none());
    call.service.rulings.ruled(prepared, is_new).await?;
    committed?;
    Ok(Reply::json(&TaskLine::from(&call.service.tasks.row(id).await?)))
}
