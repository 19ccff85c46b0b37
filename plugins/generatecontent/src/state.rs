//! What an answer has to know of its request.

use serde::{Deserialize, Serialize};

/// Messages whose places are kept; of a longer conversation an error names `messages` alone.
const MAX_PLACES: usize = 1024;

/// The state of one request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The provider's name of the model.
    pub(crate) upstream: String,
    /// Of each entry of `contents`, the message it was made of.
    pub(crate) contents: Vec<usize>,
    /// The client reads what the model thought.
    pub(crate) thinks: bool,
    /// Names of functions that Google was sent in place of the client's, with those.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) names: Vec<(String, String)>,
}

impl State {
    pub(crate) fn new(
        upstream: &str,
        mut contents: Vec<usize>,
        thinks: bool,
        names: Vec<(String, String)>,
    ) -> Self {
        if contents.len() > MAX_PLACES {
            contents.clear();
        }
        Self { upstream: upstream.to_owned(), contents, thinks, names }
    }
}
