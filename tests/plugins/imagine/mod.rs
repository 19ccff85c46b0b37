//! The family as the host meets it: every script runs natively and as the built component.

mod answers;
mod checks;
mod delivery;
mod references;
mod sending;

use std::sync::LazyLock;
use std::time::Duration;

use gatehouse_play::Component;
use gatehouse_sdk::Stage;
use gatehouse_testkit::Script;
use imagine::{Imagine, SURFACE};
use serde_json::{Value, json};

static COMPONENT: LazyLock<Component> = LazyLock::new(|| crate::component("imagine"));

/// Plays it both ways.
fn play(script: &Script) {
    crate::tasks::play::<Imagine>(script, &COMPONENT);
}

/// A good request with `fields` over it.
fn body(fields: Value) -> Value {
    crate::over(json!({"model": "imagine-1.5-gw", "prompt": "a red kite"}), fields)
}

/// Submitted and accepted.
fn accepted(fields: Value) -> Script {
    Script::new().submit(SURFACE, body(fields)).expect_accepted(|accepted| {
        assert_eq!(accepted.expected, Some(Duration::from_secs(15)));
    })
}

/// Submitted, without a reference, for `n` images, and the call to the provider is out.
fn sent(n: u32) -> Script {
    let script = accepted(json!({"n": n})).start();
    script.expect_call(|call| assert_eq!(call.method, "POST")).expect_stage(Stage::Processing)
}

/// The link of the provider to its image of that number.
fn link(number: usize) -> String {
    format!("https://imgen.x.ai/xai-imgen/xai-tmp-imgen-{number}.jpeg")
}

/// An item of an answer.
fn item(number: usize) -> Value {
    json!({"url": link(number), "mime_type": "image/jpeg", "revised_prompt": ""})
}

/// An answer with these items.
fn data(items: &[Value]) -> Value {
    json!({"data": items, "usage": {"cost_in_usd_ticks": 200_000_000}})
}

/// The form in which states are kept.
const STATES: &str = r#"
    {"context": {"now": 1000000}}
    {"submit": {"surface": "images.generate", "body": {"prompt": "a kite"}}}
    {"expect": {"accepted": {"state": {"Accepted": {"prompt": "a kite", "n": 1}}}}}
    "start"
    {"expect": {"call": {}, "stage": "processing", "state": {"Sending": {
      "request": {"prompt": "a kite"}, "rests": 0, "unreachable": null, "until": null
    }}}}
    {"outage": "unreachable"}
    {"expect": {"wait": {}, "stage": "pending", "state": {"Sending": {
      "request": {"prompt": "a kite"}, "rests": 1, "unreachable": 1000000, "until": 1002000
    }}}}
    "timer"
    {"expect": {"call": {}, "stage": "processing", "state": {"Sending": {"unreachable": 1000000, "until": null}}}}
    {"reply": {"status": 200, "json": {"data": [{"url": "https://imgen.x.ai/a.jpeg", "mime_type": "image/jpeg"}]}}}
    {"expect": {"done": {}, "state": {"Copying": {
      "asked": 1, "images": [{"source": "https://imgen.x.ai/a.jpeg", "mime": "image/jpeg"}], "losses": 0, "wake": 1002000
    }}}}
"#;

#[test]
fn self_tests_hold_and_states_keep_their_form() {
    crate::tasks::keep_their_form::<Imagine>("imagine", STATES, &COMPONENT);
}
