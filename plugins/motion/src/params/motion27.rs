//! The parameters of motion-2.7.

use garde::Validate;
use gatehouse_sdk::params::{link_or_file, unsupported};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{MAX_SEED, Ratio};
use crate::sources;

/// Height of the picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub(crate) enum Resolution {
    #[serde(rename = "720P")]
    P720,
    #[default]
    #[serde(rename = "1080P")]
    P1080,
}

/// Which picture of the video an image is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    #[default]
    FirstFrame,
    LastFrame,
}

/// An image and what it is for.
#[derive(Debug, Deserialize, JsonSchema, Validate)]
pub(crate) struct RoleImage {
    /// A public http(s) URL.
    #[garde(custom(sources::check_url))]
    pub(crate) url: String,
    /// `first_frame` by default.
    #[garde(skip)]
    #[schemars(extend("default" = "first_frame"))]
    pub(crate) role: Option<Role>,
}

/// A video from a text, from its first or its first and last picture, or the continuation of a video.
#[derive(Debug, Deserialize, JsonSchema, Validate)]
#[schemars(rename = "Motion27")]
pub(crate) struct Params {
    /// Needed without images and video.
    #[garde(inner(length(chars, max = 5000)))]
    pub(crate) prompt: Option<String>,
    /// One image is the first picture; two are the first and the last.
    #[garde(length(max = 2), inner(inner(custom(link_or_file))))]
    pub(crate) image_urls: Option<Vec<String>>,
    /// Instead of `image_urls`: images and what each is for.
    #[garde(length(max = 2), dive)]
    pub(crate) image_with_roles: Option<Vec<RoleImage>>,
    /// A video to continue; only the first is used. mp4 or mov, 2 to 10 s, sides of 240 to 4096 pixels, ratio between 1:8
    /// and 8:1, at most 100 MB.
    #[garde(inner(inner(custom(link_or_file))))]
    pub(crate) video_urls: Option<Vec<String>>,
    /// What should not be seen.
    #[garde(inner(length(chars, max = 500)))]
    pub(crate) negative_prompt: Option<String>,
    /// `1080P` by default.
    #[garde(skip)]
    #[schemars(extend("default" = "1080P"))]
    pub(crate) resolution: Option<Resolution>,
    /// Seconds, 5 by default; with a video to continue: of the whole result, 5 more than the video has by default.
    #[garde(range(min = 2, max = 15))]
    #[schemars(extend("default" = 5))]
    pub(crate) duration: Option<i64>,
    /// Ratio, `16:9` by default; ignored with images or video.
    #[garde(skip)]
    #[schemars(extend("default" = "16:9"))]
    pub(crate) size: Option<Ratio>,
    /// Another name for `size`.
    #[garde(skip)]
    pub(crate) aspect_ratio: Option<Ratio>,
    /// Background music; without images and video only.
    #[garde(inner(custom(link_or_file)))]
    pub(crate) audio_url: Option<String>,
    /// Let the provider improve the prompt; `true` by default.
    #[garde(skip)]
    #[schemars(extend("default" = true))]
    pub(crate) prompt_extend: Option<bool>,
    /// Add a mark that the video is generated; `false` by default.
    #[garde(skip)]
    #[schemars(extend("default" = false))]
    pub(crate) watermark: Option<bool>,
    /// The same seed gives a similar video.
    #[garde(range(min = 0, max = MAX_SEED))]
    pub(crate) seed: Option<i64>,
    #[garde(custom(unsupported("use `image_urls`")))]
    #[schemars(skip)]
    first_frame_image: Option<Value>,
    #[garde(custom(unsupported("use `image_urls`, whose second image is the last frame")))]
    #[schemars(skip)]
    last_frame_image: Option<Value>,
    #[garde(custom(unsupported("use `audio_url`")))]
    #[schemars(skip)]
    audio_urls: Option<Value>,
    #[garde(custom(unsupported("motion-2.6 has effects")))]
    #[schemars(skip)]
    template: Option<Value>,
    #[garde(custom(unsupported("motion-2.6 counts shots; say it in `prompt`")))]
    #[schemars(skip)]
    shot_type: Option<Value>,
    #[garde(custom(unsupported("use `audio_url`, or motion-2.6, which makes sound")))]
    #[schemars(skip)]
    audio: Option<Value>,
}
