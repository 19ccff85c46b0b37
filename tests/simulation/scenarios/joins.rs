//! Every crash point of tasks that requests join, of names, and of polls for several tasks.

use crate::plan::actions::{Action, Plan};
use crate::plan::quilts::NAMES;
use crate::plan::requests::QuiltFields;
use crate::record::outcomes::{Answer, JobEnd, ListAnswer, TaskOutcome};
use crate::scenarios::crashes::{answered, every_point_since};

/// Two keys of one customer, and one of another.
const KEY: usize = 0;
const SECOND_KEY: usize = 1;
const STRANGER: usize = 3;

const MADE: &str = "a request that joined was made";
const RELEASED: &str = "a failed task released what had joined it";

/// Done at the first poll, which comes at a multiple of two seconds.
fn success() -> TaskOutcome {
    TaskOutcome { works: 1_000, ..TaskOutcome::success() }
}

fn ending(end: JobEnd) -> TaskOutcome {
    TaskOutcome { end, ..success() }
}

fn quilt(at: u64, outcome: TaskOutcome) -> Plan {
    Plan::bare().with_quilt(at, KEY, "quilt", QuiltFields::default(), outcome)
}

fn named(name: &'static str) -> QuiltFields {
    QuiltFields { name: Some(name), ..QuiltFields::default() }
}

fn using(name: &'static str) -> QuiltFields {
    QuiltFields { uses: Some(name), ..QuiltFields::default() }
}

#[test]
fn a_request_that_joins_survives_every_crash() {
    // With a token at the provider, and without; the second is paid by another key, and sent twice under one token, as
    // a client does that got no answer.
    let both = quilt(100, success())
        .with_patch(600, KEY, "patch 2", "quilt", answered([Answer::TooMany(None)]))
        .with_patch(601, SECOND_KEY, "patch 3", "quilt", success())
        .with_patch(602, SECOND_KEY, "patch 3", "quilt", success())
        .with_patch(603, STRANGER, "patch 4", "quilt", success())
        .with_patch(30_000, SECOND_KEY, "patch 3", "quilt", success());
    every_point_since(
        "two requests join",
        &both,
        600,
        &[
            MADE,
            RELEASED,
            "a token was repeated",
            "an ambiguous call was given up",
            "a joining request was repeated",
            "a stranger's request did not join",
        ],
    );
}

/// Both are judged before either is seen by the quilt. Two patches of one text would end it.
#[test]
fn of_two_requests_that_a_task_takes_once_one_joins() {
    let plan = quilt(100, success())
        .with_rival_patches(600, [KEY, SECOND_KEY], "patch 2", "quilt", success())
        .with_rival_patches(700, [SECOND_KEY, KEY], "patch 3", "quilt", success());
    every_point_since("rivals join", &plan, 600, &[MADE, "of two rivals one joined"]);
}

#[test]
fn a_request_that_joins_at_the_end_survives_every_crash() {
    // The job is polled at 2 s; one of these joins while its picture is copied, which fails at first.
    let mut plan = quilt(100, TaskOutcome { broken_fetches: 1, ..success() });
    for (number, at) in [2_100, 2_700, 12_000].into_iter().enumerate() {
        plan = plan.with_patch(at, KEY, &format!("patch {}", number * 2), "quilt", success());
    }
    every_point_since("join against the end", &plan, 2_000, &[MADE, "a request came too late to join"]);
}

#[test]
fn a_request_that_joins_at_a_cancel_survives_every_crash() {
    let plan = quilt(100, TaskOutcome { works: 12_000, ..success() })
        .with(600, Action::Cancel("quilt".to_owned()))
        .with_patch(600, KEY, "patch 4", "quilt", success())
        .with(2_900, Action::Cancel("quilt".to_owned()))
        .with_patch(2_900, KEY, "patch 6", "quilt", success());
    every_point_since(
        "join against a cancel",
        &plan,
        600,
        &[RELEASED, "a provider was told to stop", "a provider was asked to stop"],
    );
}

