//! Calls without a reply where the operator of the gateway wants to be asked: crashes at every operation, with every ruling
//! and with none.

use crate::plan::actions::{Action, OperatorRuling, Plan};
use crate::record::outcomes::{Answer, TaskOutcome};
use crate::scenarios::crashes::{answered, every_point};

const ASKED: &str = "an operator was asked about a call";

/// One task; the operator looks often enough to meet it after any crash.
fn asking(outcome: TaskOutcome, ruling: OperatorRuling) -> Plan {
    let plan = Plan { asks: true, limit_s: 240, ..Plan::of(outcome) };
    [20_000, 45_000, 70_000].into_iter().fold(plan, |plan, at| plan.with(at, Action::Rule(ruling)))
}

#[test]
fn a_call_that_the_provider_took_goes_on_with_the_reply_that_is_handed_in() {
    let outcome = answered([Answer::TakeAndHangUp]);
    every_point(
        "taken, answer lost, reply handed in",
        &asking(outcome, OperatorRuling::Truth),
        &[ASKED, "an operator handed in a reply", "a task was completed"],
    );
}

#[test]
fn a_call_that_the_provider_did_not_take_is_sent_once_more() {
    let outcome = answered([Answer::HangUp]);
    every_point(
        "not taken, sent again",
        &asking(outcome, OperatorRuling::Truth),
        &[ASKED, "an operator had a call sent again", "a task was completed"],
    );
}

#[test]
fn a_call_that_is_given_up_costs_nothing() {
    let outcome = answered([Answer::TakeAndHangUp]);
    every_point(
        "taken, given up",
        &asking(outcome, OperatorRuling::Fail),
        &[ASKED, "an operator gave a task up", "a task failed at its provider"],
    );
}

#[test]
fn a_call_about_which_nobody_says_anything_ends_with_its_task() {
    let plan = Plan { asks: true, limit_s: 60, ..Plan::of(answered([Answer::TakeAndHangUp])) };
    let late = plan.with(90_000, Action::Rule(OperatorRuling::Truth));
    every_point("nobody says anything", &late, &[ASKED, "a task ran out of time", "a success came too late"]);
}

#[test]
fn a_cancel_and_a_restart_leave_an_ambiguous_call_to_its_operator() {
    let outcome = answered([Answer::TakeAndHangUp]);
    let plan = asking(outcome, OperatorRuling::Truth)
        .with(5_000, Action::Cancel("one".to_owned()))
        .with(30_000, Action::Restart(0));
    every_point(
        "a cancel and a restart",
        &plan,
        &[ASKED, "a cancel came too late", "an operator handed in a reply", "the system was restarted"],
    );
}
