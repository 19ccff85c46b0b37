//! `tools` and `tool_choice`: their shape, and what a provider of another protocol must be told of them.

use serde_json::value::RawValue;

use crate::json::{Object, Text};
use crate::read::{Checked, Path, array, filled, flag, needed, object, text, word, wrong};
use crate::request::Tally;

/// A tool the model may call.
#[derive(Debug)]
pub(crate) enum Tool<'a> {
    Function(Function<'a>),
    /// Called with free text; only this protocol has it.
    Custom,
}

#[derive(Debug)]
pub(crate) struct Function<'a> {
    pub(crate) name: Text<'a>,
    pub(crate) description: Option<Text<'a>>,
    /// A JSON Schema, an object.
    pub(crate) parameters: Option<&'a RawValue>,
    pub(crate) strict: bool,
    /// Not of this protocol, but clients of both write it.
    pub(crate) cache: Option<&'a RawValue>,
}

pub(crate) fn tools<'a>(path: &Path<'_>, raw: &'a RawValue, tally: &mut Tally<'_>) -> Checked<Vec<Tool<'a>>> {
    tally.read += raw.get().len() as u64;
    array(path, raw)?.into_iter().enumerate().map(|(at, raw)| tool(&path.index(at), raw)).collect()
}

fn tool<'a>(path: &Path<'_>, raw: &'a RawValue) -> Checked<Tool<'a>> {
    let tool = object(path, raw)?;
    let kind = needed(path, &tool, "type", "`function` or `custom`")?;
    if word(&path.key("type"), kind, &["function", "custom"])? == "custom" {
        let custom = object(&path.key("custom"), needed(path, &tool, "custom", "an object")?)?;
        filled(&path.key("custom").key("name"), needed(&path.key("custom"), &custom, "name", "a string")?)?;
        return Ok(Tool::Custom);
    }
    let place = path.key("function");
    let function = object(&place, needed(path, &tool, "function", "an object")?)?;
    let name = filled(&place.key("name"), needed(&place, &function, "name", "a string")?)?;
    let description = function.get("description");
    let parameters = function.get("parameters");
    if let Some(parameters) = parameters {
        object(&place.key("parameters"), parameters)?;
    }
    let strict = function.get("strict").map(|raw| flag(&place.key("strict"), raw));
    Ok(Tool::Function(Function {
        name,
        description: description.map(|raw| text(&place.key("description"), raw)).transpose()?,
        parameters,
        strict: strict.transpose()?.unwrap_or(false),
        cache: tool.get("cache_control").or_else(|| function.get("cache_control")),
    }))
}

/// Whether and what the model must call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Choice<'a> {
    None,
    Auto,
    Required,
    Named(Text<'a>),
    /// A custom tool, or a choice among some: only this protocol has them.
    Other,
}

impl Choice<'_> {
    /// The model may not answer without a call.
    pub(crate) fn is_forced(self) -> bool {
        matches!(self, Self::Required | Self::Named(_))
    }
}

pub(crate) fn choice<'a>(path: &Path<'_>, raw: &'a RawValue) -> Checked<Choice<'a>> {
    if Text::of(raw).is_some() {
        return Ok(match word(path, raw, &["none", "auto", "required"])? {
            "none" => Choice::None,
            "auto" => Choice::Auto,
            _ => Choice::Required,
        });
    }
    let expected = "`none`, `auto`, `required` or an object that names a function";
    let choice = Object::parse(raw.get()).ok_or_else(|| wrong(path, expected, Some(raw)))?;
    let kind = needed(path, &choice, "type", "`function`, `custom` or `allowed_tools`")?;
    if word(&path.key("type"), kind, &["function", "custom", "allowed_tools"])? != "function" {
        return Ok(Choice::Other);
    }
    let place = path.key("function");
    let function = object(&place, needed(path, &choice, "function", "an object")?)?;
    Ok(Choice::Named(filled(&place.key("name"), needed(&place, &function, "name", "a string")?)?))
}
