//! Commands about tasks and what was decided about them: their options, and the requests that they mean.

use std::fmt::Write as _;

use clap::{Args, ValueEnum};
use gatehouse_admin::{AdoptedReply, ApiRequest, RulingWord, TaskRuling};
use gatehouse_model::{Status, TaskId};
use serde_json::{Value, json};

use super::values::{read_bytes, read_json};
use crate::commands::api::{Api, Performed};
use crate::commands::print::{Shown, rows_at, steps_in_words, table, text_at};

/// Lines of one answer.
const MAX_LINES: u32 = 1_000;

pub(crate) const RECONCILE_HELP: &str = "\
Examples:
  gatehouse tasks --ambiguous
  gatehouse reconcile task_01jz3k8m4n5p6q7r8s9t0v1w2x resend --reason \"not in their console\"
  gatehouse reconcile task_01jz3k8m4n5p6q7r8s9t0v1w2x fail --reason \"The provider has lost the job\"
  gatehouse reconcile task_01jz3k8m4n5p6q7r8s9t0v1w2x adopt --reason \"found there\" --reply '{\"id\": \"j-17\"}'
  gatehouse reconcile task_01jz3k8m4n5p6q7r8s9t0v1w2x adopt --reason \"an error page\" --status 422 \\
      --content-type text/html --reply @page.html

A provider whose [providers.NAME] has ask_when_ambiguous = true keeps such tasks until their deadline.";

pub(crate) const CANCEL_HELP: &str = "\
Examples:
  gatehouse tasks --status pending
  gatehouse cancel task_01jz3k8m4n5p6q7r8s9t0v1w2x --reason \"sent by mistake\"
  gatehouse cancel task_01jz3k8m4n5p6q7r8s9t0v1w2x --reason \"the provider has lost it\" --give-up";

/// Which tasks to list.
#[derive(Debug, Args)]
pub(crate) struct TasksArgs {
    /// Only those that wait for a ruling about an ambiguous call
    #[arg(long)]
    ambiguous: bool,
    /// Only those in this state: submitted, pending, processing, completed or failed
    #[arg(long)]
    status: Option<Status>,
    /// Only this customer's
    #[arg(long, alias = "customer", value_name = "ACCOUNT")]
    account: Option<String>,
    /// Only those of this user of a client
    #[arg(long)]
    user: Option<String>,
    /// Only those with this pair in their metadata
    #[arg(long, value_name = "NAME=VALUE")]
    tag: Option<String>,
    /// How many lines, at most 1000
    #[arg(long, default_value_t = 50)]
    limit: u32,
}

/// Selection of audit lines.
#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    /// Only lines about this task
    #[arg(long)]
    task: Option<TaskId>,
    /// How many lines, at most 1000
    #[arg(long, default_value_t = 50)]
    limit: u32,
    /// Also what operators did
    #[arg(long)]
    requests: bool,
    /// Go on where the command before ended
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

/// The early end of a task.
#[derive(Debug, Args)]
pub(crate) struct CancelArgs {
    /// The task
    task: TaskId,
    /// Why, for the audit record
    #[arg(long)]
    reason: String,
    /// Also while its provider works on it; what the provider still bills is yours
    #[arg(long)]
    give_up: bool,
}

