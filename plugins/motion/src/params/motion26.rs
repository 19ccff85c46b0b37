//! The parameters of motion-2.6.

use std::fmt;

use garde::Validate;
use gatehouse_sdk::params::{link_or_file, rule, unsupported};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{MAX_SEED, Ratio};

/// Height of the picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub(crate) enum Resolution {
    #[default]
    #[serde(rename = "720p")]
    P720,
    #[serde(rename = "1080p")]
    P1080,
}

/// How many shots there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Shots {
    Single,
    Multi,
}

/// An effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Template {
    Squish,
    Rotation,
    Poke,
    Inflate,
    Dissolve,
    Melt,
    Icecream,
    Flying,
    Carousel,
    Singleheart,
    Dance1,
    Dance2,
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// A video from a text, from an image, or an effect applied to an image.
#[derive(Debug, Deserialize, JsonSchema, Validate)]
#[schemars(rename = "Motion26")]
pub(crate) struct Params {
    /// Needed without an image; ignored with `template`.
    #[garde(skip)]
    pub(crate) prompt: Option<String>,
    /// Exactly one image: a public http(s) URL or a `data:` URI. Makes it image-to-video.
    #[garde(length(max = 1), inner(inner(custom(link_or_file))))]
    pub(crate) image_urls: Option<Vec<String>>,
    /// What should not be seen.
    #[garde(skip)]
    pub(crate) negative_prompt: Option<String>,
    /// `16:9` by default; without an image only.
    #[garde(skip)]
    #[schemars(extend("default" = "16:9"))]
    pub(crate) aspect_ratio: Option<Ratio>,
    /// Another name for `aspect_ratio`.
    #[garde(skip)]
    pub(crate) size: Option<Ratio>,
    /// `720p` by default.
    #[garde(skip)]
    #[schemars(extend("default" = "720p"))]
    pub(crate) resolution: Option<Resolution>,
    /// Seconds: 5 (default), 10 or 15.
    #[garde(inner(custom(whole_shots)))]
    #[schemars(extend("enum" = [5, 10, 15, null], "default" = 5))]
    pub(crate) duration: Option<i64>,
    /// The same seed gives a similar video.
    #[garde(range(min = 0, max = MAX_SEED))]
    pub(crate) seed: Option<i64>,
    /// Let the provider improve the prompt.
    #[garde(skip)]
    pub(crate) prompt_extend: Option<bool>,
    /// Generate matching audio.
    #[garde(skip)]
    pub(crate) audio: Option<bool>,
    /// Sound to use, instead of `audio`: at most as long as the video.
    #[garde(inner(custom(link_or_file)))]
    pub(crate) audio_url: Option<String>,
    /// `single` or `multi`.
    #[garde(skip)]
    pub(crate) shot_type: Option<Shots>,
    /// Add a mark that the video is generated.
    #[garde(skip)]
    pub(crate) watermark: Option<bool>,
    /// An effect; needs the image.
    #[garde(skip)]
    pub(crate) template: Option<Template>,
    #[garde(custom(unsupported("use `image_urls`")))]
    #[schemars(skip)]
    image_with_roles: Option<Value>,
    #[garde(custom(unsupported("use `image_urls`")))]
    #[schemars(skip)]
    first_frame_image: Option<Value>,
    #[garde(custom(unsupported("motion-2.7 takes a last frame as the second of its `image_urls`")))]
    #[schemars(skip)]
    last_frame_image: Option<Value>,
    #[garde(custom(unsupported("motion-2.7 continues videos")))]
    #[schemars(skip)]
    video_urls: Option<Value>,
    #[garde(custom(unsupported("use `audio_url`")))]
    #[schemars(skip)]
    audio_urls: Option<Value>,
}

fn whole_shots(seconds: &i64, (): &()) -> garde::Result {
    rule(matches!(seconds, 5 | 10 | 15), "expected 5, 10 or 15 (seconds)")
}
