//! The family's parameters, as the specification lists them: one struct for shape, rules and published schema.
//! Unknown fields are ignored.

use garde::Validate;
use gatehouse_sdk::params::not_blank;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::reference;

/// The model's id, which is its price key too.
pub(crate) const MODEL: &str = "imagine-1.5-gw";
/// The other name of the model.
pub(crate) const ALIAS: &str = "imagine-1.5-ext";

/// The two names of the one model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
enum Name {
    #[serde(rename = "imagine-1.5-gw")]
    Model,
    #[serde(rename = "imagine-1.5-ext")]
    Alias,
}

/// The ratio of the images, as the client and the provider write it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) enum Size {
    #[default]
    #[serde(rename = "1:1")]
    Square,
    #[serde(rename = "16:9")]
    Wide,
    #[serde(rename = "9:16")]
    Tall,
    #[serde(rename = "3:2")]
    Landscape,
    #[serde(rename = "2:3")]
    Portrait,
}

/// A text-to-image request, or an edit when there is a reference.
#[derive(Debug, Deserialize, JsonSchema, Validate)]
pub(crate) struct Params {
    /// The model, `imagine-1.5-gw` by default. `imagine-1.5-ext` means the same.
    #[garde(skip)]
    #[serde(rename = "model")]
    _model: Option<Name>,
    /// A description in any language, or an instruction how to edit the reference.
    #[garde(custom(not_blank))]
    #[schemars(regex(pattern = r"\S"))]
    pub(crate) prompt: String,
    /// At most one reference: a public https URL, or a `data:image/...;base64,` URI. Without it the image is made
    /// from the text alone.
    #[garde(length(max = 1), inner(inner(custom(reference::check))))]
    pub(crate) image_urls: Option<Vec<String>>,
    /// `1:1` by default. An edit keeps the ratio of its reference.
    #[garde(skip)]
    #[schemars(extend("default" = "1:1"))]
    pub(crate) size: Option<Size>,
    /// Another name for `size`.
    #[garde(skip)]
    pub(crate) aspect_ratio: Option<Size>,
    /// How many images, 1 by default: a number, never in quotes.
    #[garde(range(min = 1, max = 10))]
    #[schemars(extend("default" = 1))]
    pub(crate) n: Option<i64>,
}
