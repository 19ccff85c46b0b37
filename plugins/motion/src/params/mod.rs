//! The family's parameters, as the specification lists them: one struct a model for shape, rules and published schema,
//! and what both share. Unknown fields are ignored.

mod motion26;
mod motion27;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use motion26::{Params as Params26, Resolution as Resolution26};
pub(crate) use motion27::{Params as Params27, Resolution as Resolution27, Role, RoleImage};

/// What the provider accepts; the specification says "integer" for motion-2.6 and "0 or more" for motion-2.7.
const MAX_SEED: i64 = 2_147_483_647;

/// A ratio of width to height.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

/// A request, by its model. Only published: each model's parameters are read by themselves, so that an error names the
/// field.
#[derive(JsonSchema)]
#[serde(tag = "model")]
#[expect(dead_code, reason = "the schema is all that is used")]
pub(crate) enum Params {
    /// Videos of 5, 10 or 15 seconds.
    #[serde(rename = "motion-2.6")]
    Motion26(Params26),
    /// Videos of 2 to 15 seconds.
    #[serde(rename = "motion-2.7")]
    Motion27(Params27),
}
