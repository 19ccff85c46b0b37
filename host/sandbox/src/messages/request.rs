//! Checks a request's body: its schema, then the rules of its model and the rules between fields.

use serde_json::Value;

use super::block::says;
use super::conversation::{self, Message};
use super::errors::{Messages, invalid, not_found, wrong};
use super::models::{MODELS, Model};
use super::prompt::Prompt;
use super::thinking::Thinking;
use super::{schema, tools};
use crate::common::schema::{check as check_schema, items, text};
use crate::text::answer::generate::{Format, Question, TextWithCalls};
use crate::text::answer::seed::IdForm;
use crate::text::answer::words;
use crate::text::endpoint::Checked;
use crate::text::refusal::Refusal;

/// The `anthropic-beta` that `context_management` needs.
const CONTEXT_BETA: &str = "context-management-2025-06-27";

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

/// Checks a body.
pub(super) fn check(value: &Value, route: &Route, account: usize) -> Result<Checked<Messages>, Refusal> {
    let table = match (route.counting, route.newer) {
        (true, _) => &schema::COUNT_BODY,
        (false, true) => &schema::NEWER_BODY,
        (false, false) => &schema::BODY,
    };
    check_schema::<Messages>("", value, table)?;
    if !value["context_management"].is_null() && !route.betas.iter().any(|beta| beta == CONTEXT_BETA) {
        return Err(wrong("context_management", "Extra inputs are not permitted"));
    }
    let name = text(value, "model");
    let model = MODELS.iter().find(|model| model.id == name);
    let model = model.ok_or_else(|| not_found(&format!("model: {name}")))?;
    let max_tokens = if route.counting { u64::MAX } else { value["max_tokens"].as_u64().unwrap_or_default() };
    if !route.counting && max_tokens > model.max_output {
        let words = format!(
            "{max_tokens} > {}, which is the maximum allowed number of output tokens for {}",
            model.max_output, model.id
        );
        return Err(wrong("max_tokens", &words));
    }
    let thinking = Thinking::check(&value["thinking"], model, max_tokens)?;
    check_sampling(value, model, thinking)?;
    let stops = items(value, "stop_sequences").iter().filter_map(Value::as_str).map(str::to_owned);
    let stops: Vec<String> = stops.collect();
    if stops.iter().any(|stop| stop.trim().is_empty()) {
        return Err(wrong("stop_sequences", "each stop sequence must contain non-whitespace"));
    }
    let tools = tools::check(items(value, "tools"), model, &route.betas)?;
    let (choice, parallel) = tools::choice(&value["tool_choice"], &tools, thinking)?;
    let messages = conversation::check(items(value, "messages"), model, thinking, route.newer)?;
    let stream = value["stream"] == true;
    let format = &value["output_config"]["format"];
    let is_forced = choice.is_forced();
    if max_tokens == 0 && (stream || thinking.is_on() || is_forced || !format.is_null()) {
        return Err(wrong("max_tokens", "Input should be greater than or equal to 1"));
    }
    let mut prompt = Prompt::new(account, model.id);
    add_up(&mut prompt, value, &messages)?;
    prompt.cache_point(value);
    prompt.check(model.context)?;
    let question = Question {
        tools,
        choice,
        parallel,
        calls_after_results: false,
        max_tokens,
        stops,
        format: if format.is_null() { Format::Text } else { Format::Schema(format["schema"].clone()) },
        thinks: thinking.is_on(),
        text_with_calls: if is_forced { TextWithCalls::None } else { TextWithCalls::Announced },
        refusal: "",
        call_id: IdForm { prefix: "toolu_01", chars: 22 },
        input: conversation::input(&messages),
    };
    let details = Details { prompt, shows_thinking: thinking.is_shown() };
    Ok(Checked { model: model.id, question, choices: 1, stream, details })
}

fn check_sampling(body: &Value, model: &Model, thinking: Thinking) -> Result<(), Refusal> {
    let has = |name: &str| !body[name].is_null();
    let given = ["temperature", "top_p", "top_k"].into_iter().find(|name| has(name));
    if let Some(name) = given.filter(|_| !model.sampling) {
        return Err(invalid(format!("`{name}` is deprecated for this model")));
    }
    let is_warm = body["temperature"].as_f64().is_some_and(|it| (it - 1.0).abs() > f64::EPSILON);
    let message = if has("temperature") && has("top_p") {
        "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
    } else if !thinking.is_on() {
        return Ok(());
    } else if is_warm {
        "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode."
    } else if body["top_p"].as_f64().is_some_and(|it| it < 0.95) {
        "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled or in adaptive mode."
    } else if has("top_k") {
        "`top_k` must be unset when thinking is enabled or in adaptive mode."
    } else {
        return Ok(());
    };
    Err(invalid(message))
}

/// Adds up the prompt in the order it is cached in: tools, system, messages.
fn add_up(prompt: &mut Prompt, value: &Value, messages: &[Message]) -> Result<(), Refusal> {
    for tool in items(value, "tools") {
        prompt.add(tool, words::count(&tool.to_string()));
    }
    if value["system"].is_string() {
        prompt.add(&value["system"], words::count(text(value, "system")));
    }
    for block in items(value, "system") {
        let text = text(block, "text");
        says("system", text)?;
        prompt.add(block, words::count(text));
    }
    for (message, value) in messages.iter().zip(items(value, "messages")) {
        prompt.add(&value["role"], 0);
        for (index, block) in message.blocks.iter().enumerate() {
            prompt.add(value["content"].get(index).unwrap_or_else(|| &value["content"]), block.tokens);
        }
    }
    Ok(())
}
