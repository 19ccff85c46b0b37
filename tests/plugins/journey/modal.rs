//! Inpaint and its modal step: the task waits in MODAL, one request joins it, and there is one charge.

use std::time::Duration;

use gatehouse_sdk::{Blame, Facts, Outage, Parent, Stage, Status, Submission, Target};
use gatehouse_testkit::{Script, picture};
use serde_json::{Value, json};

use crate::journey::play;
use crate::journey::support::{ID, PICTURE, TASK, about, cut, dialog, finished, remote, sent, single, taken};

/// An inpaint task that waits in MODAL.
fn waiting() -> Script {
    sent(about("journey.inpaint", json!({"task_id": TASK}), single()))
        .reply(200, dialog())
        .expect_view(|view| {
            assert_eq!(view.private["status"], "MODAL");
            assert_eq!(view.private["picture"], json!([640, 480]));
            assert_eq!(view.public, json!({"waiting_for": "modal"}));
        })
        .expect_stage(Stage::Processing)
        .expect_wait(|wait| assert_eq!(*wait, Duration::from_secs(30 * 60)))
}

/// The same task as a parent of the modal route.
fn modal_parent() -> Parent {
    let record = json!({"action": "inpaint", "status": "MODAL", "id": ID, "version": "v7", "prompt": "a red kite",
        "result": null, "picture": [640, 480]});
    Parent::new("journey", "journey", record).status(Status::Processing)
}

fn modal(fields: Value) -> Submission {
    let body = crate::over(json!({"task_id": TASK}), fields);
    Submission { blobs: vec![cut(640, 480)], ..about("journey.modal", body, modal_parent()) }
}

/// The brief of a request.
fn brief(prompt: &str, area: Option<&str>, speed: &str) -> Vec<u8> {
    let area = area.map(|source| json!({"field": "mask_url", "source": source}));
    json!({"prompt": prompt, "area": area, "speed": speed}).to_string().into_bytes()
}

#[test]
fn a_request_becomes_the_brief_of_the_waiting_task() {
    for (fields, prompt, area, speed, key) in [
        (json!({}), "", None, "relax", "journey@modal-v7"),
        (json!({"prompt": "a hat"}), "a hat", None, "relax", "journey@modal-v7"),
        (
            json!({"prompt": "a hat --turbo", "mask_url": PICTURE}),
            "a hat",
            Some(PICTURE),
            "turbo",
            "journey@modal-v7-turbo",
        ),
        (
            json!({"prompt": "a hat", "mask": "blob:cut", "speed": "fast"}),
            "a hat",
            Some("blob:cut"),
            "fast",
            "journey@modal-v7-fast",
        ),
    ] {
        let field = if area == Some("blob:cut") { "mask" } else { "mask_url" };
        let script = Script::new().submit_whole(modal(fields)).expect_accepted(move |accepted| {
            assert!(accepted.state.as_ref().is_none_or(Vec::is_empty), "the waiting task has the state");
            let brief: Value = serde_json::from_slice(&accepted.brief).expect("a brief is JSON");
            assert_eq!(brief["prompt"], prompt);
            assert_eq!(brief["speed"], speed);
            match area {
                Some(source) => assert_eq!(brief["area"], json!({"field": field, "source": source})),
                None => assert_eq!(brief["area"], Value::Null),
            }
            assert_eq!(accepted.charge.lines[0].keys[0], key);
            assert_eq!(
                (accepted.charge.lines[0].keys.last().map(String::as_str), accepted.charge.lines[0].quantity),
                (Some("journey"), 1)
            );
        });
        play(&script);
    }
}

#[test]
fn the_joined_task_goes_on_under_its_own_id() {
    let script = waiting()
        .later(Duration::from_secs(60))
        .joined(brief("a hat", Some(PICTURE), "fast"))
        .expect_probe(|probes| assert_eq!((probes[0].source.as_str(), probes[0].keep), (PICTURE, true)))
        .probed([Ok(picture(640, 480, "blob:own"))])
        .expect_probe(|probes| assert_eq!(probes[0].source, "blob:own:png:640x480"))
        .probed([Ok(picture(640, 480, "blob:area"))])
        .expect_call(|call| {
            assert_eq!(call.target, Target::Path("/mj-fast/mj/submit/modal".to_owned()));
            assert_eq!(call.json_body(), json!({"taskId": ID, "prompt": "a hat", "maskBase64": "blob:area"}));
        })
        .reply(200, taken())
        .expect_view(|view| {
            assert_eq!(
                (&view.private["status"], &view.private["action"]),
                (&json!("SUBMITTED"), &json!("inpaint"))
            );
        })
        .expect_wait(|_| ())
        .timer()
        .expect_call(|call| assert_eq!(call.target, Target::Path(format!("/mj/task/{ID}/fetch"))))
        .reply(200, remote("IN_PROGRESS", json!("50%")))
        .expect_progress(50)
        .timer()
        .expect_call(|_| ())
        .reply(200, finished(json!({"action": "VARIATION"})))
        .expect_done(|outcome| {
            assert_eq!(outcome.products.len(), 5, "four tiles and the grid");
            assert_eq!(outcome.private["action"], "inpaint");
            assert_eq!(outcome.settle, None, "inpaint has its own price, which is none");
        });
    play(&script);
}

