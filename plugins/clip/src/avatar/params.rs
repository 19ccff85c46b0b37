//! The parameters of avatar assets, as the specification lists them: one struct for shape, rules and published schema.
//! Lengths of names and descriptions are the provider's.

use std::fmt;

use garde::Validate;
use gatehouse_sdk::params::{not_blank, rule};
use gatehouse_sdk::source::Source;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What every asset of a submission is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) enum AssetType {
    #[default]
    Image,
    Video,
    Audio,
}

/// As clients and the provider write it.
impl fmt::Display for AssetType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// A group to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Validate)]
pub(crate) struct NewGroup {
    #[garde(length(chars, max = 64), custom(not_blank))]
    #[schemars(regex(pattern = r"\S"))]
    pub(crate) name: String,
    #[garde(length(chars, max = 300))]
    pub(crate) description: Option<String>,
}

/// A file to be reviewed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Validate)]
pub(crate) struct NewAsset {
    /// A public http(s) URL.
    #[garde(custom(public_url))]
    #[schemars(regex(pattern = r"^[Hh][Tt][Tt][Pp][Ss]?://[^/\s]\S*$"))]
    pub(crate) url: String,
    #[garde(length(chars, max = 64), custom(not_blank))]
    #[schemars(regex(pattern = r"\S"))]
    pub(crate) name: String,
}

/// Up to 20 assets, or one by `url` and `name`.
#[derive(Debug, Deserialize, JsonSchema, Validate)]
pub(crate) struct Params {
    /// A group to be made for the assets. Not beside `group_id`.
    #[garde(dive)]
    pub(crate) group: Option<NewGroup>,
    /// A group of yours. Not beside `group`.
    #[garde(skip)]
    pub(crate) group_id: Option<String>,
    /// `default` by default.
    #[garde(skip)]
    #[schemars(extend("default" = "default"))]
    pub(crate) project_name: Option<String>,
    /// `Image` by default.
    #[garde(skip)]
    #[schemars(extend("default" = "Image"))]
    pub(crate) asset_type: Option<AssetType>,
    /// The assets. Not beside `url` and `name`.
    #[garde(length(min = 1, max = 20), dive)]
    pub(crate) assets: Option<Vec<NewAsset>>,
    /// A single asset: its public http(s) URL.
    #[garde(inner(custom(public_url)))]
    #[schemars(regex(pattern = r"^[Hh][Tt][Tt][Pp][Ss]?://[^/\s]\S*$"))]
    pub(crate) url: Option<String>,
    /// A single asset: its name.
    #[garde(inner(length(chars, max = 64), custom(not_blank)))]
    #[schemars(regex(pattern = r"\S"))]
    pub(crate) name: Option<String>,
}

fn public_url(url: &str, (): &()) -> garde::Result {
    rule(matches!(Source::of(url), Some(Source::Link(_))), "expected a public http(s) URL")
}
