//! Reading a client's values with their place at hand: what is wrong is said by its JSON path, what was
//! expected and what came. The path costs nothing until something is wrong.

use std::fmt;
use std::ops::RangeInclusive;

use gatehouse_sdk::{Refusal, params};
use serde_json::value::RawValue;

use crate::json::{Object, Text, items};

pub(crate) type Checked<T> = Result<T, Refusal>;

/// Where a value stands.
#[derive(Clone, Copy)]
pub(crate) enum Path<'p> {
    Root,
    Key(&'p Path<'p>, &'p str),
    Index(&'p Path<'p>, usize),
}

impl<'p> Path<'p> {
    pub(crate) fn key(&'p self, name: &'p str) -> Path<'p> {
        Path::Key(self, name)
    }

    pub(crate) fn index(&'p self, at: usize) -> Path<'p> {
        Path::Index(self, at)
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root => Ok(()),
            Path::Key(Path::Root, name) => f.write_str(name),
            Path::Key(parent, name) => write!(f, "{parent}.{name}"),
            Path::Index(parent, at) => write!(f, "{parent}[{at}]"),
        }
    }
}

/// A refusal of what stands at `path`.
pub(crate) fn wrong(path: &Path<'_>, expected: &str, came: Option<&RawValue>) -> Refusal {
    instead(path, expected, &came.map_or_else(|| params::came(None), shown))
}

/// What came. A number beyond all numbers, half of a surrogate pair and the deepest nests are JSON, and still
/// no value.
pub(crate) fn shown(raw: &RawValue) -> String {
    match serde_json::from_str(raw.get()) {
        Ok(value) => params::came(Some(&value)),
        Err(_) => "what cannot be read".to_owned(),
    }
}

/// The same where what came is known without looking.
pub(crate) fn instead(path: &Path<'_>, expected: &str, came: &str) -> Refusal {
    Refusal::invalid(path.to_string(), format!("expected {expected}, got {came}"))
}

/// A refusal in a provider's own words, which some clients look for.
pub(crate) fn in_these_words(field: &str, message: impl Into<String>) -> Refusal {
    Refusal::Invalid { field: Some(field.to_owned()), message: message.into() }
}

pub(crate) fn object<'a>(path: &Path<'_>, raw: &'a RawValue) -> Checked<Object<'a>> {
    Object::parse(raw.get()).ok_or_else(|| wrong(path, "an object", Some(raw)))
}

pub(crate) fn array<'a>(path: &Path<'_>, raw: &'a RawValue) -> Checked<Vec<&'a RawValue>> {
    items(raw).ok_or_else(|| wrong(path, "an array", Some(raw)))
}

/// An array of objects, read in one pass; the second only finds which of them is none.
pub(crate) fn objects<'a>(path: &Path<'_>, raw: &'a RawValue) -> Checked<Vec<Object<'a>>> {
    if let Ok(objects) = serde_json::from_str(raw.get()) {
        return Ok(objects);
    }
    array(path, raw)?.into_iter().enumerate().map(|(at, raw)| object(&path.index(at), raw)).collect()
}

pub(crate) fn text<'a>(path: &Path<'_>, raw: &'a RawValue) -> Checked<Text<'a>> {
    Text::of(raw).ok_or_else(|| wrong(path, "a string", Some(raw)))
}

pub(crate) fn filled<'a>(path: &Path<'_>, raw: &'a RawValue) -> Checked<Text<'a>> {
    let text = text(path, raw)?;
    if text.is_empty() {
        return Err(wrong(path, "a string that is not empty", Some(raw)));
    }
    Ok(text)
}

pub(crate) fn flag(path: &Path<'_>, raw: &RawValue) -> Checked<bool> {
    raw.get().parse().map_err(|_| wrong(path, "true or false", Some(raw)))
}

pub(crate) fn number(path: &Path<'_>, raw: &RawValue, range: RangeInclusive<f64>) -> Checked<f64> {
    match serde_json::from_str(raw.get()) {
        Ok(number) if range.contains(&number) => Ok(number),
        Ok(_) => Err(wrong(path, &format!("a number from {} to {}", range.start(), range.end()), Some(raw))),
        Err(_) => Err(wrong(path, "a number", Some(raw))),
    }
}

pub(crate) fn integer(path: &Path<'_>, raw: &RawValue, range: RangeInclusive<i64>) -> Checked<i64> {
    match serde_json::from_str(raw.get()) {
        Ok(number) if range.contains(&number) => Ok(number),
        Ok(_) if *range.end() == i64::MAX => {
            Err(wrong(path, &format!("an integer of at least {}", range.start()), Some(raw)))
        }
        Ok(_) => {
            Err(wrong(path, &format!("an integer from {} to {}", range.start(), range.end()), Some(raw)))
        }
        Err(_) => Err(wrong(path, "an integer", Some(raw))),
    }
}

/// One of a few words.
pub(crate) fn word(path: &Path<'_>, raw: &RawValue, words: &[&'static str]) -> Checked<&'static str> {
    let said = Text::of(raw).map(Text::decoded);
    let known = said.and_then(|said| words.iter().find(|word| **word == said));
    known.copied().ok_or_else(|| wrong(path, &one_of(words), Some(raw)))
}

/// "one of `a`, `b`", in the words of the other refusals of the house.
pub(crate) fn one_of(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.as_slice() {
        [only] => only.clone(),
        [one, other] => format!("{one} or {other}"),
        many => format!("one of {}", many.join(", ")),
    }
}

/// A member that must be there.
pub(crate) fn needed<'a>(
    path: &Path<'_>,
    object: &Object<'a>,
    name: &str,
    what: &str,
) -> Checked<&'a RawValue> {
    object.get(name).ok_or_else(|| {
        let came = object.iter().find(|(known, _)| *known == name).map(|(_, raw)| raw);
        wrong(&path.key(name), what, came)
    })
}
