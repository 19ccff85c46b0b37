//! Checks a request's body: its schema, then the rules of its model and the rules between fields.

use serde::Deserialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::errors::{self, Chat, bad, invalid, unsupported};
use super::message::{self, Message, MessageBody};
use super::models::{MODELS, Model};
use super::schema;
use crate::common::schema::check as check_schema;
use crate::text::answer::answer_text::AnswerInput;
use crate::text::answer::generate::{Format, Question, TextWithCalls, Tool, ToolChoice};
use crate::text::answer::words;
use crate::text::refusal::Refusal;
use crate::text::request_log::Prefix;

/// What only this protocol knows of a request.
pub(crate) struct Details {
    pub(super) model: &'static Model,
    pub(super) include_usage: bool,
    pub(super) obfuscated: bool,
    pub(super) prompt_tokens: u64,
    /// Every beginning of the prompt that ends with a message, and its tokens.
    pub(super) prefixes: Vec<(Prefix, u64)>,
}

/// A request that passed.
pub(super) struct Request {
    pub(super) question: Question,
    pub(super) choices: usize,
    pub(super) stream: bool,
    pub(super) details: Details,
}

/// The fields with rules beyond the schema.
#[derive(Deserialize)]
struct Body {
    messages: Vec<MessageBody>,
    max_tokens: Option<u64>,
    max_completion_tokens: Option<u64>,
    logprobs: Option<bool>,
    top_logprobs: Option<u64>,
    n: Option<usize>,
    stop: Option<Stop>,
    response_format: Option<ResponseFormat>,
    #[serde(default)]
    tools: Option<Vec<ToolBody>>,
    tool_choice: Option<ChoiceBody>,
    parallel_tool_calls: Option<bool>,
    reasoning_effort: Option<String>,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Stop {
    One(String),
    Several(Vec<String>),
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ResponseFormat {
    JsonObject,
    JsonSchema { json_schema: JsonSchema },
    Text,
}

#[derive(Deserialize)]
struct JsonSchema {
    schema: Value,
}

#[derive(Deserialize)]
struct ToolBody {
    function: FunctionBody,
}

#[derive(Deserialize)]
struct FunctionBody {
    name: String,
    parameters: Option<Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ChoiceBody {
    Function { function: FunctionBody },
    Mode(String),
}

#[derive(Deserialize)]
struct StreamOptions {
    include_usage: Option<bool>,
    include_obfuscation: Option<bool>,
}

/// Checks a body.
pub(super) fn check(value: &Value, account: usize) -> Result<Request, Refusal> {
    let known = MODELS.iter().find(|model| value["model"] == model.id);
    let table = if known.is_some_and(|model| model.clone) { &schema::CLONE_BODY } else { &schema::BODY };
    check_schema::<Chat>("", value, table)?;
    let fields = value.as_object().ok_or_else(errors::internal)?;
    let given = |name: &&&str| fields.get(**name).is_some_and(|value| !value.is_null());
    let name = value["model"].as_str().unwrap_or_default();
    let model = known.ok_or_else(|| errors::unknown_model(name))?;
    if let Some(newer) = schema::NEWER.iter().filter(|_| model.clone).find(given) {
        return Err(bad(format!("Unrecognized request argument supplied: {newer}")));
    }
    if let Some(name) = ["functions", "function_call", "audio", "web_search_options"].iter().find(given) {
        return Err(unsupported(name, ""));
    }
    let body = Body::deserialize(value).map_err(|_| errors::internal())?;
    let max_tokens = max_tokens(&body, model)?;
    check_sampling(fields, &body, model)?;
    let stops = match body.stop {
        Some(_) if model.reasons => return Err(unsupported("stop", "")),
        Some(Stop::One(stop)) => vec![stop],
        Some(Stop::Several(stops)) => stops,
        None => Vec::new(),
    };
    let stream = body.stream.unwrap_or(false);
    if body.stream_options.is_some() && !stream {
        let message = "The 'stream_options' parameter is only allowed when 'stream' is enabled.";
        return Err(invalid("stream_options", message));
    }
    if body.reasoning_effort.is_some() && !model.reasons {
        return Err(bad("Unrecognized request argument supplied: reasoning_effort"));
    }
    let tools = body.tools.unwrap_or_default();
    check_parameters(&tools)?;
    let choice = choice(body.tool_choice, body.parallel_tool_calls, &tools)?;
    let messages = message::check(body.messages)?;
    let format = format(body.response_format, &messages)?;
    let (prefixes, prompt_tokens) = prompt(value, &messages, model, account);
    if prompt_tokens > model.context {
        let message = format!(
            "This model's maximum context length is {} tokens. However, your messages resulted in {prompt_tokens} \
             tokens. Please reduce the length of the messages.",
            model.context
        );
        return Err(invalid("messages", message).code("context_length_exceeded"));
    }
    let option = |option: fn(&StreamOptions) -> Option<bool>| {
        body.stream_options.as_ref().and_then(option).unwrap_or(false)
    };
    let question = Question {
        tools: tools.into_iter().map(tool).collect(),
        choice,
        parallel: body.parallel_tool_calls.unwrap_or(true),
        calls_after_results: true,
        max_tokens,
        stops,
        format,
        thinks: model.clone || model.reasons && body.reasoning_effort.as_deref() != Some("none"),
        text_with_calls: if model.clone { TextWithCalls::Full } else { TextWithCalls::None },
        refusal: "I'm sorry, I can't help with that.",
        call_id: ("call_", 24),
        input: input(&messages),
    };
    let (include_usage, obfuscated) = (option(|it| it.include_usage), option(|it| it.include_obfuscation));
    let details = Details { model, include_usage, obfuscated, prompt_tokens, prefixes };
    Ok(Request { question, choices: body.n.unwrap_or(1), stream, details })
}

fn max_tokens(body: &Body, model: &Model) -> Result<u64, Refusal> {
    if model.reasons && body.max_tokens.is_some() {
        return Err(unsupported("max_tokens", " Use 'max_completion_tokens' instead."));
    }
    if body.max_tokens.is_some() && body.max_completion_tokens.is_some() {
        let message = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.";
        return Err(invalid("max_tokens", message).code("invalid_parameter_combination"));
    }
    let asked = body.max_tokens.or(body.max_completion_tokens).unwrap_or(model.max_output);
    if asked <= model.max_output {
        return Ok(asked);
    }
    let name = if body.max_tokens.is_some() { "max_tokens" } else { "max_completion_tokens" };
    let message = format!(
        "{name} is too large: {asked}. This model supports at most {} completion tokens, whereas you provided {asked}.",
        model.max_output
    );
    Err(invalid(name, message).code("invalid_value"))
}

fn check_sampling(fields: &Map<String, Value>, body: &Body, model: &Model) -> Result<(), Refusal> {
    let defaults =
        [("temperature", 1.0), ("top_p", 1.0), ("frequency_penalty", 0.0), ("presence_penalty", 0.0)];
    for (name, default) in defaults.iter().filter(|_| model.reasons) {
        let value = fields.get(*name).and_then(Value::as_f64);
        if let Some(value) = value.filter(|value| (value - default).abs() > f64::EPSILON) {
            let message = format!(
                "Unsupported value: '{name}' does not support {value} with this model. Only the default ({default}) \
                 value is supported."
            );
            return Err(invalid(name, message).code("unsupported_value"));
        }
    }
    if body.top_logprobs.is_some() && !body.logprobs.unwrap_or(false) {
        let message = "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled.";
        return Err(invalid("top_logprobs", message));
    }
    Ok(())
}

fn check_parameters(tools: &[ToolBody]) -> Result<(), Refusal> {
    for (at, ToolBody { function }) in tools.iter().enumerate() {
        let kind = function.parameters.as_ref().map_or(&Value::Null, |parameters| &parameters["type"]);
        if !kind.is_null() && kind != "object" {
            let message = format!(
                "Invalid schema for function '{}': schema must be a JSON Schema of 'type: \"object\"', got 'type: \
                 {kind}'.",
                function.name
            );
            let path = format!("tools[{at}].function.parameters");
            return Err(invalid(&path, message).code("invalid_function_parameters"));
        }
    }
    Ok(())
}

fn choice(
    body: Option<ChoiceBody>,
    parallel: Option<bool>,
    tools: &[ToolBody],
) -> Result<ToolChoice, Refusal> {
    let without_tools = |name: &str| {
        let message =
            format!("Invalid value for '{name}': '{name}' is only allowed when 'tools' are specified.");
        Err(invalid(name, message))
    };
    if parallel.is_some() && tools.is_empty() {
        return without_tools("parallel_tool_calls");
    }
    let choice = match body {
        None => return Ok(ToolChoice::Auto),
        Some(ChoiceBody::Function { function }) => ToolChoice::Named(function.name),
        Some(ChoiceBody::Mode(mode)) => match mode.as_str() {
            "none" => ToolChoice::Never,
            "required" => ToolChoice::Required,
            _ => ToolChoice::Auto,
        },
    };
    match &choice {
        ToolChoice::Never => {}
        _ if tools.is_empty() => return without_tools("tool_choice"),
        ToolChoice::Named(name) if tools.iter().all(|tool| tool.function.name != *name) => {
            let message = format!("Tool choice '{name}' not found in 'tools' parameter.");
            return Err(invalid("tool_choice", message));
        }
        _ => {}
    }
    Ok(choice)
}

fn format(body: Option<ResponseFormat>, messages: &[Message]) -> Result<Format, Refusal> {
    match body {
        None | Some(ResponseFormat::Text) => Ok(Format::Text),
        Some(ResponseFormat::JsonSchema { json_schema }) => Ok(Format::Schema(json_schema.schema)),
        Some(ResponseFormat::JsonObject) => {
            if messages.iter().any(|message| message.text.to_lowercase().contains("json")) {
                return Ok(Format::Json);
            }
            let message = "'messages' must contain the word 'json' in some form, to use 'response_format' of type \
                           'json_object'.";
            Err(invalid("messages", message))
        }
    }
}

fn tool(body: ToolBody) -> Tool {
    let none = || Value::Object(Map::new());
    Tool { name: body.function.name, parameters: body.function.parameters.unwrap_or_else(none) }
}

/// Every beginning of the prompt with its tokens, and the tokens of all of it.
fn prompt(value: &Value, messages: &[Message], model: &Model, account: usize) -> (Vec<(Prefix, u64)>, u64) {
    let mut digest = Sha256::new();
    digest.update(account.to_le_bytes());
    digest.update(model.id);
    digest.update(value["tools"].to_string());
    let tools = value["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut tokens: u64 = tools.iter().map(|tool| words::count(&tool.to_string())).sum();
    let values = value["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let prefixes = messages.iter().zip(values).map(|(message, value)| {
        digest.update(value.to_string());
        tokens += message.tokens;
        (digest.clone().finalize().into(), tokens)
    });
    (prefixes.collect(), tokens)
}

/// Markers are read in the last text of the user, unless a tool result follows it.
fn input(messages: &[Message]) -> AnswerInput {
    let asked = messages.iter().rfind(|message| ["user", "tool"].contains(&message.role.as_str()));
    let since = messages.iter().rposition(|message| message.role == "assistant").map_or(0, |at| at + 1);
    let last = &messages[since..];
    let of = |role: &'static str| last.iter().filter(move |message| message.role == role);
    AnswerInput {
        text: asked.filter(|it| it.role == "user").map_or_else(String::new, |it| it.text.clone()),
        results: of("tool").map(|message| message.text.clone()).collect(),
        images: of("user").flat_map(|message| message.images.clone()).collect(),
        continues: last.is_empty(),
        turns: messages.iter().filter(|message| message.role == "user").count(),
        words: None,
    }
}
