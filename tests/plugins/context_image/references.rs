//! Edits: the host probes and keeps the references first, so the provider depends on no other server.

use context_image::SURFACE;
use gatehouse_sdk::{Blame, Facts, MediaKind, Probe, Submission};
use gatehouse_testkit::{Script, picture};
use serde_json::{Value, json};

use crate::context_image::{accepted, body, play};

const DAY: &str = "https://example.com/day.png";
const NIGHT: &str = "https://example.com/night.png";

/// The part of the call that depends on the references.
fn inputs(expected: Value) -> impl Fn(&gatehouse_sdk::Call) {
    move |call| {
        let sent = call.json_body();
        let names = ["aspect_ratio", "input_image", "input_image_2", "input_image_3", "input_image_4"];
        for name in names {
            assert_eq!(sent[name], expected[name], "{name}");
        }
    }
}

fn asked(fields: Value, sources: &'static [&'static str]) -> Script {
    accepted(fields).start().expect_probe(move |probes| {
        let expected: Vec<_> = sources.iter().copied().map(Probe::keep).collect();
        assert_eq!(*probes, expected);
    })
}

#[test]
fn kept_references_go_out_as_base64() {
    let four = json!({"image_urls": [DAY, NIGHT, DAY, NIGHT]});
    let script = asked(four, &[DAY, NIGHT, DAY, NIGHT])
        .probed([
            Ok(picture(1024, 1024, "blob:1")),
            Ok(picture(1024, 1024, "blob:2")),
            Ok(picture(1024, 1024, "blob:3")),
            Ok(picture(1024, 1024, "blob:4")),
        ])
        .expect_call(inputs(json!({
            "aspect_ratio": "1:1",
            "input_image": "blob:1:base64",
            "input_image_2": "blob:2:base64",
            "input_image_3": "blob:3:base64",
            "input_image_4": "blob:4:base64",
        })));
    play(&script);
}

#[test]
fn without_a_size_an_edit_is_square_and_auto_follows_the_reference() {
    let edit = |fields: Value, ratio: Value| {
        let script = asked(fields, &[DAY])
            .probed([Ok(picture(1600, 900, "blob:1"))])
            .expect_call(inputs(json!({"aspect_ratio": ratio, "input_image": "blob:1:base64"})));
        play(&script);
    };
    edit(json!({"image_urls": [DAY]}), json!("1:1"));
    edit(json!({"image_urls": [DAY], "size": "9:21"}), json!("9:21"));
    edit(json!({"image_urls": [DAY], "size": "auto"}), Value::Null);
}

#[test]
fn base64_and_blobs_are_looked_at_too() {
    let bare = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ";
    let data = format!("data:image/png;base64,{bare}");
    let mut request = Submission::new(SURFACE, body(json!({"image_urls": [data, bare, "blob:9"]})));
    request.blobs = vec![picture(5, 5, "blob:9")];
    let expected = [data.clone(), data, "blob:9".to_owned()];
    let script = Script::new()
        .submit_whole(request)
        .expect_accepted(|_| ())
        .start()
        .expect_probe(move |probes| {
            assert_eq!(probes.iter().map(|probe| probe.source.clone()).collect::<Vec<_>>(), expected);
        })
        .probed([Ok(picture(5, 5, "blob:7")), Ok(picture(5, 5, "blob:8")), Ok(picture(5, 5, "blob:9"))])
        .expect_call(inputs(json!({
            "aspect_ratio": "1:1",
            "input_image": "blob:7:base64",
            "input_image_2": "blob:8:base64",
            "input_image_3": "blob:9:base64",
        })));
    play(&script);
}

#[test]
fn limits_pixels_to_nine_megapixels() {
    let fields = json!({"image_urls": [DAY, NIGHT]});
    let at_most = asked(fields.clone(), &[DAY, NIGHT])
        .probed([Ok(picture(4096, 1024, "blob:1")), Ok(picture(4096, 1024, "blob:2"))])
        .expect_call(|_| ());
    play(&at_most);
    let above = asked(fields, &[DAY, NIGHT])
        .probed([Ok(picture(4096, 1024, "blob:1")), Ok(picture(4097, 1024, "blob:2"))])
        .expect_fail(
            Blame::Request,
            "`image_urls`: expected output and references to have at most 9437184 pixels together (9 MP), \
             got 1048576 for the output and 8389632 for the references",
        );
    play(&above);
}

#[test]
fn unusable_references_fail_before_the_submission() {
    let end = |found: Result<Facts, &'static str>, message: &str| {
        let script = asked(json!({"image_urls": [DAY, NIGHT]}), &[DAY, NIGHT])
            .probed([Ok(picture(9, 9, "blob:1")), found])
            .expect_fail(Blame::Request, message);
        play(&script);
    };
    end(
        Err("could not be fetched: the server answered 404"),
        "dependency unavailable: `image_urls[1]`: could not be fetched: the server answered 404",
    );
    end(
        Ok(Facts::new(MediaKind::Other, "text/html", 300)),
        "`image_urls[1]`: expected a PNG, JPEG or WebP image, got text/html",
    );
}

#[test]
fn cancels_before_the_submission() {
    let cancelled = "cancelled before it was sent";
    play(&accepted(json!({})).cancel().expect_fail(Blame::Request, cancelled));
    let looking = asked(json!({"image_urls": [DAY]}), &[DAY]).cancel();
    play(&looking.expect_fail(Blame::Request, cancelled));
}
