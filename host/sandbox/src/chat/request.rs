//! Checks a request's body: its schema, then the rules of its model and the rules between fields.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::errors::{self, Chat, bad, invalid, unsupported};
use super::message::{self, Message};
use super::models::{Details, MODELS, Model};
use super::schema;
use crate::common::schema::{check as check_schema, items, text};
use crate::text::answer::answer_text::{AnswerInput, own_words, told_beginning};
use crate::text::answer::generate::{Format, Question, TextWithCalls, Tool, ToolChoice};
use crate::text::answer::seed::IdForm;
use crate::text::answer::words;
use crate::text::endpoint::Checked;
use crate::text::refusal::Refusal;
use crate::text::request_log::Prefix;

/// Checks a body.
pub(super) fn check(value: &Value, account: usize) -> Result<Checked<Chat>, Refusal> {
    let known = MODELS.iter().find(|model| value["model"] == model.id);
    let table = if known.is_some_and(|model| model.clone) { &schema::CLONE_BODY } else { &schema::BODY };
    check_schema::<Chat>("", value, table)?;
    let has = |name: &str| !value[name].is_null();
    let model = known.ok_or_else(|| errors::unknown_model(text(value, "model")))?;
    if model.dimensions.is_some() {
        return Err(errors::no_chat_model());
    }
    if let Some(newer) = schema::NEWER.iter().find(|name| model.clone && has(name)) {
        return Err(bad(format!("Unrecognized request argument supplied: {newer}")));
    }
    if let Some(name) =
        ["functions", "function_call", "audio", "web_search_options"].into_iter().find(|name| has(name))
    {
        return Err(unsupported(name, ""));
    }
    let max_tokens = max_tokens(value, model)?;
    check_sampling(value, model)?;
    if model.reasons && has("stop") {
        return Err(unsupported("stop", ""));
    }
    let stops = [&value["stop"]].into_iter().chain(items(value, "stop"));
    let stops = stops.filter_map(Value::as_str).map(str::to_owned).collect();
    let stream = value["stream"] == true;
    if has("stream_options") && !stream {
        let message = "The 'stream_options' parameter is only allowed when 'stream' is enabled.";
        return Err(invalid("stream_options", message));
    }
    if has("reasoning_effort") && !model.reasons {
        return Err(bad("Unrecognized request argument supplied: reasoning_effort"));
    }
    let tools = tools(value)?;
    let choice = choice(value, &tools)?;
    let messages = message::check(items(value, "messages"), model.clone)?;
    let format = format(&value["response_format"], &messages)?;
    let (prefixes, prompt_tokens) = prompt(value, &messages, model, account);
    if prompt_tokens > model.context {
        let message = format!(
            "This model's maximum context length is {} tokens. However, your messages resulted in {prompt_tokens} \
             tokens. Please reduce the length of the messages.",
            model.context
        );
        return Err(invalid("messages", message).code("context_length_exceeded"));
    }
    let question = Question {
        tools,
        choice,
        parallel: value["parallel_tool_calls"] != false,
        calls_after_results: true,
        max_tokens,
        stops,
        format,
        thinks: model.clone || model.reasons && value["reasoning_effort"] != "none",
        text_with_calls: if model.clone { TextWithCalls::Full } else { TextWithCalls::None },
        refusal: "I'm sorry, I can't help with that.",
        call_id: IdForm { prefix: "call_", chars: 24 },
        input: input(&messages),
    };
    let options = &value["stream_options"];
    let include_usage = options["include_usage"] == true;
    let obfuscated = options["include_obfuscation"] == true;
    let top = value["top_logprobs"].as_u64().and_then(|top| usize::try_from(top).ok()).unwrap_or(0);
    let logprobs = (value["logprobs"] == true).then_some(top);
    let details =
        Details { model, include_usage, obfuscated, logprobs, prompt_tokens, prefixes, embeddings: None };
    let choices = value["n"].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(1);
    Ok(Checked { model: model.id, question, choices, stream, details })
}

fn max_tokens(body: &Value, model: &Model) -> Result<u64, Refusal> {
    let (older, newer) = (body["max_tokens"].as_u64(), body["max_completion_tokens"].as_u64());
    if model.reasons && older.is_some() {
        return Err(unsupported("max_tokens", " Use 'max_completion_tokens' instead."));
    }
    if older.is_some() && newer.is_some() {
        let message = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.";
        return Err(invalid("max_tokens", message).code("invalid_parameter_combination"));
    }
    let wanted = older.or(newer).unwrap_or(model.max_output);
    if wanted <= model.max_output {
        return Ok(wanted);
    }
    let name = if older.is_some() { "max_tokens" } else { "max_completion_tokens" };
    let message = format!(
        "{name} is too large: {wanted}. This model supports at most {} completion tokens, whereas you provided {wanted}.",
        model.max_output
    );
    Err(invalid(name, message).code("invalid_value"))
}

