//! The tools of a request and which of them the model may or must call.

use serde_json::{Value, json};

use super::errors::{Messages, internal, invalid, unknown_word, wrong};
use super::models::Model;
use super::schema::{CUSTOM_TOOL, VERSIONED_TOOLS};
use super::thinking::Thinking;
use crate::common::schema::{check_fields, text, variant};
use crate::text::answer::generate::{Tool, ToolChoice};
use crate::text::refusal::Refusal;

/// Checks `tools`.
pub(super) fn check(values: &[Value], model: &Model, betas: &[String]) -> Result<Vec<Tool>, Refusal> {
    let mut tools: Vec<Tool> = Vec::new();
    for (at, value) in values.iter().enumerate() {
        let tool = tool(&format!("tools.{at}"), value, model, betas)?;
        if tools.iter().any(|other| other.name == tool.name) {
            return Err(invalid("tools: Tool names must be unique."));
        }
        tools.push(tool);
    }
    Ok(tools)
}

fn tool(path: &str, value: &Value, model: &Model, betas: &[String]) -> Result<Tool, Refusal> {
    let fields = value.as_object().ok_or_else(internal)?;
    let is_allowed = |beta: &str| betas.iter().any(|it| it == beta);
    let allowed = VERSIONED_TOOLS.iter().filter(|(_, _, beta)| beta.is_none_or(is_allowed));
    let mut variants: Vec<_> = allowed.map(|(variant, ..)| *variant).chain([CUSTOM_TOOL]).collect();
    variants.sort_unstable_by_key(|(tag, _)| *tag);
    let (path, known) = match &value["type"] {
        Value::Null => (format!("{path}.custom"), CUSTOM_TOOL.1),
        _ => variant::<Messages>(path, fields, "type", variants.iter().copied())?,
    };
    check_fields::<Messages>(&path, fields, known, "type")?;
    let name = text(value, "name").to_owned();
    let Some(((tag, _), only_name, _)) = VERSIONED_TOOLS.iter().find(|tool| value["type"] == tool.0.0) else {
        return Ok(Tool { name, parameters: value["input_schema"].clone() });
    };
    if name != *only_name {
        return Err(unknown_word(&format!("{path}.name"), &[only_name]));
    }
    if !model.tools.contains(tag) {
        let others = model.tools.join(", ");
        let id = model.id;
        let message = format!("'{id}' does not support tool types: {tag}. Did you mean one of {others}?");
        return Err(invalid(message));
    }
    Ok(Tool { parameters: versioned_parameters(&name), name })
}

/// A schema of arguments that make sense to a versioned tool.
fn versioned_parameters(name: &str) -> Value {
    let properties = match name {
        "computer" => json!({ "action": { "const": "screenshot" } }),
        "bash" => json!({ "command": { "type": "string" } }),
        "web_search" => json!({ "query": { "type": "string" } }),
        _ => json!({ "command": { "const": "view" }, "path": { "const": "/tmp/\u{706f}\u{53f0}.txt" } }),
    };
    json!({ "type": "object", "properties": properties })
}

/// Checks `tool_choice`; gives it and whether several calls at once are allowed.
pub(super) fn choice(
    body: &Value,
    tools: &[Tool],
    thinking: Thinking,
) -> Result<(ToolChoice, bool), Refusal> {
    let choice = match text(body, "type") {
        "" => return Ok((ToolChoice::Auto, true)),
        "any" => ToolChoice::Required,
        "auto" => ToolChoice::Auto,
        "none" => ToolChoice::Never,
        _ => ToolChoice::Named(text(body, "name").to_owned()),
    };
    if tools.is_empty() {
        return Err(wrong("tool_choice", "tool_choice may only be specified while providing tools."));
    }
    if let ToolChoice::Named(name) = &choice
        && tools.iter().all(|tool| tool.name != *name)
    {
        return Err(invalid(format!("Tool '{name}' not found in provided tools")));
    }
    if thinking.is_on() && choice.is_forced() {
        return Err(invalid("Thinking may not be enabled when tool_choice forces tool use."));
    }
    Ok((choice, body["disable_parallel_tool_use"] != true))
}
