//! The routes that press a button: which one, at which account, and the inherited version and prompt.

use gatehouse_sdk::{Blame, Parent, Product, Stage, Target};
use gatehouse_testkit::Script;
use serde_json::{Value, json};

use crate::journey::play;
use crate::journey::support::{
    ID, PARENT_ID, TASK, about, button, dialog, eight, eight_buttons, finished, first_poll, grid,
    grid_buttons, parent, record, remote, single, single_buttons, taken,
};

/// Submitted about that parent, started, and the call has that path and body.
fn pressed(surface: &str, fields: Value, parent: Parent, path: &'static str, body: Value) -> Script {
    let sent = crate::over(json!({"task_id": TASK}), fields);
    Script::new()
        .submit_whole(about(surface, sent, parent))
        .expect_accepted(|accepted| assert_eq!(accepted.model, "journey"))
        .start()
        .expect_call(move |call| {
            assert_eq!(call.target, Target::Path(path.to_owned()));
            assert_eq!(call.json_body(), body);
            assert_eq!(call.affinity.as_deref(), Some("account-7"), "the account that made the parent");
        })
}

fn press(custom_id: &str) -> Value {
    json!({"taskId": PARENT_ID, "customId": custom_id, "chooseSameChannel": true})
}

const RELAX: &str = "/mj-relax/mj/submit/action";

#[test]
fn every_route_presses_its_button() {
    for (surface, fields, parent, custom_id) in [
        ("journey.upscale", json!({"index": 1}), grid(), "MJ::JOB::upsample::1::aaaa"),
        ("journey.upscale", json!({"index": 3}), grid(), "MJ::JOB::upsample::3::aaaa"),
        ("journey.upscale", json!({"index": 4}), grid(), "MJ::JOB::upsample::4::aaaa"),
        ("journey.variation", json!({"index": 2}), grid(), "MJ::JOB::variation::2::aaaa"),
        ("journey.reroll", json!({}), grid(), "MJ::JOB::reroll::0::aaaa::SOLO"),
        ("journey.high_variation", json!({}), single(), "MJ::JOB::high_variation::1::bbbb::SOLO"),
        ("journey.low_variation", json!({"index": 4}), single(), "MJ::JOB::low_variation::1::bbbb::SOLO"),
        ("journey.zoom", json!({}), single(), "MJ::Outpaint::50::1::bbbb::SOLO"),
        ("journey.zoom", json!({"zoom_ratio": 2}), single(), "MJ::Outpaint::50::1::bbbb::SOLO"),
        ("journey.zoom", json!({"zoom_ratio": 3.5}), single(), "MJ::Outpaint::50::1::bbbb::SOLO"),
        ("journey.zoom", json!({"zoom_ratio": 1.99}), single(), "MJ::Outpaint::75::1::bbbb::SOLO"),
        ("journey.pan", json!({"direction": "left"}), single(), "MJ::JOB::pan_left::1::bbbb::SOLO"),
        ("journey.pan", json!({"direction": "right"}), single(), "MJ::JOB::pan_right::1::bbbb::SOLO"),
        ("journey.pan", json!({"direction": "up"}), single(), "MJ::JOB::pan_up::1::bbbb::SOLO"),
        (
            "journey.pan",
            json!({"metadata": {"direction": "down"}}),
            single(),
            "MJ::JOB::pan_down::1::bbbb::SOLO",
        ),
        ("journey.inpaint", json!({}), single(), "MJ::Inpaint::1::bbbb::SOLO"),
        ("journey.inpaint", json!({}), eight(), "MJ::Inpaint::1::cccc::SOLO"),
        ("journey.remix_strong", json!({"index": 1}), eight(), "MJ::JOB::remix_strong::1::cccc"),
        ("journey.remix_subtle", json!({"index": 3}), eight(), "MJ::JOB::remix_subtle::1::cccc"),
    ] {
        let script = pressed(surface, fields, parent, RELAX, press(custom_id));
        if surface == "journey.inpaint" {
            play(&script.reply(200, dialog()).expect_wait(|_| ()));
        } else {
            play(&first_poll(script));
        }
    }
}