fn check_sampling(body: &Value, model: &Model) -> Result<(), Refusal> {
    let defaults =
        [("temperature", 1.0), ("top_p", 1.0), ("frequency_penalty", 0.0), ("presence_penalty", 0.0)];
    for (name, default) in defaults.iter().filter(|_| model.reasons) {
        if let Some(value) = body[*name].as_f64().filter(|value| (value - default).abs() > f64::EPSILON) {
            let message = format!(
                "Unsupported value: '{name}' does not support {value} with this model. Only the default ({default}) \
                 value is supported."
            );
            return Err(invalid(name, message).code("unsupported_value"));
        }
    }
    if !body["top_logprobs"].is_null() && body["logprobs"] != true {
        let message = "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled.";
        return Err(invalid("top_logprobs", message));
    }
    Ok(())
}

fn tools(body: &Value) -> Result<Vec<Tool>, Refusal> {
    let tool = |(at, tool): (usize, &Value)| {
        let function = &tool["function"];
        let (name, parameters) = (text(function, "name"), &function["parameters"]);
        let kind = &parameters["type"];
        if !kind.is_null() && kind != "object" {
            let message = format!(
                "Invalid schema for function '{name}': schema must be a JSON Schema of 'type: \"object\"', got 'type: \
                 {kind}'."
            );
            let path = format!("tools[{at}].function.parameters");
            return Err(invalid(&path, message).code("invalid_function_parameters"));
        }
        let parameters = if parameters.is_null() { json!({}) } else { parameters.clone() };
        Ok(Tool { name: name.to_owned(), parameters })
    };
    items(body, "tools").iter().enumerate().map(tool).collect()
}

fn choice(body: &Value, tools: &[Tool]) -> Result<ToolChoice, Refusal> {
    let without_tools = |name: &str| {
        let message =
            format!("Invalid value for '{name}': '{name}' is only allowed when 'tools' are specified.");
        Err(invalid(name, message))
    };
    if !body["parallel_tool_calls"].is_null() && tools.is_empty() {
        return without_tools("parallel_tool_calls");
    }
    let choice = match &body["tool_choice"] {
        Value::Null => return Ok(ToolChoice::Auto),
        Value::String(mode) if mode == "none" => return Ok(ToolChoice::Never),
        Value::String(mode) if mode == "required" => ToolChoice::Required,
        Value::String(_) => ToolChoice::Auto,
        named => ToolChoice::Named(text(&named["function"], "name").to_owned()),
    };
    match &choice {
        _ if tools.is_empty() => without_tools("tool_choice"),
        ToolChoice::Named(name) if tools.iter().all(|tool| tool.name != *name) => {
            Err(invalid("tool_choice", format!("Tool choice '{name}' not found in 'tools' parameter.")))
        }
        _ => Ok(choice),
    }
}

fn format(body: &Value, messages: &[Message]) -> Result<Format, Refusal> {
    match text(body, "type") {
        "json_schema" => Ok(Format::Schema(body["json_schema"]["schema"].clone())),
        "json_object" => {
            if messages.iter().any(|message| message.text.to_lowercase().contains("json")) {
                return Ok(Format::Json);
            }
            let message = "'messages' must contain the word 'json' in some form, to use 'response_format' of type \
                           'json_object'.";
            Err(invalid("messages", message))
        }
        _ => Ok(Format::Text),
    }
}

/// Every beginning of the prompt with its tokens, and the tokens of all of it.
fn prompt(value: &Value, messages: &[Message], model: &Model, account: usize) -> (Vec<(Prefix, u64)>, u64) {
    let mut digest = Sha256::new().chain_update(account.to_le_bytes()).chain_update(model.id);
    digest.update(value["tools"].to_string());
    let mut tokens: u64 = items(value, "tools").iter().map(|tool| words::count(&tool.to_string())).sum();
    let prefixes = messages.iter().zip(items(value, "messages")).map(|(message, value)| {
        digest.update(value.to_string());
        tokens += message.tokens;
        (digest.clone().finalize().into(), tokens)
    });
    (prefixes.collect(), tokens)
}

/// Markers are read in the last words of the user's own, unless a tool result follows it.
fn input(messages: &[Message]) -> AnswerInput {
    let last_input = messages.iter().rfind(|message| match message.role.as_str() {
        "user" => !own_words(&message.text).trim().is_empty(),
        role => role == "tool",
    });
    let since = messages.iter().rposition(|message| message.role == "assistant").map_or(0, |at| at + 1);
    let last = &messages[since..];
    let asked = messages.iter().rposition(|it| it.role == "user" && !own_words(&it.text).trim().is_empty());
    let called = messages[asked.unwrap_or(0)..].iter().flat_map(|message| message.called.clone());
    let of = |role: &'static str| last.iter().filter(move |message| message.role == role);
    AnswerInput {
        text: last_input.filter(|it| it.role == "user").map_or_else(String::new, |it| own_words(&it.text)),
        results: of("tool").map(|message| message.text.clone()).collect(),
        images: of("user").flat_map(|message| message.images.clone()).collect(),
        continues: last.is_empty(),
        called: called.collect(),
        begins_with: messages.last().map(|message| told_beginning(&message.text)).unwrap_or_default(),
        turns: messages.iter().filter(|message| message.role == "user").count(),
        words: None,
    }
}
