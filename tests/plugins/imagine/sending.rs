//! The call is sent once, and again only when the provider certainly made no image.

use gatehouse_sdk::{Blame, Stage};
use gatehouse_testkit::Script;
use serde_json::{Value, json};

use crate::imagine::{data, item, play, sent};
use crate::tasks::{is_never_sent_twice, is_sent_for_five_minutes, seconds, unreachable};

fn rate() -> Value {
    json!({"code": "resource-exhausted", "error": "Too many requests, please slow down."})
}

#[test]
fn never_repeats_a_call_after_a_lost_answer() {
    is_never_sent_twice(|| sent(1), play);
}

/// Refused with 429, and sent again after `wait` seconds.
fn busy(script: Script, wait: u64) -> Script {
    script
        .reply(429, rate())
        .expect_wait(seconds(wait))
        .expect_stage(Stage::Pending)
        .timer()
        .expect_call(|call| assert_eq!((call.method.as_str(), &call.json_body()["n"]), ("POST", &json!(2))))
        .expect_stage(Stage::Processing)
}

#[test]
fn too_many_calls_keep_it_queued_until_the_deadline() {
    // Half an hour of 30 s rests: the host's deadline ends it, never the family.
    let script = [2, 4, 8, 16].into_iter().chain([30; 60]).fold(sent(2), busy);
    play(&script.reply(200, data(&[item(0), item(1)])).expect_done(|_| ()));
}

#[test]
fn retries_an_unreachable_provider_for_five_minutes() {
    is_sent_for_five_minutes(sent(2), play);
}

#[test]
fn any_answer_restarts_the_five_minutes() {
    let script = unreachable(sent(2), [2, 4, 8, 16].into_iter().chain([30; 8]));
    play(&unreachable(busy(script, 30), [30]));
}

#[test]
fn cancels_a_waiting_call_and_never_one_that_is_out() {
    let resting = sent(1).reply(429, rate()).expect_wait(|_| ());
    play(&resting.cancel().expect_fail(Blame::Request, "cancelled before it was sent"));
    // The outcome of the sent call is unknown: the task continues.
    play(&sent(1).cancel().expect_wait(seconds(1800)));
}
