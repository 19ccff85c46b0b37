//! A request's body, judged from its top: fields, limits, and the rules of its model.

use serde_json::Value;

use super::prompt::Prompt;
use super::refusal::Refusal;
use super::rules::{MODELS, Model};
use super::shape::{Judged, Shape, wrong};
use super::thinking::Thinking;
use super::tools::{self, Choice, Tool};
use super::turn::{self, Turn};
use crate::text::answer::words;

/// What stands beside the body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms<'a> {
    pub(super) account: usize,
    /// Version 2026-10-21.
    pub(super) newer: bool,
    pub(super) betas: &'a [&'a str],
    /// Only the tokens are wanted.
    pub(super) counting: bool,
}

/// A request that passed.
pub(super) struct Order<'a> {
    pub(super) model: &'static Model,
    pub(super) max_tokens: u64,
    pub(super) turns: Vec<Turn<'a>>,
    pub(super) tools: Vec<Tool<'a>>,
    pub(super) choice: Choice<'a>,
    pub(super) parallel: bool,
    pub(super) stops: Vec<&'a str>,
    pub(super) stream: bool,
    pub(super) thinking: Thinking,
    /// `output_config.format.schema`.
    pub(super) format: Option<&'a Value>,
    pub(super) prompt: Prompt,
}

const FIELDS: &[&str] = &[
    "model",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "thinking",
    "cache_control",
    "output_config",
    "max_tokens",
    "stop_sequences",
    "stream",
    "metadata",
    "temperature",
    "top_p",
    "top_k",
    "service_tier",
    "speed",
    "container",
    "inference_geo",
    "diagnostics",
];
/// How many of them count_tokens takes.
const COUNTED_FIELDS: usize = 8;

/// Judges a body.
pub(super) fn judge<'a>(body: &'a Value, terms: Terms<'_>) -> Judged<Order<'a>> {
    let body = Shape::of("", body)?;
    let mut fields = FIELDS.to_vec();
    if terms.counting {
        fields.truncate(COUNTED_FIELDS);
    }
    if terms.newer {
        fields.retain(|name| !["temperature", "top_p", "top_k"].contains(name));
    }
    body.only(&fields)?;
    let name = body.need_text("model")?;
    body.need("messages")?;
    let max_tokens = if terms.counting { u64::MAX } else { body.need("max_tokens").map(|_| 0)? };
    let model = MODELS.iter().find(|model| model.id == name);
    let model = model.ok_or_else(|| Refusal::not_found(&format!("model: {name}")))?;
    let max_tokens = if terms.counting { max_tokens } else { limit(&body, model)? };
    let thinking = Thinking::asked(&body, model, max_tokens)?;
    sampling(&body, model, thinking)?;
    let stream = body.flag("stream")?.unwrap_or(false);
    let stops = stops(&body)?;
    let format = small(&body)?;
    let tools = tools::judge(&body, model, terms.betas)?;
    let (choice, parallel) = tools::choice(&body, &tools, thinking)?;
    let messages = body.list("messages")?.unwrap_or_default();
    let turns = turn::judge(messages, model, thinking, terms.newer)?;
    let forced = matches!(choice, Choice::Any | Choice::Named(_));
    if max_tokens == 0 && (stream || thinking.is_on() || forced || format.is_some()) {
        return Err(body.wrong("max_tokens", "Input should be greater than or equal to 1"));
    }
    let prompt = prompt(&body, terms.account, model, &tools, &turns, messages)?;
    if prompt.tokens > model.context {
        let words = format!("prompt is too long: {} tokens > {} maximum", prompt.tokens, model.context);
        return Err(Refusal::invalid(words));
    }
    Ok(Order { model, max_tokens, turns, tools, choice, parallel, stops, stream, thinking, format, prompt })
}

fn limit(body: &Shape<'_>, model: &Model) -> Judged<u64> {
    let asked = body.whole("max_tokens")?;
    let asked = asked.ok_or_else(|| body.wrong("max_tokens", "Input should be a valid integer"))?;
    if asked > model.max_output {
        return Err(body.wrong(
            "max_tokens",
            &format!(
                "{asked} > {}, which is the maximum allowed number of output tokens for {}",
                model.max_output, model.id
            ),
        ));
    }
    Ok(asked)
}

