//! JSON strings that keep their quotes and escapes.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

/// A value as written.
pub type Raw<'a> = &'a RawValue;

/// A JSON string as written, quotes and escapes included.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(transparent)]
pub struct JsonString<'a>(Raw<'a>);

impl<'a> JsonString<'a> {
    /// `None` when the value is not a string.
    #[must_use]
    pub fn of(raw: &'a RawValue) -> Option<Self> {
        raw.get().starts_with('"').then_some(Self(raw))
    }

    /// The value.
    #[must_use]
    pub fn raw(self) -> Raw<'a> {
        self.0
    }

    /// As written, quotes included.
    #[must_use]
    pub fn quoted(self) -> &'a str {
        self.0.get()
    }

    /// As written, without the quotes. Texts are joined by writing these one after the other.
    #[must_use]
    pub fn inner(self) -> &'a str {
        let json = self.quoted();
        &json[1..json.len() - 1]
    }

    /// The text. `None` when it has half of a surrogate pair.
    #[must_use]
    pub fn decode(self) -> Option<Cow<'a, str>> {
        let inner = self.inner();
        if !inner.contains('\\') {
            return Some(Cow::Borrowed(inner));
        }
        serde_json::from_str(self.quoted()).ok().map(Cow::Owned)
    }

    /// The text; as written when it has half of a surrogate pair.
    #[must_use]
    pub fn decoded(self) -> Cow<'a, str> {
        self.decode().unwrap_or_else(|| Cow::Borrowed(self.inner()))
    }

    /// Whether the text is empty.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.quoted().len() == 2
    }

    /// Whether the text has nothing but white space, or is empty.
    #[must_use]
    pub fn is_blank(self) -> bool {
        // Most texts begin with a letter, and need not be decoded to tell.
        !self.inner().starts_with(|letter: char| letter.is_ascii_alphanumeric())
            && self.decoded().trim().is_empty()
    }

    /// Bytes of the text in UTF-8, without decoding it.
    #[must_use]
    pub fn len(self) -> u64 {
        let inner = self.inner();
        let (mut length, mut at) = (inner.len(), 0);
        while let Some(found) = inner[at..].find('\\') {
            let escape = &inner[at + found..];
            let (written, decoded) = match escape.as_bytes().get(1) {
                Some(b'u') => (6, escape.get(2..6).map_or(1, utf8_len)),
                _ => (2, 1),
            };
            length -= written - decoded;
            at += found + written;
        }
        length as u64
    }
}

/// UTF-8 bytes of one `\u` escape; each half of a surrogate pair counts for half of the four bytes.
fn utf8_len(hex: &str) -> usize {
    match u32::from_str_radix(hex, 16) {
        Ok(0..0x80) => 1,
        Ok(0x80..0x800 | 0xD800..0xE000) => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_is_that_of_the_decoded_text() {
        for json in [
            r#""""#,
            r#""plain""#,
            r#""a\nb\"c\\d""#,
            r#""\u00e9\u20ac""#,
            r#""\ud83d\ude00!""#,
            r#""\u0041""#,
            "\"\u{e9}\\t\u{1f600}\"",
            r#""\\u0041""#,
        ] {
            let raw: &RawValue = serde_json::from_str(json).unwrap();
            let text = JsonString::of(raw).unwrap();
            assert_eq!(text.len(), serde_json::from_str::<String>(json).unwrap().len() as u64, "{json}");
            assert_eq!(text.decoded(), serde_json::from_str::<String>(json).unwrap(), "{json}");
        }
    }

    #[test]
    fn keeps_half_of_a_surrogate_pair_as_written() {
        let raw: &RawValue = serde_json::from_str(r#""a\ud83d""#).unwrap();
        let text = JsonString::of(raw).unwrap();
        assert_eq!((text.decoded().as_ref(), text.len()), (r"a\ud83d", 3));
        assert_eq!(text.decode(), None);
    }
}
