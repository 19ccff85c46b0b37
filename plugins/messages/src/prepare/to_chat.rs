//! A call to a chat provider. A field chat completions do not have is refused if it changes the answer, and
//! dropped if it does not (`top_k`, cache marks).

use std::borrow::Cow;

use gatehouse_sdk::{Call, Refusal, TextRequest};
use gatehouse_text_protocols::json::{UniqueObject, quoted};
use gatehouse_text_protocols::path::Path;
use gatehouse_text_protocols::rules::{MaxTokensField, Rules};

use super::chat_messages;
use super::chat_request::ToolChoice as WrittenChoice;
use super::chat_request::{
    ChatRequest, FunctionDefinition, FunctionName, ResponseFormat, Schema, StreamOptions, ToolDefinition,
};
use crate::request::Request;
use crate::request::fields::{object, required, wrong};
use crate::request::tools::{Tool, ToolChoice, Which};

/// The call.
///
/// # Errors
/// What the model of this route does not take, and what chat completions do not have.
pub(crate) fn call(
    request: &Request<'_>,
    text_request: &TextRequest,
    rules: &Rules,
) -> Result<Call, Refusal> {
    request.ends_with_user(rules.continues)?;
    let max_tokens = Some(request.plan.max_tokens);
    let is_older_field = rules.max_tokens_field == MaxTokensField::MaxTokens;
    let config: Option<UniqueObject<'_>> =
        request.fields.get("output_config").and_then(|raw| serde_json::from_str(raw.get()).ok());
    // Without tools neither field is sent, but a forced choice is: the provider refuses it.
    let (choice, has_tools) = (request.choice.as_ref(), !request.tools.is_empty());
    let body = ChatRequest {
        model: &text_request.route.upstream,
        messages: chat_messages::messages(request, text_request, rules)?,
        max_completion_tokens: max_tokens.filter(|_| !is_older_field),
        max_tokens: max_tokens.filter(|_| is_older_field),
        temperature: request.temperature,
        top_p: request.top_p,
        stop: &request.stops,
        stream: request.stream.then_some(true),
        stream_options: (request.stream && rules.include_usage)
            .then_some(StreamOptions { include_usage: true }),
        tools: functions(&request.tools)?,
        tool_choice: choice.filter(|choice| has_tools || choice.forces()).map(tool_choice),
        parallel_tool_calls: choice.filter(|choice| has_tools && choice.single).map(|_| false),
        user: request.user,
        reasoning_effort: effort(request, config.as_ref()),
        response_format: config.as_ref().map(format).transpose()?.flatten(),
        service_tier: tier(request),
    };
    let body = serde_json::to_string(&body).expect("a request always serializes");
    Ok(Call::post(text_request.route.provider.as_str(), "/v1/chat/completions").written(body))
}

fn functions<'a>(tools: &[Tool<'a>]) -> Result<Vec<ToolDefinition<'a>>, Refusal> {
    tools
        .iter()
        .enumerate()
        .map(|(index, tool)| match tool {
            Tool::Custom { name, description, schema, strict } => Ok(ToolDefinition {
                kind: "function",
                function: FunctionDefinition {
                    name: *name,
                    description: *description,
                    parameters: schema,
                    strict: *strict,
                },
            }),
            Tool::Typed { kind, .. } => {
                let tools = Path::DOTTED.key("tools");
                let field = tools.index(index).to_string();
                let kind = quoted(kind);
                Err(Refusal::invalid(
                    field,
                    format!("expected a custom tool for this model, got one of type {kind}"),
                ))
            }
        })
        .collect()
}

fn tool_choice<'a>(choice: &ToolChoice<'a>) -> WrittenChoice<'a> {
    match choice.which {
        Which::Auto => WrittenChoice::Mode("auto"),
        Which::Any => WrittenChoice::Mode("required"),
        Which::None => WrittenChoice::Mode("none"),
        Which::Named(name) => WrittenChoice::Named { kind: "function", function: FunctionName { name } },
    }
}

/// The client's own `effort` first, then that of its `thinking`.
fn effort<'a>(request: &Request<'a>, config: Option<&UniqueObject<'a>>) -> Option<Cow<'a, str>> {
    let own = config.and_then(|config| config.text("effort"));
    own.or_else(|| request.plan.reasoning.map(Cow::Borrowed))
}

fn format<'a>(config: &UniqueObject<'a>) -> Result<Option<ResponseFormat<'a>>, Refusal> {
    let Some(raw) = config.get("format") else { return Ok(None) };
    let config = Path::DOTTED.key("output_config");
    let at = config.key("format");
    let given = object(&at, raw)?;
    if given.text("type").as_deref() != Some("json_schema") {
        return Err(wrong(&at.key("type"), "`json_schema`", required(&at, &given, "type")?));
    }
    let schema = required(&at, &given, "schema")?;
    Ok(Some(ResponseFormat {
        kind: "json_schema",
        json_schema: Schema { name: "output", schema, strict: true },
    }))
}

fn tier(request: &Request<'_>) -> Option<&'static str> {
    match request.fields.text("service_tier").as_deref() {
        Some("auto") => Some("auto"),
        Some("standard_only") => Some("default"),
        _ => None,
    }
}
