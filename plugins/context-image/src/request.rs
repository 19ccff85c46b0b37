//! A checked request with every default filled in. Part of the task's state until the provider has accepted it.

use std::time::Duration;

use gatehouse_sdk::{InvalidParam, Submission, params};
use serde::{Deserialize, Serialize};

use crate::params::{Format, Model, Params};
use crate::references;
use crate::sizes::{RATIOS, Size};

/// The specification's default.
const TOLERANCE: i64 = 2;
/// The usual duration of a task.
pub(crate) const USUAL_DURATION: Duration = Duration::from_secs(10);
/// The host keeps 64 KiB of state for a task; the rest is for the other fields of the state.
const MAX_BYTES: usize = 60 * 1024;
/// A text of this length always fits: JSON writes at most six bytes for a byte.
const ALWAYS_FITS: usize = 8 * 1024;

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
        let references = references::sources(params.image_urls.unwrap_or_default(), &request.blobs)?;
        let size = match params.size.unwrap_or_default() {
            Size::Auto if references.is_empty() => Size::Ratio(&RATIOS[0]),
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
        let text = self.prompt.len() + self.references.iter().map(String::len).sum::<usize>();
        if text <= ALWAYS_FITS {
            return Ok(());
        }
        let bytes = serde_json::to_vec(self).map_or(usize::MAX, |json| json.len());
        if bytes <= MAX_BYTES {
            return Ok(());
        }
        Err(InvalidParam::at(
            None,
            format!(
                "expected `prompt` and `image_urls` of at most {MAX_BYTES} bytes together (large image files \
                 do not count), got {bytes}"
            ),
        ))
    }
}