#[test]
fn a_request_without_a_file_is_sent_as_it_is() {
    let script = waiting()
        .joined(brief("", None, "relax"))
        .expect_call(|call| assert_eq!(call.json_body(), json!({"taskId": ID, "prompt": ""})))
        .reply(200, json!({"code": 22, "description": "queued", "result": ID}))
        .expect_wait(|_| ());
    play(&script);
}

#[test]
fn a_custom_zoom_waits_too_and_has_one_charge() {
    let body = json!({"task_id": TASK, "custom_id": "MJ::CustomZoom::1::bbbb"});
    let script = sent(about("journey.zoom", body, single()))
        .reply(200, dialog())
        .expect_view(|view| {
            assert_eq!((&view.private["status"], &view.private["action"]), (&json!("MODAL"), &json!("zoom")));
        })
        .joined(brief("a red kite --zoom 1.8", None, "relax"))
        .expect_call(|call| {
            assert_eq!(call.json_body(), json!({"taskId": ID, "prompt": "a red kite --zoom 1.8"}));
        })
        .reply(200, taken())
        .expect_wait(|_| ())
        .timer()
        .expect_call(|_| ())
        .reply(200, finished(json!({})))
        .expect_done(|outcome| {
            let settle = outcome.settle.as_ref().expect("only the modal request is billed");
            assert_eq!(
                (settle.lines[0].keys.last().map(String::as_str), settle.lines[0].quantity),
                (Some("journey"), 0)
            );
        });
    play(&script);
}

/// The server says MODAL in the record only.
#[test]
fn a_task_may_reach_modal_late() {
    let script = sent(about("journey.inpaint", json!({"task_id": TASK}), single()))
        .reply(200, taken())
        .expect_wait(|_| ())
        .timer()
        .expect_call(|_| ())
        .reply(200, remote("MODAL", Value::Null))
        .expect_view(|view| assert_eq!(view.private["status"], "MODAL"))
        .expect_wait(|_| ())
        .joined(brief("a hat", None, "relax"))
        .expect_call(|_| ());
    play(&script);
}

#[test]
fn an_untouched_task_waits_for_the_hosts_deadline() {
    let script = waiting().timer().expect_wait(|wait| assert!(wait.is_zero())).deadline();
    play(&script.expect_fail(Blame::Request, "cancelled before it was sent"));
    play(&waiting().cancel().expect_fail(Blame::Request, "cancelled before it was sent"));
}

/// The host takes no wait of more than a day. Without it the task fails as soon as it reaches MODAL.
#[test]
fn a_task_with_more_than_a_day_waits_a_day_at_a_time() {
    let day = Duration::from_secs(24 * 60 * 60);
    let script = Script::new()
        .time_limit(2 * day)
        .submit_whole(about("journey.inpaint", json!({"task_id": TASK}), single()))
        .expect_accepted(|_| ())
        .start()
        .expect_call(|_| ())
        .reply(200, dialog())
        .expect_wait(move |wait| assert_eq!(*wait, day))
        .timer()
        .expect_wait(move |wait| assert_eq!(*wait, day))
        .joined(brief("a hat", None, "relax"))
        .expect_call(|call| assert_eq!(call.json_body(), json!({"taskId": ID, "prompt": "a hat"})));
    play(&script);
}

#[test]
fn a_second_request_changes_nothing() {
    let script = waiting()
        .joined(brief("a hat", None, "relax"))
        .expect_call(|_| ())
        .reply(200, taken())
        .expect_wait(|_| ())
        .joined(brief("a bird", None, "relax"))
        .expect_wait(|_| ())
        .timer()
        .expect_call(|call| assert_eq!(call.method, "GET"))
        .reply(200, finished(json!({})))
        .expect_done(|_| ())
        .joined(brief("a bird", None, "relax"));
    // A task that was about to complete is asked for again, and completes.
    let script = script.expect_wait(|_| ()).timer().expect_call(|_| ());
    play(&script.reply(200, finished(json!({}))).expect_done(|_| ()));
    let full =
        waiting().joined(brief("a hat", None, "relax")).expect_call(|_| ()).outage(Outage::Unreachable);
    let full = full.expect_wait(|_| ()).joined(brief("a bird", None, "relax")).expect_wait(|_| ()).timer();
    play(&full.expect_call(|call| assert_eq!(call.json_body()["prompt"], "a hat")));
}

