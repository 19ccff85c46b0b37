//! `/tasks`: tasks of all customers: listed, shown with their money, cancelled with a reason. Never shows a prompt.

use std::collections::BTreeMap;

use gatehouse_driver::ambiguous_exchange;
use gatehouse_model::{KeyId, Line, Media, Phase, Price, Status, Task, TaskId, view};
use gatehouse_store::AllTasksQuery;
use gatehouse_tasks::JournalEntry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::values::{List, Moment, entry_id};
use crate::audit::told;
use crate::error::ApiError;
use crate::http::call::{Call, Outcome};
use crate::http::csv;
use crate::http::request::query::{Form, Parameter, filter, filter_any};
use crate::http::route::Route;
use crate::reply::Reply;
use crate::service::{TaskDetails, tag_of};

const STATUSES: [&str; 5] = ["submitted", "pending", "processing", "completed", "failed"];
const FILTERS: [Parameter; 10] = [
    filter_any("status", Form::OneOf(&STATUSES), "Only tasks in one of these states."),
    filter_any("key", Form::Text, "Only tasks through one of these keys."),
    filter_any("family", Form::Text, "Only tasks of one of these families."),
    filter("customer", Form::Text, "Only this customer's tasks."),
    filter("ambiguous", Form::Flag, "True: only tasks whose call is ambiguous and waits for a ruling."),
    filter("model", Form::Text, "Only tasks of this canonical model."),
    filter("user", Form::Text, "Only tasks of this user of a client."),
    filter("tag", Form::Text, "Only tasks with this pair in their `metadata`, as `name=value`."),
    filter("created_after", Form::Moment, "Only tasks accepted from this moment on."),
    filter("created_before", Form::Moment, "Only tasks accepted before this moment."),
];
/// Values of one filter.
const MAX_VALUES: usize = 20;
/// Tasks that one piece of a file reads.
const PIECE: usize = 200;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/tasks", "listTasks", list)
            .says("Lists tasks of all customers, newest first.")
            .query(&FILTERS)
            .paged()
            .returns::<List<TaskLine>>(),
        Route::get("/tasks.csv", "exportTasks", export)
            .says("Tasks of all customers as CSV, newest first.")
            .query(&FILTERS)
            .returns_text(csv::CONTENT_TYPE),
        Route::get("/tasks/{task}", "getTask", show)
            .says("Shows one task and its ledger rows.")
            .returns::<TaskView>(),
        Route::post("/tasks/{task}/cancel", "cancelTask", cancel)
            .says(
                "Ends a task that its provider has not begun, or that is given up; it is refunded. 202 \
                where its provider is asked to stop it first.",
            )
            .body::<Cancellation>()
            .returns::<TaskLine>(),
    ]
}

view! {
    /// A task.
    #[derive(Debug, Serialize, JsonSchema)]
    #[schemars(rename = "Task")]
    pub(super) struct TaskLine of (task: &Task) {
        /// Its id.
        id: String = task.id.to_string(),
        /// The family that admitted it.
        family: String = task.family.clone(),
        /// Canonical model.
        model: String = task.model.clone(),
        /// The surface it came through.
        surface: String = task.surface.clone(),
        /// The customer.
        customer: String = task.customer.0.clone(),
        /// The key.
        key: String = task.key.0.clone(),
        /// "submitted", "pending", "processing", "completed" or "failed".
        status: &'static str = task.status.as_str(),
        /// Whether a call of it left, has no reply, and waits for a ruling.
        ambiguous: bool = task.phase.ambiguous_call().is_some(),
        /// That call.
        ambiguous_call: Option<LostCall> = ambiguous_exchange(task).map(|(at, exchange)| LostCall {
            at: at.into(),
            provider: exchange.provider,
            account: exchange.account,
            method: exchange.method,
            url: exchange.url,
            outage: exchange.outage,
        }),
        /// 0 to 100.
        progress: u8 = task.progress,
        /// Its client's `user`.
        user: Option<String> = task.tags.user.clone(),
        /// The texts of its client's `metadata`, by name.
        metadata: BTreeMap<String, String> = task.tags.metadata.clone(),
        /// When it was accepted.
        created: Moment = task.created.into(),
        /// When it ended.
        finished: Option<Moment> = task.finished.map(Moment),
        /// When it is failed at the latest.
        deadline: Moment = task.deadline.into(),
        /// What is or was held.
        held_micro: i64 = task.held.0,
        /// What was spent; null until it ends.
        cost_micro: Option<i64> = task.cost.map(|cost| cost.0),
        /// Why it failed.
        failure: Option<FailureLine> = task
            .failure
            .as_ref()
            .map(|failure| FailureLine { kind: failure.kind.as_str(), message: failure.message.clone() }),
    }
}

