//! A request for a messages provider. Texts, schemas and tool inputs are copied as they were written; what
//! that protocol cannot say is refused by name rather than dropped, but for hints that only steer.

use serde_json::value::RawValue;

use crate::format::{self, Format};
use crate::json::{Object, Text, Writer, quote, quoted};
use crate::messages::Message;
use crate::open::Order;
use crate::read::{Checked, Path, instead, wrong};
use crate::request::Request;
use crate::thinking::{self, Depth, Thinking};
use crate::tools::{Choice, Function, Tool};
use crate::turns::Turns;

pub(crate) fn write(request: &Request<'_>, order: &Order<'_>) -> Checked<String> {
    refuse_what_has_no_words(request)?;
    let depth = thinking::decide(order.rules, &order.asked)?;
    let turns = Turns::write(&request.messages, order.rules)?;
    let size: usize = request.body.iter().map(|(_, raw)| raw.get().len()).sum();
    let mut out = Writer::new(size + size / 4 + 512);
    quote(order.upstream, out.name("model"));
    out.member("max_tokens", &order.asked.cap.to_string());
    let instruction = matches!(request.format, Format::Object).then_some(format::INSTRUCTION);
    if let Some(system) = turns.system(instruction) {
        out.member("system", &system);
    }
    out.member("messages", &turns.json);
    if !request.stops.is_empty() {
        let stops: Vec<&str> = request.stops.iter().map(|stop| stop.quoted()).collect();
        out.member("stop_sequences", &format!("[{}]", stops.join(",")));
    }
    if request.streaming {
        out.member("stream", "true");
    }
    sampling(&mut out, request, order);
    tools(&mut out, request);
    thought(&mut out, depth, &request.format);
    let user = request.user.or_else(|| request.body.text("safety_identifier"));
    if let Some(user) = user {
        out.member("metadata", &format!("{{\"user_id\":{}}}", user.quoted()));
    }
    Ok(out.done())
}

/// Custom tools are called with free text.
pub(crate) const ONLY_FUNCTIONS: &str = "`function`, the only kind this model calls";

