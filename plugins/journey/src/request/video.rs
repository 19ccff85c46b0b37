//! The video route: films of a picture, the request's own or a tile of a completed task.

use garde::Validate;
use gatehouse_sdk::params::rule;
use gatehouse_sdk::{Refusal, Submission};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::action::Action;
use crate::job::{Body, Film, Input, Job, Motion};
use crate::record::Kind;
use crate::request::engine::{self, FILM_FLAGS};
use crate::request::engine_params::is_url;
use crate::request::fields::Fields;
use crate::request::flags::Prompt;
use crate::request::parent::Before;
use crate::request::pictures::{input, refuse};
use crate::request::rules;

/// Films of a picture.
#[derive(Debug, Deserialize, JsonSchema, Validate)]
pub(crate) struct VideoParams {
    /// The first frame, one picture; needed without `task_id`, and not beside it.
    #[garde(inner(custom(one_frame)))]
    #[schemars(length(max = 1))]
    image_urls: Option<Vec<String>>,
    /// A completed task, of which `index` is the first frame.
    #[garde(skip)]
    task_id: Option<String>,
    /// The tile, counted from 0 here and only here.
    #[garde(inner(custom(rules::film_tile)))]
    #[schemars(range(min = 0, max = 3))]
    index: Option<i64>,
    /// What happens; the parent's prompt if there is none.
    #[garde(skip)]
    prompt: Option<String>,
    /// `vid_1.1_i2v_480` (default), `vid_1.1_i2v_720`, `vid_1.1_i2v_start_end_480` or `vid_1.1_i2v_start_end_720`.
    #[garde(skip)]
    #[schemars(extend("default" = "vid_1.1_i2v_480"))]
    video_type: Option<VideoType>,
    /// The last frame.
    #[garde(skip)]
    end_url: Option<String>,
    /// `manual` (default), or `auto`: the prompt is left out; needs `task_id` and `index`.
    #[garde(skip)]
    #[schemars(extend("default" = "manual"))]
    animate_mode: Option<AnimateMode>,
    /// `high` (default) or `low`.
    #[garde(skip)]
    #[schemars(extend("default" = "high"))]
    motion: Option<Motion>,
    /// How many films: 1, 2 or 4; anything else counts as 1.
    #[garde(skip)]
    #[schemars(extend("default" = 1))]
    batch_size: Option<i64>,
}

/// Resolution, and whether there is a last frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
enum VideoType {
    #[serde(rename = "vid_1.1_i2v_480")]
    Start480,
    #[serde(rename = "vid_1.1_i2v_720")]
    Start720,
    #[serde(rename = "vid_1.1_i2v_start_end_480")]
    StartEnd480,
    #[serde(rename = "vid_1.1_i2v_start_end_720")]
    StartEnd720,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum AnimateMode {
    #[default]
    Manual,
    Auto,
}

pub(crate) fn video(fields: &Fields, request: &Submission) -> Result<Job, Refusal> {
    let params: VideoParams = fields.params()?;
    let mut prompt = Prompt::read(params.prompt.as_deref().unwrap_or_default());
    let flagged = Flagged::take(&mut prompt);
    // Films have no speed, so a speed in the prompt is taken out.
    engine::take_speed(&mut prompt);
    let written = Some(prompt.write()).filter(|prompt| !prompt.trim().is_empty());
    let mode = params.animate_mode.unwrap_or_default();
    let before = params.task_id.as_ref().map(|_| Before::read(request)).transpose()?;
    if mode == AnimateMode::Auto && before.is_none() {
        return refuse(fields, "task_id", "expected a completed task for `animate_mode` auto, got nothing");
    }
    let first = first_frame(fields, &params, before.as_ref(), mode, request)?;
    let end_url = params.end_url.or(flagged.end);
    let end = end_url.map(|url| input(fields, "end_url", &url, &request.blobs)).transpose()?;
    let video_type = params.video_type.unwrap_or(VideoType::Start480);
    if matches!(video_type, VideoType::StartEnd480 | VideoType::StartEnd720) && end.is_none() {
        return refuse(fields, "end_url", "expected the last frame for this `video_type`, got nothing");
    }
    let inherited = before.as_ref().map_or("", |before| before.prompt.as_str());
    let kept = written.unwrap_or_else(|| without_flags(inherited));
    let film = Film {
        is_720p: matches!(video_type, VideoType::Start720 | VideoType::StartEnd720),
        motion: params.motion.or(flagged.motion).unwrap_or_default(),
        batch_size: match params.batch_size.or(flagged.batch_size) {
            Some(2) => 2,
            Some(4) => 4,
            _ => 1,
        },
        prompt: if mode == AnimateMode::Auto { String::new() } else { kept.clone() },
    };
    Ok(Job {
        version: before.as_ref().and_then(|before| before.version),
        prompt: kept,
        inputs: [Some(first), end].into_iter().flatten().collect(),
        account: before.and_then(|before| before.account),
        ..Job::new(Action::Video, Body::Video(film))
    })
}

/// The client's own picture, or the tile of its task.
fn first_frame(
    fields: &Fields,
    params: &VideoParams,
    before: Option<&Before>,
    mode: AnimateMode,
    request: &Submission,
) -> Result<Input, Refusal> {
    if let Some(first) = params.image_urls.as_ref().and_then(|urls| urls.first()) {
        if before.is_some() {
            return refuse(fields, "image_urls", "cannot be combined with `task_id`, got both");
        }
        return input(fields, "image_urls[0]", first, &request.blobs);
    }
    let Some(before) = before else {
        return refuse(
            fields,
            "image_urls",
            "expected the first frame, or `task_id` and `index`, got nothing",
        );
    };
    before.expect_kind(&[Kind::Grid, Kind::Single], "a task with pictures")?;
    let index = match (params.index, before.result.kind) {
        (Some(index), _) => usize::try_from(index).unwrap_or_default(),
        // There is only one.
        (None, Kind::Single) if mode == AnimateMode::Manual => 0,
        (None, _) => return refuse(fields, "index", "expected a tile from 0 to 3, got nothing"),
    };
    let index = if before.result.kind == Kind::Single { 0 } else { index };
    let picture = before.picture(index)?;
    Ok(Input { field: "task_id".to_owned(), source: picture.blob.clone().unwrap_or_default() })
}

/// Of several, one would be charged for and the others left out.
fn one_frame(urls: &[String], (): &()) -> garde::Result {
    rule(urls.len() <= 1, "expected one picture, the first frame (the last is `end_url`)")
}

/// The parent's prompt without its flags, which are those of a picture.
fn without_flags(prompt: &str) -> String {
    Prompt::read(prompt).text().to_owned()
}

/// Arguments of a film as flags of the prompt.
struct Flagged {
    motion: Option<Motion>,
    batch_size: Option<i64>,
    end: Option<String>,
}

impl Flagged {
    fn take(prompt: &mut Prompt) -> Self {
        let taken = Self {
            motion: prompt.value("motion").and_then(|motion| match motion {
                "low" => Some(Motion::Low),
                "high" => Some(Motion::High),
                _ => None,
            }),
            batch_size: prompt.value("bs").and_then(|number| number.parse().ok()),
            end: prompt.value("end").filter(|url| is_url(url)).map(str::to_owned),
        };
        FILM_FLAGS.iter().for_each(|flag| prompt.drop_flag(flag));
        taken
    }
}
