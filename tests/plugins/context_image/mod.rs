//! The family as the host meets it: every script runs natively and as the built component.

mod checks;
mod polling;
mod references;
mod states;
mod submission;

use std::sync::LazyLock;
use std::time::Duration;

use context_image::{ContextImage, SURFACE};
use gatehouse_play::Component;
use gatehouse_testkit::{Script, check_family};
use serde_json::{Value, json};

static COMPONENT: LazyLock<Component> = LazyLock::new(|| crate::component("context-image"));

const POLLING_URL: &str = "https://api.eu4.bfl.ai/v1/get_result?id=5f0c";
const SAMPLE: &str = "https://delivery.eu4.bfl.ai/results/x_sample.png?se=2026&sig=A";

/// Plays it both ways.
fn play(script: &Script) {
    script.run_native::<ContextImage>();
    COMPONENT.run(script);
}

/// A good request with `fields` over it.
fn body(fields: Value) -> Value {
    let mut body = json!({"model": "ctx-pro", "prompt": "a red kite"});
    for (name, value) in fields.as_object().expect("fields are an object") {
        body[name] = value.clone();
    }
    body
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
        .expect_wait(|wait| assert_eq!(*wait, Duration::from_secs(2)))
}

/// The first poll is out.
fn polled() -> Script {
    taken().timer().expect_call(|call| assert_eq!(call.method, "GET"))
}

#[test]
fn the_self_tests_hold() {
    check_family::<ContextImage>();
    assert_eq!(COMPONENT.family(), "context-image");
}
