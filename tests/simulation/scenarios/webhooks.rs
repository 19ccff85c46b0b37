//! Webhooks at every crash point: no end of a task is lost, and what comes again has the same id and the same bytes.

use super::crashes::{answered, every_point};
use crate::plan::actions::{Action, Plan};
use crate::record::hook_record::HookAnswer::{self, Status, TakeAndHang};
use crate::record::outcomes::{Answer, JobEnd, TaskOutcome};

fn told(plan: Plan, answers: impl IntoIterator<Item = HookAnswer>) -> Plan {
    Plan { webhook: Some(answers.into_iter().collect()), ..plan }
}

#[test]
fn an_event_survives_every_crash() {
    let plan = told(Plan::of(TaskOutcome::success()), []);
    every_point("webhook of a success", &plan, &["a webhook was taken", "a webhook came again"]);
}

#[test]
fn an_event_that_is_refused_and_lost_survives_every_crash() {
    let plan = told(Plan::of(TaskOutcome::success()), [Status(500), TakeAndHang]);
    let covered = ["a webhook was taken", "a webhook was refused", "a webhook was taken without an answer"];
    every_point("webhook with a bad receiver", &plan, &covered);
}

#[test]
fn every_end_is_told_whatever_ended_it() {
    let outcome = TaskOutcome { end: JobEnd::Never, ..TaskOutcome::success() };
    let deadline = told(Plan { limit_s: 20, ..Plan::of(outcome) }, []);
    every_point("webhook of a deadline", &deadline, &["a task ran out of time", "a webhook was taken"]);
    let cancelled = Plan::of(answered([Answer::TooMany(None)])).with(1_500, Action::Cancel("one".to_owned()));
    every_point(
        "webhook of a cancel",
        &told(cancelled, []),
        &["a task was cancelled", "a webhook was taken"],
    );
}
