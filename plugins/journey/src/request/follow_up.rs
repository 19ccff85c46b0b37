//! The routes that press a button of a completed task: upscale, variations, reroll, zoom, pan, inpaint and remixes.

use garde::Validate;
use gatehouse_sdk::params::rule;
use gatehouse_sdk::{Refusal, Submission};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::action::{Action, Speed};
use crate::job::{Body, Change, Follow, Job, Press, Tile};
use crate::record::Kind;
use crate::request::engine::{self, Arguments};
use crate::request::fields::Fields;
use crate::request::parent::{Before, invalid, lacks_button};
use crate::request::pictures::refuse;
use crate::request::rules;
use crate::version::Version;

const GRID: &str = "a grid task (imagine, blend, edits, variation, reroll, ...)";
const SINGLE: &str = "one picture (this route requires an upscaled task, or `index` for a tile of a grid)";
/// The button whose dialog asks for a ratio, and so for the modal route.
const CUSTOM_ZOOM: &str = "MJ::CustomZoom";
const INPAINT: &str = "MJ::Inpaint";

/// A follow-up of one tile, or by a button.
#[derive(Debug, Deserialize, JsonSchema, Validate)]
pub(crate) struct TileParams {
    /// The completed task.
    #[garde(skip)]
    #[serde(rename = "task_id")]
    _task_id: String,
    /// The tile, 1 to 4; not needed beside `custom_id`.
    #[garde(inner(custom(rules::tile)))]
    #[schemars(range(min = 1, max = 4))]
    index: Option<i64>,
    /// One of the task's buttons; goes before `index`.
    #[garde(skip)]
    custom_id: Option<String>,
    /// `relax` (default), `fast` or `turbo`.
    #[garde(skip)]
    #[schemars(extend("default" = "relax"))]
    speed: Option<Speed>,
}

/// More of the picture around it.
#[derive(Debug, Deserialize, JsonSchema, Validate)]
pub(crate) struct ZoomParams {
    /// Below 2 the picture becomes 1.5 times as large, otherwise twice (default).
    #[garde(inner(custom(check_zoom)))]
    #[schemars(extend("exclusiveMinimum" = 0, "default" = 2))]
    zoom_ratio: Option<f64>,
}

/// Where a pan goes.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Direction {
    Left,
    Right,
    Up,
    Down,
}

/// More of the picture at one side.
#[derive(Debug, Deserialize, JsonSchema, Validate)]
pub(crate) struct PanParams {
    /// `left`, `right`, `up` or `down`; not needed beside `custom_id`.
    #[garde(skip)]
    direction: Option<Direction>,
}

/// Another picture after a tile.
#[derive(Debug, Deserialize, JsonSchema, Validate)]
pub(crate) struct RemixParams {
    /// The completed task.
    #[garde(skip)]
    #[serde(rename = "task_id")]
    _task_id: String,
    /// The tile, 1 to 4.
    #[garde(inner(custom(rules::tile)))]
    #[schemars(range(min = 1, max = 4))]
    index: Option<i64>,
    /// A new prompt; the parent's if there is none.
    #[garde(skip)]
    prompt: Option<String>,
    /// `relax` (default), `fast` or `turbo`.
    #[garde(skip)]
    #[schemars(extend("default" = "relax"))]
    speed: Option<Speed>,
}

/// For the published schema.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ZoomSchema {
    #[serde(flatten)]
    tile: TileParams,
    #[serde(flatten)]
    own: ZoomParams,
}

/// For the published schema.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct PanSchema {
    #[serde(flatten)]
    tile: TileParams,
    #[serde(flatten)]
    own: PanParams,
}

/// What a route needs: the parent it follows up, and the ids of the buttons that are its own.
struct Route {
    kind: Kind,
    expected: &'static str,
    /// How the ids of its buttons begin.
    leads: &'static [&'static str],
    /// What the client is told when the button is not there.
    what: &'static str,
}

impl Route {
    fn of(action: Action) -> Self {
        let grid = |leads, what| Self { kind: Kind::Grid, expected: GRID, leads, what };
        let single = |leads, what| Self { kind: Kind::Single, expected: SINGLE, leads, what };
        match action {
            Action::Upscale => grid(&["MJ::JOB::upsample"], "an upscale"),
            Action::Variation => grid(&["MJ::JOB::variation::"], "a variation"),
            Action::Reroll => grid(&["MJ::JOB::reroll::"], "a reroll"),
            Action::HighVariation => single(&["MJ::JOB::high_variation::"], "a strong variation"),
            Action::LowVariation => single(&["MJ::JOB::low_variation::"], "a subtle variation"),
            Action::Zoom => single(&["MJ::Outpaint::", CUSTOM_ZOOM], "a zoom"),
            Action::Pan => single(&["MJ::JOB::pan_"], "a pan"),
            _ => single(&[INPAINT], "inpainting"),
        }
    }
}