#[test]
fn a_button_of_the_task_goes_before_an_index() {
    for (surface, fields, parent, custom_id) in [
        (
            "journey.upscale",
            json!({"custom_id": "MJ::JOB::upsample_v7_2x_subtle::1::bbbb::SOLO"}),
            single(),
            "MJ::JOB::upsample_v7_2x_subtle::1::bbbb::SOLO",
        ),
        (
            "journey.upscale",
            json!({"index": 3, "custom_id": "MJ::JOB::upsample::2::aaaa"}),
            grid(),
            "MJ::JOB::upsample::2::aaaa",
        ),
        (
            "journey.variation",
            json!({"customId": "MJ::JOB::variation::4::aaaa"}),
            grid(),
            "MJ::JOB::variation::4::aaaa",
        ),
        (
            "journey.pan",
            json!({"direction": "left", "customId": "MJ::JOB::pan_up::1::bbbb::SOLO"}),
            single(),
            "MJ::JOB::pan_up::1::bbbb::SOLO",
        ),
    ] {
        play(&pressed(surface, fields, parent, RELAX, press(custom_id)));
    }
}

#[test]
fn a_follow_up_has_a_speed_of_its_own() {
    let body = press("MJ::JOB::upsample::1::aaaa");
    for (fields, path) in [
        (json!({"index": 1, "speed": "fast"}), "/mj-fast/mj/submit/action"),
        (json!({"index": 1, "metadata": {"speed": "turbo"}}), "/mj-turbo/mj/submit/action"),
    ] {
        play(&pressed("journey.upscale", fields, grid(), path, body.clone()));
    }
}

#[test]
fn a_remix_with_a_prompt_finishes_its_dialog_by_itself() {
    let mut body = press("MJ::JOB::remix_strong::1::cccc");
    body["enableRemix"] = json!(true);
    let fields = json!({"index": 1, "prompt": "a blue kite --fast"});
    let script = pressed("journey.remix_strong", fields, eight(), "/mj-fast/mj/submit/action", body)
        .reply(200, dialog())
        .expect_call(|call| {
            assert_eq!(call.target, Target::Path("/mj-fast/mj/submit/modal".to_owned()));
            assert_eq!(call.json_body(), json!({"taskId": ID, "prompt": "a blue kite"}));
        })
        .reply(200, taken())
        .expect_view(|view| assert_eq!(view.private["prompt"], "a blue kite"))
        .expect_wait(|_| ());
    play(&script);
}

/// Servers between make an ordinary answer of the dialog, and only the record says MODAL. Without it the parent's prompt is
/// drawn again, and paid.
#[test]
fn a_remix_whose_dialog_comes_late_keeps_its_prompt() {
    let mut body = press("MJ::JOB::remix_strong::1::cccc");
    body["enableRemix"] = json!(true);
    let fields = json!({"index": 1, "prompt": "a blue kite --fast"});
    let script = pressed("journey.remix_strong", fields, eight(), "/mj-fast/mj/submit/action", body);
    let script = first_poll(script).reply(200, remote("MODAL", Value::Null)).expect_call(|call| {
        assert_eq!(call.target, Target::Path("/mj-fast/mj/submit/modal".to_owned()));
        assert_eq!(call.json_body(), json!({"taskId": ID, "prompt": "a blue kite"}));
    });
    play(&first_poll(script));
}

/// Without it the dialog is asked for an empty prompt, and the task forgets its parent's.
#[test]
fn a_remix_with_nothing_but_a_speed_has_the_parents_prompt() {
    for prompt in ["--turbo", " --fast --turbo "] {
        let fields = json!({"index": 1, "prompt": prompt});
        let button = press("MJ::JOB::remix_subtle::1::cccc");
        let script = pressed("journey.remix_subtle", fields, eight(), "/mj-turbo/mj/submit/action", button)
            .reply(200, taken())
            .expect_view(|view| assert_eq!(view.private["prompt"], "a red kite --ar 16:9 --v 7"))
            .expect_wait(|_| ());
        play(&script);
    }
}

