//! Checks a request's body: its schema, then the rules of its model and the rules between fields.

use serde::Deserialize;
use serde_json::Value;

use super::conversation::{self, Message};
use super::errors::{Messages, internal, invalid, not_found, wrong};
use super::models::{MODELS, Model};
use super::prompt::{CacheControl, Prompt};
use super::schema;
use super::thinking::{Thinking, ThinkingBody};
use super::tools::{self, ChoiceBody};
use crate::common::schema::check as check_schema;
use crate::text::answer::generate::{Format, Question, TextWithCalls, Tool};
use crate::text::answer::words;
use crate::text::refusal::Refusal;

/// What the path and the headers of a request decide.
pub(crate) struct Route {
    /// Only the tokens are wanted.
    pub(super) counting: bool,
    /// Version 2026-10-21.
    pub(super) newer: bool,
    /// Names of every `anthropic-beta` header.
    pub(super) betas: Vec<String>,
}

/// What only this protocol knows of a request.
pub(crate) struct Details {
    pub(super) prompt: Prompt,
    pub(super) shows_thinking: bool,
}

/// A request that passed.
pub(super) struct Request {
    pub(super) model: &'static Model,
    pub(super) question: Question,
    pub(super) stream: bool,
    pub(super) details: Details,
}

/// The fields with rules beyond the schema.
#[derive(Deserialize)]
struct Body {
    model: String,
    max_tokens: Option<u64>,
    stream: Option<bool>,
    stop_sequences: Option<Vec<String>>,
    thinking: Option<ThinkingBody>,
    temperature: Option<f64>,
    top_p: Option<f64>,
    top_k: Option<u64>,
    tool_choice: Option<ChoiceBody>,
    output_config: Option<OutputConfig>,
    cache_control: Option<CacheControl>,
}

#[derive(Deserialize)]
struct OutputConfig {
    format: Option<OutputFormat>,
}

#[derive(Deserialize)]
struct OutputFormat {
    schema: Value,
}

/// Checks a body.
pub(super) fn check(value: &Value, route: &Route, account: usize) -> Result<Request, Refusal> {
    let table = match (route.counting, route.newer) {
        (true, _) => &schema::COUNT_BODY,
        (false, true) => &schema::NEWER_BODY,
        (false, false) => &schema::BODY,
    };
    check_schema::<Messages>("", value, table)?;
    let body = Body::deserialize(value).map_err(|_| internal())?;
    let model = MODELS.iter().find(|model| model.id == body.model);
    let model = model.ok_or_else(|| not_found(&format!("model: {}", body.model)))?;
    let max_tokens = if route.counting { u64::MAX } else { body.max_tokens.unwrap_or_default() };
    if !route.counting && max_tokens > model.max_output {
        let words = format!(
            "{max_tokens} > {}, which is the maximum allowed number of output tokens for {}",
            model.max_output, model.id
        );
        return Err(wrong("max_tokens", &words));
    }
    let thinking = Thinking::check(body.thinking.as_ref(), model, max_tokens)?;
    check_sampling(&body, model, thinking)?;
    let stops = body.stop_sequences.unwrap_or_default();
    if stops.iter().any(|stop| stop.trim().is_empty()) {
        return Err(wrong("stop_sequences", "each stop sequence must contain non-whitespace"));
    }
    let list = |name: &str| value[name].as_array().map(Vec::as_slice).unwrap_or_default();
    let betas: Vec<&str> = route.betas.iter().map(String::as_str).collect();
    let tools = tools::check(list("tools"), model, &betas)?;
    let (choice, parallel) = tools::choice(body.tool_choice, &tools, thinking)?;
    let messages = conversation::check(list("messages"), model, thinking, route.newer)?;
    let stream = body.stream.unwrap_or(false);
    let format = body.output_config.and_then(|config| config.format);
    let is_forced = choice.is_forced();
    if max_tokens == 0 && (stream || thinking.is_on() || is_forced || format.is_some()) {
        return Err(wrong("max_tokens", "Input should be greater than or equal to 1"));
    }
    let mut prompt = Prompt::new(account, model.id);
    add_up(&mut prompt, value, &tools, &messages)?;
    if let Some(cache) = body.cache_control {
        prompt.cache_point(cache);
    }
    prompt.check(model.context)?;
    let question = Question {
        tools: tools.into_iter().map(|(tool, _)| tool).collect(),
        choice,
        parallel,
        calls_after_results: false,
        max_tokens,
        stops,
        format: format.map_or(Format::Text, |format| Format::Schema(format.schema)),
        thinks: thinking.is_on(),
        text_with_calls: if is_forced { TextWithCalls::None } else { TextWithCalls::Announced },
        refusal: "",
        call_id: ("toolu_01", 22),
        input: conversation::input(&messages),
    };
    Ok(Request { model, question, stream, details: Details { prompt, shows_thinking: thinking.is_shown() } })
}

fn check_sampling(body: &Body, model: &Model, thinking: Thinking) -> Result<(), Refusal> {
    let given = [
        ("temperature", body.temperature.is_some()),
        ("top_p", body.top_p.is_some()),
        ("top_k", body.top_k.is_some()),
    ];
    if let Some((name, _)) = given.iter().find(|(_, is_given)| *is_given && !model.sampling) {
        return Err(invalid(format!("`{name}` is deprecated for this model")));
    }
    if body.temperature.is_some() && body.top_p.is_some() {
        return Err(invalid(
            "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
        ));
    }
    if !thinking.is_on() {
        return Ok(());
    }
    if body.temperature.is_some_and(|it| (it - 1.0).abs() > f64::EPSILON) {
        return Err(invalid(
            "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.",
        ));
    }
    if body.top_p.is_some_and(|it| it < 0.95) {
        return Err(invalid(
            "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled or in adaptive mode.",
        ));
    }
    if body.top_k.is_some() {
        return Err(invalid("`top_k` must be unset when thinking is enabled or in adaptive mode."));
    }
    Ok(())
}

/// Adds up the prompt in the order it is cached in: tools, system, messages.
fn add_up(
    prompt: &mut Prompt,
    value: &Value,
    tools: &[(Tool, Option<CacheControl>)],
    messages: &[Message],
) -> Result<(), Refusal> {
    for (at, (_, cache)) in tools.iter().enumerate() {
        let tool = &value["tools"][at];
        prompt.add(tool, words::count(&tool.to_string()), *cache);
    }
    match &value["system"] {
        text @ Value::String(words) => prompt.add(text, words::count(words), None),
        blocks => {
            for block in blocks.as_array().into_iter().flatten() {
                let text = block["text"].as_str().unwrap_or_default();
                if text.is_empty() {
                    return Err(invalid("system: text content blocks must be non-empty"));
                }
                let cache =
                    Option::<CacheControl>::deserialize(&block["cache_control"]).map_err(|_| internal())?;
                prompt.add(block, words::count(text), cache);
            }
        }
    }
    for (at, message) in messages.iter().enumerate() {
        let value = &value["messages"][at];
        prompt.add(&value["role"], 0, None);
        if message.plain.is_some() {
            prompt.add(&value["content"], message.plain_tokens(), None);
        }
        for (index, block) in message.blocks.iter().enumerate() {
            prompt.add(&value["content"][index], block.tokens, block.cache);
        }
    }
    Ok(())
}