/// Every route of this file but the remixes.
pub(crate) fn press(action: Action, fields: &Fields, request: &Submission) -> Result<Job, Refusal> {
    let params: TileParams = fields.params()?;
    let route = Route::of(action);
    let button = match &params.custom_id {
        Some(_) => String::new(),
        None => prefix(action, fields, params.index)?,
    };
    let before = Before::read(request)?;
    if let Some(id) = &params.custom_id {
        let pressed = before.button_of_id(fields, id, route.leads)?;
        let press = press_of(action, before.id.clone(), pressed.custom_id.clone());
        return Ok(new_job(action, before, params.speed, Body::Press(press)));
    }
    if before.result.kind == Kind::Grid
        && route.kind == Kind::Single
        && let Some(index) = params.index
    {
        let follow = Follow { button, what: route.what.to_owned() };
        return upscale_first(action, before, params.speed, index, follow);
    }
    before.expect_kind(&[route.kind], route.expected)?;
    if before.result.buttons.is_empty()
        && matches!(action, Action::Upscale | Action::Variation | Action::Reroll)
    {
        // A server without buttons takes the action itself; it wants an index even where none counts.
        let change = Change { task: before.id.clone(), index: params.index.unwrap_or(1) };
        return Ok(new_job(action, before, params.speed, Body::Change(change)));
    }
    let pressed = before.button(&button, route.what)?.custom_id.clone();
    let press = press_of(action, before.id.clone(), pressed);
    Ok(new_job(action, before, params.speed, Body::Press(press)))
}

/// A follow-up of one picture that names a tile of a grid: the tile is upscaled first, within the same task.
fn upscale_first(
    action: Action,
    before: Before,
    speed: Option<Speed>,
    index: i64,
    follow: Follow,
) -> Result<Job, Refusal> {
    if matches!(action, Action::Zoom | Action::Pan) && before.version.is_some_and(Version::is_eight) {
        return Err(invalid(lacks_button(before.version, &follow.what)));
    }
    let upscale = before.button(&format!("MJ::JOB::upsample::{index}::"), "an upscale of that tile")?;
    let press =
        Press { task: before.id.clone(), custom_id: upscale.custom_id.clone(), remix: None, waits: false };
    let job = new_job(action, before, speed, Body::Press(press));
    Ok(Job { tile: Some(Tile::Upscaling(follow)), ..job })
}

/// How the id of the wanted button begins.
fn prefix(action: Action, fields: &Fields, index: Option<i64>) -> Result<String, Refusal> {
    let tile = || match index {
        Some(index) => Ok(index),
        None => refuse(fields, "index", "expected a tile from 1 to 4, got nothing"),
    };
    Ok(match action {
        Action::Upscale => format!("MJ::JOB::upsample::{}::", tile()?),
        Action::Variation => format!("MJ::JOB::variation::{}::", tile()?),
        Action::HighVariation => "MJ::JOB::high_variation::".to_owned(),
        Action::LowVariation => "MJ::JOB::low_variation::".to_owned(),
        Action::Reroll => "MJ::JOB::reroll::".to_owned(),
        Action::Zoom => {
            let params: ZoomParams = fields.params()?;
            let share = if params.zoom_ratio.is_some_and(|ratio| ratio < 2.0) { 75 } else { 50 };
            format!("MJ::Outpaint::{share}::")
        }
        Action::Pan => {
            let params: PanParams = fields.params()?;
            let direction = match params.direction {
                Some(Direction::Left) => "left",
                Some(Direction::Right) => "right",
                Some(Direction::Up) => "up",
                Some(Direction::Down) => "down",
                None => return refuse(fields, "direction", "expected left, right, up or down, got nothing"),
            };
            format!("MJ::JOB::pan_{direction}::")
        }
        _ => INPAINT.to_owned(),
    })
}

pub(crate) fn remix(action: Action, fields: &Fields, request: &Submission) -> Result<Job, Refusal> {
    let params: RemixParams = fields.params()?;
    let Some(index) = params.index else {
        return refuse(fields, "index", "expected a tile from 1 to 4, got nothing");
    };
    let prompt = params.prompt.as_deref().unwrap_or_default().trim();
    let arguments = engine::of_prompt(prompt, params.speed);
    let Arguments { prompt, speed, .. } = arguments.map_err(|invalid| fields.invalid(invalid))?;
    // Flags for the speed alone leave no prompt: it stays the parent's.
    let written = Some(prompt).filter(|prompt| !prompt.trim().is_empty());
    let before = Before::read(request)?;
    before.expect_kind(&[Kind::Grid, Kind::Single], "a task with pictures")?;
    if before.version.is_some_and(|version| !version.is_eight()) {
        let version = before.version.map_or("", Version::name);
        return Err(invalid(format!("expected a task of version v8.1 or v8.2, got one of {version}")));
    }
    let name = if action == Action::RemixStrong { "remix_strong" } else { "remix_subtle" };
    let button = match before.result.kind {
        Kind::Grid => before.button(&format!("MJ::JOB::{name}::{index}::"), "a remix of that tile")?,
        _ => before.button(&format!("MJ::JOB::{name}::"), "a remix")?,
    };
    let pressed =
        Press { remix: written.clone(), ..press_of(action, before.id.clone(), button.custom_id.clone()) };
    let job = new_job(action, before, Some(speed), Body::Press(pressed));
    Ok(match written {
        Some(prompt) => Job { prompt, ..job },
        None => job,
    })
}

/// A button of the task `task` of the provider.
pub(crate) fn press_of(action: Action, task: String, custom_id: String) -> Press {
    let waits = action == Action::Inpaint || custom_id.starts_with(CUSTOM_ZOOM);
    Press { task, custom_id, remix: None, waits }
}

fn new_job(action: Action, before: Before, speed: Option<Speed>, body: Body) -> Job {
    Job {
        version: before.version,
        speed: speed.unwrap_or_default(),
        picture: before.pixels(),
        prompt: before.prompt,
        account: before.account,
        ..Job::new(action, body)
    }
}

fn check_zoom(ratio: &f64, (): &()) -> garde::Result {
    rule(*ratio > 0.0, "expected a number above 0")
}
