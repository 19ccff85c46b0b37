//! Fields of a Messages request: objects without a name twice, and refusals in the words of a Messages
//! provider.

use gatehouse_text_protocols::check::{self, Checked};
use gatehouse_text_protocols::json::{JsonString, Raw, UniqueObject};
use gatehouse_text_protocols::names::check_case;
use gatehouse_text_protocols::path::Path;

/// A required field.
pub(crate) fn required<'a>(path: &Path<'_>, object: &UniqueObject<'a>, name: &str) -> Checked<Raw<'a>> {
    object.get(name).ok_or_else(|| path.key(name).sentence("Field required"))
}

/// A required string.
pub(crate) fn string<'a>(path: &Path<'_>, object: &UniqueObject<'a>, name: &str) -> Checked<JsonString<'a>> {
    check::string(&path.key(name), required(path, object, name)?)
}

/// An optional boolean.
pub(crate) fn boolean(path: &Path<'_>, object: &UniqueObject<'_>, name: &str) -> Checked<Option<bool>> {
    object.get(name).map(|raw| check::boolean(&path.key(name), raw)).transpose()
}

/// The refusal of a value.
pub(crate) fn wrong(path: &Path<'_>, expected: &str, came: Raw<'_>) -> gatehouse_sdk::Refusal {
    check::wrong(path, expected, Some(came))
}

/// The object's fields.
pub(crate) fn object<'a>(path: &Path<'_>, raw: Raw<'a>) -> Checked<UniqueObject<'a>> {
    if !raw.get().starts_with('{') {
        return Err(wrong(path, "an object", raw));
    }
    let object: UniqueObject<'a> =
        serde_json::from_str(raw.get()).map_err(|error| path.sentence(&without_position(&error)))?;
    check_case(path, &object)?;
    Ok(object)
}

/// An array of objects.
pub(crate) fn objects<'a>(path: &Path<'_>, raw: Raw<'a>) -> Checked<Vec<UniqueObject<'a>>> {
    let objects: Vec<UniqueObject<'a>> = check::items_as(path, raw, object)?;
    objects.iter().enumerate().try_for_each(|(at, object)| check_case(&path.index(at), object))?;
    Ok(objects)
}

/// The parser's message without line and column, which are those of a part of the body.
fn without_position(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message.split(" at line ").next().unwrap_or_default().to_owned()
}
