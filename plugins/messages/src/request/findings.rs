//! What the checks of a request collect for its translation.

use gatehouse_sdk::Facts;
use gatehouse_text_protocols::files::{self, FILE_ID, FILE_URL, base64_bytes};
use gatehouse_text_protocols::json::{Edits, JsonString, Raw, items};
use gatehouse_text_protocols::path::Path;
use gatehouse_text_protocols::rules::Rules;
use gatehouse_text_protocols::tool_ids::MessagesIds;

/// What the model reads, and what is rewritten for a Messages provider.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Bytes of text the model reads.
    pub(crate) input_bytes: u64,
    /// Images the model reads, and pages of documents.
    pub(crate) pictures: u32,
    /// Values to be replaced.
    pub(crate) edits: Edits,
    /// Lists of blocks of which blank ones are not sent: the path of each, and the numbers of those that are.
    pub(crate) shortened: Vec<(String, Vec<usize>)>,
    /// The provider does not take messages of role `system`.
    pub(crate) folds_system: bool,
    /// The provider speaks chat completions, whose texts may be blank and whose ids have any letters.
    pub(crate) is_chat: bool,
    /// The ids of calls, where the provider's letters are few.
    pub(crate) ids: MessagesIds,
    /// Files of the provider's account may be named.
    pub(crate) takes_file_ids: bool,
    /// Documents may be named by their links.
    pub(crate) takes_file_urls: bool,
    /// The files that the host cut out of the request.
    blobs: Vec<Facts>,
}

/// Bytes of text that make a token, as most tokenizers have it.
const BYTES_OF_A_TOKEN: u64 = 4;
/// Tokens of a picture, about.
const TOKENS_OF_A_PICTURE: u64 = 1500;

impl Findings {
    /// Tokens the model reads, about.
    pub(crate) fn tokens(&self) -> u64 {
        (self.input_bytes / BYTES_OF_A_TOKEN).max(1) + u64::from(self.pictures) * TOKENS_OF_A_PICTURE
    }

    pub(crate) fn new(blobs: &[Facts], rules: &Rules, folds_system: bool) -> Self {
        let blobs = blobs.to_vec();
        let (takes_file_ids, takes_file_urls) = (rules.passes(FILE_ID), rules.passes(FILE_URL));
        Self { folds_system, takes_file_ids, takes_file_urls, blobs, ..Self::default() }
    }

    /// Leaves the items of the list `raw` out that are blank; it has others.
    pub(crate) fn leave_out(&mut self, at: &Path<'_>, raw: Raw<'_>, is_blank: impl Fn(usize) -> bool) {
        let all = items(raw).unwrap_or_default();
        self.shortened.push((at.to_string(), (0..all.len()).filter(|at| !is_blank(*at)).collect()));
        self.edits.remove(&all, is_blank);
    }

    /// Counts a text; one that the host cut out is base64.
    pub(crate) fn count(&mut self, text: JsonString<'_>) {
        let bytes = self.cut(text).map_or_else(|| text.len(), base64_bytes);
        self.input_bytes = self.input_bytes.saturating_add(bytes);
    }

    /// Counts a value that the model reads as it is.
    pub(crate) fn count_raw(&mut self, raw: Raw<'_>) {
        let blobs = files::sizes(&self.blobs);
        self.input_bytes = self.input_bytes.saturating_add(files::written_bytes(raw.get(), blobs));
    }

    pub(crate) fn count_pictures(&mut self, pictures: u32) {
        self.pictures = self.pictures.saturating_add(pictures);
    }

    /// The bytes of the file that was cut out in place of this text.
    pub(crate) fn cut(&self, text: JsonString<'_>) -> Option<u64> {
        self.facts(text).map(|facts| facts.bytes)
    }

    /// The file that was cut out in place of this text.
    pub(crate) fn facts(&self, text: JsonString<'_>) -> Option<&Facts> {
        self.blobs.iter().find(|facts| facts.blob.as_deref() == Some(text.inner()))
    }
}
