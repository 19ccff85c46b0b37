//! The parameters of a video, as the specification lists them: one struct for shape, rules and published schema.
//! Rules between fields are in `request`; what only the media can tell is in `media`.

use std::fmt;

use garde::Validate;
use gatehouse_sdk::params::unsupported;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::video::source;

/// The provider's largest seed; the specification names none.
const MAX_SEED: i64 = 0xffff_ffff;

/// The three models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) enum Model {
    #[serde(rename = "clip-2.0")]
    Standard,
    #[serde(rename = "clip-2.0-fast")]
    Fast,
    #[serde(rename = "clip-2.0-mini")]
    Mini,
}

impl Model {
    pub(crate) const ALL: [Self; 3] = [Self::Standard, Self::Fast, Self::Mini];

    /// The id clients use, which is its least specific price key too.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::Standard => "clip-2.0",
            Self::Fast => "clip-2.0-fast",
            Self::Mini => "clip-2.0-mini",
        }
    }

    /// The provider's name, unless the operator sets another.
    pub(crate) fn upstream(self) -> &'static str {
        match self {
            Self::Standard => "doubao-seedance-2-0-260128",
            Self::Fast => "doubao-seedance-2-0-fast-260128",
            Self::Mini => "doubao-seedance-2-0-mini-260615",
        }
    }

    /// Characters of a prompt; `None` is no limit (spec, "clip-2.0-mini has no character limit").
    pub(crate) fn max_prompt(self) -> Option<usize> {
        match self {
            Self::Standard | Self::Fast => Some(4000),
            Self::Mini => None,
        }
    }

    /// Spec: "1080p and 4k only for clip-2.0; the fast variant supports 480p and 720p".
    pub(crate) fn makes(self, resolution: Resolution) -> bool {
        self == Self::Standard || matches!(resolution, Resolution::P480 | Resolution::P720)
    }

    /// Spec: "Asset URLs work only with clip-2.0 and clip-2.0-fast".
    pub(crate) fn takes_assets(self) -> bool {
        self != Self::Mini
    }
}

/// Width to height of the video.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) enum Size {
    #[default]
    #[serde(rename = "16:9")]
    Wide,
    #[serde(rename = "9:16")]
    Tall,
    #[serde(rename = "1:1")]
    Square,
    #[serde(rename = "4:3")]
    Landscape,
    #[serde(rename = "3:4")]
    Portrait,
    #[serde(rename = "21:9")]
    Cinema,
    /// As the references or the provider suggest.
    #[serde(rename = "adaptive")]
    Adaptive,
}

/// Lines of the video.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) enum Resolution {
    #[serde(rename = "480p")]
    P480,
    #[default]
    #[serde(rename = "720p")]
    P720,
    #[serde(rename = "1080p")]
    P1080,
    #[serde(rename = "4k")]
    K4,
}

impl fmt::Display for Resolution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// What an image is used as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ImageRole {
    FirstFrame,
    LastFrame,
    ReferenceImage,
}

/// An image and what it is used as.
#[derive(Debug, Deserialize, JsonSchema, Validate)]
pub(crate) struct ImageWithRole {
    /// A public http(s) URL, a `data:` URI or `asset://<asset_id>`.
    #[garde(custom(source::check_file))]
    pub(crate) url: String,
    #[garde(skip)]
    pub(crate) role: ImageRole,
}

/// A tool the model may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Validate)]
pub(crate) struct Tool {
    #[garde(skip)]
    #[serde(rename = "type")]
    kind: ToolKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ToolKind {
    WebSearch,
}

/// Text to video, or video from images, videos and audio.
#[derive(Debug, Deserialize, JsonSchema, Validate)]
pub(crate) struct Params {
    /// The model.
    #[garde(skip)]
    pub(crate) model: Model,
    /// Required without images and videos; at most 4000 characters, without limit for `clip-2.0-mini`.
    #[garde(skip)]
    pub(crate) prompt: Option<String>,
    /// Seconds, 5 by default.
    #[garde(range(min = 4, max = 15))]
    #[schemars(extend("default" = 5))]
    pub(crate) duration: Option<i64>,
    /// Width to height, `16:9` by default.
    #[garde(skip)]
    #[schemars(extend("default" = "16:9"))]
    pub(crate) size: Option<Size>,
    /// Another name for `size`.
    #[garde(skip)]
    pub(crate) aspect_ratio: Option<Size>,
    /// `720p` by default; `1080p` and `4k` only for `clip-2.0`.
    #[garde(skip)]
    #[schemars(extend("default" = "720p"))]
    pub(crate) resolution: Option<Resolution>,
    /// The same seed gives a similar video; -1 is a random one.
    #[garde(range(min = -1, max = MAX_SEED))]
    pub(crate) seed: Option<i64>,
    /// `true` by default.
    #[garde(skip)]
    #[schemars(extend("default" = true))]
    pub(crate) generate_audio: Option<bool>,
    /// The result then has the link of the last frame too; `false` by default.
    #[garde(skip)]
    #[schemars(extend("default" = false))]
    pub(crate) return_last_frame: Option<bool>,
    /// Tools the model may use: `{"type": "web_search"}`.
    #[garde(dive)]
    pub(crate) tools: Option<Vec<Tool>>,
    /// One image alone is the first frame, others are references. Not beside `image_with_roles`.
    #[garde(length(max = 9), inner(inner(custom(source::check_file))))]
    pub(crate) image_urls: Option<Vec<String>>,
    /// Images with their roles. Not beside `image_urls`.
    #[garde(length(max = 9), dive)]
    pub(crate) image_with_roles: Option<Vec<ImageWithRole>>,
    /// Reference videos of more than 1.8 s and less than 15.2 s together, 480p to 720p each.
    #[garde(length(max = 3), inner(inner(custom(source::check_video))))]
    pub(crate) video_urls: Option<Vec<String>>,
    /// Reference audio of at most 15 s together; needs reference images or videos.
    #[garde(length(max = 3), inner(inner(custom(source::check_file))))]
    pub(crate) audio_urls: Option<Vec<String>>,
    #[garde(custom(unsupported("use `image_with_roles` with the role `first_frame`")))]
    #[schemars(skip)]
    first_frame_image: Option<Value>,
    #[garde(custom(unsupported("use `image_with_roles` with the role `last_frame`")))]
    #[schemars(skip)]
    last_frame_image: Option<Value>,
    #[garde(custom(unsupported("use `audio_urls`")))]
    #[schemars(skip)]
    audio_url: Option<Value>,
}
