//! `tools` and `toolConfig`. Google has one tool of many functions.

use gatehouse_sdk::Refusal;
use gatehouse_text_protocols::json::{Object, Writer, quoted};

use super::schema::Schemas;
use crate::names::fitted;

/// Writes them into `out`; `room` is what their schemas may still be written out as.
pub(super) fn write(body: &Object<'_>, room: &mut usize, out: &mut Writer) -> Result<(), Refusal> {
    let tools = body.items("tools").unwrap_or_default();
    let mut functions = Vec::with_capacity(tools.len());
    for (at, raw) in tools.iter().enumerate() {
        let tool = Object::parse(raw.get()).unwrap_or_default();
        if let Some(kind) = tool.text("type").filter(|kind| kind != "custom") {
            let problem = format!("expected `custom`, this model calls functions only, got {kind:?}");
            return Err(Refusal::invalid(format!("tools.{at}.type"), problem));
        }
        functions.push(function(at, &tool, room)?);
    }
    if functions.is_empty() {
        return Ok(());
    }
    out.member("tools", &format!("[{{\"functionDeclarations\":[{}]}}]", functions.join(",")));
    let choice = body.object("tool_choice").unwrap_or_default();
    let mode = match choice.text("type").as_deref() {
        Some("any" | "tool") => "ANY",
        Some("none") => "NONE",
        Some("auto") => "AUTO",
        _ => return Ok(()),
    };
    let mut config = Writer::new(96);
    config.string("mode", mode);
    if let Some(name) = choice.text("name").filter(|_| mode == "ANY") {
        config.member("allowedFunctionNames", &format!("[{}]", quoted(&fitted(&name))));
    }
    out.member("toolConfig", &format!("{{\"functionCallingConfig\":{}}}", config.done()));
    Ok(())
}

fn function(at: usize, tool: &Object<'_>, room: &mut usize) -> Result<String, Refusal> {
    let mut out = Writer::new(256);
    out.string("name", &fitted(&tool.text("name").unwrap_or_default()));
    let description = tool.string("description").map_or_else(|| quoted(""), |text| text.quoted().to_owned());
    out.member("description", &description);
    if let Some(schema) = tool.get("input_schema") {
        let schema = Schemas::clean(schema, room, &format!("tools.{at}.input_schema"))?;
        // Google refuses an object that can have no property; a function without parameters has no schema.
        if Object::parse(&schema).is_some_and(|schema| schema.get("properties").is_some()) {
            out.member("parameters", &schema);
        }
    }
    Ok(out.done())
}
