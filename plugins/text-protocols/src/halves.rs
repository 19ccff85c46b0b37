//! Halves of a surrogate pair, as JSON escapes them. Servers that cut a text by tokens write one at the end of a piece and
//! the other at the beginning of the next; alone it is no character, and no reader of JSON takes it.

/// In place of half a character that is alone.
const REPLACEMENT: &str = "\\ufffd";
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
    json.contains("\\ud") || json.contains("\\uD")
}

/// JSON whose single halves are marked as lost; `None` where it has none.
#[must_use]
pub fn without_halves(json: &str) -> Option<String> {
    if !may_have(json) {
        return None;
    }
    let (mut out, mut done, mut at) = (String::new(), 0, 0);
    while let Some(found) = json.get(at..).and_then(|rest| rest.find('\\')) {
        at += found;
        let code = code(&json[at..]);
        let next = json.get(at + LENGTH..).and_then(self::code);
        at += match (code, next) {
            (Some(0xD800..0xDC00), Some(0xDC00..0xE000)) => 2 * LENGTH,
            (Some(0xD800..0xE000), _) => {
                out.push_str(&json[done..at]);
                out.push_str(REPLACEMENT);
                done = at + LENGTH;
                LENGTH
            }
            _ => 2,
        };
    }
    (done > 0).then(|| out + &json[done..])
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
