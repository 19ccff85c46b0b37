//! A request that can be made: every default filled in, every rule kept. Part of the task's state until
//! the provider has taken it.

use gatehouse_sdk::{Mistake, Submission, params};
use serde::{Deserialize, Serialize};

use crate::params::{Format, Model, Params};
use crate::references;
use crate::sizes::{RATIOS, Size};

/// What the specification says when the client does not.
const TOLERANCE: i64 = 2;

/// What goes to the provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    pub(crate) model: Model,
    pub(crate) prompt: String,
    pub(crate) size: Size,
    pub(crate) format: Format,
    pub(crate) seed: Option<i64>,
    pub(crate) upsampling: bool,
    pub(crate) tolerance: i64,
    /// What the host is asked to look at; after that, what goes into the call.
    pub(crate) references: Vec<String>,
}

impl Order {
    /// Reads a request's body.
    pub(crate) fn read(request: &Submission) -> Result<Self, Mistake> {
        let params: Params = params::read(&request.body)?;
        let references = references::sources(params.image_urls.unwrap_or_default(), &request.blobs)?;
        let size = match params.size.unwrap_or_default() {
            Size::Auto if references.is_empty() => Size::Ratio(&RATIOS[0]),
            size => size,
        };
        Ok(Self {
            model: params.model,
            prompt: params.prompt,
            size,
            format: params.output_format.unwrap_or_default(),
            seed: params.seed,
            upsampling: params.prompt_upsampling.unwrap_or(false),
            tolerance: params.safety_tolerance.unwrap_or(TOLERANCE),
            references,
        })
    }
}
