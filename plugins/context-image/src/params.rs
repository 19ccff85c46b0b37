//! The family's parameters, as the specification lists them: one struct for shape, rules and published schema.
//! Unknown fields are ignored, and so is `resolution`, which has no effect.

use garde::Validate;
use gatehouse_sdk::params::{link_or_file, not_blank, unsupported};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::sizes::Size;

/// The two models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) enum Model {
    #[serde(rename = "ctx-pro")]
    Pro,
    #[serde(rename = "ctx-max")]
    Max,
}

impl Model {
    /// The id clients use, which is its price key too.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::Pro => "ctx-pro",
            Self::Max => "ctx-max",
        }
    }
}

/// How the picture is encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    #[default]
    Png,
    Jpeg,
    Webp,
}

impl Format {
    /// Its media type.
    pub(crate) fn mime(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Webp => "image/webp",
        }
    }
}

/// How the client wants to receive the image; checked, without effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Delivery {
    Url,
    B64Json,
}

/// A text-to-image request, or an edit when there are references.
#[derive(Debug, Deserialize, JsonSchema, Validate)]
pub(crate) struct Params {
    /// The model.
    #[garde(skip)]
    pub(crate) model: Model,
    /// A description, or an instruction how to edit the references.
    #[garde(custom(not_blank))]
    #[schemars(regex(pattern = r"\S"))]
    pub(crate) prompt: String,
    /// References: public http(s) URLs, `data:` URIs or base64. Together with the output at most 9 MP.
    #[garde(length(max = 4), inner(inner(custom(link_or_file))))]
    pub(crate) image_urls: Option<Vec<String>>,
    /// `1:1` (default), `4:3`, `3:4`, `16:9`, `9:16`, `3:2`, `2:3`, `21:9`, `9:21`, `auto` (the first
    /// reference's ratio), or pixels `WxH`, rounded to the nearest ratio.
    #[garde(skip)]
    #[schemars(with = "Option<String>", extend("default" = "1:1"))]
    pub(crate) size: Option<Size>,
    /// Another name for `size`.
    #[garde(skip)]
    #[schemars(with = "Option<String>")]
    pub(crate) aspect_ratio: Option<Size>,
    /// Encoding of the picture, `png` by default.
    #[garde(skip)]
    #[schemars(extend("default" = "png"))]
    pub(crate) output_format: Option<Format>,
    /// Accepted for compatibility; the result is always a link.
    #[garde(skip)]
    #[serde(rename = "response_format")]
    _delivery: Option<Delivery>,
    /// Only 1.
    #[garde(range(min = 1, max = 1))]
    #[schemars(extend("default" = 1))]
    n: Option<i64>,
    /// The same seed and parameters give the same picture.
    #[garde(skip)]
    pub(crate) seed: Option<i64>,
    /// Let the provider rewrite the prompt; `false` by default.
    #[garde(skip)]
    #[schemars(extend("default" = false))]
    pub(crate) prompt_upsampling: Option<bool>,
    /// 0 (strictest) to 6, 2 by default.
    #[garde(range(min = 0, max = 6))]
    #[schemars(extend("default" = 2))]
    pub(crate) safety_tolerance: Option<i64>,
    #[garde(custom(unsupported("use `size`")))]
    #[schemars(skip)]
    width: Option<Value>,
    #[garde(custom(unsupported("use `size`")))]
    #[schemars(skip)]
    height: Option<Value>,
}
