//! Checks of request fields. A refusal names the JSON path, what was expected and what came; the path is
//! written out only then.

use std::ops::RangeInclusive;

use gatehouse_sdk::{Refusal, params};
use serde::Deserialize;

use crate::json::{JsonString, Object, Raw, is_null, items, whole};
use crate::names::check_case;
use crate::path::Path;

/// A value, or the refusal of the request.
pub type Checked<T> = Result<T, Refusal>;

/// A refusal of the value at `path`; `came` is `None` when it is missing.
#[must_use]
pub fn wrong(path: &Path<'_>, expected: &str, came: Option<Raw<'_>>) -> Refusal {
    instead(path, expected, &came.map_or_else(|| params::came(None), shown))
}

/// The value that came, for a refusal. A number out of range, half of a surrogate pair and very deep nesting
/// are JSON, but cannot be read as a value.
#[must_use]
pub fn shown(raw: Raw<'_>) -> String {
    match serde_json::from_str(raw.get()) {
        Ok(value) => params::came(Some(&value)),
        Err(_) => "what cannot be read".to_owned(),
    }
}

/// As [`wrong`], with what came in words.
#[must_use]
pub fn instead(path: &Path<'_>, expected: &str, came: &str) -> Refusal {
    Refusal::invalid(path.to_string(), format!("expected {expected}, got {came}"))
}

/// A refusal in a provider's own words, which some clients look for.
pub fn in_provider_words(field: &str, message: impl Into<String>) -> Refusal {
    Refusal::Invalid { field: Some(field.to_owned()), message: message.into() }
}

/// An object of the protocol: no two fields of one name, and none of the protocol's own in another letter case.
///
/// # Errors
/// Any other value.
pub fn object<'a>(path: &Path<'_>, raw: Raw<'a>) -> Checked<Object<'a>> {
    let object = map(path, raw)?;
    check_case(path, &object)?;
    Ok(object)
}

/// An object whose names are the client's own: no two of them are the same.
///
/// # Errors
/// Any other value.
pub fn map<'a>(path: &Path<'_>, raw: Raw<'a>) -> Checked<Object<'a>> {
    let object = Object::parse(raw.get()).ok_or_else(|| wrong(path, "an object", Some(raw)))?;
    once_each(path, &object)?;
    Ok(object)
}

/// Checks the names of an object of the protocol: the value that was checked and the one that the provider reads could
/// differ.
///
/// # Errors
/// The field that stands twice, or has its name in another letter case.
pub fn unique(path: &Path<'_>, object: &Object<'_>) -> Checked<()> {
    once_each(path, object)?;
    check_case(path, object)
}

/// The items of an array.
///
/// # Errors
/// Any other value.
pub fn array<'a>(path: &Path<'_>, raw: Raw<'a>) -> Checked<Vec<Raw<'a>>> {
    items(raw).ok_or_else(|| wrong(path, "an array", Some(raw)))
}

/// An array of objects. One pass reads them; a second one only looks for the wrong item.
///
/// # Errors
/// Any other value.
pub fn objects<'a>(path: &Path<'_>, raw: Raw<'a>) -> Checked<Vec<Object<'a>>> {
    let objects: Vec<Object<'a>> = items_as(path, raw, object)?;
    objects.iter().enumerate().try_for_each(|(at, object)| unique(&path.index(at), object))?;
    Ok(objects)
}

/// The same for items of any type; `one` reads the wrong item for its refusal.
///
/// # Errors
/// Any other value.
pub fn items_as<'a, T: Deserialize<'a>>(
    path: &Path<'_>,
    raw: Raw<'a>,
    one: impl Fn(&Path<'_>, Raw<'a>) -> Checked<T>,
) -> Checked<Vec<T>> {
    if let Ok(items) = serde_json::from_str(raw.get()) {
        return Ok(items);
    }
    array(path, raw)?.into_iter().enumerate().map(|(at, raw)| one(&path.index(at), raw)).collect()
}

/// A string.
///
/// # Errors
/// Any other value.
pub fn string<'a>(path: &Path<'_>, raw: Raw<'a>) -> Checked<JsonString<'a>> {
    JsonString::of(raw).ok_or_else(|| wrong(path, "a string", Some(raw)))
}

/// A string that is not empty.
///
/// # Errors
/// Any other value.
pub fn nonempty_string<'a>(path: &Path<'_>, raw: Raw<'a>) -> Checked<JsonString<'a>> {
    let string = string(path, raw)?;
    if string.is_empty() {
        return Err(wrong(path, "a string that is not empty", Some(raw)));
    }
    Ok(string)
}

/// True or false.
///
/// # Errors
/// Any other value.
pub fn boolean(path: &Path<'_>, raw: Raw<'_>) -> Checked<bool> {
    raw.get().parse().map_err(|_| wrong(path, "true or false", Some(raw)))
}

