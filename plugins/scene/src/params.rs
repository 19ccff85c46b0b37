//! The family's parameters, as the specification lists them: shape, rules and published schema. Unknown fields are ignored.

use garde::Validate;
use gatehouse_sdk::params::not_blank;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::sources;
use crate::words::{Aspect, Model, People, Resize, Resolution};

/// The largest seed (spec).
const MAX_SEED: i64 = 4_294_967_295;

/// A video from a text, or from its first and maybe last picture.
#[derive(Debug, Deserialize, JsonSchema, Validate)]
#[schemars(rename = "Scene")]
pub(crate) struct VideoParams {
    /// The model.
    #[garde(skip)]
    pub(crate) model: Model,
    /// What is to be seen; English is understood best.
    #[garde(custom(not_blank))]
    pub(crate) prompt: String,
    /// What should not be seen.
    #[garde(skip)]
    pub(crate) negative_prompt: Option<String>,
    /// Seconds: 4, 6 or 8 (default).
    #[garde(custom(known_length))]
    pub(crate) duration: Option<i64>,
    /// `16:9` by default.
    #[garde(skip)]
    pub(crate) aspect_ratio: Option<Aspect>,
    /// `720p` by default.
    #[garde(skip)]
    pub(crate) resolution: Option<Resolution>,
    /// The first picture: a public http(s) URL or a `data:` URI of a JPEG or PNG of at most 20 MB. Makes it image-to-video.
    #[garde(inner(custom(sources::check)))]
    pub(crate) first_frame_image: Option<String>,
    /// The last picture; together with the first one only.
    #[garde(inner(custom(sources::check)))]
    pub(crate) last_frame_image: Option<String>,
    /// The same seed gives a similar video.
    #[garde(range(min = 0, max = MAX_SEED))]
    pub(crate) seed: Option<i64>,
    /// Whether there is sound; `false` by default.
    #[garde(skip)]
    pub(crate) generate_audio: Option<bool>,
    /// `allow_adult` by default.
    #[garde(skip)]
    pub(crate) person_generation: Option<People>,
    /// How an image of another ratio is made to fit, `pad` by default; with an image only.
    #[garde(skip)]
    pub(crate) resize_mode: Option<Resize>,
    /// `true`, which is the default: the prompt is always improved.
    #[garde(custom(only_true))]
    pub(crate) enhance_prompt: Option<bool>,
    /// How many videos are made: 1 (default) to 4.
    #[garde(range(min = 1, max = 4))]
    pub(crate) sample_count: Option<i64>,
    /// Another name for `sample_count`.
    #[garde(range(min = 1, max = 4))]
    pub(crate) n: Option<i64>,
}

/// The continuation of a finished video by 7 seconds.
#[derive(Debug, Deserialize, JsonSchema, Validate)]
#[schemars(rename = "SceneRemix")]
pub(crate) struct RemixParams {
    /// The model of the original, under any of its names.
    #[garde(skip)]
    pub(crate) model: Model,
    /// What happens next.
    #[garde(custom(not_blank))]
    pub(crate) prompt: String,
    /// Only the new part, `false` by default: the original and the new part together.
    #[garde(skip)]
    pub(crate) raw: Option<bool>,
    /// That of the original.
    #[garde(skip)]
    pub(crate) aspect_ratio: Option<Aspect>,
    /// `720p` by default.
    #[garde(skip)]
    pub(crate) resolution: Option<Resolution>,
}

fn known_length(seconds: &Option<i64>, (): &()) -> garde::Result {
    match seconds {
        None | Some(4 | 6 | 8) => Ok(()),
        Some(_) => Err(garde::Error::new("expected 4, 6 or 8 (seconds)")),
    }
}

fn only_true(wanted: &Option<bool>, (): &()) -> garde::Result {
    match wanted {
        None | Some(true) => Ok(()),
        Some(false) => Err(garde::Error::new("expected true or nothing, as the prompt is always improved")),
    }
}
