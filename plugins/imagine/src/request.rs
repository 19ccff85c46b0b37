//! A checked request with every default filled in. Part of the task's state until the provider has answered.

use std::time::Duration;

use gatehouse_sdk::job::{REQUEST_BYTES, check_size};
use gatehouse_sdk::{InvalidParam, Submission, params};
use serde::{Deserialize, Serialize};

use crate::params::{Params, Size};
use crate::reference;

/// The usual duration of a task.
pub(crate) const USUAL_DURATION: Duration = Duration::from_secs(15);

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
        params::known_media(&request.body, &["image_urls"])?;
        let size = params::either(&request.body, "size", params.size, "aspect_ratio", params.aspect_ratio)?;
        let entry = params.image_urls.unwrap_or_default().pop();
        let image = Self {
            prompt: params.prompt,
            size: size.map(|(size, _)| size).unwrap_or_default(),
            n: params.n.and_then(|n| u32::try_from(n).ok()).unwrap_or(1),
            reference: entry.map(|entry| reference::source(&entry, &request.blobs)).transpose()?,
        };
        image.check_size().map(|()| image)
    }

    /// Refuses what does not fit into the task's state. The host has taken a large file out; the rest is the prompt,
    /// a URL, or a small inline image.
    fn check_size(&self) -> Result<(), InvalidParam> {
        check_size(self, REQUEST_BYTES).map_err(|bytes| {
            let problem = format!(
                "expected at most {REQUEST_BYTES} bytes together with `image_urls` (a large image file does not \
                 count), got {bytes}"
            );
            InvalidParam::at(Some("prompt"), problem)
        })
    }
}
