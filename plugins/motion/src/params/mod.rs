//! The family's parameters, as the specification lists them: one struct a model for shape, rules and published schema.
//! Unknown fields are ignored.

mod motion26;
mod motion27;
mod words;

use schemars::JsonSchema;

pub(crate) use motion26::{Params as Params26, Resolution as Resolution26, Shots};
pub(crate) use motion27::{Params as Params27, Resolution as Resolution27, Role, RoleImage};
pub(crate) use words::Ratio;

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
