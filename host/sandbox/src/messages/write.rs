//! Writes an answer: as one message, and as the events of a stream.

use serde_json::{Value, json};

use super::errors::Messages;
use super::thinking;
use crate::text::answer::generate::{Answer, Part, Stop};
use crate::text::answer::seed::Seed;
use crate::text::answer::words;
use crate::text::delivery::reply::{Event, EventKind};
use crate::text::endpoint::Written;
use crate::text::markers::{Faults, Marker};
use crate::text::record::Usage;

/// The parts of the answer, each with its block in a message.
fn blocks<'a>(answer: &'a Written<'_, Messages>) -> impl Iterator<Item = (&'a Part, Value)> {
    let parts = answer.answers.iter().flat_map(|answer| &answer.parts).enumerate();
    parts.map(|(at, part)| (part, block(part, at, answer)))
}

fn block(part: &Part, at: usize, answer: &Written<'_, Messages>) -> Value {
    let sign = |salt: u64, text: &str| thinking::sign(answer.request.model, at, salt, text);
    match part {
        Part::Call(call) => {
            // Cut arguments are dropped; arguments that never were JSON stay text.
            let broken = || if call.is_cut { json!({}) } else { Value::String(call.arguments.clone()) };
            let input: Value = serde_json::from_str(&call.arguments).unwrap_or_else(|_| broken());
            let caller = json!({ "type": "direct" });
            json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": input, "caller": caller })
        }
        Part::Redacted { salt } => {
            json!({ "type": "redacted_thinking", "data": sign(*salt, thinking::REDACTED_TEXT) })
        }
        Part::Refusal(text) | Part::Text(text) => {
            json!({ "type": "text", "text": text })
        }
        Part::Thinking { text, salt } => {
            let text = if answer.request.details.shows_thinking { text.as_str() } else { "" };
            json!({ "type": "thinking", "thinking": text, "signature": sign(*salt, text) })
        }
    }
}

/// `stop_reason` and `stop_sequence`.
fn stop<'a>(answer: &'a Written<'_, Messages>) -> (&'static str, Option<&'a str>) {
    match answer.answers.first().map_or(&Stop::End, |Answer { stop, .. }| stop) {
        Stop::Calls => ("tool_use", None),
        Stop::End | Stop::Filtered => ("end_turn", None),
        Stop::Length => ("max_tokens", None),
        Stop::Paused => ("pause_turn", None),
        Stop::Refused => ("refusal", None),
        Stop::Sequence(sequence) => ("stop_sequence", Some(sequence)),
    }
}

/// The answer in one piece.
pub(super) fn whole(answer: &Written<'_, Messages>) -> Value {
    let content: Vec<Value> = blocks(answer).map(|(_, block)| block).collect();
    let (reason, sequence) = stop(answer);
    let mut message = json!({
        "id": answer.id,
        "type": "message",
        "role": "assistant",
        "model": answer.request.model,
        "content": content,
        "stop_reason": reason,
        "stop_sequence": sequence,
        "stop_details": stop_details(reason),
    });
    if !answer.faults.has(Marker::NoUsage) {
        message["usage"] = usage(answer.usage);
    }
    message
}

fn stop_details(reason: &str) -> Value {
    match reason {
        "refusal" => json!({ "type": "refusal", "category": null, "explanation": null }),
        _ => Value::Null,
    }
}

/// The usage of a stream's last event.
fn totals(usage: Usage) -> Value {
    let mut totals = json!({
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write_5m + usage.cache_write_1h,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
    });
    if usage.thinking > 0 {
        totals["output_tokens_details"] = json!({ "thinking_tokens": usage.thinking });
    }
    totals
}

fn usage(usage: Usage) -> Value {
    let mut whole = totals(usage);
    whole["cache_creation"] = json!({
        "ephemeral_5m_input_tokens": usage.cache_write_5m,
        "ephemeral_1h_input_tokens": usage.cache_write_1h,
    });
    whole["output_tokens_details"] = json!({ "thinking_tokens": usage.thinking });
    whole["server_tool_use"] = Value::Null;
    whole["service_tier"] = "standard".into();
    whole["inference_geo"] = "global".into();
    whole
}

