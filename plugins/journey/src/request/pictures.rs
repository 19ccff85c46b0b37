//! The routes that begin with a text or with pictures: imagine, blend, describe and edits.

use garde::Validate;
use gatehouse_sdk::params::{not_blank, rule};
use gatehouse_sdk::{Facts, InvalidParam, Refusal};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::action::{Action, Speed};
use crate::job::{Body, Dimensions, Input, Job};
use crate::request::engine::{self, Arguments};
use crate::request::engine_params::EngineParams;
use crate::request::fields::Fields;
use crate::request::rules;
use crate::request::source;

/// A text-to-image request, with pictures to draw from.
#[derive(Debug, Deserialize, JsonSchema, Validate)]
pub(crate) struct ImagineParams {
    /// A description; may carry the engine's own flags.
    #[garde(custom(not_blank))]
    #[schemars(regex(pattern = r"\S"))]
    prompt: String,
    /// Pictures to draw from, at most ten: public http(s) URLs, `data:` URIs or base64, 12 MiB each.
    #[garde(length(max = 10))]
    image_urls: Option<Vec<String>>,
}

/// A blend of two to four pictures.
#[derive(Debug, Deserialize, JsonSchema, Validate)]
pub(crate) struct BlendParams {
    /// Two to four pictures: public http(s) URLs, `data:` URIs or base64, 12 MiB each.
    #[garde(length(min = 2, max = 4))]
    image_urls: Vec<String>,
    /// `SQUARE` (default), `PORTRAIT` or `LANDSCAPE`.
    #[garde(inner(custom(check_dimensions)))]
    #[schemars(extend("default" = "SQUARE"))]
    dimensions: Option<String>,
    /// Ratio `W:H` instead of `dimensions`, rounded to 1:1, 2:3 or 3:2.
    #[garde(inner(custom(rules::ratio)))]
    #[schemars(regex(pattern = r"^0*[1-9][0-9]*:0*[1-9][0-9]*$"))]
    size: Option<String>,
    /// `relax` (default), `fast` or `turbo`.
    #[garde(skip)]
    #[schemars(extend("default" = "relax"))]
    speed: Option<Speed>,
}

/// A picture to describe.
#[derive(Debug, Deserialize, JsonSchema, Validate)]
pub(crate) struct DescribeParams {
    /// The picture; only the first counts.
    #[garde(length(min = 1))]
    image_urls: Vec<String>,
    /// `relax` (default), `fast` or `turbo`.
    #[garde(skip)]
    #[schemars(extend("default" = "relax"))]
    speed: Option<Speed>,
}

/// A picture to edit by a text.
#[derive(Debug, Deserialize, JsonSchema, Validate)]
pub(crate) struct EditsParams {
    /// What to change; may carry the engine's own flags.
    #[garde(custom(not_blank))]
    #[schemars(regex(pattern = r"\S"))]
    prompt: String,
    /// The picture, one.
    #[garde(custom(one_picture))]
    #[schemars(length(equal = 1))]
    image_urls: Vec<String>,
}

/// What a text-to-image request may hold, for the published schema.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ImagineSchema {
    #[serde(flatten)]
    own: ImagineParams,
    #[serde(flatten)]
    engine: EngineParams,
}

/// What a request to edit may hold, for the published schema.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct EditsSchema {
    #[serde(flatten)]
    own: EditsParams,
    #[serde(flatten)]
    engine: EngineParams,
}

pub(crate) fn imagine(fields: &Fields, blobs: &[Facts]) -> Result<Job, Refusal> {
    let params: ImagineParams = fields.params()?;
    let inputs = inputs(fields, params.image_urls.as_deref().unwrap_or_default(), blobs)?;
    drawn(fields, Action::Imagine, Body::Imagine, &params.prompt, inputs)
}

pub(crate) fn edits(fields: &Fields, blobs: &[Facts]) -> Result<Job, Refusal> {
    let params: EditsParams = fields.params()?;
    let inputs = inputs(fields, &params.image_urls, blobs)?;
    drawn(fields, Action::Edits, Body::Edits, &params.prompt, inputs)
}

