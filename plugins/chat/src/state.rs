//! What the reading of an answer needs to know of its request.

use gatehouse_text_protocols::responses::Echo;
use serde::{Deserialize, Serialize};

/// Kept between a request and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The public name of the model.
    pub(crate) model: String,
    /// The provider's name of the model; clients never read it.
    pub(crate) upstream: String,
    /// The provider speaks Messages.
    pub(crate) translated: bool,
    /// The client asked for the chunk with the token counts.
    pub(crate) counted: bool,
    /// The client asked for a response, which is made of the completion.
    #[serde(default)]
    pub(crate) response: Option<Echo>,
}
