//! A checked request with every default filled in. Part of the task's state until the provider has answered.

use std::time::Duration;

use gatehouse_sdk::{InvalidParam, Submission, params};
use serde::{Deserialize, Serialize};

use crate::params::{Params, Size};
use crate::reference;

/// The usual duration of a task.
pub(crate) const USUAL_DURATION: Duration = Duration::from_secs(15);
/// The host keeps 64 KiB of state for a task; the rest is for the other fields of the state.
const MAX_BYTES: usize = 60 * 1024;
/// A text of this length always fits: JSON writes at most six bytes for a byte.
const ALWAYS_FITS: usize = 8 * 1024;

/// What is sent to the provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageRequest {
    pub(crate) prompt: String,
    pub(crate) size: Size,
    /// How many images, 1 to 10.
    pub(crate) n: u32,
    /// The source to probe; after the probe, the input of the call.
    pub(crate) reference: Option<String>,
}

impl ImageRequest {
    /// Reads a request's body.
    pub(crate) fn read(request: &Submission) -> Result<Self, InvalidParam> {
        let params: Params = params::read(&request.body)?;
        let entry = params.image_urls.unwrap_or_default().pop();
        let image = Self {
            prompt: params.prompt,
            size: params.size.unwrap_or_default(),
            n: params.n.and_then(|n| u32::try_from(n).ok()).unwrap_or(1),
            reference: entry.map(|entry| reference::source(&entry, &request.blobs)).transpose()?,
        };
        image.check_size().map(|()| image)
    }

    /// Refuses what does not fit into the task's state. The host has taken a large file out; the rest is the prompt,
    /// a URL, or a small inline image.
    fn check_size(&self) -> Result<(), InvalidParam> {
        let text = self.prompt.len() + self.reference.as_ref().map_or(0, String::len);
        if text <= ALWAYS_FITS {
            return Ok(());
        }
        let bytes = serde_json::to_vec(self).map_or(usize::MAX, |json| json.len());
        if bytes <= MAX_BYTES {
            return Ok(());
        }
        let problem = format!(
            "expected at most {MAX_BYTES} bytes together with `image_urls` (a large image file does not count), \
             got {bytes}"
        );
        Err(InvalidParam::at(Some("prompt"), problem))
    }
}