fn sampling(body: &Shape<'_>, model: &Model, thinking: Thinking) -> Judged<()> {
    let (temperature, top_p) = (body.share("temperature")?, body.share("top_p")?);
    let top_k = body.whole("top_k")?;
    if !model.sampling {
        for name in ["temperature", "top_p", "top_k"] {
            if body.maybe(name).is_some() {
                return Err(Refusal::invalid(format!("`{name}` is deprecated for this model")));
            }
        }
    }
    if temperature.is_some() && top_p.is_some() {
        return Err(Refusal::invalid(
            "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
        ));
    }
    if !thinking.is_on() {
        return Ok(());
    }
    if temperature.is_some_and(|it| (it - 1.0).abs() > f64::EPSILON) {
        return Err(Refusal::invalid(
            "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.",
        ));
    }
    if top_p.is_some_and(|it| it < 0.95) {
        return Err(Refusal::invalid(
            "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled or in adaptive mode.",
        ));
    }
    if top_k.is_some() {
        return Err(Refusal::invalid("`top_k` must be unset when thinking is enabled or in adaptive mode."));
    }
    Ok(())
}

fn stops<'a>(body: &Shape<'a>) -> Judged<Vec<&'a str>> {
    let mut stops = Vec::new();
    for (at, stop) in body.list("stop_sequences")?.unwrap_or_default().iter().enumerate() {
        let path = format!("stop_sequences.{at}");
        let stop = stop.as_str().ok_or_else(|| wrong(&path, "Input should be a valid string"))?;
        if stop.trim().is_empty() {
            return Err(wrong("stop_sequences", "each stop sequence must contain non-whitespace"));
        }
        stops.push(stop);
    }
    Ok(stops)
}

/// The fields that only have a shape; gives the schema the answer has to fit.
fn small<'a>(body: &Shape<'a>) -> Judged<Option<&'a Value>> {
    body.word("service_tier", &["auto", "standard_only"])?;
    body.word("speed", &["standard", "fast"])?;
    if let Some(value) = body.maybe("metadata") {
        let metadata = Shape::of("metadata", value)?;
        metadata.only(&["user_id"])?;
        metadata.text("user_id")?;
    }
    let Some(value) = body.maybe("output_config") else { return Ok(None) };
    let config = Shape::of("output_config", value)?;
    config.only(&["effort", "format"])?;
    config.word("effort", &["low", "medium", "high", "xhigh", "max"])?;
    let Some(value) = config.maybe("format") else { return Ok(None) };
    let format = Shape::of("output_config.format", value)?;
    format.tag(&["json_schema"])?;
    format.only(&["type", "schema"])?;
    let schema = format.need("schema")?;
    Shape::of("output_config.format.schema", schema)?;
    Ok(Some(schema))
}

/// Adds everything up, in the order it is cached in.
fn prompt(
    body: &Shape<'_>,
    account: usize,
    model: &Model,
    tools: &[Tool<'_>],
    turns: &[Turn<'_>],
    messages: &[Value],
) -> Judged<Prompt> {
    let mut prompt = Prompt::new(account, model.id);
    for tool in tools {
        prompt.add(tool.value, tool.tokens, tool.ttl);
    }
    match body.maybe("system") {
        None => {}
        Some(Value::String(text)) => prompt.add(&Value::String(text.clone()), words::count(text), None),
        Some(Value::Array(blocks)) => {
            for (at, value) in blocks.iter().enumerate() {
                let block = Shape::of(format!("system.{at}"), value)?;
                let tag = block.tag(&["text"])?;
                let block = Shape { at: format!("system.{at}.{tag}"), ..block };
                block.only(&["type", "text", "citations", "cache_control"])?;
                let text = block.need_text("text")?;
                if text.is_empty() {
                    return Err(Refusal::invalid("system: text content blocks must be non-empty"));
                }
                prompt.add(value, words::count(text), block.cache_control()?);
            }
        }
        Some(_) => return Err(body.wrong("system", "Input should be a valid string or list")),
    }
    for (turn, value) in turns.iter().zip(messages) {
        prompt.add(&Value::from(turn.role.name()), 0, None);
        if turn.plain.is_some() {
            prompt.add(&value["content"], turn.tokens(), None);
        }
        for block in &turn.blocks {
            prompt.add(block.value, block.tokens, block.ttl);
        }
    }
    if let Some(ttl) = body.cache_control()? {
        prompt.point(ttl);
    }
    prompt.judge()?;
    Ok(prompt)
}
