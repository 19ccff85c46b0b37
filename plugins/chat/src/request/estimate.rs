//! What the host estimates the input from, collected while a request is read.

use gatehouse_text_protocols::json::JsonString;

/// The input of a request.
#[derive(Default)]
pub(crate) struct InputEstimate<'a> {
    /// Bytes of text the model reads.
    pub(crate) input_bytes: u64,
    /// Images the model reads, pages of documents, and sounds by their length.
    pub(crate) pictures: u32,
    /// Something in the messages has a form that a chat provider may not take, or is there for another one.
    pub(crate) is_odd: bool,
    /// Strings of files, and the JSON that a chat provider is sent in place of each.
    pub(crate) files: Vec<(JsonString<'a>, String)>,
}
