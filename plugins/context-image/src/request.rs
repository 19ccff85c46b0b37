//! A checked request with every default filled in. Part of the task's state until the provider has accepted it.

use std::time::Duration;

use gatehouse_sdk::job::{REQUEST_BYTES, check_size};
use gatehouse_sdk::{InvalidParam, Submission, params};
use serde::{Deserialize, Serialize};

use crate::params::{Format, Model, Params};
use crate::references;
use crate::sizes::Size;

/// The specification's default.
const TOLERANCE: i64 = 2;
/// The usual duration of a task.
pub(crate) const USUAL_DURATION: Duration = Duration::from_secs(10);

/// What is sent to the provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageRequest {
    pub(crate) model: Model,
    pub(crate) prompt: String,
    pub(crate) size: Size,
    pub(crate) format: Format,
    pub(crate) seed: Option<i64>,
    pub(crate) upsampling: bool,
    pub(crate) tolerance: i64,
    /// The sources to probe; after the probes, the inputs of the call.
    pub(crate) references: Vec<String>,
}

impl ImageRequest {
    /// Reads a request's body.
    pub(crate) fn read(request: &Submission) -> Result<Self, InvalidParam> {
        let params: Params = params::read(&request.body)?;
        params::known_media(&request.body, &["image_urls"])?;
        let size = params::either(&request.body, "size", params.size, "aspect_ratio", params.aspect_ratio)?;
        let references = references::sources(params.image_urls.unwrap_or_default(), &request.blobs)?;
        let size = match size.map(|(size, _)| size).unwrap_or_default() {
            Size::Auto if references.is_empty() => Size::default(),
            size => size,
        };
        let image = Self {
            model: params.model,
            prompt: params.prompt,
            size,
            format: params.output_format.unwrap_or_default(),
            seed: params.seed,
            upsampling: params.prompt_upsampling.unwrap_or(false),
            tolerance: params.safety_tolerance.unwrap_or(TOLERANCE),
            references,
        };
        image.check_size().map(|()| image)
    }

    /// Refuses what does not fit into the task's state. The host has taken large files out; the rest is the
    /// prompt, URLs, small inline images, and inline data that is not an image.
    fn check_size(&self) -> Result<(), InvalidParam> {
        check_size(self, REQUEST_BYTES).map_err(|bytes| {
            let problem = format!(
                "expected `prompt` and `image_urls` of at most {REQUEST_BYTES} bytes together (large image \
                 files do not count), got {bytes}"
            );
            InvalidParam::at(None, problem)
        })
    }
}