/// A number in `range`.
///
/// # Errors
/// Any other value.
pub fn number(path: &Path<'_>, raw: Raw<'_>, range: RangeInclusive<f64>) -> Checked<f64> {
    match serde_json::from_str(raw.get()) {
        Ok(number) if range.contains(&number) => Ok(number),
        Ok(_) => Err(wrong(path, &format!("a number from {} to {}", range.start(), range.end()), Some(raw))),
        Err(_) => Err(wrong(path, "a number", Some(raw))),
    }
}

/// An integer in `range`; `5.0` is one.
///
/// # Errors
/// Any other value.
pub fn integer(path: &Path<'_>, raw: Raw<'_>, range: RangeInclusive<i64>) -> Checked<i64> {
    match whole(raw) {
        Some(number) if range.contains(&number) => Ok(number),
        Some(_) if *range.end() == i64::MAX => {
            Err(wrong(path, &format!("an integer of at least {}", range.start()), Some(raw)))
        }
        Some(_) => {
            Err(wrong(path, &format!("an integer from {} to {}", range.start(), range.end()), Some(raw)))
        }
        None => Err(wrong(path, "an integer", Some(raw))),
    }
}

/// Words that leave the choice to the model and its provider.
const NO_CHOICE: [&str; 5] = ["auto", "default", "disabled", "none", "off"];

/// Whether a field of this name and value asks for no more than a request without it. Clients that write every field they have
/// write it so: it is refused nowhere, and sent nowhere but where the field itself is.
#[must_use]
pub fn asks_for_nothing(name: &str, raw: Raw<'_>) -> bool {
    match name {
        // An empty object switches the search on.
        "web_search_options" => is_null(raw),
        "n" => matches!(raw.get(), "1" | "null"),
        "modalities" => {
            is_empty(raw) || matches!(items(raw).as_deref(), Some([one]) if one.get() == "\"text\"")
        }
        _ => is_empty(raw) || JsonString::of(raw).is_some_and(|word| NO_CHOICE.contains(&word.inner())),
    }
}

/// Whether a value is `null`, `false`, or a text, list or object with nothing in it.
#[must_use]
pub fn is_empty(raw: Raw<'_>) -> bool {
    match raw.get().as_bytes() {
        b"null" | b"false" | b"\"\"" => true,
        [b'[', inner @ .., b']'] | [b'{', inner @ .., b'}'] => inner.iter().all(u8::is_ascii_whitespace),
        _ => false,
    }
}

/// Every field once: one reader takes the first of two values, another the last.
///
/// # Errors
/// The first field that comes again.
pub fn once_each(root: &Path<'_>, object: &Object<'_>) -> Checked<()> {
    match object.repeated() {
        Some((name, raw)) => Err(wrong(&root.key(name), "one value, not the same field twice", Some(raw))),
        None => Ok(()),
    }
}

/// One of the strings in `allowed`.
///
/// # Errors
/// Any other value.
pub fn choice(path: &Path<'_>, raw: Raw<'_>, allowed: &[&'static str]) -> Checked<&'static str> {
    let text = JsonString::of(raw).map(JsonString::decoded);
    let known = text.and_then(|text| allowed.iter().find(|known| **known == text));
    known.copied().ok_or_else(|| wrong(path, &one_of(allowed), Some(raw)))
}

/// A required member that is one of the strings in `allowed`.
///
/// # Errors
/// Any other value, or none.
pub fn required_choice(
    path: &Path<'_>,
    object: &Object<'_>,
    name: &str,
    allowed: &[&'static str],
) -> Checked<&'static str> {
    let raw = object.get(name).ok_or_else(|| missing(path, object, name, &one_of(allowed)))?;
    choice(&path.key(name), raw, allowed)
}

/// "one of `a`, `b`, `c`", as the SDK's refusals write it.
#[must_use]
pub fn one_of(allowed: &[&str]) -> String {
    let quoted: Vec<String> = allowed.iter().map(|text| format!("`{text}`")).collect();
    match quoted.as_slice() {
        [only] => only.clone(),
        [one, other] => format!("{one} or {other}"),
        many => format!("one of {}", many.join(", ")),
    }
}

/// A required member.
///
/// # Errors
/// The member is missing or `null`; `expected` says what it must be.
pub fn required<'a>(path: &Path<'_>, object: &Object<'a>, name: &str, expected: &str) -> Checked<Raw<'a>> {
    object.get(name).ok_or_else(|| missing(path, object, name, expected))
}

fn missing(path: &Path<'_>, object: &Object<'_>, name: &str, expected: &str) -> Refusal {
    let came = object.iter().find(|(known, _)| *known == name).map(|(_, raw)| raw);
    wrong(&path.key(name), expected, came)
}