/// A ruling.
#[derive(Debug, Args)]
pub(crate) struct ReconcileArgs {
    /// The task
    task: TaskId,
    /// What becomes of the call
    ruling: Ruling,
    /// Why, for the audit record; the client of a task that fails reads it too
    #[arg(long)]
    reason: String,
    /// The body of the provider's reply, or @FILE; for adopt
    #[arg(long, value_name = "BODY", required_if_eq("ruling", "adopt"))]
    reply: Option<String>,
    /// The type of that body, such as text/html; JSON without it
    #[arg(long, value_name = "TYPE", requires = "reply")]
    content_type: Option<String>,
    /// The status of the provider's reply; for adopt
    #[arg(long, default_value_t = 200)]
    status: u16,
    /// Only if the task has this revision
    #[arg(long)]
    if_revision: Option<u64>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Ruling {
    /// Send the same call once more
    Resend,
    /// Fail the task and refund it
    Fail,
    /// Go on with the reply that the provider gave
    Adopt,
}

pub(in crate::commands) async fn list(args: TasksArgs, api: &Api<'_>) -> Performed {
    let TasksArgs { ambiguous, status, account, user, tag, limit } = args;
    let list = ApiRequest::get(&["tasks"])
        .flag("ambiguous", ambiguous)
        .query_if("status", status.map(Status::as_str))
        .query_if("customer", account)
        .query_if("user", user)
        .query_if("tag", tag);
    api.listed(list, lines(limit), tasks).await
}

pub(in crate::commands) async fn audit(args: AuditArgs, api: &Api<'_>) -> Performed {
    let AuditArgs { task, limit, requests, cursor } = args;
    let list = ApiRequest::get(&["audit"]).query_if("task", task).flag("decisions", !requests);
    let found = api.list(list, lines(limit), cursor).await?;
    let mut text = table(rows_at(&found, "data"), &["when=at", "task", "what=text"]);
    if let Some(cursor) = found["next"].as_str() {
        let _ = writeln!(text, "there are older lines: --cursor {cursor}");
    }
    Ok(Shown::told(found, text))
}

pub(in crate::commands) async fn cancel(args: CancelArgs, api: &Api<'_>) -> Performed {
    let CancelArgs { task, reason, give_up } = args;
    let cancel = ApiRequest::post(&["tasks", &task.to_string(), "cancel"]);
    let answer = api.send(cancel.json(&json!({"reason": reason, "give_up": give_up}))).await?;
    let text = match answer.status {
        202 => format!(
            "{task}: its provider is asked to stop it; it ends as cancelled once that is done (gatehouse steps {task})\n"
        ),
        _ => format!("{task}: failed and refunded\n"),
    };
    Ok(Shown::told(answer.body, text))
}

pub(in crate::commands) async fn reconcile(args: ReconcileArgs, api: &Api<'_>) -> Performed {
    let ReconcileArgs { task, ruling, reason, reply, content_type, status, if_revision } = args;
    let reply = match (reply, content_type) {
        (None, _) => None,
        (Some(text), None) => Some(AdoptedReply::json(status, read_json("the reply", &text)?)),
        (Some(text), Some(kind)) => Some(AdoptedReply::of_type(status, kind, read_bytes(&text)?)),
    };
    let (ruling, became) = match ruling {
        Ruling::Resend => (RulingWord::Resend, "the call is sent again"),
        Ruling::Fail => (RulingWord::Fail, "failed and refunded"),
        Ruling::Adopt => (RulingWord::Adopt, "goes on with the reply"),
    };
    let ruling = TaskRuling { ruling, reason, reply, revision: if_revision };
    let reconcile = ApiRequest::post(&["tasks", &task.to_string(), "reconcile"]).json(&ruling);
    api.told(reconcile, |_| format!("{task}: {became}\n")).await
}

/// What a task did.
pub(in crate::commands) async fn steps(task: TaskId, api: &Api<'_>) -> Performed {
    api.listed(ApiRequest::get(&["tasks", &task.to_string(), "steps"]), usize::MAX, steps_in_words).await
}

/// An answer has an end.
fn lines(limit: u32) -> usize {
    limit.min(MAX_LINES) as usize
}

/// The row with what is held now: that of an ended task says what was.
fn as_held_now(row: &Value) -> Value {
    let mut row = row.clone();
    if Status::parse(text_at(&row, "status")).is_some_and(Status::is_final) {
        row["held_micro"] = Value::Null;
    }
    row
}

/// A row a task, then what is known of each ambiguous call.
fn tasks(rows: &[Value]) -> String {
    let fields = [
        "task=id",
        "status",
        "ambiguous",
        "model",
        "account=customer",
        "created",
        "held_micro",
        "cost_micro",
    ];
    let rows: Vec<Value> = rows.iter().map(as_held_now).collect();
    let mut text = table(&rows, &fields);
    for (task, call) in
        rows.iter().map(|task| (task, &task["ambiguous_call"])).filter(|(_, call)| !call.is_null())
    {
        let (id, of) = (text_at(task, "id"), |field| text_at(call, field));
        let outage = call["outage"].as_str().unwrap_or("the gateway stopped");
        let _ = writeln!(
            text,
            "\n{id}: {} {} to {}/{} at {}, no reply: {outage}\n  it fails and is refunded at {} unless it is \
             settled:\n  gatehouse reconcile {id} resend|fail|adopt --reason TEXT",
            of("method"),
            of("url"),
            of("provider"),
            of("account"),
            of("at"),
            text_at(task, "deadline"),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it an operator adds up what ended tasks once held, and looks for money that is free.
    #[test]
    fn an_ended_task_holds_nothing_and_says_what_it_cost() {
        let row = |status: &str, cost: Option<i64>| json!({"id": "t", "status": status, "held_micro": 4_000_000, "cost_micro": cost});
        let text = tasks(&[row("pending", None), row("completed", Some(3_000_000)), row("failed", None)]);
        let shown = text.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
        let money: Vec<(String, String)> =
            shown.map(|cells| (cells[6].to_owned(), cells[7].to_owned())).collect();
        let expected =
            [("4", "-"), ("-", "3"), ("-", "-")].map(|(held, cost)| (held.to_owned(), cost.to_owned()));
        assert_eq!(money, expected);
    }
}
