//! `/audit`: the audit record, append-only. Decisions that the gateway took without all facts, and every request of an
//! operator that was not safe.

use gatehouse_model::view;
use gatehouse_store::AuditQuery;
use gatehouse_tasks::{AuditRecord, AuditedRequest, FieldChange};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::api::values::{List, Moment};
use crate::error::ApiError;
use crate::http::call::{Call, Outcome};
use crate::http::csv;
use crate::http::request::query::{Form, Parameter, filter, filter_any};
use crate::http::route::Route;

const FILTERS: [Parameter; 7] = [
    filter("task", Form::Text, "Only lines about this task."),
    filter("decisions", Form::Flag, "True: only decisions of the gateway itself, no requests of operators."),
    filter_any("operation", Form::Text, "Only requests of one of these operations, such as `createKey`."),
    filter("object", Form::Text, "Only requests about this object or what is below it, such as `keys`."),
    filter("who", Form::Text, "Only requests by this token or session."),
    filter("created_after", Form::Moment, "Only lines from this moment on."),
    filter("created_before", Form::Moment, "Only lines before this moment."),
];

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/audit", "listAudit", list)
            .says("Lists the audit record, newest first.")
            .query(&FILTERS)
            .paged()
            .returns::<List<AuditLine>>(),
        Route::get("/audit.csv", "exportAudit", export)
            .says("The audit record as CSV, newest first.")
            .query(&FILTERS)
            .returns_text(csv::CONTENT_TYPE),
    ]
}

view! {
    /// A line of the audit record.
    #[derive(Debug, Serialize, JsonSchema)]
    struct AuditLine of ((number, record): (u64, AuditRecord)) {
        /// Its number.
        number: u64 = number,
        /// When.
        at: Moment = record.at.into(),
        /// The task it is about.
        task: Option<String> = record.task.map(|task| task.to_string()),
        /// What happened.
        text: String = record.text,
        /// The operator's request; null for a decision of the gateway itself.
        request: Option<RequestLine> = record.request.map(RequestLine::from),
    }
}

view! {
    /// A request of an operator.
    #[derive(Debug, Serialize, JsonSchema)]
    #[schemars(rename = "AuditedRequest")]
    struct RequestLine of (request: AuditedRequest) where {
        let AuditedRequest { id, who, role, address, operation, object, status, reason, changes } = request;
        let changes = changes.into_iter().map(ChangedField::from).collect();
    } {
        /// Its id.
        id: String = id.to_string(),
        /// The token or session; empty for a request without a valid one.
        who: String = who,
        /// "viewer" or "operator"; empty likewise.
        role: String = role,
        /// The peer's address.
        address: String = address,
        /// The operation, such as `createKey`; empty where none was found.
        operation: String = operation,
        /// What it was about.
        object: String = object,
        /// The status of its answer.
        status: u16 = status,
        /// Why it was refused; empty where it was done.
        reason: String = reason,
        /// What changed.
        changes: Vec<ChangedField> = changes,
    }
}

view! {
    /// A field that changed.
    #[derive(Debug, Serialize, JsonSchema)]
    struct ChangedField of (change: FieldChange) where {
        let value = |text: Option<String>| {
            text.map_or(Value::Null, |text| serde_json::from_str(&text).unwrap_or(Value::String(text)))
        };
    } {
        /// Its name.
        field: String = change.field,
        /// Its value before; null where there was none.
        before: Value = value(change.before),
        /// Its value after; null where it has no value.
        after: Value = value(change.after),
    }
}

async fn list(call: Call) -> Outcome {
    let (query, limit) = (query(&call)?, call.query.limit());
    let page = call.service.store.list_audit(query, call.position()?, limit).await?;
    call.list(page.rows.into_iter().map(AuditLine::from).collect(), page.next)
}

/// Rows of one page of the export.
const EXPORT_ROWS: usize = 500;
const COLUMNS: &str = "number at task who=request.who role=request.role address=request.address \
    operation=request.operation object=request.object status=request.status text changes=request.changes";

async fn export(call: Call) -> Outcome {
    let query = query(&call)?;
    csv::check_rows(call.service.store.audit_span(query.clone()).await?)?;
    Ok(csv::reply(COLUMNS, (call.service, query), |(service, query), before| async move {
        let page = service.store.list_audit(query, before, EXPORT_ROWS).await?;
        Ok((page.rows.into_iter().map(AuditLine::from).collect(), page.next))
    }))
}

fn query(call: &Call) -> Result<AuditQuery, ApiError> {
    let text = |name| call.query.one(name).map(str::to_owned);
    let moment = |name| call.query.moment(name).map(|moment| moment.0);
    Ok(AuditQuery {
        task: call.parsed("task", "the id of a task")?,
        decisions: call.query.flag("decisions"),
        operations: call.query.all("operation"),
        object: text("object"),
        who: text("who"),
        from: moment("created_after"),
        before: moment("created_before"),
    })
}
