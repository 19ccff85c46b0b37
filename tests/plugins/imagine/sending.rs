//! The call is sent once, and again only when the provider certainly made no image.

use std::time::Duration;

use gatehouse_sdk::{Blame, Outage, Stage};
use gatehouse_testkit::Script;
use serde_json::{Value, json};

use crate::imagine::{data, item, play, sent};

const UNAVAILABLE: &str = "No available upstream, please retry later";
const LOST: &str = "the upstream's answer was lost, please submit the task again";

fn seconds(wait: u64) -> impl Fn(&Duration) {
    move |came| assert_eq!(*came, Duration::from_secs(wait))
}

fn rate() -> Value {
    json!({"code": "resource-exhausted", "error": "Too many requests, please slow down."})
}

#[test]
fn never_repeats_a_call_after_a_lost_answer() {
    for outage in [Outage::Timeout, Outage::Broken, Outage::TooLarge] {
        play(&sent(1).outage(outage).expect_fail(Blame::Upstream, LOST));
    }
    play(&sent(1).outage(Outage::Refused).expect_fail(Blame::Upstream, UNAVAILABLE));
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
    let mut script = sent(2);
    for wait in [2, 4, 8, 16] {
        script = busy(script, wait);
    }
    // Half an hour of 30 s rests: the host's deadline ends it, never the family.
    for _ in 0..60 {
        script = busy(script, 30);
    }
    play(&script.reply(200, data(&[item(0), item(1)])).expect_done(|_| ()));
}

fn unreachable(script: Script, wait: u64) -> Script {
    script
        .outage(Outage::Unreachable)
        .expect_wait(seconds(wait))
        .timer()
        .expect_call(|call| assert_eq!(call.method, "POST"))
}

#[test]
fn retries_an_unreachable_provider_for_five_minutes() {
    let mut script = sent(2);
    for wait in [2, 4, 8, 16] {
        script = unreachable(script, wait);
    }
    for _ in 0..9 {
        script = unreachable(script, 30);
    }
    // 2 + 4 + 8 + 16 + 9 * 30 = 300 seconds since the first outage.
    play(&script.outage(Outage::Unreachable).expect_fail(Blame::Upstream, UNAVAILABLE));
}

#[test]
fn any_answer_restarts_the_five_minutes() {
    let mut script = sent(2);
    for wait in [2, 4, 8, 16] {
        script = unreachable(script, wait);
    }
    for _ in 0..8 {
        script = unreachable(script, 30);
    }
    script = busy(script, 30);
    play(&unreachable(script, 30));
}

#[test]
fn cancels_a_waiting_call_and_never_one_that_is_out() {
    let resting = sent(1).reply(429, rate()).expect_wait(|_| ());
    play(&resting.cancel().expect_fail(Blame::Request, "cancelled before it was sent"));
    // The outcome of the sent call is unknown: the task continues.
    play(&sent(1).cancel().expect_wait(seconds(1800)));
}
