//! The state of a task, kept as JSON between its steps.

use gatehouse_sdk::UnixMs;
use gatehouse_sdk::job::Attempts;
use serde::{Deserialize, Serialize};

use crate::request::ImageRequest;

/// The state of a task.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// Accepted; the reference may be probed.
    Accepted(ImageRequest),
    /// The call is under way, or waits for the next try.
    Sending(Sending),
    /// The provider has answered with images, which are copied.
    Copying(Delivery),
}

/// A call that makes images.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sending {
    pub(crate) request: ImageRequest,
    #[serde(flatten)]
    pub(crate) attempts: Attempts,
}

/// The images of an answer.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// How many were asked for, and are paid for in advance.
    pub(crate) asked: u32,
    /// At least one, at most `asked`.
    pub(crate) images: Vec<Image>,
    /// Copies that failed.
    pub(crate) losses: u32,
    /// When to try again.
    pub(crate) wake: UnixMs,
}

/// One image at the provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Image {
    /// A URL, a `data:` URI or a blob.
    pub(crate) source: String,
    /// Its media type, as the provider says.
    pub(crate) mime: String,
}
