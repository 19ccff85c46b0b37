//! A message a provider sent in one piece although a stream was asked for, as the events it would have sent.
//! Only makes events; `relay_messages` passes them on as it does a provider's own.

use gatehouse_sdk::{Sse, TextFailure};

use crate::errors;
use crate::raw::{Fields, Raw, inner, is_string, quoted};
use crate::usage::Tally;

/// Parts of a block that streams as a delta of their own, under the delta's type and member.
const TEXTS: [(&str, &str); 3] =
    [("text", "text_delta"), ("thinking", "thinking_delta"), ("signature", "signature_delta")];

/// The events of a message.
///
/// # Errors
/// A message without content.
pub(crate) fn events(message: &Fields<'_>) -> Result<Vec<Sse>, TextFailure> {
    let content = message.get("content").ok_or_else(errors::unreadable)?;
    let blocks: Vec<Fields<'_>> = serde_json::from_str(content.get()).map_err(|_| errors::unreadable())?;
    let usage = match message.get("usage") {
        Some(usage) => usage.get().to_owned(),
        // Clients read the counts without looking whether they are there.
        None => serde_json::to_string(&Tally::default().counts()).map_err(|_| errors::unreadable())?,
    };

    let mut out = Vec::new();
    let prepared = message.0.iter().filter(|(name, _)| name != "usage").map(|(name, raw)| {
        let json = match name.as_ref() {
            "content" => "[]",
            "stop_reason" | "stop_sequence" | "stop_details" => "null",
            _ => raw.get(),
        };
        (name.as_ref(), json)
    });
    let prepared = object(prepared.chain([("usage", usage.as_str())]));
    event(&mut out, "message_start", &[("message", &prepared)]);
    for (place, fields) in blocks.iter().enumerate() {
        block(&place.to_string(), fields, &mut out);
    }
    let why = ["stop_reason", "stop_sequence", "stop_details", "container"];
    let why = message.0.iter().filter(|(name, _)| why.contains(&name.as_ref()));
    let why = object(why.map(|(name, raw)| (name.as_ref(), raw.get())));
    event(&mut out, "message_delta", &[("delta", &why), ("usage", &usage)]);
    event(&mut out, "message_stop", &[]);
    Ok(out)
}

/// A block opens empty, grows by what it holds, and closes. What no delta is known for comes as it opens.
fn block(index: &str, fields: &Fields<'_>, out: &mut Vec<Sse>) {
    let mut deltas = Vec::new();
    let mut emptied = Vec::new();
    let called = fields.get("input").is_some_and(|input| input.get().starts_with('{'));
    for (name, raw) in &fields.0 {
        let text = TEXTS.iter().find(|(text, _)| text == name).filter(|_| is_string(raw));
        let json = if let Some((text, kind)) = text {
            if !inner(raw).is_empty() {
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
        emptied.push((name.as_ref(), json));
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

fn event(out: &mut Vec<Sse>, name: &str, members: &[(&str, &str)]) {
    let kind = quoted(name);
    let data = object([("type", kind.as_str())].into_iter().chain(members.iter().copied()));
    out.push(Sse { event: Some(name.to_owned()), data });
}

/// An object of members whose values are JSON already.
fn object<'a>(members: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let members: Vec<String> = members.map(|(name, json)| format!("{}:{json}", quoted(name))).collect();
    format!("{{{}}}", members.join(","))
}