/// A call that left, or may have left, and has no reply.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AmbiguousCall")]
struct LostCall {
    /// When it was about to leave.
    at: Moment,
    /// The provider.
    provider: String,
    /// The account there.
    account: String,
    /// POST, ...
    method: String,
    /// Path or URL, the values of its query left out.
    url: String,
    /// How it was lost: "timeout", "broken" or "too_large"; null when the gateway stopped meanwhile.
    outage: Option<String>,
}

/// Why a task failed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TaskFailure")]
struct FailureLine {
    /// "request", "moderation", "upstream", "timeout", "cancelled" or "internal".
    kind: &'static str,
    /// What its client reads.
    message: String,
}

view! {
    /// A task with all that is remembered of it.
    #[derive(Debug, Serialize, JsonSchema)]
    #[schemars(rename = "TaskDetails")]
    struct TaskView of (details: TaskDetails) where {
        let TaskDetails { task, entries, deliveries: _ } = details;
        let mut lines = task.terms().lines().map(ChargeLine::from);
        let charge = lines.by_ref().take(task.charge.0.len()).collect();
        let at_most = lines.collect();
    } {
        #[serde(flatten)]
        task: TaskLine = TaskLine::from(&task),
        /// Counts every durable change.
        revision: u64 = task.revision,
        /// The digest of the plugin version that takes its next step, or took its last one.
        version: String = task.digest.to_string(),
        /// The version of its state.
        state_version: u32 = task.state_version,
        /// Bytes of its state.
        state_bytes: usize = task.state.len(),
        /// What happens next.
        next: NextStep = next(&task.phase),
        /// The provider account that works on it.
        account: Option<AccountLine> = task.assignment.as_ref().map(|assigned| AccountLine {
            provider: assigned.provider.clone(),
            account: assigned.account.clone(),
        }),
        /// Requests that joined it and were not delivered yet.
        joined: usize = task.joined.len(),
        /// What it costs where its outcome does not settle.
        charge: Vec<ChargeLine> = charge,
        /// The most that it may settle for; empty where that is its charge.
        at_most: Vec<ChargeLine> = at_most,
        /// Its copied products.
        media: Vec<MediaLine> = task.media.iter().map(MediaLine::from).collect(),
        /// The ledger rows that hold and resolve its money, oldest first. What requests that joined it added is in `held_micro`.
        entries: Vec<MoneyLine> = entries.into_iter().map(MoneyLine::from).collect(),
    }
}

view! {
    /// One line of a charge, with its price from when the task was accepted.
    #[derive(Debug, Serialize, JsonSchema)]
    struct ChargeLine of ((line, price): (&Line, Price)) {
        /// From most to least specific.
        price_keys: Vec<String> = line.keys.clone(),
        /// Units of it.
        quantity: u64 = line.quantity,
        /// What one unit is; empty where its family does not say.
        unit: String = line.unit.clone(),
        /// The price of `per` units.
        unit_price_micro: i64 = price.credits.0,
        /// 1, 1,000 or 1,000,000.
        per: u32 = price.per,
        /// Of all, rounded up; null where it cannot be counted.
        sum_micro: Option<i64> = price.times(line.quantity).map(|sum| sum.0),
    }
}

/// What a task waits for.
#[derive(Debug, Serialize, JsonSchema)]
struct NextStep {
    /// "run" (its plugin), "call", "sent" (a call whose answer is not on record), "ambiguous" (a call without a reply, which
    /// waits for a ruling), "probe", "wait", "publish", "save" or "over".
    phase: &'static str,
    /// The call's provider.
    provider: Option<String>,
    /// The call's method.
    method: Option<String>,
    /// When it is woken, or when the call was about to leave.
    at: Option<Moment>,
}

/// A provider's account.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TaskAccount")]
struct AccountLine {
    /// The provider.
    provider: String,
    /// The account's name.
    account: String,
}

view! {
    /// A copied product.
    #[derive(Debug, Serialize, JsonSchema)]
    #[schemars(rename = "TaskMedia")]
    struct MediaLine of (media: &Media) {
        /// Its id.
        id: String = media.id.to_string(),
        /// Its type.
        mime: String = media.mime.clone(),
        /// Its length.
        bytes: u64 = media.bytes,
        /// When its link ends.
        expires: Moment = media.expires.into(),
    }
}

