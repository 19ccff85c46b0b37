//! The family as the host meets it: every script runs natively and as the built component.

mod polling;
mod remix;
mod requests;
mod submission;

use std::sync::LazyLock;
use std::time::Duration;

use gatehouse_play::Component;
use gatehouse_sdk::{Facts, MediaKind};
use gatehouse_testkit::{Script, check_family};
use scene::{Scene, VIDEOS};
use serde_json::{Value, json};

use crate::over;
use crate::tasks::seconds;

static COMPONENT: LazyLock<Component> = LazyLock::new(|| crate::component("scene"));

const FAST: &str = "scene-3.1-fast-official";
const QUALITY: &str = "scene-3.1-quality-official";
const OPERATION: &str =
    "projects/p/locations/us-central1/publishers/google/models/veo-3.1-fast-generate-001/operations/8f1e";
const FAILED: &str = "the upstream failed to generate the video";

/// Plays it both ways.
fn play(script: &Script) {
    crate::tasks::play::<Scene>(script, &COMPONENT);
}

fn text(fields: Value) -> Value {
    over(json!({"model": FAST, "prompt": "a red kite"}), fields)
}

/// Submitted and accepted.
fn accepted(script: Script, body: Value) -> Script {
    script.submit(VIDEOS, body).expect_accepted(|accepted| {
        assert_eq!(accepted.expected, Some(Duration::from_secs(90)));
    })
}

/// Submitted, and the call to the provider is out.
fn sent(body: Value) -> Script {
    accepted(Script::new(), body).start().expect_call(|call| assert_eq!(call.method, "POST"))
}

/// Accepted by the provider; the family waits for the first poll.
fn taken(body: Value) -> Script {
    sent(body).reply(200, json!({"name": OPERATION})).expect_wait(seconds(2))
}

/// The first poll is out.
fn polled(body: Value) -> Script {
    taken(body).timer().expect_call(|_| ())
}

/// The last answer of an operation.
fn done(response: Value) -> Value {
    json!({"name": OPERATION, "done": true, "response": response})
}

fn image(mime: &str, bytes: u64, blob: &str) -> Facts {
    Facts { blob: Some(blob.to_owned()), ..Facts::new(MediaKind::Image, mime, bytes) }
}

#[test]
fn the_self_tests_hold() {
    check_family::<Scene>();
    assert_eq!(COMPONENT.family(), "scene");
}
