//! A request for a provider that speaks Chat. What Chat has no words for is refused where the answer would
//! be another without it, and lost where it would not (`top_k`, cache marks).

use std::borrow::Cow;

use gatehouse_sdk::{Call, Refusal, TextRequest};
use serde::Serialize;

use crate::at::{At, words};
use crate::chat_turns::{self, Words};
use crate::raw::{Fields, Raw, quoted, text};
use crate::request::Request;
use crate::rules::{MaxTokensField, Rules};
use crate::tools::{Choice, Tool, Which};

/// A chat completion request.
#[derive(Serialize)]
struct Order<'a> {
    model: &'a str,
    messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<Raw<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<Raw<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop: &'a [Raw<'a>],
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Function<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<ToolChoice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<Raw<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<Format<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_tier: Option<&'static str>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

/// One message.
#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(crate) enum Message<'a> {
    System {
        content: Words<'a>,
    },
    User {
        content: UserContent<'a>,
    },
    Assistant {
        content: Option<Words<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<Words<'a>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall<'a>>,
    },
    Tool {
        tool_call_id: Raw<'a>,
        content: Words<'a>,
    },
}

/// A user's content: one text, or parts.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum UserContent<'a> {
    Words(Words<'a>),
    Parts(Vec<Part<'a>>),
}

/// A part of a user's content.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Part<'a> {
    Text { text: Raw<'a> },
    ImageUrl { image_url: Link<'a> },
    File { file: File<'a> },
}

#[derive(Serialize)]
pub(crate) struct Link<'a> {
    pub(crate) url: Words<'a>,
}

#[derive(Serialize)]
pub(crate) struct File<'a> {
    pub(crate) filename: &'static str,
    pub(crate) file_data: Words<'a>,
}

/// A tool the model called.
#[derive(Serialize)]
pub(crate) struct ToolCall<'a> {
    pub(crate) id: Raw<'a>,
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) function: Called<'a>,
}

#[derive(Serialize)]
pub(crate) struct Called<'a> {
    pub(crate) name: Raw<'a>,
    /// JSON as text.
    pub(crate) arguments: &'a str,
}

#[derive(Serialize)]
struct Function<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Declared<'a>,
}

#[derive(Serialize)]
struct Declared<'a> {
    name: Raw<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<Raw<'a>>,
    parameters: Raw<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ToolChoice<'a> {
    Word(&'static str),
    Named {
        #[serde(rename = "type")]
        kind: &'static str,
        function: Name<'a>,
    },
}

#[derive(Serialize)]
struct Name<'a> {
    name: Raw<'a>,
}

#[derive(Serialize)]
struct Format<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    json_schema: Schema<'a>,
}

#[derive(Serialize)]
struct Schema<'a> {
    name: &'static str,
    schema: Raw<'a>,
    strict: bool,
}

/// The call.
///
/// # Errors
/// What the model of this route does not take, and what Chat has no words for.
pub(crate) fn call(request: &Request<'_>, inquiry: &TextRequest, rules: &Rules) -> Result<Call, Refusal> {
    request.ends_with_user(rules.continues)?;
    let most = Some(request.plan.max_tokens);
    let older = rules.max_tokens_field == MaxTokensField::MaxTokens;
    let config: Option<Fields<'_>> =
        request.fields.get("output_config").and_then(|raw| serde_json::from_str(raw.get()).ok());
    // Chat takes neither where there are no tools; a forced one is a mistake it may name.
    let (choice, some) = (request.choice.as_ref(), !request.tools.is_empty());
    let order = Order {
        model: &inquiry.route.upstream,
        messages: chat_turns::messages(request, inquiry, rules)?,
        max_completion_tokens: most.filter(|_| !older),
        max_tokens: most.filter(|_| older),
        temperature: request.temperature,
        top_p: request.top_p,
        stop: &request.stops,
        stream: request.stream.then_some(true),
        stream_options: (request.stream && rules.include_usage)
            .then_some(StreamOptions { include_usage: true }),
        tools: functions(&request.tools)?,
        tool_choice: choice.filter(|choice| some || choice.forces()).map(tool_choice),
        parallel_tool_calls: choice.filter(|choice| some && choice.single).map(|_| false),
        user: request.user,
        reasoning_effort: effort(request, config.as_ref()),
        response_format: config.as_ref().map(format).transpose()?.flatten(),
        service_tier: tier(request),
    };
    let body = serde_json::to_string(&order).expect("a request is JSON");
    Ok(Call::post(inquiry.route.provider.as_str(), "/v1/chat/completions").written(body))
}

fn functions<'a>(tools: &[Tool<'a>]) -> Result<Vec<Function<'a>>, Refusal> {
    tools
        .iter()
        .enumerate()
        .map(|(index, tool)| match tool {
            Tool::Custom { name, description, schema, strict } => Ok(Function {
                kind: "function",
                function: Declared { name, description: *description, parameters: schema, strict: *strict },
            }),
            Tool::Typed { kind, .. } => {
                let tools = At::Top.key("tools");
                let field = tools.item(index).to_string();
                let kind = quoted(kind);
                Err(Refusal::invalid(
                    field,
                    format!("expected a custom tool for this model, got one of type {kind}"),
                ))
            }
        })
        .collect()
}

fn tool_choice<'a>(choice: &Choice<'a>) -> ToolChoice<'a> {
    match choice.which {
        Which::Auto => ToolChoice::Word("auto"),
        Which::Any => ToolChoice::Word("required"),
        Which::None => ToolChoice::Word("none"),
        Which::Named(name) => ToolChoice::Named { kind: "function", function: Name { name } },
    }
}

/// The client's own word first, then what its `thinking` comes to.
fn effort<'a>(request: &Request<'a>, config: Option<&Fields<'a>>) -> Option<Cow<'a, str>> {
    let own = config.and_then(|config| config.text("effort"));
    own.or_else(|| request.plan.reasoning.map(Cow::Borrowed))
}

fn format<'a>(config: &Fields<'a>) -> Result<Option<Format<'a>>, Refusal> {
    let Some(raw) = config.get("format") else { return Ok(None) };
    let config = At::Top.key("output_config");
    let at = config.key("format");
    let given = crate::raw::fields(&at, raw)?;
    if given.text("type").as_deref() != Some("json_schema") {
        return Err(at.key("type").wrong("`json_schema`", given.need(&at, "type")?));
    }
    let schema = given.need(&at, "schema")?;
    Ok(Some(Format { kind: "json_schema", json_schema: Schema { name: "output", schema, strict: true } }))
}

fn tier(request: &Request<'_>) -> Option<&'static str> {
    match text(request.fields.get("service_tier")?).as_deref() {
        Some("auto") => Some("auto"),
        Some("standard_only") => Some("default"),
        _ => None,
    }
}

/// A block a Chat provider cannot be told of.
pub(crate) fn speechless(turn: usize, kind: &str) -> Refusal {
    let shown: String = kind.chars().take(60).collect();
    let field = format!("messages.{turn}.content");
    let message = format!("`{field}`: this model does not take {shown}");
    words(&field, message)
}
