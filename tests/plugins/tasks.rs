//! What the families of tasks do alike: how a script is played, that self-tests hold and states keep their form, and
//! when a submission is sent again or a poll repeated.

use std::time::Duration;

use gatehouse_play::Component;
use gatehouse_sdk::{Blame, Jobs, Outage};
use gatehouse_testkit::{Script, check_family};
use serde_json::Value;

pub(crate) const UNAVAILABLE: &str = "No available upstream, please retry later";
const LOST: &str = "the upstream's answer was lost, please submit the task again";

/// Plays it natively and as the component.
pub(crate) fn play<F: Jobs>(script: &Script, component: &Component) {
    script.run_native::<F>();
    script.run(component);
}

/// The self-tests hold, and `states` have their form: tasks under way outlive a version, so the names in them stay,
/// and the name of the family with them.
pub(crate) fn keep_their_form<F: Jobs>(family: &str, states: &str, component: &Component) {
    check_family::<F>();
    assert_eq!(component.family(), family);
    play::<F>(&Script::parse(states, "states.play".as_ref()).expect("a script"), component);
}

/// The words of a refusal; of no field where the whole body is wrong.
pub(crate) fn words(field: &str, problem: &str) -> String {
    if field.is_empty() { problem.to_owned() } else { format!("`{field}`: {problem}") }
}

pub(crate) fn seconds(wait: u64) -> impl Fn(&Duration) {
    move |came| assert_eq!(*came, Duration::from_secs(wait))
}

/// Nobody knows whether the provider took what was `sent`.
pub(crate) fn is_never_sent_twice(sent: impl Fn() -> Script, play: fn(&Script)) {
    for outage in [Outage::Timeout, Outage::Broken, Outage::TooLarge] {
        play(&sent().outage(outage).expect_fail(Blame::Upstream, LOST));
    }
    play(&sent().outage(Outage::Refused).expect_fail(Blame::Upstream, UNAVAILABLE));
}

/// Sent again after `wait` seconds.
pub(crate) fn sent_again(script: Script, wait: u64) -> Script {
    script.expect_wait(seconds(wait)).timer().expect_call(|call| assert_eq!(call.method, "POST"))
}

/// The provider is out of reach, and what was sent goes out again after each of these times.
pub(crate) fn unreachable(script: Script, waits: impl IntoIterator<Item = u64>) -> Script {
    waits.into_iter().fold(script, |script, wait| sent_again(script.outage(Outage::Unreachable), wait))
}

/// 2 + 4 + 8 + 16 + 9 * 30 = 300 seconds since the first outage.
pub(crate) fn is_sent_for_five_minutes(sent: Script, play: fn(&Script)) {
    let script = unreachable(sent, [2, 4, 8, 16].into_iter().chain([30; 9]));
    play(&script.outage(Outage::Unreachable).expect_fail(Blame::Upstream, UNAVAILABLE));
}

/// The answer is "not yet", and the family asks again.
pub(crate) fn asked_again(answered: Script) -> Script {
    answered.expect_wait(|_| ()).timer().expect_call(|call| assert_eq!(call.method, "GET"))
}

/// Polls whose answers are lost, and those answered with 429 and `busy`, go on until the deadline.
pub(crate) fn lost_forty_times(mut polled: Script, busy: &Value) -> Script {
    for round in 0..40 {
        polled = asked_again(match round % 4 {
            0 => polled.outage(Outage::Unreachable),
            1 => polled.outage(Outage::Timeout),
            2 => polled.outage(Outage::Broken),
            _ => polled.reply(429, busy.clone()),
        });
    }
    polled
}

/// Polls with answers that nobody can read, one of each round; the family still asks.
pub(crate) fn unreadable_eight_times(polled: Script, answered: impl Fn(Script, usize) -> Script) -> Script {
    [2, 4, 8, 16, 30, 30, 30, 30].into_iter().enumerate().fold(polled, |script, (round, wait)| {
        answered(script, round).expect_wait(seconds(wait)).timer().expect_call(|_| ())
    })
}
