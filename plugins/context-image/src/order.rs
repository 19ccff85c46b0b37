//! A request that can be made: every default filled in, every rule kept. Part of the task's state until
//! the provider has taken it.

use gatehouse_sdk::{Mistake, Submission, params};
use serde::{Deserialize, Serialize};

use crate::params::{Format, Model, Params};
use crate::references;
use crate::sizes::{RATIOS, Size};

/// What the specification says when the client does not.
const TOLERANCE: i64 = 2;
/// The host keeps 64 KiB of state for a task; the rest is for what is remembered beside the order.
const MOST_BYTES: usize = 60 * 1024;
/// Below this even a text of control characters, six bytes each in JSON, fits.
const SURELY_FITS: usize = 8 * 1024;

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
        let order = Self {
            model: params.model,
            prompt: params.prompt,
            size,
            format: params.output_format.unwrap_or_default(),
            seed: params.seed,
            upsampling: params.prompt_upsampling.unwrap_or(false),
            tolerance: params.safety_tolerance.unwrap_or(TOLERANCE),
            references,
        };
        order.fits().map(|()| order)
    }

    /// Whether it can be remembered. The host has taken large files out; what is left is the prompt, URLs,
    /// small inline pictures, and inline data that is no picture.
    fn fits(&self) -> Result<(), Mistake> {
        let text = self.prompt.len() + self.references.iter().map(String::len).sum::<usize>();
        if text <= SURELY_FITS {
            return Ok(());
        }
        let bytes = serde_json::to_vec(self).map_or(usize::MAX, |json| json.len());
        if bytes <= MOST_BYTES {
            return Ok(());
        }
        Err(Mistake::at(
            None,
            format!(
                "expected `prompt` and `image_urls` of at most {MOST_BYTES} bytes together (large image files \
                 do not count), got {bytes}"
            ),
        ))
    }
}