view! {
    /// A ledger row of a task.
    #[derive(Debug, Serialize, JsonSchema)]
    #[schemars(rename = "TaskMoney")]
    struct MoneyLine of (entry: JournalEntry) {
        /// The id of the row, as in the ledger.
        id: String = entry_id(&entry),
        /// When.
        at: Moment = entry.at.into(),
        /// "hold", "join", "release" or "settle".
        kind: &'static str = entry.kind.as_str(),
        /// The key it counts against.
        key: Option<String> = entry.key.map(|key| key.0),
        /// Change of what is held.
        held_micro: i64 = entry.movement.reserved.0,
        /// Change of what is spent.
        spent_micro: i64 = entry.movement.spent.0,
    }
}

/// Why an operator ends a task, and how.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Cancellation {
    /// Goes into the audit record. 1 to 500 bytes.
    reason: String,
    /// Also while its provider works on it: what the provider still bills is the operator's.
    #[serde(default)]
    give_up: bool,
}

fn next(phase: &Phase) -> NextStep {
    let (phase, call, at) = match phase {
        Phase::Run(_) => ("run", None, None),
        Phase::Call(call) => ("call", Some(call), None),
        Phase::Sent { call, at } => ("sent", Some(call), Some(*at)),
        Phase::Ambiguous { call, at, .. } => ("ambiguous", Some(call), Some(*at)),
        Phase::Probe(_) => ("probe", None, None),
        Phase::Wait(at) => ("wait", None, Some(*at)),
        Phase::Publish { .. } => ("publish", None, None),
        Phase::Save(_) | Phase::SaveFailed(_) => ("save", None, None),
        Phase::Over => ("over", None, None),
    };
    NextStep {
        phase,
        provider: call.map(|call| call.provider.clone()),
        method: call.map(|call| call.method.clone()),
        at: at.map(Moment),
    }
}

async fn list(call: Call) -> Outcome {
    let query = query(&call)?;
    let page = call.service.store.list_all_tasks(query).await?;
    call.list(page.tasks.iter().map(TaskLine::from).collect(), page.next)
}

fn query(call: &Call) -> Result<AllTasksQuery, ApiError> {
    let values = |name: &'static str| {
        let values = call.query.all(name);
        if values.len() > MAX_VALUES {
            return Err(ApiError::field(name, format!("{name}: expected at most {MAX_VALUES} values")));
        }
        Ok(values)
    };
    Ok(AllTasksQuery {
        statuses: values("status")?.iter().filter_map(|word| Status::parse(word)).collect(),
        keys: values("key")?.into_iter().map(KeyId).collect(),
        families: values("family")?,
        customer: call.query.one("customer").map(Into::into),
        ambiguous: call.query.flag("ambiguous"),
        model: call.query.one("model").map(str::to_owned),
        user: call.query.one("user").map(str::to_owned),
        tag: call.query.one("tag").map(tag_of).transpose()?,
        created: call.created(),
        after: call.position()?,
        limit: call.query.limit(),
    })
}

const COLUMNS: &str = "id created finished customer key family model surface status failure=failure.kind \
    held_micro cost_micro user metadata";

async fn export(call: Call) -> Outcome {
    let query = AllTasksQuery { limit: PIECE, ..query(&call)? };
    let shared = (call.service, query);
    // How many fit is not known before they are read: too many break the transfer off.
    Ok(csv::reply(COLUMNS, shared, |(service, query), position: Option<(TaskId, u64)>| async move {
        let (after, before) = position.unzip();
        let page = service.store.list_all_tasks(AllTasksQuery { after, ..query }).await?;
        let rows = before.unwrap_or_default().saturating_add(page.tasks.len() as u64);
        csv::check_rows(rows)?;
        Ok((page.tasks.iter().map(TaskLine::from).collect(), page.next.map(|next| (next, rows))))
    }))
}

async fn show(call: Call) -> Outcome {
    let details = call.service.tasks.details(call.id("task", "task")?).await?;
    Ok(Reply::json(&TaskView::from(details)))
}

async fn cancel(call: Call) -> Outcome {
    let id: TaskId = call.id("task", "task")?;
    let Cancellation { reason, give_up } = call.json()?;
    call.describe(format!("tasks/{id}"), vec![told("reason", reason.as_str()), told("give_up", give_up)]);
    let task = call.service.tasks.cancel(id, &reason, give_up).await?;
    let line = TaskLine::from(&task);
    Ok(if task.status.is_final() { Reply::json(&line) } else { Reply::accepted(&line) })
}