#[test]
fn a_remix_of_a_grid_presses_the_button_of_the_tile() {
    let buttons = ["MJ::JOB::remix_subtle::1::d", "MJ::JOB::remix_subtle::2::d"].map(|id| button(id, ""));
    let of = |version: &str| parent(record("grid", version, &buttons));
    for version in ["v8.1", "v8.2", ""] {
        let pressed = pressed(
            "journey.remix_subtle",
            json!({"index": 2}),
            of(version),
            RELAX,
            press("MJ::JOB::remix_subtle::2::d"),
        );
        play(&pressed);
    }
}

/// The account has its remix mode on: the provider asks for a prompt, and the parent's is what was meant.
#[test]
fn a_dialog_that_nobody_asked_for_is_finished_at_once() {
    let script = pressed(
        "journey.variation",
        json!({"index": 1}),
        grid(),
        RELAX,
        press("MJ::JOB::variation::1::aaaa"),
    )
    .reply(200, dialog())
    .expect_call(|call| assert_eq!(call.json_body(), json!({"taskId": ID, "prompt": ""})));
    play(&first_poll(script));
}

#[test]
fn a_server_without_buttons_gets_the_action() {
    let bare = || parent(record("grid", "", &[]));
    for (surface, fields, action, index) in [
        ("journey.upscale", json!({"index": 3}), "UPSCALE", 3),
        ("journey.variation", json!({"index": 2}), "VARIATION", 2),
        ("journey.reroll", json!({}), "REROLL", 1),
    ] {
        let body = json!({"taskId": PARENT_ID, "action": action, "index": index});
        play(&first_poll(pressed(surface, fields, bare(), "/mj-relax/mj/submit/change", body)));
    }
}

#[test]
fn version_and_prompt_are_the_parents() {
    let script = pressed("journey.reroll", json!({}), grid(), RELAX, press("MJ::JOB::reroll::0::aaaa::SOLO"))
        .reply(200, taken())
        .expect_view(|view| {
            assert_eq!(view.private["version"], "v7");
            assert_eq!(view.private["prompt"], "a red kite --ar 16:9 --v 7");
            assert_eq!(view.private["action"], "reroll");
        })
        .expect_wait(|_| ());
    play(&script);
    assert_eq!(grid_buttons().len(), 9);
}

#[test]
fn a_film_of_a_tile_is_made_of_the_tiles_own_file() {
    for (fields, parent, image, prompt) in [
        (json!({"index": 0}), grid(), "blob:tile-0", "a red kite"),
        (json!({"index": 3, "prompt": "it flies"}), grid(), "blob:tile-3", "it flies"),
        (json!({"index": 2, "animate_mode": "auto"}), grid(), "blob:tile-2", "natural motion"),
        (json!({}), single(), "blob:tile-0", "a red kite"),
        (json!({"index": 2}), single(), "blob:tile-0", "a red kite"),
        (json!({"index": 1, "image_urls": []}), grid(), "blob:tile-1", "a red kite"),
    ] {
        let sent = crate::over(json!({"task_id": TASK}), fields);
        let script = Script::new()
            .submit_whole(about("journey.video", sent, parent))
            .expect_accepted(|_| ())
            .start()
            .expect_probe(move |probes| assert_eq!(probes[0].source, image))
            .probed([Ok(gatehouse_testkit::picture(640, 480, image))])
            .expect_call(move |call| {
                let body = call.json_body();
                assert_eq!((&body["image"], &body["prompt"]), (&json!(image), &json!(prompt)));
                assert_eq!(body["taskId"], Value::Null, "an id would ask for an extension");
                assert_eq!(call.affinity.as_deref(), Some("account-7"));
            });
        play(&script);
    }
}

/// A grid with the buttons of the tile's upscale; the upscaled picture has those of a single.
fn upscaled() -> Value {
    finished(json!({"id": ID, "action": "UPSCALE", "imageUrl": UPSCALED, "buttons": single_buttons()}))
}

const UPSCALED: &str = "https://cdn.discordapp.com/up.png";
/// The provider's id of the second part.
const SECOND: &str = "1754200000000456";