/// The tool loop under way holds a turn of the model without its thinking.
pub(crate) fn is_bare(messages: &[Message<'_>]) -> bool {
    let turns = messages.iter().rev().take_while(|message| !matches!(message, Message::User(_)));
    turns.into_iter().any(|message| match message {
        Message::Assistant(said) => !said.calls.is_empty() && said.thinking.is_empty(),
        _ => false,
    })
}

fn refuse_what_has_no_words(request: &Request<'_>) -> Checked<()> {
    let body = &request.body;
    let refuse = |name: &str, expected: &str| Err(wrong(&Path::Root.key(name), expected, body.get(name)));
    if request.answers > 1 {
        return refuse("n", "1, this model gives one answer at a time");
    }
    for name in ["functions", "function_call"] {
        if body.get(name).is_some() {
            return refuse(name, "nothing, this model takes functions as `tools` only");
        }
    }
    if body.get("web_search_options").is_some() {
        return refuse("web_search_options", "nothing, this model does not search");
    }
    if body.get("audio").is_some() || format::wants_sound(body.get("modalities")) {
        let name = if body.get("audio").is_some() { "audio" } else { "modalities" };
        return refuse(name, "text alone, this model does not speak");
    }
    let tools = Path::Root.key("tools");
    if let Some(at) = request.tools.iter().position(|tool| matches!(tool, Tool::Custom)) {
        return Err(instead(&tools.index(at).key("type"), ONLY_FUNCTIONS, "the string \"custom\""));
    }
    let forced = request.choice.is_some_and(Choice::is_forced) && request.tools.is_empty();
    if matches!(request.choice, Some(Choice::Other)) || forced {
        return refuse("tool_choice", "`none`, `auto`, `required` or a function that stands in `tools`");
    }
    if request.format.is_schema_without_schema() {
        let place = Path::Root.key("response_format");
        return Err(wrong(&place.key("json_schema").key("schema"), "an object", None));
    }
    Ok(())
}

/// This protocol's temperatures end at 1.
fn sampling(out: &mut Writer, request: &Request<'_>, order: &Order<'_>) {
    let raw = |name: &str| request.body.get(name).map_or("", RawValue::get);
    if let Some(temperature) = request.temperature.filter(|_| order.temperature) {
        out.member("temperature", if temperature > 1.0 { "1" } else { raw("temperature") });
    }
    if order.top_p {
        out.member("top_p", raw("top_p"));
    }
}

fn tools(out: &mut Writer, request: &Request<'_>) {
    let functions = request.tools.iter().filter_map(|tool| match tool {
        Tool::Function(function) => Some(tool_of(function)),
        Tool::Custom => None,
    });
    let functions: Vec<String> = functions.collect();
    if functions.is_empty() {
        return;
    }
    out.member("tools", &format!("[{}]", functions.join(",")));
    let serial = request.parallel == Some(false);
    let kind = match request.choice {
        Some(Choice::None) => r#""none""#,
        Some(Choice::Required) => r#""any""#,
        Some(Choice::Named(_)) => r#""tool""#,
        Some(Choice::Auto | Choice::Other) => r#""auto""#,
        None if serial => r#""auto""#,
        None => return,
    };
    let mut choice = Writer::new(64);
    choice.member("type", kind);
    if let Some(Choice::Named(name)) = request.choice {
        choice.member("name", name.quoted());
    }
    if serial && !matches!(request.choice, Some(Choice::None)) {
        choice.member("disable_parallel_tool_use", "true");
    }
    out.member("tool_choice", &choice.done());
}

fn tool_of(function: &Function<'_>) -> String {
    let mut tool = Writer::new(128);
    tool.member("name", function.name.quoted());
    if let Some(description) = function.description {
        tool.member("description", description.quoted());
    }
    tool.member("input_schema", &schema(function.parameters));
    if function.strict {
        tool.member("strict", "true");
    }
    if let Some(cache) = function.cache {
        tool.member("cache_control", cache.get());
    }
    tool.done()
}

/// A schema that says it is an object, as that protocol demands.
fn schema(parameters: Option<&RawValue>) -> String {
    let written = parameters.map_or("{}", RawValue::get);
    let members = Object::parse(written).unwrap_or_default();
    if members.get("type").is_some() {
        return written.to_owned();
    }
    let mut schema = Writer::new(written.len() + 32);
    schema.member("type", &quoted("object"));
    for (name, raw) in members.iter().filter(|(name, _)| *name != "type") {
        schema.member(name, raw.get());
    }
    schema.done()
}

fn thought(out: &mut Writer, depth: Depth, format: &Format<'_>) {
    match depth.thinking {
        Thinking::Off => {}
        Thinking::Budget(tokens) => {
            out.member("thinking", &format!("{{\"type\":\"enabled\",\"budget_tokens\":{tokens}}}"));
        }
        // Without `display` the newest models think in secret.
        Thinking::Adaptive => out.member("thinking", r#"{"type":"adaptive","display":"summarized"}"#),
    }
    let schema = match format {
        Format::Schema(schema) => *schema,
        Format::Text | Format::Object => None,
    };
    if depth.effort.is_none() && schema.is_none() {
        return;
    }
    let mut config = Writer::new(64);
    if let Some(effort) = depth.effort {
        config.member("effort", &quoted(effort));
    }
    if let Some(schema) = schema {
        config.member("format", &format!("{{\"type\":\"json_schema\",\"schema\":{}}}", schema.get()));
    }
    out.member("output_config", &config.done());
}

/// The text as that protocol allows an id of a tool call: letters, digits, `_` and `-`.
pub(crate) fn tool_id(id: Text<'_>) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    quoted(&id.decoded().chars().map(|letter| if plain(letter) { letter } else { '_' }).collect::<String>())
}
