//! Writes an answer down: as one message, and as the events it streams as.

use serde_json::{Value, json};

use super::answer::{Reply, Said};
use crate::text::answer::seed::Seed;
use crate::text::answer::words;
use crate::text::delivery::reply::{Event, EventKind};
use crate::text::faults::Faults;
use crate::text::markers::Marker;
use crate::text::record::Usage;

/// The answer in one piece.
pub(super) fn whole(reply: &Reply, id: &str, model: &str, faults: &Faults) -> Value {
    let content: Vec<Value> = reply.blocks.iter().map(block).collect();
    let details = (reply.stop == "refusal")
        .then(|| json!({ "type": "refusal", "category": null, "explanation": null }));
    let mut message = json!({
        "id": id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": reply.stop,
        "stop_sequence": reply.stop_sequence,
        "stop_details": details,
        "usage": usage(reply.usage, reply.usage.output),
    });
    if faults.has(Marker::NoUsage)
        && let Some(fields) = message.as_object_mut()
    {
        fields.remove("usage");
    }
    message
}

fn block(said: &Said) -> Value {
    match said {
        Said::Redacted(data) => json!({ "type": "redacted_thinking", "data": data }),
        Said::Text(text) => json!({ "type": "text", "text": text, "citations": null }),
        Said::Thinking { text, signature } => {
            json!({ "type": "thinking", "thinking": text, "signature": signature })
        }
        Said::Tool { id, name, json: text, cut } => {
            // What was cut is dropped; what was never JSON stays the text it is.
            let broken = || if *cut { json!({}) } else { Value::String(text.clone()) };
            let input: Value = serde_json::from_str(text).unwrap_or_else(|_| broken());
            json!({ "type": "tool_use", "id": id, "name": name, "input": input, "caller": { "type": "direct" } })
        }
    }
}

fn usage(usage: Usage, output: u64) -> Value {
    json!({
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write_5m + usage.cache_write_1h,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.cache_write_5m,
            "ephemeral_1h_input_tokens": usage.cache_write_1h,
        },
        "output_tokens": output,
        "output_tokens_details": { "thinking_tokens": usage.thinking },
        "server_tool_use": null,
        "service_tier": "standard",
        "inference_geo": "global",
    })
}

/// The answer as events, each with some spaces before its last brace.
pub(super) fn events(reply: &Reply, id: &str, model: &str, faults: &Faults, seed: &Seed) -> Vec<Event> {
    let mut writer = Writer { events: Vec::new(), seed: seed.fork("events"), deltas: 0, faults };
    let mut start = whole(&Reply { blocks: Vec::new(), ..reply.clone() }, id, model, faults);
    for name in ["stop_reason", "stop_sequence", "stop_details"] {
        start[name] = Value::Null;
    }
    if !faults.has(Marker::NoUsage) {
        let first = Usage { thinking: 0, ..reply.usage };
        start["usage"] = usage(first, 1.min(reply.usage.output));
    }
    writer.event("message_start", EventKind::Frame, json!({ "message": start }));
    for (index, said) in reply.blocks.iter().enumerate() {
        writer.block(index, said);
    }
    let mut delta = json!({ "stop_reason": reply.stop, "stop_sequence": reply.stop_sequence });
    if reply.stop == "refusal" {
        delta["stop_details"] = json!({ "type": "refusal", "category": null, "explanation": null });
    }
    let mut last = json!({ "delta": delta });
    if !faults.has(Marker::NoUsage) {
        let mut totals = json!({
            "input_tokens": reply.usage.input,
            "cache_creation_input_tokens": reply.usage.cache_write_5m + reply.usage.cache_write_1h,
            "cache_read_input_tokens": reply.usage.cache_read,
            "output_tokens": reply.usage.output,
        });
        if reply.usage.thinking > 0 {
            totals["output_tokens_details"] = json!({ "thinking_tokens": reply.usage.thinking });
        }
        last["usage"] = totals;
    }
    writer.event("message_delta", EventKind::Frame, last);
    writer.event("message_stop", EventKind::End, json!({}));
    writer.events
}

/// An event with its name.
pub(super) fn event(name: &'static str, part: EventKind, mut data: Value) -> Event {
    data["type"] = name.into();
    Event { name: Some(name), data: data.to_string(), part }
}

struct Writer<'a> {
    events: Vec<Event>,
    seed: Seed,
    deltas: u64,
    faults: &'a Faults,
}

impl Writer<'_> {
    fn event(&mut self, name: &'static str, part: EventKind, data: Value) {
        let spaces = if self.seed.below(3) == 0 { 1 + self.seed.below(24) } else { 0 };
        self.events.push(event(name, part, data).padded(spaces));
    }

    fn block(&mut self, index: usize, said: &Said) {
        let empty = match said {
            Said::Text(_) => json!({ "type": "text", "text": "" }),
            Said::Thinking { .. } => json!({ "type": "thinking", "thinking": "", "signature": "" }),
            Said::Redacted(_) => block(said),
            Said::Tool { id, name, .. } => {
                json!({ "type": "tool_use", "id": id, "name": name, "input": {}, "caller": { "type": "direct" } })
            }
        };
        self.event(
            "content_block_start",
            EventKind::Frame,
            json!({ "index": index, "content_block": empty }),
        );
        if index == 0 {
            self.event("ping", EventKind::Frame, json!({}));
        }
        match said {
            Said::Redacted(_) => {}
            Said::Text(text) => self.pieces(index, text, "text_delta", "text"),
            Said::Thinking { text, signature } => {
                self.pieces(index, text, "thinking_delta", "thinking");
                self.delta(index, json!({ "type": "signature_delta", "signature": signature }));
            }
            Said::Tool { json: text, cut, .. } => {
                self.delta(index, json!({ "type": "input_json_delta", "partial_json": "" }));
                // A tool without arguments says no more.
                if text != "{}" {
                    self.pieces(index, text, "input_json_delta", "partial_json");
                }
                if *cut {
                    return;
                }
            }
        }
        self.event("content_block_stop", EventKind::Frame, json!({ "index": index }));
    }

    fn pieces(&mut self, index: usize, text: &str, kind: &str, field: &str) {
        for piece in words::pieces(&mut self.seed.clone(), text) {
            self.delta(index, json!({ "type": kind, field: piece }));
        }
    }

    fn delta(&mut self, index: usize, delta: Value) {
        self.event("content_block_delta", EventKind::Delta, json!({ "index": index, "delta": delta }));
        self.deltas += 1;
        let every = self.faults.number(Marker::Pings).unwrap_or(1).max(1);
        if self.faults.has(Marker::Pings) && self.deltas.is_multiple_of(every) {
            self.event("ping", EventKind::Frame, json!({}));
        }
    }
}