#[test]
fn a_request_that_joins_at_the_deadline_survives_every_crash() {
    let plan = quilt(100, ending(JobEnd::Never))
        .with_patch(5_000, KEY, "patch 2", "quilt", success())
        // Each that joins has six seconds of its own.
        .with_patch(10_999, KEY, "patch 4", "quilt", success())
        .with_patch(17_001, KEY, "patch 6", "quilt", success());
    every_point_since(
        "join against the deadline",
        &Plan { limit_s: 6, ..plan },
        5_000,
        &[RELEASED, "a task ran out of time", "a provider was told to stop", "a failed task kept its view"],
    );
}

#[test]
fn an_end_that_raises_the_progress_survives_every_crash() {
    // Moderated at the first poll; the step that fails it raises the progress.
    let plan = quilt(100, ending(JobEnd::Moderated)).with(1_900, Action::Read("quilt".to_owned()));
    every_point_since(
        "a failing step raises the progress",
        &plan,
        1_900,
        &["a picture was moderated", "a failing step raised the progress"],
    );
}

#[test]
fn a_name_is_claimed_once_at_every_crash() {
    let two = Plan::bare()
        .with_quilt(100, KEY, "quilt", named(NAMES[0]), success())
        .with_quilt(150, STRANGER, "rival", named(NAMES[0]), success())
        // Marks the moment of the polls.
        .with(1_900, Action::Read("quilt".to_owned()));
    every_point_since(
        "two customers claim one name",
        &two,
        1_900,
        &["a name was claimed", "a name of another customer was not claimed", "a task was completed"],
    );
    let failed = Plan::bare()
        .with_quilt(100, KEY, "quilt", named(NAMES[0]), ending(JobEnd::Error))
        .with_patch(1_900, KEY, "patch 2", "quilt", success());
    every_point_since(
        "a failed task leaves a result and a name",
        &failed,
        1_900,
        &["a name was claimed", "a failed task left a result", RELEASED],
    );
}

#[test]
fn names_and_finished_tasks_are_referred_to_at_every_crash() {
    let follow = QuiltFields { follows: Some("quilt".to_owned()), ..QuiltFields::default() };
    // Three others keep the first account busy: without affinity the follow-ups would go to the second one.
    let mut plan = Plan::bare().with_quilt(100, KEY, "quilt", named(NAMES[0]), success());
    for rival in ["one", "two", "three"] {
        plan = plan.with_task(4_000, rival, TaskOutcome { works: 1_000, ..success() });
    }
    plan = plan
        .with_quilt(4_500, KEY, "uses it", using(NAMES[0]), success())
        .with_quilt(4_500, STRANGER, "steals it", using(NAMES[0]), success())
        .with_quilt(4_500, KEY, "follows it", follow.clone(), success())
        .with_quilt(4_500, STRANGER, "spies on it", follow, success());
    every_point_since(
        "follow-ups go to the account of what they refer to",
        &plan,
        4_500,
        &[
            "a name was referred to",
            "a name was unknown",
            "a quilt was made from another",
            "a task of another customer was not followed up",
        ],
    );
}

#[test]
fn polls_for_several_tasks_survive_every_crash() {
    let mut plan = Plan::bare();
    for prompt in ["one", "two", "three"] {
        let outcome = TaskOutcome { works: 2_500, ..success() };
        plan = plan.with_quilt(100, KEY, prompt, QuiltFields::default(), outcome);
    }
    plan.lists = [ListAnswer::Whole, ListAnswer::WithoutFirst, ListAnswer::HangUp].into();
    every_point_since(
        "one poll for several tasks",
        &plan.with(1_900, Action::Read("one".to_owned())),
        1_900,
        &[
            "one poll was for several jobs",
            "a poll left one job out",
            "a poll for several jobs failed",
            "a task was completed",
        ],
    );
}
