//! The family as the host meets it: every script runs natively and as the built component.

mod checks;
mod polling;
mod references;
mod submission;

use std::sync::LazyLock;
use std::time::Duration;

use context_image::{ContextImage, SURFACE};
use gatehouse_play::Component;
use gatehouse_testkit::Script;
use serde_json::{Value, json};

static COMPONENT: LazyLock<Component> = LazyLock::new(|| crate::component("context-image"));

const POLLING_URL: &str = "https://api.eu4.bfl.ai/v1/get_result?id=5f0c";
const SAMPLE: &str = "https://delivery.eu4.bfl.ai/results/x_sample.png?se=2026&sig=A";

/// Plays it both ways.
fn play(script: &Script) {
    crate::tasks::play::<ContextImage>(script, &COMPONENT);
}

/// A good request with `fields` over it.
fn body(fields: Value) -> Value {
    crate::over(json!({"model": "ctx-pro", "prompt": "a red kite"}), fields)
}

/// Submitted and accepted.
fn accepted(fields: Value) -> Script {
    Script::new().submit(SURFACE, body(fields)).expect_accepted(|accepted| {
        assert_eq!(accepted.expected, Some(Duration::from_secs(10)));
    })
}

/// Submitted, without references, and the call to the provider is out.
fn sent() -> Script {
    accepted(json!({})).start().expect_call(|call| assert_eq!(call.method, "POST"))
}

/// Accepted by the provider; the family waits for the first poll.
fn taken() -> Script {
    sent()
        .reply(200, json!({"id": "5f0c", "polling_url": POLLING_URL, "cost": null}))
        .expect_wait(crate::tasks::seconds(2))
}

/// The first poll is out.
fn polled() -> Script {
    taken().timer().expect_call(|call| assert_eq!(call.method, "GET"))
}

/// The form in which states are kept.
const STATES: &str = r#"
    {"context": {"now": 1000000}}
    {"submit": {"surface": "images.generate", "body": {"model": "ctx-pro", "prompt": "a kite"}}}
    {"expect": {"accepted": {"state": {"Ordered": {"prompt": "a kite"}}}}}
    "start"
    {"expect": {"call": {}, "state": {"Sending": {
      "order": {"prompt": "a kite"}, "rests": 0, "unreachable": null, "until": null
    }}}}
    {"outage": "unreachable"}
    {"expect": {"wait": {}, "state": {"Sending": {
      "order": {"prompt": "a kite"}, "rests": 1, "unreachable": 1000000, "until": 1002000
    }}}}
    "timer"
    {"expect": {"call": {}, "state": {"Sending": {"rests": 1, "unreachable": 1000000, "until": null}}}}
    {"reply": {"status": 200, "json": {"id": "t1", "polling_url": "https://api.bfl.ai/v1/get_result?id=t1"}}}
    {"expect": {"wait": {}, "state": {"Running": {
      "id": "t1", "polling_url": "https://api.bfl.ai/v1/get_result?id=t1", "format": "png", "since": 1002000,
      "wake": 1002000, "seen": false, "progress": 0, "faults": 0, "misses": 0, "losses": 0
    }}}}
    "timer"
    {"expect": {"call": {}}}
    {"reply": {"status": 404, "json": {}}}
    {"expect": {"wait": {}, "state": {"Running": {"seen": false, "misses": 1}}}}
    "timer"
    {"expect": {"call": {}}}
    {"reply": {"status": 200, "json": {"status": "Pending", "progress": 0.25}}}
    {"expect": {"wait": {}, "progress": 25, "state": {"Running": {"seen": true, "progress": 25, "misses": 0}}}}
"#;

#[test]
fn self_tests_hold_and_states_keep_their_form() {
    crate::tasks::keep_their_form::<ContextImage>("context-image", STATES, &COMPONENT);
}
