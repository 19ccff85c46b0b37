//! Prompts: when one is needed, how long it may be, and how a long one reaches the provider.

use clip::VIDEOS;
use gatehouse_sdk::{Blame, Facts, MediaKind};
use gatehouse_testkit::Script;
use serde_json::{Value, json};

use crate::clip::{accepted, body, image, play};

const DAY: &str = "https://example.com/day.png";

fn refused(fields: Value, message: &str) {
    play(&Script::new().submit(VIDEOS, body(fields)).expect_refused("prompt", message));
}

#[test]
fn text_to_video_needs_a_prompt() {
    let none = "`prompt`: expected a text without images and videos, got nothing";
    refused(json!({"prompt": null}), none);
    let blank = "`prompt`: expected a text without images and videos, got a blank one";
    refused(json!({"prompt": ""}), blank);
    refused(json!({"prompt": " \n"}), blank);
    refused(json!({"prompt": 7}), "`prompt`: expected a string, got 7");
}

#[test]
fn four_thousand_characters_are_the_limit_of_two_models() {
    for model in ["clip-2.0", "clip-2.0-fast"] {
        let fields = |length: usize| json!({"model": model, "prompt": "\u{1f3a8}".repeat(length)});
        play(&accepted(fields(4000)).start().expect_probe(|probes| assert_eq!(probes.len(), 1)));
        let message = format!("`prompt`: expected at most 4000 characters with {model}, got 4001");
        refused(fields(4001), &message);
    }
}

fn kept() -> Result<Facts, &'static str> {
    let facts = Facts::new(MediaKind::Other, "application/octet-stream", 300_000);
    Ok(Facts { blob: Some("blob:blob_p".to_owned()), ..facts })
}

/// Kept as a blob, so that a second try and the look at references have it too.
#[test]
fn the_third_model_takes_any_length() {
    let long = "a red kite over the sea. ".repeat(12_000);
    let fields = json!({"model": "clip-2.0-mini", "prompt": long, "image_urls": [DAY]});
    let content = json!([
        {"type": "text", "text": "blob:blob_p:text"},
        {"type": "image_url", "image_url": {"url": DAY}, "role": "first_frame"},
    ]);
    let expected = content.clone();
    let script = accepted(fields)
        .start()
        .expect_probe(|probes| {
            assert_eq!(probes.len(), 2);
            assert!(
                probes[0].keep && probes[0].source.starts_with("data:text/plain;base64,YSByZWQga2l0ZSBv")
            );
            assert!(!probes[1].keep);
        })
        .probed([kept(), Ok(image(800, 600))])
        .expect_call(move |call| assert_eq!(call.json_body()["content"], content))
        .reply(429, json!({"error": {"code": "ServerOverloaded", "message": ""}}))
        .expect_wait(|_| ())
        .timer()
        .expect_call(move |call| assert_eq!(call.json_body()["content"], expected));
    play(&script);
}

#[test]
fn a_long_prompt_that_cannot_be_kept_is_not_the_clients_fault() {
    let fields = json!({"model": "clip-2.0-mini", "prompt": "kite ".repeat(2000)});
    let script = accepted(fields).start().expect_probe(|_| ()).probed([Err("it is larger than 32 MiB")]);
    play(&script.expect_fail(Blame::Upstream, "the prompt could not be kept"));
}

#[test]
fn a_short_prompt_needs_no_blob() {
    let script = accepted(json!({"prompt": "k".repeat(4000)})).start();
    play(&script.expect_call(|call| assert_eq!(call.json_body()["content"][0]["text"], "k".repeat(4000))));
}
