//! Commands about tasks and what was decided about them: their options, and the operations that they mean.

use clap::{Args, ValueEnum};
use gatehouse_admin::{AdoptedReply, Operation, RulingWord, TaskRuling};
use gatehouse_model::{CustomerId, Status, TaskId};

use super::values::{OutputArgs, read_bytes, read_json};

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
    #[arg(long, value_parser = status)]
    status: Option<Status>,
    /// Only this customer's
    #[arg(long, alias = "customer", value_name = "ACCOUNT")]
    account: Option<String>,
    /// How many lines, at most 1000
    #[arg(long, default_value_t = 50)]
    limit: u32,
    #[command(flatten)]
    output: OutputArgs,
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
    #[arg(long, value_name = "NUMBER")]
    cursor: Option<u64>,
    #[command(flatten)]
    output: OutputArgs,
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
    #[command(flatten)]
    output: OutputArgs,
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
    #[command(flatten)]
    output: OutputArgs,
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

pub(in crate::commands) fn list(args: TasksArgs) -> (Operation, OutputArgs) {
    let TasksArgs { ambiguous, status, account, limit, output } = args;
    (Operation::TaskList { ambiguous, status, customer: account.map(CustomerId), limit }, output)
}

pub(in crate::commands) fn audit(args: AuditArgs) -> (Operation, OutputArgs) {
    let AuditArgs { task, limit, requests, cursor, output } = args;
    (Operation::Audit { task, limit, requests, cursor }, output)
}

pub(in crate::commands) fn cancel(args: CancelArgs) -> (Operation, OutputArgs) {
    let CancelArgs { task, reason, give_up, output } = args;
    (Operation::TaskCancel { task, reason, give_up }, output)
}

/// # Errors
/// A reply that is no JSON, in words.
pub(in crate::commands) fn reconcile(args: ReconcileArgs) -> Result<(Operation, OutputArgs), String> {
    let ReconcileArgs { task, ruling, reason, reply, content_type, status, if_revision, output } = args;
    let reply = match (reply, content_type) {
        (None, _) => None,
        (Some(text), None) => Some(AdoptedReply::json(status, read_json("the reply", &text)?)),
        (Some(text), Some(kind)) => Some(AdoptedReply::of_type(status, kind, read_bytes(&text)?)),
    };
    let ruling = TaskRuling {
        ruling: match ruling {
            Ruling::Resend => RulingWord::Resend,
            Ruling::Fail => RulingWord::Fail,
            Ruling::Adopt => RulingWord::Adopt,
        },
        reason,
        reply,
        revision: if_revision,
    };
    Ok((Operation::TaskReconcile { task, ruling }, output))
}

fn status(word: &str) -> Result<Status, String> {
    let words: Vec<&str> = Status::ALL.iter().map(|status| status.as_str()).collect();
    Status::parse(word).ok_or_else(|| format!("expected one of {}", words.join(", ")))
}
