//! Objects as ordered members with unread values.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

use super::string::{JsonString, Raw};
use super::writer::Writer;

/// Of so many members each is compared with each.
const FEW_MEMBERS: usize = 8;

/// An object's members in their order.
#[derive(Debug, Default)]
pub struct Object<'a>(Vec<(Cow<'a, str>, Raw<'a>)>);

impl<'a> Object<'a> {
    /// `None` when `json` is not an object.
    #[must_use]
    pub fn parse(json: &'a str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    /// Members in their order, `null` ones too.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Raw<'a>)> {
        self.0.iter().map(|(name, raw)| (name.as_ref(), *raw))
    }

    /// The name of a member as a part of the text; `None` where it is written with escapes.
    pub(super) fn name_in_text(&self, at: usize) -> Option<&'a str> {
        match self.0.get(at)?.0 {
            Cow::Borrowed(name) => Some(name),
            Cow::Owned(_) => None,
        }
    }

    /// The member of that name. As for other JSON readers the last one counts; `null` counts as absent.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Raw<'a>> {
        let last = self.0.iter().rev().find(|(known, _)| known == name);
        last.map(|(_, raw)| *raw).filter(|raw| !is_null(raw))
    }

    /// The first member whose name comes again.
    #[must_use]
    pub fn repeated(&self) -> Option<(&str, Raw<'a>)> {
        // Most objects have a few members; of a long one, such as a schema, the names are sorted.
        if self.0.len() <= FEW_MEMBERS {
            let later = |at: usize, name: &str| self.0[at + 1..].iter().any(|(known, _)| known == name);
            let mut members = self.iter().enumerate();
            return members.find(|(at, (name, _))| later(*at, name)).map(|(_, member)| member);
        }
        let mut names: Vec<&str> = self.iter().map(|(name, _)| name).collect();
        names.sort_unstable();
        let twice = names.windows(2).find(|pair| pair[0] == pair[1])?[0];
        self.iter().find(|(name, _)| *name == twice)
    }

    /// How often the object has a member of that name.
    #[must_use]
    pub fn occurrences(&self, name: &str) -> usize {
        self.0.iter().filter(|(known, _)| known == name).count()
    }

    /// The member, if it is a string.
    #[must_use]
    pub fn string(&self, name: &str) -> Option<JsonString<'a>> {
        self.get(name).and_then(JsonString::of)
    }

    /// The text of the member, if it is a string.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        self.string(name).map(JsonString::decoded)
    }

    /// The member, if it is an object.
    #[must_use]
    pub fn object(&self, name: &str) -> Option<Object<'a>> {
        self.get(name).and_then(|raw| Object::parse(raw.get()))
    }

    /// The items of the member, if it is an array.
    #[must_use]
    pub fn items(&self, name: &str) -> Option<Vec<Raw<'a>>> {
        self.get(name).and_then(items)
    }

    /// The objects among the items of the member.
    pub fn objects(&self, name: &str) -> impl Iterator<Item = Object<'a>> + use<'a> {
        self.items(name).unwrap_or_default().into_iter().filter_map(|raw| Object::parse(raw.get()))
    }

    /// The object with another value of a member that it has, both JSON.
    #[must_use]
    pub fn with(&self, name: &str, json: &str) -> String {
        let mut out = Writer::new(256);
        for (known, raw) in self.iter() {
            out.member(known, if known == name { json } else { raw.get() });
        }
        out.done()
    }

    /// The member, if it is a whole number of at least 0.
    #[must_use]
    pub fn unsigned(&self, name: &str) -> Option<u64> {
        let raw = self.get(name)?;
        raw.get().parse().ok().or_else(|| u64::try_from(whole(raw)?).ok())
    }

    /// The member, if it is a count in any form that servers write one in: a number, or a text of one; rounded up. A number
    /// that no request can reach is a server's mistake, which must not cost a customer everything.
    #[must_use]
    pub fn count(&self, name: &str) -> Option<u64> {
        count(self.get(name)?)
    }
}

/// A value as a count: see [`Object::count`].
#[must_use]
pub fn count(raw: Raw<'_>) -> Option<u64> {
    let written = raw.get().trim_matches('"').trim();
    let of_fraction = |number: f64| (0.0..1e10).contains(&number).then(|| number.ceil() as u64);
    // Words such as `inf` are no counts.
    let is_number = written.starts_with(|first: char| first.is_ascii_digit());
    let count: Option<u64> = written.parse().ok().or_else(|| of_fraction(written.parse().ok()?));
    count.filter(|count| is_number && *count < MOST_TOKENS)
}

/// More than any request reads or writes.
const MOST_TOKENS: u64 = 1_000_000_000;

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
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

/// An object without two members of one name. With two of them, the value that was checked and the value the
/// provider reads could differ.
#[derive(Debug, Default)]
pub struct UniqueObject<'a>(Object<'a>);

impl<'a> Deref for UniqueObject<'a> {
    type Target = Object<'a>;

    fn deref(&self) -> &Object<'a> {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for UniqueObject<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Object::deserialize(deserializer)?;
        match object.repeated() {
            Some((name, _)) => Err(D::Error::custom(format!("the field `{name}` stands twice"))),
            None => Ok(Self(object)),
        }
    }
}

/// How deep objects are looked into for names that stand twice.
const MAX_DEPTH: usize = 100;

/// JSON in which a name stands twice in an object, with the last of its members alone, as readers of other languages have it;
/// `None` where none does.
#[must_use]
pub fn last_members(json: &str) -> Option<String> {
    if !has_repeated(serde_json::from_str(json).ok()?, MAX_DEPTH) {
        return None;
    }
    serde_json::from_str::<serde_json::Value>(json).ok().map(|value| value.to_string())
}

