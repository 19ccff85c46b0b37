//! A call to a chat provider. A field chat completions do not have is refused if it changes the answer, and
//! dropped if it does not (`top_k`, cache marks).

use std::borrow::Cow;

use gatehouse_sdk::{Call, Refusal, TextRequest};
use gatehouse_text_protocols::field_names::{FieldNames, Origins, Translation};
use gatehouse_text_protocols::json::{JsonString, Raw, UniqueObject, Writer, is_null, quoted};
use gatehouse_text_protocols::path::Path;
use gatehouse_text_protocols::rules::Rules;
use gatehouse_text_protocols::tool_names::{CHAT_MAX, fitted};

use super::chat_messages;
use crate::request::fields::{object, required, wrong};
use crate::request::tools::{Tool, Which};
use crate::request::{Request, extras};

/// Bytes of the longest `user` that chat providers take.
const MAX_USER: u64 = 64;

/// The call, and where its fields came from.
///
/// # Errors
/// What the model of this route does not take, and what chat completions do not have.
pub(crate) fn call(
    request: &Request<'_>,
    text_request: &TextRequest,
    rules: &Rules,
) -> Result<(Call, FieldNames), Refusal> {
    let config: Option<UniqueObject<'_>> =
        request.fields.get("output_config").and_then(|raw| serde_json::from_str(raw.get()).ok());
    let (messages, places) = chat_messages::messages(request, text_request, rules)?;
    let messages = serde_json::to_string(&messages).expect("messages always serialize");
    let mut out = Writer::new(messages.len() + 512);
    out.string("model", &text_request.route.upstream);
    out.member("messages", &messages);
    out.member(rules.max_tokens_field.name(), &request.plan.max_tokens.to_string());
    out.optional("temperature", request.temperature);
    out.optional("top_p", request.top_p);
    if !request.stops.is_empty() {
        let stops: Vec<&str> = request.stops.iter().map(|stop| stop.quoted()).collect();
        out.member("stop", &format!("[{}]", stops.join(",")));
    }
    if request.stream {
        out.member("stream", "true");
        if rules.include_usage {
            out.member("stream_options", r#"{"include_usage":true}"#);
        }
    }
    write_tools(request, &mut out)?;
    let user = request.user.filter(|user| user.len() <= MAX_USER);
    out.optional("user", user.map(JsonString::raw));
    effort(request, config.as_ref(), rules).iter().for_each(|effort| out.string("reasoning_effort", effort));
    if let Some(schema) = config.as_ref().map(schema).transpose()?.flatten() {
        let described = format!(r#"{{"name":"output","schema":{},"strict":true}}"#, schema.get());
        out.member("response_format", &format!(r#"{{"type":"json_schema","json_schema":{described}}}"#));
    }
    tier(request, rules).iter().for_each(|tier| out.string("service_tier", tier));
    let given = request.fields.iter().filter(|(_, raw)| !is_null(raw));
    out.members(given.filter(|(name, _)| extras::is_sent_to_chat(name, rules)));
    let call = Call::post(text_request.route.provider.as_str(), "/v1/chat/completions").written(out.done());
    let origins = Origins::new(Translation::MessagesToChat, "max_tokens");
    Ok((call, FieldNames::of(Origins { messages: places, ..origins }).kept()))
}

/// Without tools neither of the other fields is sent, but a forced choice is: the provider refuses it.
fn write_tools(request: &Request<'_>, out: &mut Writer) -> Result<(), Refusal> {
    let has_tools = !request.tools.is_empty();
    if has_tools {
        let tools = request.tools.iter().enumerate().map(|(index, tool)| function(index, tool));
        out.member("tools", &format!("[{}]", tools.collect::<Result<Vec<_>, _>>()?.join(",")));
    }
    let Some(choice) = request.choice.as_ref().filter(|choice| has_tools || choice.forces()) else {
        return Ok(());
    };
    match choice.which {
        Which::Auto => out.string("tool_choice", "auto"),
        Which::Any => out.string("tool_choice", "required"),
        Which::None => out.string("tool_choice", "none"),
        Which::Named(name) => {
            let named = format!(r#"{{"type":"function","function":{{"name":{}}}}}"#, fitted_name(name));
            out.member("tool_choice", &named);
        }
    }
    if has_tools && choice.single {
        out.member("parallel_tool_calls", "false");
    }
    Ok(())
}

fn function(index: usize, tool: &Tool<'_>) -> Result<String, Refusal> {
    let (name, description, schema, strict) = match tool {
        Tool::Custom { name, description, schema, strict } => (name, description, schema, strict),
        Tool::Typed { kind, .. } => {
            let expected = format!("expected a custom tool for this model, got one of type {}", quoted(kind));
            return Err(Refusal::invalid(Path::DOTTED.key("tools").index(index).to_string(), expected));
        }
    };
    let mut out = Writer::new(schema.get().len() + 128);
    out.member("name", &fitted_name(*name));
    out.optional("description", description.map(JsonString::raw));
    out.member("parameters", schema.get());
    strict.iter().for_each(|strict| out.member("strict", &strict.to_string()));
    Ok(format!(r#"{{"type":"function","function":{}}}"#, out.done()))
}

/// A tool's name as a chat provider takes it, JSON.
fn fitted_name(name: JsonString<'_>) -> String {
    quoted(&fitted(&name.decoded(), CHAT_MAX))
}

/// The client's own `effort` first, then that of its `thinking`; none for a model that is not known to take one.
fn effort<'a>(
    request: &Request<'a>,
    config: Option<&UniqueObject<'a>>,
    rules: &Rules,
) -> Option<Cow<'a, str>> {
    let takes = rules.is_known_to_think() || request.plan.reasoning.is_some();
    let own = config.and_then(|config| config.text("effort")).filter(|_| takes);
    own.or_else(|| request.plan.reasoning.map(Cow::Borrowed))
}

/// The schema of the answer, if it is to be JSON.
fn schema<'a>(config: &UniqueObject<'a>) -> Result<Option<Raw<'a>>, Refusal> {
    let Some(raw) = config.get("format") else { return Ok(None) };
    let config = Path::DOTTED.key("output_config");
    let at = config.key("format");
    let given = object(&at, raw)?;
    if given.text("type").as_deref() != Some("json_schema") {
        return Err(wrong(&at.key("type"), "`json_schema`", required(&at, &given, "type")?));
    }
    required(&at, &given, "schema").map(Some)
}

/// A hint: sent where the operator's table itself lists the field.
fn tier(request: &Request<'_>, rules: &Rules) -> Option<&'static str> {
    rules.pass.as_ref().filter(|_| rules.passes("service_tier"))?;
    match request.fields.text("service_tier").as_deref() {
        Some("auto") => Some("auto"),
        Some("standard_only") => Some("default"),
        _ => None,
    }
}
