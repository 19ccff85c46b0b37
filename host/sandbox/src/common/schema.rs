//! Checks JSON values against tables: kinds, fields, bounds, words, variants.
//!
//! Knows no provider. A [`Dialect`] says how paths are written and what an error says; the first violation ends the
//! check. A value that passed can be read with serde and no further error.

use serde_json::{Map, Value};

/// The kind of a value.
#[derive(Debug)]
pub(crate) enum Kind {
    Any,
    Flag,
    /// Between two bounds, both included.
    Integer(i64, i64),
    /// Of at least and at most so many items.
    List(&'static Kind, usize, usize),
    /// Any names, values of one kind.
    Map(&'static Kind),
    /// Letters, digits, `_` and `-`: at least one, at most so many. The text is the pattern the error shows.
    Name(usize, &'static str),
    /// Between two bounds, both included.
    Number(f64, f64),
    /// No fields but these, unless [`OTHERS`] is among them.
    Object(&'static [Field]),
    Text,
    /// One kind for a string, another for other values.
    TextOr(&'static Kind, &'static Kind),
    /// The field of that name, the tag, chooses between variants.
    Variants(&'static str, &'static [Variant]),
    /// One of a few words.
    Word(&'static [&'static str]),
}

/// An object that its tag chooses; the tag itself is not listed.
pub(crate) type Variant = (&'static str, &'static [Field]);

/// A field of an object.
#[derive(Debug)]
pub(crate) struct Field {
    name: &'static str,
    kind: Kind,
    required: bool,
}

/// A field that must be there.
pub(crate) const fn required(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, required: true }
}

/// A field that may be absent or null.
pub(crate) const fn optional(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, required: false }
}

/// Stands for fields of any other name.
pub(crate) const OTHERS: Field = optional("*", Kind::Any);

/// The fields of an object: `name: KIND` must be there, `name?: KIND` may be absent or null, `..` takes any others.
macro_rules! fields {
    (@ [$($done:tt)*]) => { [$($done)*] };
    (@ [$($done:tt)*] ..) => { [$($done)* $crate::common::schema::OTHERS] };
    (@ [$($done:tt)*] $name:ident: $kind:expr $(, $($rest:tt)*)?) => {
        $crate::common::schema::fields!(
            @ [$($done)* $crate::common::schema::required(stringify!($name), $kind),] $($($rest)*)?
        )
    };
    (@ [$($done:tt)*] $name:ident?: $kind:expr $(, $($rest:tt)*)?) => {
        $crate::common::schema::fields!(
            @ [$($done)* $crate::common::schema::optional(stringify!($name), $kind),] $($($rest)*)?
        )
    };
    ($($fields:tt)*) => { $crate::common::schema::fields!(@ [] $($fields)*) };
}
/// An object of these fields.
macro_rules! object {
    ($($fields:tt)*) => { $crate::common::schema::Kind::Object(&$crate::common::schema::fields!($($fields)*)) };
}
pub(crate) use {fields, object};

/// What is wrong with a value.
#[derive(Debug)]
pub(crate) enum Violation<'a> {
    Above(&'a Kind, &'a Value),
    Below(&'a Kind, &'a Value),
    Missing,
    Pattern(&'static str),
    /// No variant has this tag.
    Tag(&'static str, Vec<&'static str>, Option<&'a Value>),
    TooLong(usize, usize),
    TooShort,
    Type(&'a Kind, &'a Value),
    Unknown,
    Word(&'a [&'static str], &'a str),
}

/// How a provider writes paths and errors.
pub(crate) trait Dialect {
    /// An error reply.
    type Refusal;
    /// A required field that is null counts as missing.
    const NULL_IS_MISSING: bool;
    /// The path of a variant ends with its tag.
    const TAG_IN_PATH: bool;

    /// The path of an item of a list.
    fn item(path: &str, at: usize) -> String;
    /// The error for a violation at `path`.
    fn refuse(path: &str, violation: Violation<'_>) -> Self::Refusal;
}

/// The path of a field.
pub(crate) fn field_path(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// Checks one value.
pub(crate) fn check<D: Dialect>(path: &str, value: &Value, kind: &'static Kind) -> Result<(), D::Refusal> {
    let refuse = |violation| Err(D::refuse(path, violation));
    match (kind, value) {
        (Kind::Any, _) | (Kind::Flag, Value::Bool(_)) | (Kind::Text, Value::String(_)) => Ok(()),
        (Kind::Integer(min, max), _) => match value.as_i64() {
            Some(number) if number < *min => refuse(Violation::Below(kind, value)),
            Some(number) if number > *max => refuse(Violation::Above(kind, value)),
            Some(_) => Ok(()),
            None => refuse(Violation::Type(kind, value)),
        },
        (Kind::Number(min, max), Value::Number(number)) => match number.as_f64() {
            Some(number) if number < *min => refuse(Violation::Below(kind, value)),
            Some(number) if number > *max => refuse(Violation::Above(kind, value)),
            _ => Ok(()),
        },
        (Kind::List(_, min, _), Value::Array(items)) if items.len() < *min => refuse(Violation::TooShort),
        (Kind::List(_, _, max), Value::Array(items)) if items.len() > *max => {
            refuse(Violation::TooLong(*max, items.len()))
        }
        (Kind::List(item, ..), Value::Array(items)) => {
            items.iter().enumerate().try_for_each(|(at, value)| check::<D>(&D::item(path, at), value, item))
        }
        (Kind::Map(each), Value::Object(fields)) => {
            let mut given = fields.iter().filter(|(_, value)| !value.is_null());
            given.try_for_each(|(name, value)| check::<D>(&field_path(path, name), value, each))
        }
        (Kind::Name(max, pattern), Value::String(name)) => {
            let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
            let fits = is_plain && (1..=*max).contains(&name.len());
            if fits { Ok(()) } else { refuse(Violation::Pattern(pattern)) }
        }
        (Kind::Object(known), Value::Object(fields)) => check_fields::<D>(path, fields, known, ""),
        (Kind::TextOr(text, _), Value::String(_)) => check::<D>(path, value, text),
        (Kind::TextOr(_, Kind::List(..)), other) if !other.is_array() => refuse(Violation::Type(kind, value)),
        (Kind::TextOr(_, other), _) => check::<D>(path, value, other),
        (Kind::Variants(tag, variants), Value::Object(fields)) => {
            let (path, known) = variant::<D>(path, fields, tag, variants.iter().copied())?;
            check_fields::<D>(&path, fields, known, tag)
        }
        (Kind::Word(words), Value::String(word)) if words.contains(&word.as_str()) => Ok(()),
        (Kind::Word(words), Value::String(word)) => refuse(Violation::Word(words, word)),
        _ => refuse(Violation::Type(kind, value)),
    }
}

/// The variant that the tag of an object chooses, and the path of its fields.
pub(crate) fn variant<D: Dialect>(
    path: &str,
    fields: &Map<String, Value>,
    tag: &'static str,
    variants: impl Iterator<Item = Variant> + Clone,
) -> Result<(String, &'static [Field]), D::Refusal> {
    let found = fields.get(tag);
    let chosen = variants.clone().find(|(name, _)| found.is_some_and(|found| found == name));
    let Some((name, known)) = chosen else {
        let names = variants.map(|(name, _)| name).collect();
        return Err(D::refuse(path, Violation::Tag(tag, names, found)));
    };
    Ok((if D::TAG_IN_PATH { field_path(path, name) } else { path.to_owned() }, known))
}

/// Checks the fields of an object, its tag left out.
pub(crate) fn check_fields<D: Dialect>(
    path: &str,
    fields: &Map<String, Value>,
    known: &'static [Field],
    tag: &str,
) -> Result<(), D::Refusal> {
    let is_known =
        |name: &str| name == tag || known.iter().any(|field| [name, OTHERS.name].contains(&field.name));
    if let Some(name) = fields.keys().find(|name| !is_known(name)) {
        return Err(D::refuse(&field_path(path, name), Violation::Unknown));
    }
    known.iter().try_for_each(|field| match fields.get(field.name) {
        Some(Value::Null) | None if !field.required => Ok(()),
        Some(value) if !(D::NULL_IS_MISSING && value.is_null()) => {
            check::<D>(&field_path(path, field.name), value, &field.kind)
        }
        _ => Err(D::refuse(&field_path(path, field.name), Violation::Missing)),
    })
}

/// A text field of an object that passed; empty where it is absent.
pub(crate) fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object[name].as_str().unwrap_or_default()
}

/// The items of a list field of an object that passed; none where it is absent.
pub(crate) fn items<'a>(object: &'a Value, name: &str) -> &'a [Value] {
    object[name].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Checks a value apart from a table: whether it is one of these words, or what it must be.
pub(crate) fn one_of(value: &Value, words: &[&str]) -> Result<(), String> {
    let fits = value.as_str().is_some_and(|word| words.contains(&word));
    if fits { Ok(()) } else { Err(format!("must be one of {}", quoted(words).join(", "))) }
}

/// The same for an integer between two bounds, both included.
pub(crate) fn integer_from(value: &Value, least: i64, most: i64) -> Result<(), String> {
    let fits = value.as_i64().is_some_and(|number| (least..=most).contains(&number));
    if fits { Ok(()) } else { Err(format!("must be an integer from {least} to {most}")) }
}

/// Words in quotation marks, as errors list them.
pub(crate) fn quoted(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| format!("'{word}'")).collect()
}
