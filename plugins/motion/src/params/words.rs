//! Words and rules that both models share.

use schemars::JsonSchema;
use serde::Deserialize;

/// What the provider accepts; the specification says "integer" for motion-2.6 and "0 or more" for motion-2.7.
pub(super) const MAX_SEED: i64 = 2_147_483_647;

/// A ratio of width to height.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub(crate) enum Ratio {
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
}

impl Ratio {
    /// As clients and the provider write it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Wide => "16:9",
            Self::Tall => "9:16",
            Self::Square => "1:1",
            Self::Landscape => "4:3",
            Self::Portrait => "3:4",
        }
    }
}
