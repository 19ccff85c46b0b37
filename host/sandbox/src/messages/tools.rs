//! The tools of a request and which of them the model may or must call.

use serde_json::Value;

use super::refusal::Refusal;
use super::rules::{KINDS, Model};
use super::shape::{Judged, Shape, Ttl, wrong};
use super::thinking::Thinking;
use crate::text::answer::words;

/// A tool that passed.
#[derive(Clone, Debug)]
pub(super) struct Tool<'a> {
    pub(super) value: &'a Value,
    pub(super) name: &'a str,
    /// What a call passes; only custom tools say.
    pub(super) schema: Option<&'a Value>,
    pub(super) tokens: u64,
    pub(super) ttl: Option<Ttl>,
}

/// What `tool_choice` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice<'a> {
    Any,
    Auto,
    Never,
    Named(&'a str),
}

const CUSTOM: &[&str] = &[
    "type",
    "name",
    "description",
    "input_schema",
    "cache_control",
    "strict",
    "eager_input_streaming",
    "defer_loading",
    "input_examples",
    "allowed_callers",
];

/// Judges `tools`.
pub(super) fn judge<'a>(body: &Shape<'a>, model: &Model, betas: &[&str]) -> Judged<Vec<Tool<'a>>> {
    let mut tools: Vec<Tool<'a>> = Vec::new();
    for (at, value) in body.list("tools")?.unwrap_or_default().iter().enumerate() {
        let tool = tool(&format!("tools.{at}"), value, model, betas)?;
        if tools.iter().any(|other| other.name == tool.name) {
            return Err(Refusal::invalid("tools: Tool names must be unique."));
        }
        tools.push(tool);
    }
    Ok(tools)
}

fn tool<'a>(at: &str, value: &'a Value, model: &Model, betas: &[&str]) -> Judged<Tool<'a>> {
    let shape = Shape::of(at, value)?;
    let known = KINDS.iter().filter(|kind| kind.beta.is_none_or(|beta| betas.contains(&beta)));
    let mut tags: Vec<&str> = known.map(|kind| kind.tag).chain(["custom"]).collect();
    tags.sort_unstable();
    let tag = if shape.maybe("type").is_some() { shape.tag(&tags)? } else { "custom" };
    let shape = Shape { at: format!("{at}.{tag}"), ..shape };
    let ttl = shape.cache_control()?;
    let tokens = words::count(&value.to_string());
    let Some(kind) = KINDS.iter().find(|kind| kind.tag == tag) else {
        let (name, schema) = custom(&shape)?;
        return Ok(Tool { value, name, schema: Some(schema), tokens, ttl });
    };
    let mut fields = vec!["type", "name", "cache_control"];
    fields.extend_from_slice(kind.required);
    fields.extend_from_slice(kind.optional);
    shape.only(&fields)?;
    let name = shape.need_text("name")?;
    if name != kind.name {
        return Err(shape.wrong("name", &format!("Input should be '{}'", kind.name)));
    }
    for field in kind.required {
        shape.need(field)?;
        shape.whole(field)?;
    }
    if !model.tools.contains(&tag) {
        return Err(Refusal::invalid(format!(
            "'{}' does not support tool types: {tag}. Did you mean one of {}?",
            model.id,
            model.tools.join(", ")
        )));
    }
    Ok(Tool { value, name, schema: None, tokens, ttl })
}

fn custom<'a>(shape: &Shape<'a>) -> Judged<(&'a str, &'a Value)> {
    shape.only(CUSTOM)?;
    let name = shape.need_text("name")?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    if !(1..=128).contains(&name.len()) || !name.bytes().all(plain) {
        return Err(shape.wrong("name", "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"));
    }
    shape.text("description")?;
    let schema = shape.need("input_schema")?;
    let inner = Shape::of(shape.path("input_schema"), schema)?;
    inner.need("type")?;
    inner.word("type", &["object"])?;
    Ok((name, schema))
}

/// Judges `tool_choice`; gives it and whether several calls at once are allowed.
pub(super) fn choice<'a>(
    body: &Shape<'a>,
    tools: &[Tool<'_>],
    thinking: Thinking,
) -> Judged<(Choice<'a>, bool)> {
    let Some(value) = body.maybe("tool_choice") else { return Ok((Choice::Auto, true)) };
    let shape = Shape::of("tool_choice", value)?;
    let tag = shape.tag(&["any", "auto", "none", "tool"])?;
    let shape = Shape { at: format!("tool_choice.{tag}"), ..shape };
    let choice = match tag {
        "any" => Choice::Any,
        "auto" => Choice::Auto,
        "none" => Choice::Never,
        _ => Choice::Named(shape.need_text("name")?),
    };
    let fields: &[&str] = match tag {
        "none" => &["type"],
        "tool" => &["type", "name", "disable_parallel_tool_use"],
        _ => &["type", "disable_parallel_tool_use"],
    };
    shape.only(fields)?;
    let parallel = !shape.flag("disable_parallel_tool_use")?.unwrap_or(false);
    if tools.is_empty() {
        return Err(wrong("tool_choice", "tool_choice may only be specified while providing tools."));
    }
    if let Choice::Named(name) = choice
        && tools.iter().all(|tool| tool.name != name)
    {
        return Err(Refusal::invalid(format!("Tool '{name}' not found in provided tools")));
    }
    if thinking.is_on() && matches!(choice, Choice::Any | Choice::Named(_)) {
        return Err(Refusal::invalid("Thinking may not be enabled when tool_choice forces tool use."));
    }
    Ok((choice, parallel))
}
