//! JSON that keeps its bytes: objects as ordered raw fields, strings decoded only when they must be, and
//! edits put into a text without writing the rest of it anew.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

use gatehouse_sdk::Refusal;

use crate::at::At;

/// A value as it was written.
pub(crate) type Raw<'a> = &'a RawValue;

/// An object's fields in the order they were written. A name stands once: with two of them, what was checked
/// and what the provider reads could differ.
#[derive(Debug, Default)]
pub(crate) struct Fields<'a>(pub(crate) Vec<(Cow<'a, str>, Raw<'a>)>);

impl<'a> Fields<'a> {
    /// The field; `null` counts as absent.
    pub(crate) fn get(&self, name: &str) -> Option<Raw<'a>> {
        let found = self.0.iter().find(|(known, _)| known == name)?.1;
        (found.get() != "null").then_some(found)
    }

    /// The field, in the upstream's words where it is missing.
    pub(crate) fn need(&self, at: &At<'_>, name: &str) -> Result<Raw<'a>, Refusal> {
        self.get(name).ok_or_else(|| at.key(name).says("Field required"))
    }

    /// A field that must be there and be a string; not decoded.
    pub(crate) fn string(&self, at: &At<'_>, name: &str) -> Result<Raw<'a>, Refusal> {
        let found = self.need(at, name)?;
        if is_string(found) { Ok(found) } else { Err(at.key(name).wrong("a string", found)) }
    }

    /// A field that is true, false or absent.
    pub(crate) fn flag(&self, at: &At<'_>, name: &str) -> Result<Option<bool>, Refusal> {
        match self.get(name) {
            None => Ok(None),
            Some(raw) => match raw.get() {
                "true" => Ok(Some(true)),
                "false" => Ok(Some(false)),
                _ => Err(at.key(name).wrong("true or false", raw)),
            },
        }
    }

    /// The field's text, if it is a string.
    pub(crate) fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        text(self.get(name)?)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Walk;
        impl<'de> Visitor<'de> for Walk {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields = Vec::new();
                while let Some(Text(name)) = map.next_key()? {
                    fields.push((name, map.next_value()?));
                }
                let mut names: Vec<&str> = fields.iter().map(|(name, _)| name.as_ref()).collect();
                names.sort_unstable();
                match names.windows(2).find(|pair| pair[0] == pair[1]) {
                    Some(pair) => Err(A::Error::custom(format!("the field `{}` stands twice", pair[0]))),
                    None => Ok(Fields(fields)),
                }
            }
        }
        deserializer.deserialize_map(Walk)
    }
}

/// A string that borrows where nothing is escaped.
#[derive(serde::Deserialize)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// Whether the value is a string.
pub(crate) fn is_string(raw: Raw<'_>) -> bool {
    raw.get().starts_with('"')
}

/// What stands between a string's quotes, as it was written.
pub(crate) fn inner(raw: Raw<'_>) -> &str {
    let written = raw.get();
    written.get(1..written.len().saturating_sub(1)).unwrap_or_default()
}

/// The value's text, if it is a string of whole characters.
pub(crate) fn text(raw: Raw<'_>) -> Option<Cow<'_, str>> {
    serde_json::from_str::<Text<'_>>(raw.get()).ok().map(|Text(text)| text)
}

/// The object's fields.
pub(crate) fn fields<'a>(at: &At<'_>, raw: Raw<'a>) -> Result<Fields<'a>, Refusal> {
    if !raw.get().starts_with('{') {
        return Err(at.wrong("an object", raw));
    }
    serde_json::from_str(raw.get()).map_err(|error| at.says(&without_place(&error)))
}

/// The array's items, all of them objects. One pass reads them; only a mistake is looked for item by item.
pub(crate) fn objects<'a>(at: &At<'_>, raw: Raw<'a>) -> Result<Vec<Fields<'a>>, Refusal> {
    match serde_json::from_str(raw.get()) {
        Ok(objects) => Ok(objects),
        Err(_) => {
            items(at, raw)?.into_iter().enumerate().map(|(index, raw)| fields(&at.item(index), raw)).collect()
        }
    }
}

/// The array's items.
pub(crate) fn items<'a>(at: &At<'_>, raw: Raw<'a>) -> Result<Vec<Raw<'a>>, Refusal> {
    serde_json::from_str(raw.get()).map_err(|_| at.wrong("an array", raw))
}

/// A parser's words; line and column are those of a part nobody sees.
fn without_place(error: &serde_json::Error) -> String {
    let words = error.to_string();
    words.split(" at line ").next().unwrap_or_default().to_owned()
}

/// Bytes of a string's text once its escapes are read: what the model reads, not what the line carries.
pub(crate) fn text_len(raw: Raw<'_>) -> u64 {
    let inner = inner(raw);
    if !inner.contains('\\') {
        return inner.len() as u64;
    }
    let (mut bytes, mut rest) = (0, inner.as_bytes());
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        // `\uXXXX` is two or three bytes of text, or half of four; any other escape is one.
        let (read, skipped) = match (rest.get(at + 1), rest.get(at + 2..at + 6)) {
            (Some(b'u'), Some(digits)) => (escaped_len(digits), 6),
            _ => (1, 2),
        };
        bytes += at as u64 + read;
        rest = rest.get(at + skipped..).unwrap_or_default();
    }
    bytes + rest.len() as u64
}

/// Bytes of the character four hexadecimal digits name; of half a pair, its half.
fn escaped_len(digits: &[u8]) -> u64 {
    let digits = std::str::from_utf8(digits).ok();
    match digits.and_then(|digits| u16::from_str_radix(digits, 16).ok()) {
        Some(..0x80) => 1,
        Some(0x80..0x800 | 0xD800..0xE000) => 2,
        _ => 3,
    }
}

/// Replacements of values inside one text.
#[derive(Debug, Default)]
pub(crate) struct Edits(Vec<(usize, usize, String)>);

impl Edits {
    /// Puts `new` where `old` stands; `old` borrows from the text that is written later.
    pub(crate) fn replace(&mut self, old: Raw<'_>, new: String) {
        let from = old.get().as_ptr() as usize;
        self.0.push((from, from + old.get().len(), new));
    }

    /// Writes a value with the replacements that fall inside it.
    pub(crate) fn write(&self, value: Raw<'_>, out: &mut String) {
        let text = value.get();
        let base = text.as_ptr() as usize;
        let mut inside: Vec<_> =
            self.0.iter().filter(|(from, to, _)| *from >= base && *to <= base + text.len()).collect();
        inside.sort_unstable_by_key(|(from, ..)| *from);
        let mut done = 0;
        for (from, to, new) in inside {
            out.push_str(&text[done..from - base]);
            out.push_str(new);
            done = to - base;
        }
        out.push_str(&text[done..]);
    }
}

/// Text as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a text is JSON")
}
