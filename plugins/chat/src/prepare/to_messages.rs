//! A call to a Messages provider. Texts, schemas and tool inputs are copied as written. A field Messages does
//! not have is refused by name; only hints are dropped.

use serde_json::value::RawValue;

use gatehouse_sdk::Protocol;
use gatehouse_text_protocols::check::{Checked, asks_for_nothing, instead, is_empty, wrong};
use gatehouse_text_protocols::field_names::MessagePaths;
use gatehouse_text_protocols::json::{JsonString, Object, Writer, quote, quoted};
use gatehouse_text_protocols::limits::{SUMMARIZED, thinking_adaptive, thinking_enabled};
use gatehouse_text_protocols::path::Path;
use gatehouse_text_protocols::prefill;
use gatehouse_text_protocols::rules::Rules;
use gatehouse_text_protocols::tool_names::{MESSAGES_MAX, fitted};

use super::CallPlan;
use super::conversation::{Conversation, ONLY_FUNCTIONS};
use super::passed;
use super::thinking::{self, Thinking, ThinkingPlan};
use crate::request::Request;
use crate::request::response_format::{self, ResponseFormat};
use crate::request::tools::{Function, Tool, ToolChoice};

/// A call's body, and what of the answer the client has already.
pub(crate) struct Written {
    pub(crate) body: String,
    pub(crate) lead: String,
    /// The cap that is sent.
    pub(crate) cap: u32,
    /// Where its messages came from.
    pub(crate) places: Vec<MessagePaths>,
}

pub(crate) fn write(request: &Request<'_>, plan: &CallPlan<'_>) -> Checked<Written> {
    refuse_unsupported(request, plan.rules)?;
    let thinking = thinking::decide(plan.rules, &plan.thinking)?;
    let conversation = Conversation::write(&request.messages, plan.rules)?;
    let size: usize = request.body.iter().map(|(_, raw)| raw.get().len()).sum();
    let mut out = Writer::new(size + size / 4 + 512);
    quote(plan.upstream, out.name("model"));
    let cap = cap(&conversation, plan);
    out.member("max_tokens", &cap.to_string());
    let instruction =
        matches!(request.format, ResponseFormat::Object).then_some(response_format::INSTRUCTION);
    let system = conversation.system(instruction);
    system.iter().for_each(|system| out.member("system", system));
    out.member("messages", &conversation.json);
    // A provider refuses one that says nothing.
    let stops: Vec<&str> = request.stops.iter().filter(|it| !it.is_blank()).map(|it| it.quoted()).collect();
    if !stops.is_empty() {
        out.member("stop_sequences", &format!("[{}]", stops.join(",")));
    }
    if request.streaming {
        out.member("stream", "true");
    }
    sampling(&mut out, request, plan);
    tools(&mut out, request);
    write_thinking(&mut out, thinking, &request.format);
    let user = request.user.or_else(|| request.body.string("safety_identifier"));
    // A provider refuses what tells who it is.
    if let Some(user) = user.filter(|user| !user.is_blank() && !user.inner().contains('@')) {
        out.member("metadata", &format!("{{\"user_id\":{}}}", user.quoted()));
    }
    let is_written = |name: &str| match name {
        "stop_sequences" => !stops.is_empty(),
        "system" => system.is_some(),
        _ => false,
    };
    let is_sent = |name: &str, raw: &RawValue| {
        passed::is_unknown(name, raw) && passed::is_sent(name, raw, plan.rules, Protocol::Messages)
    };
    out.members(request.body.iter().filter(|(name, raw)| !is_written(name) && is_sent(name, raw)));
    Ok(Written { body: out.done(), lead: conversation.lead, cap, places: conversation.places })
}

/// The cap, with what a model spends that is told to repeat a text.
fn cap(conversation: &Conversation<'_>, plan: &CallPlan<'_>) -> u32 {
    let cap = plan.thinking.cap;
    if !conversation.is_told {
        return cap;
    }
    let more = cap.saturating_add(prefill::repeated_tokens(&conversation.lead));
    more.min(plan.rules.max_output.unwrap_or(u32::MAX)).max(cap)
}