pub(crate) fn blend(fields: &Fields, blobs: &[Facts]) -> Result<Job, Refusal> {
    let params: BlendParams = fields.params()?;
    let inputs = inputs(fields, &params.image_urls, blobs)?;
    let written = params.dimensions.as_deref().and_then(Dimensions::read).unwrap_or_default();
    let dimensions = params.size.as_deref().and_then(rules::terms).map_or(written, Dimensions::nearest);
    let job = Job::new(Action::Blend, Body::Blend { dimensions });
    Ok(Job { speed: params.speed.unwrap_or_default(), inputs, ..job })
}

pub(crate) fn describe(fields: &Fields, blobs: &[Facts]) -> Result<Job, Refusal> {
    let params: DescribeParams = fields.with_first_of("image_urls").params()?;
    let inputs = inputs(fields, &params.image_urls, blobs)?;
    let job = Job::new(Action::Describe, Body::Describe);
    Ok(Job { speed: params.speed.unwrap_or_default(), inputs, ..job })
}

fn drawn(
    fields: &Fields,
    action: Action,
    body: Body,
    prompt: &str,
    inputs: Vec<Input>,
) -> Result<Job, Refusal> {
    let Arguments { prompt, version, speed } = engine::read(fields, prompt)?;
    Ok(Job { version, speed, prompt, inputs, ..Job::new(action, body) })
}

fn inputs(fields: &Fields, sources: &[String], blobs: &[Facts]) -> Result<Vec<Input>, Refusal> {
    let one =
        |(index, source): (usize, &String)| input(fields, &format!("image_urls[{index}]"), source, blobs);
    sources.iter().enumerate().map(one).collect()
}

/// One picture of the field `path`.
pub(crate) fn input(fields: &Fields, path: &str, source: &str, blobs: &[Facts]) -> Result<Input, Refusal> {
    let field = fields.written(path);
    let source = source::checked(&field, source, blobs)?;
    Ok(Input { field, source })
}

fn one_picture(entries: &[String], (): &()) -> garde::Result {
    rule(entries.len() == 1, "expected one picture (the route `imagine` takes several to draw from)")
}

fn check_dimensions(text: &str, (): &()) -> garde::Result {
    rule(Dimensions::read(text).is_some(), "expected SQUARE, PORTRAIT or LANDSCAPE")
}

impl Dimensions {
    /// The word in any case.
    fn read(text: &str) -> Option<Self> {
        match text.to_ascii_uppercase().as_str() {
            "PORTRAIT" => Some(Self::Portrait),
            "SQUARE" => Some(Self::Square),
            "LANDSCAPE" => Some(Self::Landscape),
            _ => None,
        }
    }

    /// The nearest of 2:3, 1:1 and 3:2, by the distance of logarithms; a tie is square.
    fn nearest((width, height): (u32, u32)) -> Self {
        // Between 1:1 and 3:2 lies the square root of 3/2.
        let (width, height) = (u128::from(width), u128::from(height));
        if 2 * width * width > 3 * height * height {
            Self::Landscape
        } else if 2 * height * height > 3 * width * width {
            Self::Portrait
        } else {
            Self::Square
        }
    }
}

/// An invalid field of a task to be made, for routes that read their fields in steps.
pub(crate) fn refuse<T>(fields: &Fields, field: &str, problem: impl Into<String>) -> Result<T, Refusal> {
    Err(fields.invalid(InvalidParam::at(Some(field), problem.into())).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_becomes_the_nearest_form() {
        for (ratio, expected) in [
            ((1, 1), Dimensions::Square),
            ((2, 3), Dimensions::Portrait),
            ((3, 2), Dimensions::Landscape),
            ((16, 9), Dimensions::Landscape),
            ((9, 16), Dimensions::Portrait),
            ((6, 5), Dimensions::Square),
            ((5, 4), Dimensions::Landscape),
            ((4, 5), Dimensions::Portrait),
            ((4_294_967_295, 1), Dimensions::Landscape),
            ((1, 4_294_967_295), Dimensions::Portrait),
        ] {
            assert_eq!(Dimensions::nearest(ratio), expected, "{ratio:?}");
        }
    }
}
