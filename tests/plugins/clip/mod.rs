//! The family as the host meets it: every script runs natively and as the built component.

mod avatars;
mod media;
mod polling;
mod prompts;
mod requests;
mod submission;

use std::sync::LazyLock;
use std::time::Duration;

use clip::{Clip, VIDEOS};
use gatehouse_play::Component;
use gatehouse_sdk::{Facts, MediaKind};
use gatehouse_testkit::Script;
use serde_json::{Value, json};

use crate::over;
use crate::tasks::seconds;

static COMPONENT: LazyLock<Component> = LazyLock::new(|| crate::component("clip"));

const TASKS: &str = "/contents/generations/tasks";
const TASK: &str = "cgt-20260514183217-t8rzv";
const VIDEO: &str = "https://ark-x.tos-cn-beijing.volces.com/a.mp4?X-Tos-Expires=86400";
const FRAME: &str = "https://ark-x.tos-cn-beijing.volces.com/a.png?X-Tos-Expires=86400";
const FAILED: &str = "the upstream failed to generate the video";

/// Plays it both ways.
fn play(script: &Script) {
    crate::tasks::play::<Clip>(script, &COMPONENT);
}

/// `fields` over a good request.
fn body(fields: Value) -> Value {
    over(json!({"model": "clip-2.0", "prompt": "a red kite"}), fields)
}

/// Submitted and accepted.
fn accepted(fields: Value) -> Script {
    Script::new().submit(VIDEOS, body(fields)).expect_accepted(|accepted| {
        assert_eq!(accepted.expected, Some(Duration::from_secs(150)));
    })
}

/// Submitted without media, and the call to the provider is out.
fn sent(fields: Value) -> Script {
    accepted(fields).start().expect_call(|call| assert_eq!(call.method, "POST"))
}

/// Accepted by the provider; the family waits for the first poll.
fn taken(fields: Value) -> Script {
    sent(fields).reply(200, json!({"id": TASK})).expect_wait(seconds(2))
}

/// The first poll is out.
fn polled(fields: Value) -> Script {
    taken(fields).timer().expect_call(|call| assert_eq!(call.method, "GET"))
}

/// What the provider answers to a poll, with that status.
fn task(status: &str) -> Value {
    json!({
        "id": TASK, "model": "doubao-seedance-2-0-260128", "status": status, "created_at": 1_778_754_737,
        "updated_at": 1_778_755_025, "service_tier": "default", "execution_expires_after": 3600,
    })
}

fn succeeded() -> Value {
    let content = json!({"video_url": VIDEO, "last_frame_url": FRAME});
    over(task("succeeded"), json!({"content": content, "seed": 1276, "usage": {"total_tokens": 108_900}}))
}

/// The provider's error body.
fn error(code: &str, message: &str) -> Value {
    json!({"error": {"code": code, "message": format!("{message} Request id: 0217abc"), "type": "BadRequest"}})
}

fn image(width: u32, height: u32) -> Facts {
    Facts { width: Some(width), height: Some(height), ..Facts::new(MediaKind::Image, "image/png", 1000) }
}

fn video(width: u32, height: u32, milliseconds: u64) -> Facts {
    Facts {
        width: Some(width),
        height: Some(height),
        milliseconds: Some(milliseconds),
        ..Facts::new(MediaKind::Video, "video/mp4", 1000)
    }
}

fn audio(milliseconds: u64) -> Facts {
    Facts { milliseconds: Some(milliseconds), ..Facts::new(MediaKind::Audio, "audio/wav", 1000) }
}

/// The form in which states are kept.
const STATES: &str = r#"
    {"context": {"now": 1000000}}
    {"submit": {"surface": "videos.generate", "body": {"model": "clip-2.0", "prompt": "a kite"}}}
    {"expect": {"accepted": {"state": {"video": {"Accepted": {"model": "clip-2.0"}}}}}}
    "start"
    {"expect": {"call": {}, "state": {"video": {"Sending": {
      "request": {"model": "clip-2.0"}, "rests": 0, "unreachable": null, "until": null
    }}}}}
    {"outage": "unreachable"}
    {"expect": {"wait": {}, "state": {"video": {"Sending": {"rests": 1, "unreachable": 1000000, "until": 1002000}}}}}
    "timer"
    {"expect": {"call": {}, "state": {"video": {"Sending": {"rests": 1, "unreachable": 1000000, "until": null}}}}}
    {"reply": {"status": 200, "json": {"id": "cgt-1"}}}
    {"expect": {"wait": {}, "progress": 5, "state": {"video": {"Running": {
      "id": "cgt-1", "model": "clip-2.0", "return_last_frame": false, "since": 1002000, "wake": 1002000,
      "is_running": false, "is_unwanted": false, "progress": 5, "faults": 0, "misses": 0, "losses": 0,
      "last_frame": null, "without_frame": false
    }}}}}
    "cancel"
    {"expect": {"call": {"method": "GET"}, "state": {"video": {"Running": {"id": "cgt-1", "is_unwanted": true}}}}}
    {"reply": {"status": 200, "json": {"id": "cgt-1", "status": "queued"}}}
    {"expect": {"call": {"method": "DELETE"}, "state": {"video": {"Stopping": {"id": "cgt-1"}}}}}
    {"reply": {"status": 409, "json": {}}}
    {"expect": {"wait": {}, "state": {"video": {"Running": {"id": "cgt-1"}}}}}
"#;

#[test]
fn self_tests_hold_and_states_keep_their_form() {
    crate::tasks::keep_their_form::<Clip>("clip", STATES, &COMPONENT);
}