#[test]
fn failures_of_the_modal_step_fail_the_task() {
    let gone = "the upstream no longer knows the task that this one follows up";
    for (status, body, blame, message) in [
        (404, json!({"code": 3, "description": "x"}), Blame::Upstream, gone),
        (
            200,
            json!({"code": 4, "description": "the region is empty"}),
            Blame::Request,
            "the region is empty",
        ),
        (200, json!({"code": 24}), Blame::Moderation, "Banned prompt detected"),
        (500, json!({}), Blame::Upstream, "No available upstream"),
    ] {
        let script = waiting().joined(brief("a hat", None, "relax")).expect_call(|_| ());
        play(&script.reply(status, body).expect_fail(blame, message));
    }
}

fn of_type(mime: &str, facts: Facts) -> Facts {
    Facts { mime: mime.to_owned(), ..facts }
}

/// Without it a file of another size or format would end the task for good, and one of 16 bits or with transparency be read in
/// the provider's own way.
#[test]
fn a_file_is_made_anew_in_the_pixels_of_the_picture() {
    for found in [
        picture(640, 480, "blob:1"),
        picture(640, 481, "blob:1"),
        picture(64, 48, "blob:1"),
        of_type("image/jpeg", picture(640, 480, "blob:1")),
        of_type("image/webp", picture(1280, 960, "blob:1")),
    ] {
        let script = waiting()
            .joined(brief("a hat", Some(PICTURE), "relax"))
            .expect_probe(|_| ())
            .probed([Ok(found)])
            .expect_probe(|probes| {
                assert_eq!((probes[0].source.as_str(), probes[0].keep), ("blob:1:png:640x480", true));
            })
            .probed([Ok(picture(640, 480, "blob:2"))])
            .expect_call(|call| assert_eq!(call.json_body()["maskBase64"], "blob:2"));
        play(&script);
    }
}

/// Without it an address that fails would end the task, and the next try would be paid once more.
#[test]
fn a_file_that_cannot_be_used_leaves_the_task_in_modal() {
    let tried = |speed: &str, found| {
        waiting().joined(brief("a hat", Some(PICTURE), speed)).expect_probe(|_| ()).probed([found])
    };
    let film = Facts::new(gatehouse_sdk::MediaKind::Video, "video/mp4", 1_000);
    for (found, problem) in [
        (Err("could not be fetched: no"), "dependency unavailable: `mask_url`: could not be fetched: no"),
        (Ok(film), "`mask_url`: expected a PNG, JPEG, WebP or GIF image, got video/mp4"),
        (
            Ok(of_type("image/gif", picture(640, 480, "blob:1"))),
            "`mask_url`: expected a PNG, JPEG or WebP picture, got image/gif",
        ),
    ] {
        let script = tried("relax", found)
            .expect_view(move |view| {
                assert_eq!(view.public, json!({"waiting_for": "modal", "waiting_reason": problem}));
                assert_eq!(
                    (&view.private["status"], &view.private["paid"], &view.private["problem"]),
                    (&json!("MODAL"), &json!("relax"), &json!(problem))
                );
            })
            .expect_stage(Stage::Processing)
            .expect_wait(|_| ())
            .joined(brief("a hat", None, "relax"))
            .expect_call(|call| assert_eq!(call.json_body(), json!({"taskId": ID, "prompt": "a hat"})));
        play(&script);
    }
    let broken = "the picture is broken: no";
    let script = tried("fast", Ok(picture(1, 1, "blob:1"))).expect_probe(|_| ()).probed([Err(broken)]);
    play(&script.expect_view(|view| assert_eq!(view.private["paid"], "fast")).expect_wait(|_| ()));

    // What was paid is not paid again, at the speed it was paid for.
    let retried = |paid: &str, fields: Value| {
        let mut parent = modal_parent();
        parent.private["paid"] = json!(paid);
        Submission { parents: vec![parent], ..modal(fields) }
    };
    for (paid, fields) in [("relax", json!({})), ("fast", json!({})), ("fast", json!({"speed": "fast"}))] {
        let script = Script::new().submit_whole(retried(paid, fields)).expect_accepted(move |accepted| {
            let brief: Value = serde_json::from_slice(&accepted.brief).expect("a brief is JSON");
            assert_eq!((&brief["speed"], accepted.charge.lines[0].quantity), (&json!(paid), 0));
        });
        play(&script);
    }
    let other = "`speed`: expected relax, the speed of the modal request that is already paid, got the string \"fast\"";
    play(
        &Script::new()
            .submit_whole(retried("relax", json!({"speed": "fast"})))
            .expect_refused("speed", other),
    );
}

