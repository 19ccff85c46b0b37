//! The family's parameters, as the specification lists them: shape, rules and published schema. Unknown fields are ignored.

use garde::Validate;
use gatehouse_sdk::params::{link_or_file, not_blank, rule, unsupported};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

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
    #[schemars(regex(pattern = r"\S"))]
    pub(crate) prompt: String,
    /// What should not be seen.
    #[garde(skip)]
    pub(crate) negative_prompt: Option<String>,
    /// Seconds: 4, 6 or 8 (default).
    #[garde(inner(custom(known_length)))]
    #[schemars(extend("enum" = [4, 6, 8, null], "default" = 8))]
    pub(crate) duration: Option<i64>,
    /// `16:9` by default.
    #[garde(skip)]
    #[schemars(extend("default" = "16:9"))]
    pub(crate) aspect_ratio: Option<Aspect>,
    /// Another name for `aspect_ratio`.
    #[garde(skip)]
    pub(crate) size: Option<Aspect>,
    /// `720p` by default.
    #[garde(skip)]
    #[schemars(extend("default" = "720p"))]
    pub(crate) resolution: Option<Resolution>,
    /// The first picture: a public http(s) URL or a `data:` URI of a JPEG or PNG of at most 20 MB. Makes it image-to-video.
    #[garde(inner(custom(link_or_file)))]
    pub(crate) first_frame_image: Option<String>,
    /// The last picture; together with the first one only.
    #[garde(inner(custom(link_or_file)))]
    pub(crate) last_frame_image: Option<String>,
    /// The same seed gives a similar video.
    #[garde(range(min = 0, max = MAX_SEED))]
    pub(crate) seed: Option<i64>,
    /// Whether there is sound; `false` by default.
    #[garde(skip)]
    #[schemars(extend("default" = false))]
    pub(crate) generate_audio: Option<bool>,
    /// `allow_adult` by default.
    #[garde(skip)]
    #[schemars(extend("default" = "allow_adult"))]
    pub(crate) person_generation: Option<People>,
    /// How an image of another ratio is made to fit, `pad` by default; with an image only.
    #[garde(skip)]
    #[schemars(extend("default" = "pad"))]
    pub(crate) resize_mode: Option<Resize>,
    /// `true`, which is the default: the prompt is always improved.
    #[garde(inner(custom(only_true)))]
    #[schemars(extend("enum" = [true, null], "default" = true))]
    pub(crate) enhance_prompt: Option<bool>,
    /// How many videos are made: 1 (default) to 4.
    #[garde(range(min = 1, max = 4))]
    #[schemars(extend("default" = 1))]
    pub(crate) sample_count: Option<i64>,
    /// Another name for `sample_count`.
    #[garde(range(min = 1, max = 4))]
    pub(crate) n: Option<i64>,
    #[garde(custom(unsupported("use `first_frame_image` and `last_frame_image`")))]
    #[schemars(skip)]
    image_urls: Option<Value>,
    #[garde(custom(unsupported("use `first_frame_image` and `last_frame_image`")))]
    #[schemars(skip)]
    image_with_roles: Option<Value>,
    #[garde(custom(unsupported("POST /v1/videos/{task_id}/remix continues a finished video")))]
    #[schemars(skip)]
    video_urls: Option<Value>,
    #[garde(custom(unsupported("`generate_audio` makes the sound")))]
    #[schemars(skip)]
    audio_url: Option<Value>,
    #[garde(custom(unsupported("`generate_audio` makes the sound")))]
    #[schemars(skip)]
    audio_urls: Option<Value>,
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
    #[schemars(regex(pattern = r"\S"))]
    pub(crate) prompt: String,
    /// Only the new part, `false` by default: the original and the new part together.
    #[garde(skip)]
    #[schemars(extend("default" = false))]
    pub(crate) raw: Option<bool>,
    /// That of the original.
    #[garde(skip)]
    pub(crate) aspect_ratio: Option<Aspect>,
    /// Another name for `aspect_ratio`.
    #[garde(skip)]
    pub(crate) size: Option<Aspect>,
    /// `720p` by default.
    #[garde(skip)]
    #[schemars(extend("default" = "720p"))]
    pub(crate) resolution: Option<Resolution>,
    #[garde(custom(unsupported("the original is the task in the path")))]
    #[schemars(skip)]
    first_frame_image: Option<Value>,
    #[garde(custom(unsupported("the original is the task in the path")))]
    #[schemars(skip)]
    last_frame_image: Option<Value>,
    #[garde(custom(unsupported("the original is the task in the path")))]
    #[schemars(skip)]
    image_urls: Option<Value>,
    #[garde(custom(unsupported("the original is the task in the path")))]
    #[schemars(skip)]
    image_with_roles: Option<Value>,
    #[garde(custom(unsupported("the original is the task in the path")))]
    #[schemars(skip)]
    video_urls: Option<Value>,
    #[garde(custom(unsupported("the sound is that of the original")))]
    #[schemars(skip)]
    audio_url: Option<Value>,
    #[garde(custom(unsupported("the sound is that of the original")))]
    #[schemars(skip)]
    audio_urls: Option<Value>,
}

fn known_length(seconds: &i64, (): &()) -> garde::Result {
    rule(matches!(seconds, 4 | 6 | 8), "expected 4, 6 or 8 (seconds)")
}

fn only_true(wanted: &bool, (): &()) -> garde::Result {
    rule(*wanted, "expected true or nothing, as the prompt is always improved")
}