/// Without it a client would have to upscale each tile by a request of its own, which costs again.
#[test]
fn a_follow_up_of_a_tile_upscales_it_within_the_task() {
    for (surface, fields, action, button) in [
        (
            "journey.high_variation",
            json!({"index": 2}),
            "high_variation",
            "MJ::JOB::high_variation::1::bbbb::SOLO",
        ),
        (
            "journey.low_variation",
            json!({"index": 2}),
            "low_variation",
            "MJ::JOB::low_variation::1::bbbb::SOLO",
        ),
        ("journey.zoom", json!({"index": 2, "zoom_ratio": 1.5}), "zoom", "MJ::Outpaint::75::1::bbbb::SOLO"),
        ("journey.pan", json!({"index": 2, "direction": "up"}), "pan", "MJ::JOB::pan_up::1::bbbb::SOLO"),
    ] {
        let path = "/mj-fast/mj/submit/action";
        let mut fields = fields;
        fields["speed"] = json!("fast");
        let script = pressed(surface, fields, grid(), path, press("MJ::JOB::upsample::2::aaaa"));
        let script = first_poll(script)
            .reply(200, remote("IN_PROGRESS", json!("60%")))
            .expect_wait(|_| ())
            .expect_progress(30)
            .timer()
            .expect_call(|_| ())
            .reply(200, upscaled())
            .expect_call(move |call| {
                assert_eq!(call.target, Target::Path(path.to_owned()));
                let body = json!({"taskId": ID, "customId": button, "chooseSameChannel": true});
                assert_eq!(call.json_body(), body);
                assert_eq!(call.affinity.as_deref(), Some("account-7"));
            })
            .expect_stage(Stage::Processing)
            .reply(200, json!({"code": 22, "description": "queued", "result": SECOND}))
            .expect_view(|view| assert_eq!(view.private["status"], "IN_PROGRESS", "it never goes back"))
            .expect_wait(|_| ())
            .expect_progress(50)
            .timer()
            .expect_call(|call| assert_eq!(call.target, Target::Path(format!("/mj/task/{SECOND}/fetch"))))
            .reply(200, remote("IN_PROGRESS", json!("60%")))
            .expect_wait(|_| ())
            .expect_progress(80)
            .timer()
            .expect_call(|_| ())
            .reply(200, finished(json!({"id": SECOND})))
            .expect_done(move |outcome| {
                assert_eq!(outcome.private["action"], action);
                assert_eq!((&outcome.private["id"], outcome.settle.is_none()), (&json!(SECOND), true));
                assert_eq!(outcome.products.len(), 5);
            });
        play(&script);
    }
}

/// Without it the client could not say where to paint: it has never seen the upscaled tile.
#[test]
fn inpainting_a_tile_shows_it() {
    let script =
        pressed("journey.inpaint", json!({"index": 3}), grid(), RELAX, press("MJ::JOB::upsample::3::aaaa"));
    let script = first_poll(script)
        .reply(200, upscaled())
        .expect_call(|call| assert_eq!(call.json_body()["customId"], "MJ::Inpaint::1::bbbb::SOLO"))
        .reply(200, json!({"code": 21, "description": "Waiting for window confirm", "result": SECOND}))
        .expect_view(|view| {
            assert_eq!(view.private["status"], "MODAL");
            assert_eq!(view.products, [Product::new(UPSCALED)]);
            let images = json!([{"url": ["media:0"], "expires_at": "expires:0"}]);
            assert_eq!(view.public, json!({"images": images, "waiting_for": "modal"}));
        })
        .expect_wait(|_| ())
        .lost("gone")
        .expect_view(|view| assert_eq!(view.public, json!({"waiting_for": "modal"})))
        .expect_wait(|_| ());
    play(&script);
}

/// Without it a task whose upscaled picture lacks the button would wait for ever.
#[test]
fn an_upscaled_tile_without_the_button_fails_with_the_reason() {
    let unknown = || parent(record("grid", "", &grid_buttons()));
    let script =
        pressed("journey.zoom", json!({"index": 1}), unknown(), RELAX, press("MJ::JOB::upsample::1::aaaa"));
    let bare = finished(json!({"action": "UPSCALE", "buttons": eight_buttons()}));
    let message = "expected a task with the button for a zoom, which its version does not offer for this one";
    play(&first_poll(script).reply(200, bare).expect_fail(Blame::Request, message));
}