/// Without it the file would be scaled to pixels that only the upscaled tile has.
#[test]
fn the_picture_of_a_tile_is_the_one_that_the_task_shows() {
    let mut parent = Parent { media: vec![picture(512, 512, "blob:up")], ..modal_parent() };
    parent.private["picture"] = Value::Null;
    let request = Submission { parents: vec![parent], ..modal(json!({"mask_url": PICTURE})) };
    play(&Script::new().submit_whole(request).expect_accepted(|accepted| {
        let brief: Value = serde_json::from_slice(&accepted.brief).expect("a brief is JSON");
        assert_eq!(brief["picture"], json!([512, 512]));
    }));
}

#[test]
fn requests_that_cannot_join_are_refused() {
    let refused = |request: Submission, field: &str, problem: &str| {
        let message = format!("`{field}`: {problem}");
        play(&Script::new().submit_whole(request).expect_refused(field, &message));
    };
    let expected = "expected an inpaint task that waits in MODAL, got";
    let no_task = Submission::new("journey.modal", json!({"prompt": "a hat"}));
    refused(no_task, "task_id", "expected a value, got nothing");
    let number = Submission::new("journey.modal", json!({"task_id": 7}));
    refused(number, "task_id", "expected a string, got 7");
    let empty = Submission::new("journey.modal", json!({"task_id": ""}));
    refused(empty, "task_id", &format!("{expected} an empty string"));
    let body = json!({"task_id": TASK});
    let completed = about("journey.modal", body.clone(), single());
    refused(completed, "task_id", &format!("{expected} the task of upscale, which is completed"));
    let mut running = modal_parent();
    running.private["status"] = json!("IN_PROGRESS");
    let running = about("journey.modal", body.clone(), running);
    refused(running, "task_id", &format!("{expected} the task of inpaint, which is processing"));
    let ended = about("journey.modal", body.clone(), modal_parent().status(Status::Failed));
    refused(ended, "task_id", &format!("{expected} the task of inpaint, which is failed"));
    let fresh = Parent { private: Value::Null, ..modal_parent() }.status(Status::Submitted);
    refused(
        about("journey.modal", body.clone(), fresh),
        "task_id",
        &format!("{expected} one that is submitted"),
    );
    let taken = Parent { joining: vec![b"{}".to_vec()], ..modal_parent() };
    refused(
        about("journey.modal", body.clone(), taken),
        "task_id",
        &format!("{expected} the task of inpaint, whose modal request has come"),
    );
    let foreign = Parent { family: "context-image".to_owned(), ..modal_parent() };
    refused(about("journey.modal", body, foreign), "task_id", &format!("{expected} one that is processing"));

    refused(modal(json!({"prompt": 7})), "prompt", "expected a string, got 7");
    refused(modal(json!({"mask_url": 7})), "mask_url", "expected a string, got 7");
    let source = "expected an http(s) URL, a base64 `data:` URI or base64, got the string \"x\"";
    refused(modal(json!({"mask": "x"})), "mask", source);
    let speed = "expected one of `relax`, `fast`, `turbo`, got the string \"slow\"";
    refused(modal(json!({"speed": "slow"})), "speed", speed);
    let expected = "expected a PNG, JPEG or WebP picture, got";
    let gif = Submission {
        blobs: vec![of_type("image/gif", cut(640, 480))],
        ..modal(json!({"mask_url": "blob:cut"}))
    };
    refused(gif, "mask_url", &format!("{expected} image/gif"));
    let unread = Facts { width: None, ..cut(640, 480) };
    let unread = Submission { blobs: vec![unread], ..modal(json!({"mask_url": "blob:cut"})) };
    refused(unread, "mask_url", &format!("{expected} one whose size cannot be read"));
    let words = "data:image/png;base64,d29yZHMgYW5kIG5vdGhpbmcgYnV0IHdvcmRzLCBubyBwaWN0dXJl";
    let other = "expected a PNG, JPEG, WebP or GIF image, got application/octet-stream";
    refused(modal(json!({"mask_url": words})), "mask_url", other);
    let gif = "data:image/png;base64,R0lGODlhAQABAIAAAAAAAP8AACwAAAAAAQABAAAC";
    refused(modal(json!({"mask_url": gif})), "mask_url", &format!("{expected} image/gif"));
    let tiny = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==";
    let script = Script::new().submit_whole(modal(json!({"mask_url": tiny})));
    play(&script.expect_accepted(|_| ()));
}