fn refuse_unsupported(request: &Request<'_>, rules: &Rules) -> Checked<()> {
    let body = &request.body;
    let refuse =
        |name: &str, expected: &str| Err(wrong(&Path::BRACKETED.key(name), expected, body.get(name)));
    if request.answers > 1 {
        return refuse("n", "1, this model gives one answer at a time");
    }
    for name in ["functions", "function_call"] {
        if body.get(name).is_some_and(|raw| !asks_for_nothing(name, raw)) {
            return refuse(name, "nothing, this model takes functions as `tools` only");
        }
    }
    if body.get("web_search_options").is_some() {
        return refuse("web_search_options", "nothing, this model does not search");
    }
    let has_audio = body.get("audio").is_some_and(|raw| !is_empty(raw));
    if has_audio || response_format::wants_audio(body.get("modalities")) {
        let name = if has_audio { "audio" } else { "modalities" };
        return refuse(name, "text alone, this model does not speak");
    }
    let tools = Path::BRACKETED.key("tools");
    if let Some(at) = request.tools.iter().position(|tool| matches!(tool, Tool::Custom)) {
        return Err(instead(&tools.index(at).key("type"), ONLY_FUNCTIONS, "the string \"custom\""));
    }
    let offered = |tool: &Tool<'_>| matches!(tool, Tool::Function(function) if is_offered(request, function));
    let has_none = !request.tools.iter().any(offered);
    let forced = request.choice.is_some_and(ToolChoice::is_forced) && has_none;
    if matches!(request.choice, Some(ToolChoice::Other)) || forced {
        return refuse("tool_choice", "`none`, `auto`, `required` or a function that is in `tools`");
    }
    if request.format.is_schema_without_schema() {
        let child = Path::BRACKETED.key("response_format");
        return Err(wrong(&child.key("json_schema").key("schema"), "an object", None));
    }
    passed::check(request, rules, Protocol::Messages)
}

/// The highest temperature of Messages is 1.
fn sampling(out: &mut Writer, request: &Request<'_>, plan: &CallPlan<'_>) {
    let raw = |name: &str| request.body.get(name).map_or("", RawValue::get);
    if let Some(temperature) = request.temperature.filter(|_| plan.temperature) {
        out.member("temperature", if temperature > 1.0 { "1" } else { raw("temperature") });
    }
    if plan.top_p {
        out.member("top_p", raw("top_p"));
    }
}

/// Whether the model may call a function: where the client names some, it is told of those alone.
fn is_offered(request: &Request<'_>, function: &Function<'_>) -> bool {
    request.choice.is_none_or(|choice| choice.allows(&function.name.decoded()))
}

fn tools(out: &mut Writer, request: &Request<'_>) {
    let functions = request.tools.iter().filter_map(|tool| match tool {
        Tool::Function(function) => is_offered(request, function).then(|| write_tool(function)),
        Tool::Custom => None,
    });
    let functions: Vec<String> = functions.collect();
    if functions.is_empty() {
        return;
    }
    out.member("tools", &format!("[{}]", functions.join(",")));
    let serial = request.parallel == Some(false);
    let kind = match request.choice {
        Some(ToolChoice::None) => r#""none""#,
        Some(ToolChoice::Required | ToolChoice::Among { is_required: true, .. }) => r#""any""#,
        Some(ToolChoice::Named(_)) => r#""tool""#,
        Some(ToolChoice::Auto | ToolChoice::Among { .. } | ToolChoice::Other) => r#""auto""#,
        None if serial => r#""auto""#,
        None => return,
    };
    let mut choice = Writer::new(64);
    choice.member("type", kind);
    if let Some(ToolChoice::Named(name)) = request.choice {
        choice.member("name", &fitted_name(name));
    }
    if serial && !matches!(request.choice, Some(ToolChoice::None)) {
        choice.member("disable_parallel_tool_use", "true");
    }
    out.member("tool_choice", &choice.done());
}

fn write_tool(function: &Function<'_>) -> String {
    let mut tool = Writer::new(128);
    tool.member("name", &fitted_name(function.name));
    tool.optional("description", function.description.map(JsonString::raw));
    tool.member("input_schema", &schema(function.parameters));
    if function.strict {
        tool.member("strict", "true");
    }
    tool.optional("cache_control", function.cache);
    tool.done()
}

/// A tool's name as a Messages provider takes it, JSON.
pub(super) fn fitted_name(name: JsonString<'_>) -> String {
    quoted(&fitted(&name.decoded(), MESSAGES_MAX))
}

/// A schema with a `type`, which Messages requires.
fn schema(parameters: Option<&RawValue>) -> String {
    let written = parameters.map_or("{}", RawValue::get);
    let members = Object::parse(written).unwrap_or_default();
    if members.get("type").is_some() {
        return written.to_owned();
    }
    let mut schema = Writer::new(written.len() + 32);
    schema.member("type", &quoted("object"));
    schema.members(members.iter().filter(|(name, _)| *name != "type"));
    schema.done()
}

fn write_thinking(out: &mut Writer, plan: ThinkingPlan, format: &ResponseFormat<'_>) {
    match plan.thinking {
        Thinking::Off => {}
        Thinking::Budget(tokens) => out.member("thinking", &thinking_enabled(tokens.into())),
        Thinking::Adaptive => out.member("thinking", &thinking_adaptive(SUMMARIZED)),
    }
    let schema = match format {
        ResponseFormat::Schema(schema) => *schema,
        ResponseFormat::Text | ResponseFormat::Object => None,
    };
    if plan.effort.is_none() && schema.is_none() {
        return;
    }
    let mut config = Writer::new(64);
    if let Some(effort) = plan.effort {
        config.member("effort", &quoted(effort));
    }
    if let Some(schema) = schema {
        config.member("format", &format!("{{\"type\":\"json_schema\",\"schema\":{}}}", schema.get()));
    }
    out.member("output_config", &config.done());
}
