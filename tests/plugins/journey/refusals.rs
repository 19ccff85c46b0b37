//! Requests about a task that are refused at once: 400, with the field, what was expected and what came.

use gatehouse_sdk::{Parent, Status, Submission};
use gatehouse_testkit::Script;
use serde_json::{Value, json};

use crate::journey::play;
use crate::journey::support::{
    TASK, about, eight, eight_buttons, grid, grid_buttons, parent, record, single, single_buttons,
};

fn refused(surface: &str, fields: Value, parent: Parent, field: &str, problem: &str) {
    let body = crate::over(json!({"task_id": TASK}), fields);
    let message = format!("`{field}`: {problem}");
    play(&Script::new().submit_whole(about(surface, body, parent)).expect_refused(field, &message));
}

/// A surface, a body that is good for the parent, and the parent.
type Route = (&'static str, Value, fn() -> Parent);

/// Routes of one button, with a body that is good for the right parent.
fn routes() -> [Route; 10] {
    [
        ("journey.upscale", json!({"index": 1}), grid),
        ("journey.variation", json!({"index": 1}), grid),
        ("journey.reroll", json!({}), grid),
        ("journey.high_variation", json!({}), single),
        ("journey.low_variation", json!({}), single),
        ("journey.zoom", json!({}), single),
        ("journey.pan", json!({"direction": "up"}), single),
        ("journey.inpaint", json!({}), single),
        ("journey.remix_strong", json!({"index": 1}), eight),
        ("journey.remix_subtle", json!({"index": 1}), eight),
    ]
}

#[test]
fn the_parent_must_be_named() {
    for (surface, mut body, _) in routes() {
        let check = |body: Value, problem: &str| {
            let message = format!("`task_id`: {problem}");
            play(&Script::new().submit(surface, body).expect_refused("task_id", &message));
        };
        check(body.clone(), "expected a value, got nothing");
        body["task_id"] = json!(7);
        check(body.clone(), "expected a string, got 7");
        body["task_id"] = json!([TASK]);
        check(body.clone(), "expected a string, got an array of 1");
        body["task_id"] = json!("");
        check(body.clone(), "expected the id of a completed task, got an empty string");
    }
}

#[test]
fn the_parent_must_be_completed_and_of_this_family() {
    for (surface, body, good) in
        routes().into_iter().chain([("journey.video", json!({"index": 0}), grid as fn() -> Parent)])
    {
        for (status, word) in [
            (Status::Submitted, "submitted"),
            (Status::Pending, "pending"),
            (Status::Processing, "processing"),
            (Status::Failed, "failed"),
        ] {
            let problem = format!("expected a completed task, got one that is {word}");
            refused(surface, body.clone(), good().status(status), "task_id", &problem);
        }
        let foreign = Parent { family: "context-image".to_owned(), model: "ctx-pro".to_owned(), ..good() };
        let problem = "expected a journey task, got one of the model ctx-pro";
        refused(surface, body.clone(), foreign, "task_id", problem);
        let without = Parent { private: Value::Null, ..good() };
        let problem = "expected a task that can be followed up, got one without a result";
        refused(surface, body, without, "task_id", problem);
    }
}

#[test]
fn the_parent_must_be_of_the_right_kind() {
    let films = || parent(record("films", "", &[]));
    let text = || parent(record("text", "", &[]));
    let a_grid = "expected a grid task (imagine, blend, edits, variation, reroll, ...), got";
    let a_single =
        "expected one picture (this route requires an upscaled task, or `index` for a tile of a grid), got";
    for (surface, body, good) in routes() {
        let remix = surface.contains("remix");
        let wants_grid = good() == grid();
        let expected = match (remix, wants_grid) {
            (true, _) => "expected a task with pictures, got",
            (false, true) => a_grid,
            (false, false) => a_single,
        };
        refused(surface, body.clone(), films(), "task_id", &format!("{expected} a video"));
        refused(surface, body.clone(), text(), "task_id", &format!("{expected} a description"));
        if !remix && wants_grid {
            refused(surface, body, single(), "task_id", &format!("{a_grid} a single picture"));
        } else if !remix {
            refused(surface, body, grid(), "task_id", &format!("{a_single} a grid of four"));
        }
    }
    let pictures = "expected a task with pictures, got";
    refused("journey.video", json!({"index": 0}), films(), "task_id", &format!("{pictures} a video"));
    refused("journey.video", json!({"index": 0}), text(), "task_id", &format!("{pictures} a description"));
}

#[test]
fn the_version_must_have_the_button() {
    let lacks = |what: &str, version: &str| {
        format!("expected a task with the button for {what}, which {version} does not offer for this one")
    };
    refused("journey.zoom", json!({}), eight(), "task_id", &lacks("a zoom", "v8.1"));
    refused("journey.pan", json!({"direction": "up"}), eight(), "task_id", &lacks("a pan", "v8.1"));
    let bare = || parent(record("single", "", &[]));
    for (surface, what) in [
        ("journey.high_variation", "a strong variation"),
        ("journey.low_variation", "a subtle variation"),
        ("journey.zoom", "a zoom"),
        ("journey.inpaint", "inpainting"),
    ] {
        refused(surface, json!({}), bare(), "task_id", &lacks(what, "its version"));
    }
    let two = parent(record("grid", "v7", &grid_buttons()[..2]));
    refused("journey.upscale", json!({"index": 3}), two.clone(), "task_id", &lacks("an upscale", "v7"));
    refused("journey.variation", json!({"index": 1}), two.clone(), "task_id", &lacks("a variation", "v7"));
    refused("journey.reroll", json!({}), two, "task_id", &lacks("a reroll", "v7"));
    // A tile of a grid is upscaled first, which some versions and tasks have no button for.
    let of_tile = json!({"index": 3, "direction": "up"});
    for (surface, what) in [("journey.zoom", "a zoom"), ("journey.pan", "a pan")] {
        let newer = parent(record("grid", "v8.1", &grid_buttons()));
        refused(surface, of_tile.clone(), newer, "task_id", &lacks(what, "v8.1"));
    }
    let two = parent(record("grid", "v7", &grid_buttons()[..2]));
    refused("journey.inpaint", of_tile, two, "task_id", &lacks("an upscale of that tile", "v7"));
    let none = parent(record("single", "v8.2", &eight_buttons()[..3]));
    refused("journey.remix_strong", json!({"index": 1}), none, "task_id", &lacks("a remix", "v8.2"));
}

#[test]
fn remixes_are_for_version_8_only() {
    let problem = "expected a task of version v8.1 or v8.2, got one of v7";
    for surface in ["journey.remix_strong", "journey.remix_subtle"] {
        refused(surface, json!({"index": 1}), single(), "task_id", problem);
        refused(surface, json!({"index": 1}), grid(), "task_id", problem);
        for version in ["v6.1", "v5.2", "v5.1", "niji7", "niji6"] {
            let problem = format!("expected a task of version v8.1 or v8.2, got one of {version}");
            refused(surface, json!({"index": 1}), parent(record("grid", version, &[])), "task_id", &problem);
        }
        refused(surface, json!({}), eight(), "index", "expected a tile from 1 to 4, got nothing");
        refused(surface, json!({"index": 1, "prompt": 7}), eight(), "prompt", "expected a string, got 7");
    }
}

#[test]
fn tiles_are_counted_from_1_and_by_video_from_0() {
    let tiles = "expected a tile from 1 to 4 (only `video` counts tiles from 0), got";
    for (surface, good) in [
        ("journey.upscale", grid as fn() -> Parent),
        ("journey.variation", grid),
        ("journey.high_variation", single),
        ("journey.low_variation", single),
        ("journey.zoom", single),
        ("journey.inpaint", single),
        ("journey.remix_strong", eight),
    ] {
        for index in [0, 5, -1] {
            refused(surface, json!({"index": index}), good(), "index", &format!("{tiles} {index}"));
        }
        refused(surface, json!({"index": "1"}), good(), "index", "expected an integer, got the string \"1\"");
        refused(surface, json!({"index": 1.5}), good(), "index", "expected an integer, got 1.5");
    }
    for surface in ["journey.upscale", "journey.variation"] {
        refused(surface, json!({}), grid(), "index", "expected a tile from 1 to 4, got nothing");
    }
    let frames = "expected a tile from 0 to 3 (`video` counts tiles from 0, every other route from 1), got";
    for index in [4, -1] {
        refused("journey.video", json!({"index": index}), grid(), "index", &format!("{frames} {index}"));
    }
    refused("journey.video", json!({}), grid(), "index", "expected a tile from 0 to 3, got nothing");
    let auto = json!({"animate_mode": "auto"});
    let both = json!({"index": 0, "image_urls": ["https://pictures.example.com/a.png"]});
    let why = "cannot be combined with `task_id`, got both";
    refused("journey.video", both, grid(), "image_urls", why);
    refused("journey.video", auto, single(), "index", "expected a tile from 0 to 3, got nothing");
}

#[test]
fn a_button_must_be_the_parents_and_the_routes() {
    let unknown = "expected a button of the task, got the string \"MJ::JOB::upsample::1::zzzz\"";
    for (surface, _, good) in routes().into_iter().filter(|(surface, ..)| !surface.contains("remix")) {
        let body = json!({"custom_id": "MJ::JOB::upsample::1::zzzz"});
        refused(surface, body, good(), "custom_id", unknown);
    }
    let body = json!({"customId": "MJ::JOB::reroll::0::aaaa::SOLO"});
    let problem = "expected a button for this route (`MJ::JOB::upsample...`), got the string \
                   \"MJ::JOB::reroll::0::aaaa::SOLO\"";
    refused("journey.upscale", body, grid(), "customId", problem);
    let body = json!({"custom_id": "MJ::BOOKMARK::bbbb"});
    let problem = "expected a button for this route (`MJ::Outpaint::...`, `MJ::CustomZoom...`), got the string \
                   \"MJ::BOOKMARK::bbbb\"";
    refused("journey.zoom", body, single(), "custom_id", problem);
    refused("journey.zoom", json!({"custom_id": 7}), single(), "custom_id", "expected a string, got 7");
}

#[test]
fn fields_of_single_routes_are_checked() {
    refused(
        "journey.zoom",
        json!({"zoom_ratio": "2"}),
        single(),
        "zoom_ratio",
        "expected a number, got the string \"2\"",
    );
    refused(
        "journey.zoom",
        json!({"zoom_ratio": 0}),
        single(),
        "zoom_ratio",
        "expected a number above 0, got 0",
    );
    refused("journey.pan", json!({}), single(), "direction", "expected left, right, up or down, got nothing");
    refused(
        "journey.pan",
        json!({"direction": "north"}),
        single(),
        "direction",
        "expected one of `left`, `right`, `up`, `down`, got the string \"north\"",
    );
    for (surface, body, good) in routes() {
        let mut body = body;
        body["speed"] = json!("slow");
        let problem = "expected one of `relax`, `fast`, `turbo`, got the string \"slow\"";
        refused(surface, body, good(), "speed", problem);
    }
}

#[test]
fn pictures_whose_links_have_ended_cannot_become_films() {
    let mut gone = grid();
    gone.media.pop();
    let problem = "expected a task whose pictures are still kept, got one whose links have ended";
    refused("journey.video", json!({"index": 0}), gone, "task_id", problem);
    assert_eq!(single_buttons().len(), 13);
}

#[test]
fn an_unknown_surface_is_no_route() {
    let script = Script::new().submit_whole(Submission::new("journey.imagine", json!("text")));
    play(&script.expect_refused("", "expected a JSON object, got the string \"text\""));
}
