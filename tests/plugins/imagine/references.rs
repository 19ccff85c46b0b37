//! Edits: the host probes and keeps the reference first, so the provider depends on no other server.

use gatehouse_sdk::{Blame, Facts, MediaKind, Probe, Submission, Target};
use gatehouse_testkit::{Script, picture};
use imagine::SURFACE;
use serde_json::{Value, json};

use crate::imagine::{accepted, body, play};

const DAY: &str = "https://example.com/day.png";

/// Submitted with that entry, and the host is asked about `source`.
fn asked(entry: &str, source: &str) -> Script {
    let source = source.to_owned();
    accepted(json!({"image_urls": [entry]})).start().expect_probe(move |probes| {
        assert_eq!(*probes, [Probe::keep(source.clone())]);
    })
}

#[test]
fn the_kept_reference_goes_to_the_edit_route() {
    let edit = |fields: Value| {
        let mut fields = fields;
        fields["image_urls"] = json!([DAY]);
        let n = fields.get("n").cloned().unwrap_or_else(|| json!(1));
        let script = accepted(fields)
            .start()
            .expect_probe(|_| ())
            .probed([Ok(picture(1600, 900, "blob:1"))])
            .expect_call(move |call| {
                assert_eq!(call.target, Target::from("/v1/images/edits"));
                let whole = json!({
                    "model": "grok-imagine-image",
                    "prompt": "a red kite",
                    "n": n,
                    "response_format": "url",
                    "image": {"url": "blob:1", "type": "image_url"},
                });
                // The ratio is the reference's, whatever `size` says.
                assert_eq!(call.json_body(), whole);
            });
        play(&script);
    };
    edit(json!({}));
    edit(json!({"size": "9:16"}));
    edit(json!({"n": 10}));
}

#[test]
fn urls_data_uris_and_blobs_are_probed() {
    let base64 = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ";
    let data = format!("data:image/png;base64,{base64}");
    let loud = format!("DATA:IMAGE/JPEG;BASE64,{base64}");
    for (entry, source) in [
        (DAY, DAY.to_owned()),
        ("HTTPS://Example.com/Day.PNG", "https://Example.com/Day.PNG".to_owned()),
        (data.as_str(), data.clone()),
        (loud.as_str(), data.clone()),
        (base64, data.clone()),
    ] {
        play(&asked(entry, &source).probed([Ok(picture(5, 5, "blob:7"))]).expect_call(|_| ()));
    }
    let mut request = Submission::new(SURFACE, body(json!({"image_urls": ["blob:9"]})));
    request.blobs = vec![picture(5, 5, "blob:9")];
    let script = Script::new()
        .submit_whole(request)
        .expect_accepted(|_| ())
        .start()
        .expect_probe(|probes| assert_eq!(*probes, [Probe::keep("blob:9")]))
        .probed([Ok(picture(5, 5, "blob:9"))])
        .expect_call(|call| assert_eq!(call.json_body()["image"]["url"], "blob:9"));
    play(&script);
}

#[test]
fn an_unusable_reference_fails_the_task_before_the_call() {
    let end = |found: Result<Facts, &'static str>, message: &str| {
        play(&asked(DAY, DAY).probed([found]).expect_fail(Blame::Request, message));
    };
    end(
        Err("could not be fetched: the server answered 404"),
        "dependency unavailable: `image_urls[0]`: could not be fetched: the server answered 404",
    );
    let expected = "`image_urls[0]`: expected a PNG, JPEG or WebP image, got";
    end(Ok(Facts::new(MediaKind::Other, "text/html", 300)), &format!("{expected} text/html"));
    end(Ok(Facts::new(MediaKind::Image, "image/gif", 300)), &format!("{expected} image/gif"));
    end(
        Ok(Facts::new(MediaKind::Image, "image/webp", 300)),
        &format!("{expected} image/webp of unreadable size"),
    );
}

#[test]
fn cancels_before_the_call() {
    let cancelled = "cancelled before it was sent";
    play(&accepted(json!({})).cancel().expect_fail(Blame::Request, cancelled));
    play(&asked(DAY, DAY).cancel().expect_fail(Blame::Request, cancelled));
}
