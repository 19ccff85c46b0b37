//! Invalid bodies of the routes without a parent. The engine's arguments have a table of their own in the crate.

use gatehouse_sdk::Submission;
use gatehouse_testkit::Script;
use serde_json::{Value, json};

use crate::journey::play;
use crate::journey::support::{PICTURE, cut, film};

fn refused(surface: &str, body: Value, field: &str, problem: &str) {
    let request = Submission { blobs: vec![cut(9, 9), film()], ..Submission::new(surface, body) };
    let message = format!("`{field}`: {problem}");
    play(&Script::new().submit_whole(request).expect_refused(field, &message));
}

const SOURCE: &str = "expected an http(s) URL, a base64 `data:` URI or base64, got";

#[test]
fn imagine() {
    let surface = "journey.imagine";
    refused(surface, json!({}), "prompt", "expected a value, got nothing");
    refused(surface, json!({"prompt": null}), "prompt", "expected a string, got null");
    refused(surface, json!({"prompt": 7}), "prompt", "expected a string, got 7");
    refused(
        surface,
        json!({"prompt": " \n"}),
        "prompt",
        "expected a text that is not blank, got the string \" \\n\"",
    );
    refused(
        surface,
        json!({"prompt": "--v 7"}),
        "prompt",
        "expected a text before the flags, got flags only",
    );
    let with = |urls: Value| json!({"prompt": "a kite", "image_urls": urls});
    refused(surface, with(json!("x")), "image_urls", "expected an array, got the string \"x\"");
    refused(surface, with(json!([7])), "image_urls[0]", "expected a string, got 7");
    refused(surface, with(json!([PICTURE, "x"])), "image_urls[1]", &format!("{SOURCE} the string \"x\""));
    refused(
        surface,
        with(json!(["https://"])),
        "image_urls[0]",
        &format!("{SOURCE} the string \"https://\""),
    );
    refused(
        surface,
        with(json!(["blob:other"])),
        "image_urls[0]",
        &format!("{SOURCE} a blob of another request"),
    );
    refused(
        surface,
        with(json!(["blob:film"])),
        "image_urls[0]",
        "expected a PNG, JPEG, WebP or GIF image, got video/mp4",
    );
    refused(
        surface,
        with(json!(vec![PICTURE; 11])),
        "image_urls",
        "expected a length of at most 10, got an array of 11",
    );
    refused(
        surface,
        json!({"prompt": "a kite", "image_url": "x"}),
        "image_url",
        &format!("{SOURCE} the string \"x\""),
    );
    refused(surface, json!({"prompt": "a kite", "chaos": 101}), "chaos", "expected at most 100, got 101");
}

#[test]
fn a_request_must_fit_into_the_state() {
    let long = "k".repeat(28 * 1024);
    let message =
        "expected texts and URLs of at most 28672 bytes together (large image files do not count), got";
    let script = Script::new().submit("journey.imagine", json!({"prompt": long}));
    let bytes = 28_672 + 122;
    play(&script.expect_refused("", &format!("{message} {bytes}")));
}

#[test]
fn blend() {
    let surface = "journey.blend";
    let with = |fields| crate::over(json!({"image_urls": [PICTURE, PICTURE]}), fields);
    refused(surface, json!({}), "image_urls", "expected a value, got nothing");
    let one = json!({"image_urls": [PICTURE]});
    refused(surface, one, "image_urls", "expected a length of at least 2, got an array of 1");
    let five = json!({"image_urls": vec![PICTURE; 5]});
    refused(surface, five, "image_urls", "expected a length of at most 4, got an array of 5");
    let wide = with(json!({"dimensions": "WIDE"}));
    refused(surface, wide, "dimensions", "expected SQUARE, PORTRAIT or LANDSCAPE, got the string \"WIDE\"");
    refused(surface, with(json!({"dimensions": 7})), "dimensions", "expected a string, got 7");
    refused(
        surface,
        with(json!({"size": "1024x768"})),
        "size",
        "expected a ratio such as 16:9, got the string \"1024x768\"",
    );
    let slow = with(json!({"speed": "slow"}));
    refused(surface, slow, "speed", "expected one of `relax`, `fast`, `turbo`, got the string \"slow\"");
}

