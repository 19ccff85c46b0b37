//! `tools` and `tool_choice`, checked.

use serde_json::value::RawValue;

use super::InputEstimate;
use super::parts::CACHE;
use gatehouse_text_protocols::check::{
    Checked, array, boolean, choice, map, nonempty_string, object, required, required_choice, string, unique,
    wrong,
};
use gatehouse_text_protocols::json::{JsonString, Object, items};
use gatehouse_text_protocols::path::Path;

/// A tool the model may call.
#[derive(Debug)]
pub(crate) enum Tool<'a> {
    Function(Function<'a>),
    /// Called with free text; Messages has no such tool.
    Custom,
}

#[derive(Debug)]
pub(crate) struct Function<'a> {
    pub(crate) name: JsonString<'a>,
    pub(crate) description: Option<JsonString<'a>>,
    /// A JSON Schema, an object.
    pub(crate) parameters: Option<&'a RawValue>,
    pub(crate) strict: bool,
    /// `cache_control`, a field of Messages that chat clients send too.
    pub(crate) cache: Option<&'a RawValue>,
}

pub(crate) fn tools<'a>(
    path: &Path<'_>,
    raw: &'a RawValue,
    estimate: &mut InputEstimate<'_>,
) -> Checked<Vec<Tool<'a>>> {
    estimate.count_raw(raw);
    array(path, raw)?.into_iter().enumerate().map(|(at, raw)| tool(&path.index(at), raw)).collect()
}

fn tool<'a>(path: &Path<'_>, raw: &'a RawValue) -> Checked<Tool<'a>> {
    let tool = object(path, raw)?;
    let kind = required_choice(path, &tool, "type", &["function", "custom"])?;
    let child = path.key(kind);
    let function = object(&child, required(path, &tool, kind, "an object")?)?;
    let name = nonempty_string(&child.key("name"), required(&child, &function, "name", "a string")?)?;
    if kind == "custom" {
        return Ok(Tool::Custom);
    }
    let description = function.get("description");
    let parameters = function.get("parameters");
    if let Some(parameters) = parameters {
        map(&child.key("parameters"), parameters)?;
    }
    let strict = function.get("strict").map(|raw| boolean(&child.key("strict"), raw));
    Ok(Tool::Function(Function {
        name,
        description: description.map(|raw| string(&child.key("description"), raw)).transpose()?,
        parameters,
        strict: strict.transpose()?.unwrap_or(false),
        cache: tool.get(CACHE).or_else(|| function.get(CACHE)),
    }))
}

/// Whether and what the model must call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ToolChoice<'a> {
    None,
    Auto,
    Required,
    Named(JsonString<'a>),
    /// One of these, a list of `function` objects; a call is wanted or not.
    Among {
        is_required: bool,
        tools: &'a RawValue,
    },
    /// A custom tool, which Messages has not.
    Other,
}

impl ToolChoice<'_> {
    /// Whether the function of that name may be called.
    pub(crate) fn allows(self, name: &str) -> bool {
        let Self::Among { tools, .. } = self else { return true };
        let named = items(tools).unwrap_or_default().into_iter();
        let mut named = named.filter_map(|raw| Object::parse(raw.get())?.object("function"));
        named.any(|function| function.text("name").is_some_and(|own| own == name))
    }

    /// Whether the model must call a tool.
    pub(crate) fn is_forced(self) -> bool {
        matches!(self, Self::Required | Self::Among { is_required: true, .. } | Self::Named(_))
    }
}

pub(crate) fn tool_choice<'a>(path: &Path<'_>, raw: &'a RawValue) -> Checked<ToolChoice<'a>> {
    if JsonString::of(raw).is_some() {
        // Mistral's and Anthropic's word.
        if raw.get() == "\"any\"" {
            return Ok(ToolChoice::Required);
        }
        return Ok(match choice(path, raw, &["none", "auto", "required"])? {
            "none" => ToolChoice::None,
            "auto" => ToolChoice::Auto,
            _ => ToolChoice::Required,
        });
    }
    let expected = "`none`, `auto`, `required` or an object that names a function";
    let named = Object::parse(raw.get()).ok_or_else(|| wrong(path, expected, Some(raw)))?;
    unique(path, &named)?;
    let kind = required(path, &named, "type", "`function`, `custom` or `allowed_tools`")?;
    match choice(&path.key("type"), kind, &["function", "custom", "allowed_tools"])? {
        "custom" => return Ok(ToolChoice::Other),
        "allowed_tools" => {
            return among(&path.key("allowed_tools"), required(path, &named, "allowed_tools", "an object")?);
        }
        _ => {}
    }
    let child = path.key("function");
    let function = object(&child, required(path, &named, "function", "an object")?)?;
    let name = required(&child, &function, "name", "a string")?;
    nonempty_string(&child.key("name"), name).map(ToolChoice::Named)
}

/// A choice among some of the tools.
fn among<'a>(path: &Path<'_>, raw: &'a RawValue) -> Checked<ToolChoice<'a>> {
    let allowed = object(path, raw)?;
    let mode = required_choice(path, &allowed, "mode", &["auto", "required"])?;
    let tools = required(path, &allowed, "tools", "an array")?;
    for (at, raw) in array(&path.key("tools"), tools)?.into_iter().enumerate() {
        object(&path.key("tools").index(at), raw)?;
    }
    Ok(ToolChoice::Among { is_required: mode == "required", tools })
}