fn has_repeated(raw: Raw<'_>, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    match raw.get().as_bytes().first() {
        Some(b'{') => Object::parse(raw.get()).is_some_and(|object| {
            object.repeated().is_some() || object.iter().any(|(_, raw)| has_repeated(raw, depth))
        }),
        Some(b'[') => items(raw).unwrap_or_default().into_iter().any(|raw| has_repeated(raw, depth)),
        _ => false,
    }
}

/// A member's name, borrowed unless it has escapes.
#[derive(serde::Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// Whether the value is `null`.
#[must_use]
pub fn is_null(raw: Raw<'_>) -> bool {
    raw.get() == "null"
}

/// A whole number, also when it is written as `12.0`: JSON has one type of numbers.
#[must_use]
pub fn whole(raw: Raw<'_>) -> Option<i64> {
    let text = raw.get();
    // No other JSON value begins with a digit or a sign, so words such as `inf` are refused.
    if !text.starts_with(|first: char| first.is_ascii_digit() || first == '-') {
        return None;
    }
    // In this range every whole f64 is exact.
    let of_fraction = |number: f64| {
        let fits = number.fract() == 0.0 && number.abs() < 9e15;
        fits.then_some(number as i64)
    };
    text.parse().ok().or_else(|| text.parse().ok().and_then(of_fraction))
}

/// The items of an array, unread.
#[must_use]
pub fn items(raw: Raw<'_>) -> Option<Vec<Raw<'_>>> {
    serde_json::from_str(raw.get()).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    #[test]
    fn the_last_of_two_members_counts_and_null_is_absent() {
        let object = Object::parse(r#"{"a":1,"a":2,"b":null,"\u0063":"x","d":12.0,"e":-1,"f":1.5}"#).unwrap();
        assert_eq!(object.get("a").map(RawValue::get), Some("2"));
        assert_eq!((object.occurrences("a"), object.get("b").is_none()), (2, true));
        assert_eq!(object.string("c").map(JsonString::quoted), Some("\"x\""));
        let counts = ["a", "c", "d", "e", "f"].map(|name| object.unsigned(name));
        assert_eq!(counts, [Some(2), None, Some(12), None, None]);
    }

    /// Without it an answer is charged by a guess because its server writes numbers as texts.
    #[test]
    fn a_count_is_read_in_any_form() {
        for (written, expected) in [
            ("12", Some(12)),
            ("\"12\"", Some(12)),
            ("\" 12 \"", Some(12)),
            ("12.0", Some(12)),
            ("\"12.2\"", Some(13)),
            ("1.2e1", Some(12)),
            ("0", Some(0)),
            ("-1", None),
            ("\"-1\"", None),
            ("1e300", None),
            ("\"inf\"", None),
            ("\"\"", None),
            ("null", None),
            ("true", None),
            ("[1]", None),
        ] {
            let object = format!("{{\"a\":{written}}}");
            assert_eq!(Object::parse(&object).unwrap().count("a"), expected, "{written}");
        }
    }

    /// Without it a client whose language writes 5 as 5.0 could send no integer.
    #[test]
    fn a_whole_number_may_have_a_fraction_of_zero() {
        for (text, expected) in [
            ("5", Some(5)),
            ("5.0", Some(5)),
            ("5e2", Some(500)),
            ("-3.0", Some(-3)),
            ("9223372036854775807", Some(i64::MAX)),
            ("5.5", None),
            ("\"5\"", None),
            ("1e300", None),
            ("null", None),
            ("[5]", None),
        ] {
            let raw: Raw<'_> = serde_json::from_str(text).unwrap();
            assert_eq!(whole(raw), expected, "{text}");
        }
    }

    #[test]
    fn a_repeated_member_is_found_among_few_and_many() {
        for members in [2, FEW_MEMBERS, FEW_MEMBERS + 1, 100] {
            let names: Vec<String> = (0..members).map(|name| format!("\"n{name}\":{name}")).collect();
            let plain = format!("{{{}}}", names.join(","));
            assert!(Object::parse(&plain).unwrap().repeated().is_none(), "{plain}");
            let twice = format!("{{{},\"\\u006e0\":\"again\"}}", names.join(","));
            let object = Object::parse(&twice).unwrap();
            assert_eq!(object.repeated().map(|(name, raw)| (name, raw.get())), Some(("n0", "0")), "{twice}");
        }
        assert!(Object::default().repeated().is_none());
    }

    /// Without it typed readers fail an answer that every client could read.
    #[test]
    fn of_a_name_that_stands_twice_the_last_member_stays() {
        for (given, expected) in [
            (r#"{"a":1,"b":2}"#, None),
            (r#"{"a":1,"\u0061":2}"#, Some(r#"{"a":2}"#)),
            (r#"[{"a":{"b":1.5,"b":[{"c":0,"c":null}]}}]"#, Some(r#"[{"a":{"b":[{"c":null}]}}]"#)),
            (r#"{"a":1,"a""#, None),
        ] {
            assert_eq!(last_members(given).as_deref(), expected, "{given}");
        }
    }

    #[test]
    fn a_unique_object_has_no_name_twice() {
        assert!(serde_json::from_str::<UniqueObject<'_>>(r#"{"a":1,"b":2}"#).is_ok());
        let error = serde_json::from_str::<UniqueObject<'_>>(r#"{"a":1,"\u0061":2}"#).unwrap_err();
        assert!(error.to_string().contains("`a`"), "{error}");
    }
}