#[test]
fn describe() {
    let surface = "journey.describe";
    refused(surface, json!({}), "image_urls", "expected a value, got nothing");
    refused(
        surface,
        json!({"image_urls": []}),
        "image_urls",
        "expected a length of at least 1, got an array of 0",
    );
    refused(surface, json!({"image_urls": [""]}), "image_urls[0]", &format!("{SOURCE} an empty string"));
    refused(surface, json!({"image_urls": [PICTURE], "speed": 1}), "speed", "expected a string, got 1");
    // Only the first counts, and is judged.
    refused(surface, json!({"image_urls": [5, PICTURE]}), "image_urls[0]", "expected a string, got 5");
    let ignored = json!({"image_urls": [PICTURE, 5, "ftp://example.com/b.png"]});
    play(&Script::new().submit(surface, ignored).expect_accepted(|_| ()));
}

#[test]
fn edits() {
    let surface = "journey.edits";
    refused(surface, json!({"image_urls": [PICTURE]}), "prompt", "expected a value, got nothing");
    refused(surface, json!({"prompt": "at night"}), "image_urls", "expected a value, got nothing");
    let hint = "expected one picture (the route `imagine` takes several to draw from), got an array of";
    let none = json!({"prompt": "at night", "image_urls": []});
    refused(surface, none, "image_urls", &format!("{hint} 0"));
    let two = json!({"prompt": "at night", "image_urls": [PICTURE, PICTURE]});
    refused(surface, two, "image_urls", &format!("{hint} 2"));
    let stop = json!({"prompt": "at night", "image_urls": [PICTURE], "stop": 101});
    refused(surface, stop, "stop", "expected at most 100, got 101");
}

#[test]
fn video() {
    let surface = "journey.video";
    let with = |fields| crate::over(json!({"image_urls": [PICTURE]}), fields);
    let one = "expected one picture, the first frame (the last is `end_url`), got an array of";
    let nothing = "expected the first frame, or `task_id` and `index`, got nothing";
    refused(surface, json!({}), "image_urls", nothing);
    refused(surface, json!({"index": 0}), "image_urls", nothing);
    refused(surface, json!({"image_urls": []}), "image_urls", nothing);
    refused(surface, json!({"image_urls": [PICTURE, PICTURE]}), "image_urls", &format!("{one} 2"));
    refused(surface, json!({"image_urls": ["x"]}), "image_urls[0]", &format!("{SOURCE} the string \"x\""));
    let kind = "expected one of `vid_1.1_i2v_480`, `vid_1.1_i2v_720`, `vid_1.1_i2v_start_end_480`, \
                `vid_1.1_i2v_start_end_720`, got the string \"1080\"";
    refused(surface, with(json!({"video_type": "1080"})), "video_type", kind);
    let ends = with(json!({"video_type": "vid_1.1_i2v_start_end_480"}));
    refused(surface, ends, "end_url", "expected the last frame for this `video_type`, got nothing");
    refused(surface, with(json!({"end_url": "x"})), "end_url", &format!("{SOURCE} the string \"x\""));
    refused(
        surface,
        with(json!({"motion": "fast"})),
        "motion",
        "expected `low` or `high`, got the string \"fast\"",
    );
    let auto = with(json!({"animate_mode": "auto"}));
    refused(surface, auto, "task_id", "expected a completed task for `animate_mode` auto, got nothing");
    let mode = with(json!({"animate_mode": "loop"}));
    refused(surface, mode, "animate_mode", "expected `manual` or `auto`, got the string \"loop\"");
    refused(
        surface,
        with(json!({"batch_size": "2"})),
        "batch_size",
        "expected an integer, got the string \"2\"",
    );
    refused(surface, with(json!({"prompt": 7})), "prompt", "expected a string, got 7");
}
