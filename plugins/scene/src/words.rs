//! The words of the family's fields, and what each is called by clients, by the provider and in prices.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name of the family, which parents carry.
pub(crate) const FAMILY: &str = "scene";
/// The surface of continuations.
pub(crate) const REMIX: &str = "videos.remix";

/// The two models. Each has three names, which are answered alike: the spec lists one for new videos and two for
/// continuations, and a continuation must name the model of its original.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) enum Model {
    #[default]
    #[serde(rename = "scene-3.1-fast-official", alias = "scene-3.1-fast", alias = "scene-3.1-fast-ext")]
    Fast,
    #[serde(
        rename = "scene-3.1-quality-official",
        alias = "scene-3.1-quality",
        alias = "scene-3.1-quality-ext"
    )]
    Quality,
}

impl Model {
    pub(crate) const ALL: [Self; 2] = [Self::Fast, Self::Quality];

    /// Its own id, which is its price key too, and its aliases.
    pub(crate) fn names(self) -> [&'static str; 3] {
        match self {
            Self::Fast => ["scene-3.1-fast-official", "scene-3.1-fast", "scene-3.1-fast-ext"],
            Self::Quality => ["scene-3.1-quality-official", "scene-3.1-quality", "scene-3.1-quality-ext"],
        }
    }

    pub(crate) fn id(self) -> &'static str {
        self.names()[0]
    }
}

/// The ratio of width to height.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) enum Aspect {
    #[default]
    #[serde(rename = "16:9")]
    Wide,
    #[serde(rename = "9:16")]
    Tall,
}

/// As clients and the provider write it.
impl fmt::Display for Aspect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Height of the picture. The spec writes the largest one `4K` for new videos and `4k` for continuations; both are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("enum" = ["720p", "1080p", "4k", "4K"]))]
pub(crate) enum Resolution {
    #[default]
    #[serde(rename = "720p")]
    P720,
    #[serde(rename = "1080p")]
    P1080,
    #[serde(rename = "4k", alias = "4K")]
    K4,
}

/// As the provider and prices write it.
impl fmt::Display for Resolution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Whether people may be shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum People {
    #[default]
    AllowAdult,
    Disallow,
}

impl People {
    /// As the provider writes it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::AllowAdult => "allow_adult",
            Self::Disallow => "dont_allow",
        }
    }
}

/// How an image of another ratio is made to fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Resize {
    #[default]
    Pad,
    Crop,
}
