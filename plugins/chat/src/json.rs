//! JSON as somebody wrote it: objects whose values stay unread, strings that keep their escapes. What is
//! passed on is copied from here byte for byte. Never judges; `read` does.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

/// An object's members in their order.
#[derive(Debug, Default)]
pub(crate) struct Object<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Object<'a> {
    /// `None` when `json` is no object.
    pub(crate) fn parse(json: &'a str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(name, raw)| (name.as_ref(), *raw))
    }

    /// The member of that name, as every other reader takes it: the last one counts, and `null` is nothing.
    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        let last = self.0.iter().rev().find(|(known, _)| known == name);
        last.map(|(_, raw)| *raw).filter(|raw| !is_null(raw))
    }

    /// How often a name stands here.
    pub(crate) fn count(&self, name: &str) -> usize {
        self.0.iter().filter(|(known, _)| known == name).count()
    }

    /// The member, if it is a string.
    pub(crate) fn text(&self, name: &str) -> Option<Text<'a>> {
        self.get(name).and_then(Text::of)
    }

    /// The member, if it is an object.
    pub(crate) fn object(&self, name: &str) -> Option<Object<'a>> {
        self.get(name).and_then(|raw| Object::parse(raw.get()))
    }

    /// The items of the member, if it is an array.
    pub(crate) fn items(&self, name: &str) -> Option<Vec<&'a RawValue>> {
        self.get(name).and_then(items)
    }

    /// The member, if it is a whole number that is not negative. Clones write some as `12.0`.
    pub(crate) fn count_in(&self, name: &str) -> Option<u64> {
        let raw = self.get(name)?.get();
        let whole = |number: f64| {
            let fits = number >= 0.0 && number.fract() == 0.0 && number < 9e15;
            // In this range every whole f64 is exact.
            fits.then_some(number as u64)
        };
        raw.parse().ok().or_else(|| raw.parse().ok().and_then(whole))
    }
}

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(Name(name)) = map.next_key()? {
                    members.push((name, map.next_value()?));
                }
                Ok(Object(members))
            }
        }

        deserializer.deserialize_map(Members)
    }
}

/// A member's name, borrowed unless it has escapes.
struct Name<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Letters;

        impl<'de> Visitor<'de> for Letters {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_borrowed_str<E: Error>(self, name: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(name)))
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(name.to_owned())))
            }
        }

        deserializer.deserialize_str(Letters)
    }
}

/// A string between its quotes, escapes and all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Text<'a>(&'a str);

impl<'a> Text<'a> {
    /// `None` when it is no string.
    pub(crate) fn of(raw: &'a RawValue) -> Option<Self> {
        let json = raw.get();
        json.starts_with('"').then_some(Self(json))
    }

    /// As written, quotes included.
    pub(crate) fn quoted(self) -> &'a str {
        self.0
    }

    /// As written, without the quotes: texts join by writing these one after the other.
    pub(crate) fn inner(self) -> &'a str {
        &self.0[1..self.0.len() - 1]
    }

    /// What it says. Half of a surrogate pair says nothing; it is left as written.
    pub(crate) fn decoded(self) -> Cow<'a, str> {
        let inner = self.inner();
        if !inner.contains('\\') {
            return Cow::Borrowed(inner);
        }
        Cow::Owned(serde_json::from_str(self.0).unwrap_or_else(|_| inner.to_owned()))
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0.len() == 2
    }

    /// Bytes of UTF-8 it says.
    pub(crate) fn len(self) -> u64 {
        let inner = self.inner();
        let (mut length, mut at) = (inner.len(), 0);
        while let Some(found) = inner[at..].find('\\') {
            let escape = &inner[at + found..];
            let (wide, says) = match escape.as_bytes().get(1) {
                Some(b'u') => (6, escape.get(2..6).map_or(1, width)),
                _ => (2, 1),
            };
            length -= wide - says;
            at += found + wide;
        }
        length as u64
    }
}

/// Bytes of the UTF-8 of one `\u` unit; a surrogate counts for half its pair.
fn width(hex: &str) -> usize {
    match u32::from_str_radix(hex, 16) {
        Ok(0..0x80) => 1,
        Ok(0x80..0x800 | 0xD800..0xE000) => 2,
        _ => 3,
    }
}

pub(crate) fn is_null(raw: &RawValue) -> bool {
    raw.get() == "null"
}

/// The items of an array, unread.
pub(crate) fn items(raw: &RawValue) -> Option<Vec<&RawValue>> {
    serde_json::from_str(raw.get()).ok()
}

/// Writes `text` as a JSON string.
pub(crate) fn quote(text: &str, into: &mut String) {
    let plain = text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\');
    if plain {
        into.push('"');
        into.push_str(text);
        into.push('"');
    } else {
        into.push_str(&serde_json::to_string(text).expect("a text is JSON"));
    }
}

/// `text` as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    quote(text, &mut json);
    json
}

/// An object under construction: `,` where one is due.
pub(crate) struct Writer {
    json: String,
    first: bool,
}

impl Writer {
    pub(crate) fn new(capacity: usize) -> Self {
        let mut json = String::with_capacity(capacity);
        json.push('{');
        Self { json, first: true }
    }

    /// Begins a member; its value is to be written into what is returned.
    pub(crate) fn name(&mut self, name: &str) -> &mut String {
        if !self.first {
            self.json.push(',');
        }
        self.first = false;
        quote(name, &mut self.json);
        self.json.push(':');
        &mut self.json
    }

    /// A member whose value is JSON already.
    pub(crate) fn member(&mut self, name: &str, json: &str) {
        self.name(name).push_str(json);
    }

    pub(crate) fn done(mut self) -> String {
        self.json.push('}');
        self.json
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_as_long_as_what_it_says() {
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
            let text = Text::of(raw).unwrap();
            assert_eq!(text.len(), serde_json::from_str::<String>(json).unwrap().len() as u64, "{json}");
            assert_eq!(text.decoded(), serde_json::from_str::<String>(json).unwrap(), "{json}");
        }
    }

    #[test]
    fn a_lone_surrogate_is_left_as_written() {
        let raw: &RawValue = serde_json::from_str(r#""a\ud83d""#).unwrap();
        let text = Text::of(raw).unwrap();
        assert_eq!((text.decoded().as_ref(), text.len()), (r"a\ud83d", 3));
    }

    #[test]
    fn the_last_of_two_members_counts_and_null_is_nothing() {
        let object = Object::parse(r#"{"a":1,"a":2,"b":null,"\u0063":"x","d":12.0,"e":-1,"f":1.5}"#).unwrap();
        assert_eq!(object.get("a").map(RawValue::get), Some("2"));
        assert_eq!((object.count("a"), object.get("b").is_none()), (2, true));
        assert_eq!(object.text("c").map(Text::quoted), Some("\"x\""));
        let counts = ["a", "c", "d", "e", "f"].map(|name| object.count_in(name));
        assert_eq!(counts, [Some(2), None, Some(12), None, None]);
    }
}
