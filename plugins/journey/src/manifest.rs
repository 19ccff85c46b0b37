//! The manifest: one model, sixteen routes and the family's own rendering, and requests with a known answer.

use gatehouse_sdk::{About, HttpRoute, Model, Parent, ParentAt, Surface, Verdict};
use serde_json::{Value, json};

use crate::action::Action;
use crate::billing::MODEL;
use crate::provider::calls::{NAME, Settings};
use crate::record::{Button, Completed, Kind, Record, Status};
use crate::request::follow_up::{PanSchema, RemixParams, TileParams, ZoomSchema};
use crate::request::modal::ModalParams;
use crate::request::parent::FIELD;
use crate::request::pictures::{BlendParams, DescribeParams, EditsSchema, ImagineSchema};
use crate::request::video::VideoParams;
use crate::version::Version;

pub(crate) fn about() -> About {
    let about = About::new("journey", env!("CARGO_PKG_VERSION"))
        .settings::<Settings>()
        .provider(NAME)
        .price_key(MODEL);
    let model = Action::ALL
        .into_iter()
        .fold(Model::new(MODEL).makes("image"), |model, action| model.serves(action.surface()));
    let about =
        Action::ALL.into_iter().fold(about.model(model), |about, action| about.surface(surface(action)));
    let read =
        HttpRoute::view("/v1/journey/{task_id}", "journey.read").summary("Read a task with its buttons");
    let about = about.route(route("generations", Action::Imagine)).route(read.tag(TAG));
    let about = Action::ALL.into_iter().fold(about, |about, action| {
        let verb = action.to_string().replace('_', "-");
        about.route(route(&format!("generations/{verb}"), action))
    });
    with_self_tests(about)
}

/// The group of its routes in the documentation.
const TAG: &str = "Journey";

fn route(path: &str, action: Action) -> HttpRoute {
    let summary = match action {
        Action::Imagine => "Draw four pictures of a text",
        Action::Blend => "Blend pictures",
        Action::Describe => "Describe a picture",
        Action::Edits => "Edit a picture by a text",
        Action::Modal => "Finish an inpaint task",
        Action::Video => "Make films of a picture",
        Action::Upscale => "Upscale of a task's picture",
        Action::Variation => "Variation of a task's picture",
        Action::HighVariation => "High variation of a task's picture",
        Action::LowVariation => "Low variation of a task's picture",
        Action::Reroll => "Reroll of a task's picture",
        Action::Zoom => "Zoom of a task's picture",
        Action::Pan => "Pan of a task's picture",
        Action::Inpaint => "Inpaint of a task's picture",
        Action::RemixStrong => "Remix strong of a task's picture",
        Action::RemixSubtle => "Remix subtle of a task's picture",
    };
    let route = HttpRoute::submit(format!("/v1/journey/{path}"), action.surface());
    route.model(MODEL).tag(TAG).summary(summary)
}

fn surface(action: Action) -> Surface {
    let name = action.surface();
    let surface = match action {
        Action::Imagine => return Surface::new::<ImagineSchema>(name).reads_links(),
        Action::Blend => return Surface::new::<BlendParams>(name),
        Action::Describe => return Surface::new::<DescribeParams>(name),
        Action::Edits => return Surface::new::<EditsSchema>(name).reads_links(),
        Action::Modal => Surface::new::<ModalParams>(name).joins(),
        Action::Video => Surface::new::<VideoParams>(name),
        Action::Zoom => Surface::new::<ZoomSchema>(name),
        Action::Pan => Surface::new::<PanSchema>(name),
        Action::RemixStrong | Action::RemixSubtle => Surface::new::<RemixParams>(name),
        _ => Surface::new::<TileParams>(name),
    };
    Surface { parent: ParentAt::Field(FIELD.to_owned()), reads_links: true, ..surface }
}

