//! The family as the host meets it: every script runs natively and as the built component.

mod media;
mod polling;
mod requests;
mod submission;

use std::sync::LazyLock;
use std::time::Duration;

use gatehouse_play::Component;
use gatehouse_testkit::Script;
use motion::{Motion, SURFACE};
use serde_json::{Value, json};

use crate::over;
use crate::tasks::seconds;

static COMPONENT: LazyLock<Component> = LazyLock::new(|| crate::component("motion"));

const ID: &str = "3659aa57-0c36-4a92-a2f9-2d1f4f5c0b6e";
const VIDEO: &str = "https://dashscope-result.oss-ap-southeast-1.aliyuncs.com/a.mp4?Expires=1&Signature=A";
const FAILED: &str = "the upstream failed to generate the video";

/// Plays it both ways.
fn play(script: &Script) {
    crate::tasks::play::<Motion>(script, &COMPONENT);
}

fn text26(fields: Value) -> Value {
    over(json!({"model": "motion-2.6", "prompt": "a red kite"}), fields)
}

fn text27(fields: Value) -> Value {
    over(json!({"model": "motion-2.7", "prompt": "a red kite"}), fields)
}

/// Submitted and accepted.
fn accepted(body: Value) -> Script {
    Script::new().submit(SURFACE, body).expect_accepted(|accepted| {
        assert_eq!(accepted.expected, Some(Duration::from_secs(150)));
    })
}

/// Submitted, and the call to the provider is out.
fn sent() -> Script {
    accepted(text26(json!({}))).start().expect_call(|call| assert_eq!(call.method, "POST"))
}

/// Accepted by the provider; the family waits for the first poll.
fn taken() -> Script {
    sent()
        .reply(200, json!({"request_id": "e259", "output": {"task_id": ID, "task_status": "PENDING"}}))
        .expect_wait(seconds(2))
}

/// The first poll is out.
fn polled() -> Script {
    taken().timer().expect_call(|call| assert_eq!(call.method, "GET"))
}

/// The form in which states are kept.
const STATES: &str = r#"
    {"context": {"now": 1000000}}
    {"submit": {"surface": "videos.generate", "body": {"model": "motion-2.6", "prompt": "a kite"}}}
    {"expect": {"accepted": {"state": {"Accepted": {"model": "motion-2.6"}}}}}
    "start"
    {"expect": {"call": {}, "state": {"Sending": {
      "request": {"model": "motion-2.6"}, "rests": 0, "unreachable": null, "until": null
    }}}}
    {"outage": "unreachable"}
    {"expect": {"wait": {}, "state": {"Sending": {"rests": 1, "unreachable": 1000000, "until": 1002000}}}}
    "timer"
    {"expect": {"call": {}, "state": {"Sending": {"rests": 1, "unreachable": 1000000, "until": null}}}}
    {"reply": {"status": 200, "json": {"output": {"task_id": "t1", "task_status": "PENDING"}}}}
    {"expect": {"wait": {}, "state": {"Running": {
      "id": "t1", "since": 1002000, "begun": null, "wake": 1002000, "cancelling": false, "progress": 0, "faults": 0,
      "misses": 0, "losses": 0
    }}}}
    "cancel"
    {"expect": {"call": {"path": "/api/v1/tasks/t1/cancel"}, "state": {"Running": {"cancelling": true}}}}
    {"reply": {"status": 400, "json": {"code": "UnsupportedOperation", "message": "it runs"}}}
    {"expect": {"call": {"path": "/api/v1/tasks/t1"}, "state": {"Running": {"cancelling": false}}}}
    {"reply": {"status": 200, "json": {"output": {"task_id": "t1", "task_status": "RUNNING"}}}}
    {"expect": {"wait": {}, "progress": 10, "state": {"Running": {"begun": 1002000, "progress": 10}}}}
"#;

#[test]
fn self_tests_hold_and_states_keep_their_form() {
    crate::tasks::keep_their_form::<Motion>("motion", STATES, &COMPONENT);
}
