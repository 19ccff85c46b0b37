//! The tools of a request and which of them the model may or must call.

use serde_json::Value;

use super::refusal::Refusal;
use super::shape::{Judged, Shape};
use crate::text::answer::words;

/// A tool that passed.
#[derive(Clone, Debug)]
pub(super) struct Tool<'a> {
    pub(super) name: &'a str,
    /// What a call passes.
    pub(super) parameters: Option<&'a Value>,
    pub(super) tokens: u64,
}

/// What `tool_choice` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice<'a> {
    Auto,
    Named(&'a str),
    Never,
    Required,
}

/// Judges `tools`.
pub(super) fn judge<'a>(body: &Shape<'a>) -> Judged<Vec<Tool<'a>>> {
    let Some(values) = body.list("tools")? else { return Ok(Vec::new()) };
    if values.is_empty() {
        let words = "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.";
        return Err(Refusal::invalid("tools", Some("empty_array"), words));
    }
    if values.len() > 128 {
        let words = format!(
            "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length {} instead.",
            values.len()
        );
        return Err(Refusal::invalid("tools", Some("array_above_max_length"), words));
    }
    values.iter().enumerate().map(|(at, value)| tool(at, value)).collect()
}

fn tool<'a>(at: usize, value: &'a Value) -> Judged<Tool<'a>> {
    let shape = Shape::of(format!("tools[{at}]"), value)?;
    shape.need_word("type", &["function"])?;
    shape.only(&["type", "function"])?;
    let function = Shape::of(shape.path("function"), shape.need("function")?)?;
    function.only(&["name", "description", "parameters", "strict"])?;
    function.text("description")?;
    function.flag("strict")?;
    let name = function.need_text("name")?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    if !(1..=64).contains(&name.len()) || !name.bytes().all(plain) {
        let path = function.path("name");
        let words = format!(
            "Invalid '{path}': string does not match pattern. Expected a string that matches the pattern \
             '^[a-zA-Z0-9_-]+$'."
        );
        return Err(Refusal::invalid(&path, Some("invalid_value"), words));
    }
    let parameters = function.maybe("parameters");
    if let Some(parameters) = parameters {
        let schema = Shape::of(function.path("parameters"), parameters)?;
        if schema.maybe("type").is_some_and(|kind| kind != "object") {
            let words = format!(
                "Invalid schema for function '{name}': schema must be a JSON Schema of 'type: \"object\"', got 'type: {}'.",
                schema.fields["type"]
            );
            return Err(Refusal::invalid(&schema.at, Some("invalid_function_parameters"), words));
        }
    }
    Ok(Tool { name, parameters, tokens: words::count(&value.to_string()) })
}

/// Judges `tool_choice` and `parallel_tool_calls`; gives both.
pub(super) fn choice<'a>(body: &Shape<'a>, tools: &[Tool<'_>]) -> Judged<(Choice<'a>, bool)> {
    let without = |name: &str| {
        let words =
            format!("Invalid value for '{name}': '{name}' is only allowed when 'tools' are specified.");
        Refusal::invalid(name, None, words)
    };
    let parallel = body.flag("parallel_tool_calls")?;
    if parallel.is_some() && tools.is_empty() {
        return Err(without("parallel_tool_calls"));
    }
    let parallel = parallel.unwrap_or(true);
    let Some(value) = body.maybe("tool_choice") else { return Ok((Choice::Auto, parallel)) };
    let choice = if let Value::String(_) = value {
        match body.word("tool_choice", &["none", "auto", "required"])? {
            Some("none") => Choice::Never,
            Some("required") => Choice::Required,
            _ => Choice::Auto,
        }
    } else {
        let shape = Shape::of("tool_choice", value)?;
        shape.need_word("type", &["function"])?;
        shape.only(&["type", "function"])?;
        let function = Shape::of("tool_choice.function", shape.need("function")?)?;
        function.only(&["name"])?;
        Choice::Named(function.need_text("name")?)
    };
    if tools.is_empty() && choice != Choice::Never {
        return Err(without("tool_choice"));
    }
    if let Choice::Named(name) = choice
        && tools.iter().all(|tool| tool.name != name)
    {
        let words = format!("Tool choice '{name}' not found in 'tools' parameter.");
        return Err(Refusal::invalid("tool_choice", None, words));
    }
    Ok((choice, parallel))
}
