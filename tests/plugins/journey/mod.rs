//! The family as the host meets it: every script runs natively and as the built component.

mod billing;
mod bulk;
mod checks;
mod codes;
mod follow_ups;
mod modal;
mod polling;
mod refusals;
mod results;
mod submissions;
mod support;
mod views;

use std::sync::LazyLock;

use gatehouse_play::Component;
use gatehouse_testkit::Script;
use journey::Journey;

static COMPONENT: LazyLock<Component> = LazyLock::new(|| crate::component("journey"));

/// Plays it both ways.
fn play(script: &Script) {
    crate::tasks::play::<Journey>(script, &COMPONENT);
}

/// The form in which states are kept.
const STATES: &str = r#"
    {"context": {"now": 1000000}}
    {"submit": {"surface": "journey.imagine", "body": {"prompt": "a kite"}}}
    {"expect": {"accepted": {"state": {"Accepted": {"action": "imagine"}}}}}
    "start"
    {"expect": {"call": {}, "state": {"Sending": {
      "job": {"action": "imagine"}, "dialog": null, "rests": 0, "until": null, "progress": 0
    }}}}
    {"reply": {"status": 429, "json": {}}}
    {"expect": {"wait": {}, "state": {"Sending": {"rests": 1, "until": 1002000, "progress": 0}}}}
    "timer"
    {"expect": {"call": {}, "state": {"Sending": {"rests": 1, "until": null}}}}
    {"reply": {"status": 200, "json": {"code": 1, "result": "17"}}}
    {"expect": {"wait": {}, "state": {"Running": {
      "job": {"action": "imagine"}, "id": "17", "since": 1002000, "wake": 1002000, "confirmed": false,
      "status": "NOT_START", "progress": 0, "faults": 0, "misses": 0, "losses": 0
    }}}}
    "timer"
    {"expect": {"call": {}}}
    {"reply": {"status": 200, "json": {"id": "17", "status": "IN_PROGRESS", "progress": "40%"}}}
    {"expect": {"wait": {}, "progress": 40, "state": {"Running": {"status": "IN_PROGRESS", "progress": 40}}}}
"#;

#[test]
fn self_tests_hold_and_states_keep_their_form() {
    crate::tasks::keep_their_form::<Journey>("journey", STATES, &COMPONENT);
}
