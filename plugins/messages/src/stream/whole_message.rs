//! A whole message in place of a stream, as the events of a stream. Only makes events; `from_messages` sends
//! them like the provider's own.

use gatehouse_sdk::{Sse, TextFailure};

use gatehouse_text_protocols::json::{JsonString, Raw, UniqueObject, Writer, is_null, quoted};
use gatehouse_text_protocols::relay::event;

use crate::response::NO_CITATIONS;
use crate::response::message::Counts;
use crate::state::unreadable;

/// Members of a block that are streamed as deltas: the member and the delta's type.
const TEXTS: [(&str, &str); 3] =
    [("text", "text_delta"), ("thinking", "thinking_delta"), ("signature", "signature_delta")];

/// The events of a message.
///
/// # Errors
/// A message without content.
pub(crate) fn events(message: &UniqueObject<'_>) -> Result<Vec<Sse>, TextFailure> {
    let content = message.get("content").ok_or_else(unreadable)?;
    let blocks: Vec<UniqueObject<'_>> = serde_json::from_str(content.get()).map_err(|_| unreadable())?;
    let usage = match message.get("usage") {
        Some(usage) => usage.get().to_owned(),
        // Clients read the counts without a check.
        None => {
            serde_json::to_string(&Counts::from(gatehouse_sdk::Usage::default())).map_err(|_| unreadable())?
        }
    };

    let mut out = Vec::new();
    let prepared = message.iter().filter(|(name, _)| *name != "usage").map(|(name, raw)| {
        let json = match name {
            "content" => "[]",
            "stop_reason" | "stop_sequence" | "stop_details" => "null",
            _ => raw.get(),
        };
        (name, json)
    });
    let prepared = object(prepared.chain([("usage", usage.as_str())]));
    event(&mut out, "message_start", &[("message", &prepared)]);
    for (index, fields) in blocks.iter().enumerate() {
        block(&index.to_string(), fields, &mut out);
    }
    let why = ["stop_reason", "stop_sequence", "stop_details", "container"];
    let why = message.iter().filter(|(name, _)| why.contains(name));
    let why = object(why.map(|(name, raw)| (name, raw.get())));
    event(&mut out, "message_delta", &[("delta", &why), ("usage", &usage)]);
    event(&mut out, "message_stop", &[]);
    Ok(out)
}

/// The events of one block: it opens empty, grows by its content, and closes. Members without a delta type
/// are in the opening event.
fn block(index: &str, fields: &UniqueObject<'_>, out: &mut Vec<Sse>) {
    let mut deltas = Vec::new();
    let mut emptied = Vec::new();
    let called = fields.get("input").is_some_and(|input| input.get().starts_with('{'));
    for (name, raw) in fields.iter().filter(|(name, raw)| *name != NO_CITATIONS || !is_null(raw)) {
        let text = TEXTS.iter().find(|(text, _)| *text == name).filter(|_| JsonString::of(raw).is_some());
        let json = if let Some((text, kind)) = text {
            if raw.get() != "\"\"" {
                deltas.push(delta(kind, text, raw.get()));
            }
            "\"\""
        } else if name == "input" && called {
            deltas.push(delta("input_json_delta", "partial_json", &quoted(raw.get())));
            "{}"
        } else if name == "citations" && raw.get().starts_with('[') {
            let cited: Vec<Raw<'_>> = serde_json::from_str(raw.get()).unwrap_or_default();
            deltas.extend(cited.iter().map(|cited| delta("citations_delta", "citation", cited.get())));
            "[]"
        } else {
            raw.get()
        };
        emptied.push((name, json));
    }
    let emptied = object(emptied.into_iter());
    event(out, "content_block_start", &[("index", index), ("content_block", &emptied)]);
    if index == "0" {
        event(out, "ping", &[]);
    }
    for delta in &deltas {
        event(out, "content_block_delta", &[("index", index), ("delta", delta)]);
    }
    event(out, "content_block_stop", &[("index", index)]);
}

fn delta(kind: &str, member: &str, json: &str) -> String {
    object([("type", quoted(kind).as_str()), (member, json)].into_iter())
}

/// An object of members whose values are JSON already.
fn object<'a>(members: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    members.collect::<Writer>().done()
}
