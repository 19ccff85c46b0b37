//! The tools of a request and which of them the model may or must call.

use serde::Deserialize;
use serde_json::{Value, json};

use super::errors::{Messages, internal, invalid, unknown_word, wrong};
use super::models::Model;
use super::prompt::CacheControl;
use super::schema::{CUSTOM_TOOL, VERSIONED_TOOLS};
use super::thinking::Thinking;
use crate::common::schema::{check_fields, variant};
use crate::text::answer::generate::{Tool, ToolChoice};
use crate::text::refusal::Refusal;

#[derive(Deserialize)]
struct ToolBody {
    name: String,
    input_schema: Option<Value>,
    cache_control: Option<CacheControl>,
}

#[derive(Deserialize)]
pub(super) struct ChoiceBody {
    #[serde(rename = "type")]
    tag: String,
    name: Option<String>,
    disable_parallel_tool_use: Option<bool>,
}

/// Checks `tools`; gives each with its cache control.
pub(super) fn check(
    values: &[Value],
    model: &Model,
    betas: &[&str],
) -> Result<Vec<(Tool, Option<CacheControl>)>, Refusal> {
    let mut tools: Vec<(Tool, Option<CacheControl>)> = Vec::new();
    for (at, value) in values.iter().enumerate() {
        let (tool, cache) = tool(&format!("tools.{at}"), value, model, betas)?;
        if tools.iter().any(|(other, _)| other.name == tool.name) {
            return Err(invalid("tools: Tool names must be unique."));
        }
        tools.push((tool, cache));
    }
    Ok(tools)
}

fn tool(
    path: &str,
    value: &Value,
    model: &Model,
    betas: &[&str],
) -> Result<(Tool, Option<CacheControl>), Refusal> {
    let fields = value.as_object().ok_or_else(internal)?;
    let allowed = VERSIONED_TOOLS.iter().filter(|tool| tool.beta.is_none_or(|beta| betas.contains(&beta)));
    let mut variants: Vec<_> = allowed.map(|tool| tool.variant).chain([CUSTOM_TOOL]).collect();
    variants.sort_unstable_by_key(|(tag, _)| *tag);
    let (path, known) = match &value["type"] {
        Value::Null => (format!("{path}.custom"), CUSTOM_TOOL.1),
        _ => variant::<Messages>(path, fields, "type", variants.iter().copied())?,
    };
    check_fields::<Messages>(&path, fields, known)?;
    let body = ToolBody::deserialize(value).map_err(|_| internal())?;
    let versioned = VERSIONED_TOOLS.iter().find(|tool| value["type"] == tool.variant.0);
    let parameters = match versioned {
        None => body.input_schema.unwrap_or_default(),
        Some(tool) => {
            if body.name != tool.name {
                return Err(unknown_word(&format!("{path}.name"), &[tool.name]));
            }
            if !model.tools.contains(&tool.variant.0) {
                return Err(invalid(format!(
                    "'{}' does not support tool types: {}. Did you mean one of {}?",
                    model.id,
                    tool.variant.0,
                    model.tools.join(", ")
                )));
            }
            versioned_parameters(tool.name)
        }
    };
    Ok((Tool { name: body.name, parameters }, body.cache_control))
}

/// A schema of arguments that make sense to a versioned tool.
fn versioned_parameters(name: &str) -> Value {
    let properties = match name {
        "computer" => json!({ "action": { "const": "screenshot" } }),
        "bash" => json!({ "command": { "type": "string" } }),
        "web_search" => json!({ "query": { "type": "string" } }),
        _ => {
            json!({ "command": { "const": "view" }, "path": { "const": "/tmp/\u{706f}\u{53f0}.txt" } })
        }
    };
    json!({ "type": "object", "properties": properties })
}

/// Checks `tool_choice`; gives it and whether several calls at once are allowed.
pub(super) fn choice(
    body: Option<ChoiceBody>,
    tools: &[(Tool, Option<CacheControl>)],
    thinking: Thinking,
) -> Result<(ToolChoice, bool), Refusal> {
    let Some(body) = body else { return Ok((ToolChoice::Auto, true)) };
    let choice = match body.tag.as_str() {
        "any" => ToolChoice::Required,
        "auto" => ToolChoice::Auto,
        "none" => ToolChoice::Never,
        _ => ToolChoice::Named(body.name.unwrap_or_default()),
    };
    if tools.is_empty() {
        return Err(wrong("tool_choice", "tool_choice may only be specified while providing tools."));
    }
    if let ToolChoice::Named(name) = &choice
        && tools.iter().all(|(tool, _)| tool.name != *name)
    {
        return Err(invalid(format!("Tool '{name}' not found in provided tools")));
    }
    if thinking.is_on() && choice.is_forced() {
        return Err(invalid("Thinking may not be enabled when tool_choice forces tool use."));
    }
    Ok((choice, !body.disable_parallel_tool_use.unwrap_or(false)))
}
