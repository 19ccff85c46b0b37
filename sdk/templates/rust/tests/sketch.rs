//! The family played through as plain Rust. `gatehouse plugin play play family.wasm` plays the scripts in `play/`
//! with the component under the host's limits.

use std::path::Path;
use std::time::Duration;

use gatehouse_family_template::Sketch;
use gatehouse_sdk::{Blame, Stage};
use gatehouse_testkit::{Script, check_family};
use serde_json::json;

fn play(script: &Script) {
    script.run_native::<Sketch>();
}

fn submitted() -> Script {
    Script::new()
        .submit("images.generate", json!({"model": "sketch-1", "prompt": "a kite"}))
        .expect_accepted(|accepted| assert_eq!(accepted.charge.lines[0].keys, ["sketch-1"]))
}

fn polled() -> Script {
    submitted()
        .start()
        .expect_call(|call| assert_eq!(call.json_body(), json!({"text": "a kite", "detail": 5})))
        .reply(200, json!({"id": "s7"}))
        .expect_wait(|wait| assert_eq!(*wait, Duration::from_secs(2)))
        .expect_stage(Stage::Pending)
        .timer()
        .expect_call(|call| assert_eq!(call.method, "GET"))
}

#[test]
fn the_self_tests_hold() {
    check_family::<Sketch>();
}

#[test]
fn draws_an_image() {
    let script = polled()
        .reply(200, json!({"state": "working"}))
        .expect_wait(|_| ())
        .expect_stage(Stage::Processing)
        .timer()
        .expect_call(|_| ())
        .reply(200, json!({"state": "done", "image": "https://cdn.example.com/s7.png"}))
        .expect_done(|outcome| assert_eq!(outcome.products[0].source, "https://cdn.example.com/s7.png"));
    play(&script);
}

#[test]
fn refuses_invalid_fields() {
    let refused = |body, field: &str, message: &str| {
        play(&Script::new().submit("images.generate", body).expect_refused(field, message));
    };
    refused(json!({"model": "sketch-1"}), "prompt", "`prompt`: expected a value, got nothing");
    refused(
        json!({"model": "sketch-1", "prompt": "a kite", "detail": 11}),
        "detail",
        "`detail`: expected at most 10, got 11",
    );
}

#[test]
fn fails_with_the_provider() {
    let refused = submitted().start().expect_call(|_| ()).reply(500, json!({}));
    play(&refused.expect_fail(Blame::Upstream, "the upstream did not take the picture"));
    let failed = polled().reply(200, json!({"state": "failed"}));
    play(&failed.expect_fail(Blame::Upstream, "the upstream failed to draw the picture"));
    let mut script = polled();
    for _ in 0..5 {
        script = script.reply(502, json!({})).expect_wait(|_| ()).timer().expect_call(|_| ());
    }
    play(&script.reply(502, json!({})).expect_fail(Blame::Upstream, "the upstream's answers cannot be read"));
}

#[test]
fn plays_the_written_scripts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("play");
    let mut played = 0;
    for file in std::fs::read_dir(&folder).expect("the folder `play`") {
        let file = file.expect("a readable entry").path();
        play(&Script::read(&file).unwrap_or_else(|problem| panic!("{problem}")));
        played += 1;
    }
    assert!(played >= 3, "{played} scripts in {}", folder.display());
}
