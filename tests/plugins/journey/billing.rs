//! The billing table, by the submissions themselves: which keys each route has with every version and speed. The rule for
//! all of them is a table in the crate.

use gatehouse_sdk::{Parent, Status, Submission};
use gatehouse_testkit::Script;
use serde_json::{Value, json};

use crate::journey::play;
use crate::journey::support::{PICTURE, TASK, about, button, parent, record, single_buttons};

const VERSIONS: [(&str, &str); 9] = [
    ("v8.2", "8.2"),
    ("v8.1", "8.1"),
    ("v7", "7"),
    ("v6.1", "6.1"),
    ("v5.2", "5.2"),
    ("v5.1", "5.1"),
    ("niji7", "7"),
    ("niji6", "6"),
    ("", ""),
];
const SPEEDS: [&str; 4] = ["", "relax", "fast", "turbo"];

fn charged(request: Submission, keys: Vec<String>, quantity: u64) {
    let script = Script::new().submit_whole(request).expect_accepted(move |accepted| {
        assert_eq!((&accepted.charge.lines[0].keys, accepted.charge.lines[0].quantity), (&keys, quantity));
    });
    script.run_native::<journey::Journey>();
}

/// The keys of the specification.
fn keys(action: &str, version: &str, speed: &str) -> Vec<String> {
    let speed = if speed == "relax" { "" } else { speed };
    let mut keys = Vec::new();
    if !version.is_empty() && !speed.is_empty() {
        keys.push(format!("journey@{action}-{version}-{speed}"));
    }
    if !version.is_empty() {
        keys.push(format!("journey@{action}-{version}"));
    }
    if !speed.is_empty() {
        keys.push(format!("journey@{action}-{speed}"));
    }
    keys.extend([format!("journey@{action}"), "journey".to_owned()]);
    keys
}

fn with_speed(mut body: Value, speed: &str) -> Value {
    if !speed.is_empty() {
        body["speed"] = json!(speed);
    }
    body
}

#[test]
fn a_picture_has_its_own_version_and_speed() {
    for (version, number) in VERSIONS {
        for speed in SPEEDS {
            for (action, body) in [
                ("imagine", json!({"prompt": "a kite"})),
                ("edits", json!({"prompt": "a kite", "image_urls": [PICTURE]})),
            ] {
                let mut fields = with_speed(body.clone(), speed);
                let mut flagged = body;
                if version.starts_with("niji") {
                    fields["niji"] = json!(true);
                    flagged["prompt"] = json!(format!("a kite --niji {number}"));
                } else if !version.is_empty() {
                    flagged["prompt"] = json!(format!("a kite --v {number}"));
                }
                if !version.is_empty() {
                    fields["version"] = json!(number);
                }
                let surface = format!("journey.{action}");
                charged(Submission::new(surface.clone(), fields), keys(action, version, speed), 1);
                if !speed.is_empty() {
                    flagged["prompt"] = json!(format!("{} --{speed}", flagged["prompt"].as_str().unwrap()));
                }
                charged(Submission::new(surface, flagged), keys(action, version, speed), 1);
            }
        }
    }
    for speed in SPEEDS {
        let blend = with_speed(json!({"image_urls": [PICTURE, PICTURE]}), speed);
        charged(Submission::new("journey.blend", blend), keys("blend", "", speed), 1);
        let describe = with_speed(json!({"image_urls": [PICTURE]}), speed);
        charged(Submission::new("journey.describe", describe), keys("describe", "", speed), 1);
    }
}

/// Every button on one task, as no version has them.
fn buttons() -> Vec<Value> {
    let mut buttons = single_buttons();
    for id in [
        "MJ::JOB::upsample::1::a",
        "MJ::JOB::variation::1::a",
        "MJ::JOB::reroll::0::a",
        "MJ::JOB::remix_strong::1::a",
        "MJ::JOB::remix_subtle::1::a",
    ] {
        buttons.push(button(id, ""));
    }
    buttons
}

#[test]
fn a_follow_up_has_its_parents_version_and_a_speed_of_its_own() {
    for (version, _) in VERSIONS {
        for speed in SPEEDS {
            for (action, kind, fields) in [
                ("upscale", "grid", json!({"index": 1})),
                ("variation", "grid", json!({"index": 1})),
                ("reroll", "grid", json!({})),
                ("high_variation", "single", json!({})),
                ("low_variation", "single", json!({})),
                ("zoom", "single", json!({})),
                ("pan", "single", json!({"direction": "up"})),
                ("inpaint", "single", json!({})),
                ("remix_strong", "grid", json!({"index": 1})),
                ("remix_subtle", "grid", json!({"index": 1})),
            ] {
                if action.starts_with("remix") && !["v8.1", "v8.2", ""].contains(&version) {
                    continue;
                }
                let mut body = with_speed(fields, speed);
                body["task_id"] = json!(TASK);
                let parent = parent(record(kind, version, &buttons()));
                charged(about(&format!("journey.{action}"), body, parent), keys(action, version, speed), 1);
            }
            let mut waiting = record("single", version, &[]);
            waiting["status"] = json!("MODAL");
            let waiting = Parent::new("journey", "journey", waiting).status(Status::Processing);
            let body = with_speed(json!({"task_id": TASK, "prompt": "a hat"}), speed);
            charged(about("journey.modal", body, waiting), keys("modal", version, speed), 1);
        }
    }
}

#[test]
fn films_are_charged_by_resolution_and_number() {
    let own =
        |fields| Submission::new("journey.video", crate::over(json!({"image_urls": [PICTURE]}), fields));
    let large = || vec!["journey@video-720p".to_owned(), "journey@video".to_owned(), "journey".to_owned()];
    charged(own(json!({})), keys("video", "", ""), 1);
    charged(own(json!({"batch_size": 2})), keys("video", "", ""), 2);
    charged(own(json!({"batch_size": 4, "video_type": "vid_1.1_i2v_720"})), large(), 4);
    charged(own(json!({"batch_size": 3, "video_type": "vid_1.1_i2v_720"})), large(), 1);
    let ends = json!({"end_url": PICTURE, "video_type": "vid_1.1_i2v_start_end_720", "batch_size": 2});
    charged(own(ends), large(), 2);
    // Flags in the prompt are no way around the price.
    charged(own(json!({"prompt": "it flies --bs 4 --fast"})), keys("video", "", ""), 4);
    for (version, _) in VERSIONS {
        let body = json!({"task_id": TASK, "index": 0, "batch_size": 4});
        let of = parent(record("grid", version, &[]));
        charged(about("journey.video", body, of), keys("video", version, ""), 4);
    }
}

/// The component charges as the native family does; one row of each table is enough.
#[test]
fn the_component_has_the_same_keys() {
    let body = json!({"prompt": "a kite --v 8.2", "speed": "turbo"});
    let expected = keys("imagine", "v8.2", "turbo");
    let script = Script::new()
        .submit("journey.imagine", body)
        .expect_accepted(move |accepted| assert_eq!(accepted.charge.lines[0].keys, expected));
    play(&script);
}