fn with_self_tests(about: About) -> About {
    let picture = "https://example.com/a.png";
    let task = "task_01KDWFAMDV000000000000000B";
    let grid_of = |version| {
        let buttons = [
            "MJ::JOB::upsample::3::aaaa",
            "MJ::JOB::variation::3::aaaa",
            "MJ::JOB::remix_strong::3::aaaa",
            "MJ::JOB::remix_subtle::3::aaaa",
            "MJ::JOB::reroll::0::aaaa::SOLO",
        ];
        parent(version, Kind::Grid, Status::Success, &buttons)
    };
    let grid = || grid_of(Version::V7);
    let single = || {
        let buttons = [
            "MJ::JOB::high_variation::1::aaaa::SOLO",
            "MJ::JOB::low_variation::1::aaaa::SOLO",
            "MJ::Inpaint::1::aaaa::SOLO",
            "MJ::Outpaint::50::1::aaaa::SOLO",
            "MJ::JOB::pan_left::1::aaaa::SOLO",
        ];
        parent(Version::V7, Kind::Single, Status::Success, &buttons)
    };
    let waiting =
        || parent(Version::V7, Kind::Single, Status::Modal, &[]).status(gatehouse_sdk::Status::Processing);
    let alone = [
        (
            Action::Imagine,
            json!({"prompt": "a red kite --ar 16:9", "version": "7", "stylize": 100}),
            Verdict::Accepted,
        ),
        (Action::Imagine, json!({"prompt": ""}), Verdict::Refused),
        (
            Action::Blend,
            json!({"image_urls": [picture, picture], "dimensions": "portrait"}),
            Verdict::Accepted,
        ),
        (Action::Blend, json!({"image_urls": [picture]}), Verdict::Refused),
        (Action::Describe, json!({"image_urls": [picture]}), Verdict::Accepted),
        (Action::Edits, json!({"prompt": "make it night", "image_urls": [picture]}), Verdict::Accepted),
        (Action::Video, json!({"image_urls": [picture], "batch_size": 2}), Verdict::Accepted),
        (Action::Video, json!({}), Verdict::Refused),
    ];
    let third = || json!({"task_id": task, "index": 3});
    let following = [
        (Action::Upscale, third(), grid(), Verdict::Accepted),
        (Action::Upscale, json!({"task_id": task, "index": 0}), grid(), Verdict::Refused),
        (Action::Upscale, third(), single(), Verdict::Refused),
        (Action::Variation, third(), grid(), Verdict::Accepted),
        (Action::HighVariation, json!({"task_id": task}), single(), Verdict::Accepted),
        (Action::LowVariation, json!({"task_id": task}), single(), Verdict::Accepted),
        (Action::RemixStrong, third(), grid_of(Version::V8_1), Verdict::Accepted),
        (Action::RemixSubtle, third(), grid_of(Version::V8_1), Verdict::Accepted),
        (Action::Reroll, json!({"task_id": task}), grid(), Verdict::Accepted),
        (Action::Zoom, json!({"task_id": task}), single(), Verdict::Accepted),
        (Action::Zoom, json!({"task_id": task}), grid(), Verdict::Refused),
        (Action::Pan, json!({"task_id": task, "direction": "left"}), single(), Verdict::Accepted),
        (Action::Inpaint, json!({"task_id": task}), single(), Verdict::Accepted),
        (Action::Modal, json!({"task_id": task, "prompt": "a hat"}), waiting(), Verdict::Accepted),
        (Action::Modal, json!({"task_id": task, "prompt": "a hat"}), single(), Verdict::Refused),
        (Action::RemixStrong, json!({"task_id": task, "index": 1}), grid(), Verdict::Refused),
    ];
    let tests = |about: About, (action, body, verdict): (Action, Value, Verdict)| {
        about.self_test(action.surface(), body, verdict)
    };
    let about = alone.into_iter().fold(about, tests);
    following.into_iter().fold(about, |about, (action, body, parent, verdict)| {
        about.self_test_of(action.surface(), body, vec![parent], verdict)
    })
}

/// A task as this family keeps it.
fn parent(version: Version, kind: Kind, status: Status, buttons: &[&str]) -> Parent {
    let button = |id: &&str| Button {
        custom_id: (*id).to_owned(),
        emoji: String::new(),
        label: String::new(),
        kind: 2,
        style: 2,
    };
    let completed = Completed {
        kind,
        count: if kind == Kind::Grid { 4 } else { 1 },
        has_grid: kind == Kind::Grid,
        buttons: buttons.iter().map(button).collect(),
        description: None,
    };
    let record = Record {
        action: if kind == Kind::Grid { Action::Imagine } else { Action::Inpaint },
        status,
        id: Some("1754200000000123".to_owned()),
        version: Some(version),
        prompt: "a red kite".to_owned(),
        result: (status == Status::Success).then_some(completed),
        picture: None,
        paid: None,
        problem: None,
        note: Value::Null,
    };
    Parent::new(MODEL, MODEL, record.to_value())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it a client's prompt leads the engine to a host that only the operator's network reaches.
    #[test]
    fn every_surface_with_a_prompt_says_that_links_in_it_are_fetched() {
        for surface in about().surfaces {
            let schema = surface.parsed_schema();
            let has_words = ["prompt", "extra"].iter().any(|field| schema["properties"].get(field).is_some());
            assert!(surface.reads_links || !has_words, "{}", surface.name);
        }
    }
}