/// The answer as events, some with spaces before their last brace.
pub(super) fn events(answer: &Written<'_, Messages>) -> Vec<Event> {
    let tells_usage = !answer.faults.has(Marker::NoUsage);
    let mut writer =
        Writer { events: Vec::new(), seed: answer.seed.clone(), deltas: 0, faults: answer.faults };
    let mut start = whole(answer);
    start["content"] = json!([]);
    for name in ["stop_reason", "stop_sequence", "stop_details"] {
        start[name] = Value::Null;
    }
    if tells_usage {
        let output = answer.usage.output.min(1);
        start["usage"] = usage(Usage { thinking: 0, output, ..answer.usage });
    }
    writer.event("message_start", EventKind::Frame, json!({ "message": start }));
    for (index, (part, block)) in blocks(answer).enumerate() {
        writer.block(index, part, block);
    }
    let (reason, sequence) = stop(answer);
    let mut delta = json!({ "stop_reason": reason, "stop_sequence": sequence });
    if reason == "refusal" {
        delta["stop_details"] = stop_details(reason);
    }
    let mut last = json!({ "delta": delta });
    if tells_usage {
        last["usage"] = totals(answer.usage);
    }
    writer.event("message_delta", EventKind::Frame, last);
    writer.event("message_stop", EventKind::End, json!({}));
    writer.events
}

/// An event with its name.
pub(super) fn event(name: &'static str, kind: EventKind, mut data: Value) -> Event {
    data["type"] = name.into();
    Event { name: Some(name), data: data.to_string(), kind }
}

struct Writer<'a> {
    events: Vec<Event>,
    seed: Seed,
    deltas: u64,
    faults: &'a Faults,
}

impl Writer<'_> {
    fn event(&mut self, name: &'static str, kind: EventKind, data: Value) {
        let spaces = if self.seed.below(3) == 0 { 1 + self.seed.below(24) } else { 0 };
        self.events.push(event(name, kind, data).padded(spaces));
    }

    fn block(&mut self, index: usize, part: &Part, mut block: Value) {
        // The type of its deltas, the field of their pieces, the text that the pieces make, a last delta.
        let (kind, field, text, last) = match part {
            // A call without arguments has one empty delta.
            Part::Call(call) => {
                block["input"] = json!({});
                let text = if call.arguments == "{}" { "" } else { call.arguments.as_str() };
                ("input_json_delta", "partial_json", text.to_owned(), None)
            }
            Part::Redacted { .. } => ("", "", String::new(), None),
            Part::Refusal(text) | Part::Text(text) => {
                block = json!({ "type": "text", "text": "" });
                ("text_delta", "text", text.clone(), None)
            }
            Part::Thinking { .. } => {
                let (text, signature) = (block["thinking"].take(), block["signature"].take());
                (block["thinking"], block["signature"]) = ("".into(), "".into());
                let last = json!({ "type": "signature_delta", "signature": signature });
                ("thinking_delta", "thinking", text.as_str().unwrap_or_default().to_owned(), Some(last))
            }
        };
        let start = json!({ "index": index, "content_block": block });
        self.event("content_block_start", EventKind::Frame, start);
        if index == 0 {
            self.event("ping", EventKind::Frame, json!({}));
        }
        if matches!(part, Part::Call(_)) {
            self.delta(index, &json!({ "type": kind, field: "" }));
        }
        for piece in words::pieces(&mut self.seed.clone(), &text) {
            self.delta(index, &json!({ "type": kind, field: piece }));
        }
        if let Some(delta) = last {
            self.delta(index, &delta);
        }
        // A block that the limit of tokens cuts is never closed.
        if !matches!(part, Part::Call(call) if call.is_cut) {
            self.event("content_block_stop", EventKind::Frame, json!({ "index": index }));
        }
    }

    fn delta(&mut self, index: usize, delta: &Value) {
        let data = json!({ "index": index, "delta": delta });
        self.event("content_block_delta", EventKind::Delta, data);
        self.deltas += 1;
        let every = self.faults.number(Marker::Pings).unwrap_or(1).max(1);
        if self.faults.has(Marker::Pings) && self.deltas.is_multiple_of(every) {
            self.event("ping", EventKind::Frame, json!({}));
        }
    }
}
