//! Halves of a surrogate pair, as JSON escapes them. Servers that cut a text by tokens write one at the end of a piece and
//! the other at the beginning of the next; alone it is no character, and no reader of JSON takes it.

pub use gatehouse_sdk::lenient::without_halves;

/// Bytes of an escape.
const LENGTH: usize = 6;

/// The first halves that ended a piece, by the text they belong to.
#[derive(Debug, Default)]
pub(crate) struct Halves(Vec<(String, String)>);

impl Halves {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A piece of a text, JSON without quotes: with the half that waits for it, without one that ends it.
    pub(crate) fn join(&mut self, text: &str, piece: &str) -> String {
        let waiting = self.0.iter().position(|(known, _)| known == text).map(|at| self.0.swap_remove(at).1);
        let mut joined = waiting.unwrap_or_default() + piece;
        if let Some(at) = first_half_at_end(&joined) {
            let half = joined.split_off(at);
            self.0.push((text.to_owned(), half));
        }
        joined
    }
}

/// Whether a text may have such an escape.
pub(crate) fn may_have(json: &str) -> bool {
    json.contains('\\') && (json.contains("\\ud") || json.contains("\\uD"))
}

/// The code of a `\u` escape at the beginning.
fn code(json: &str) -> Option<u32> {
    let hex = json.strip_prefix("\\u")?.get(..4)?;
    u32::from_str_radix(hex, 16).ok()
}

/// Where the first half of a pair begins that ends the text.
fn first_half_at_end(piece: &str) -> Option<usize> {
    let at = piece.len().checked_sub(LENGTH)?;
    let is_first = matches!(code(piece.get(at..)?), Some(0xD800..0xDC00));
    let before = piece[..at].bytes().rev().take_while(|byte| *byte == b'\\').count();
    (is_first && before % 2 == 0).then_some(at)
}
