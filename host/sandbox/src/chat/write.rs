//! Writes an answer down: as one object, and as the chunks it streams as.

use serde_json::{Value, json};

use super::answer::{Reply, Said};
use super::order::Order;
use crate::text::answer::seed::Seed;
use crate::text::answer::words;
use crate::text::delivery::reply::{Event, EventKind};
use crate::text::faults::Faults;
use crate::text::markers::Marker;
use crate::text::record::Usage;

/// What every piece of an answer repeats.
#[derive(Clone, Debug)]
pub(super) struct Stamp {
    pub(super) id: String,
    /// In seconds since the Unix epoch.
    pub(super) created: u64,
    pub(super) model: &'static str,
}

/// The answer in one piece.
pub(super) fn whole(reply: &Reply, stamp: &Stamp, faults: &Faults) -> Value {
    let choices: Vec<Value> = reply.choices.iter().enumerate().map(choice).collect();
    let mut body = json!({
        "id": stamp.id,
        "object": "chat.completion",
        "created": stamp.created,
        "model": stamp.model,
        "choices": choices,
        "system_fingerprint": "fp_sandbox",
        "service_tier": "default",
    });
    if !faults.has(Marker::NoUsage) {
        body["usage"] = usage(reply.usage);
    }
    body
}

fn choice((index, said): (usize, &Said)) -> Value {
    let content = if said.text.is_empty() && (!said.calls.is_empty() || said.refusal.is_some()) {
        Value::Null
    } else {
        said.text.clone().into()
    };
    let mut message =
        json!({ "role": "assistant", "content": content, "refusal": said.refusal, "annotations": [] });
    if let Some(reasoning) = &said.reasoning {
        message["reasoning_content"] = reasoning.clone().into();
    }
    if !said.calls.is_empty() {
        let call = |call: &super::answer::Call| {
            let function = json!({ "name": call.name, "arguments": call.arguments });
            json!({ "id": call.id, "type": "function", "function": function })
        };
        message["tool_calls"] = said.calls.iter().map(call).collect();
    }
    json!({ "index": index, "message": message, "finish_reason": said.finish, "logprobs": null })
}

fn usage(usage: Usage) -> Value {
    json!({
        "prompt_tokens": usage.all_input(),
        "completion_tokens": usage.output,
        "total_tokens": usage.all_input() + usage.output,
        "prompt_tokens_details": { "cached_tokens": usage.cache_read, "audio_tokens": 0 },
        "completion_tokens_details": { "reasoning_tokens": usage.thinking, "audio_tokens": 0 },
    })
}

/// The answer as chunks, choice after choice.
pub(super) fn events(
    reply: &Reply,
    stamp: &Stamp,
    order: &Order<'_>,
    faults: &Faults,
    seed: &Seed,
) -> Vec<Event> {
    let obfuscated = order.obfuscated || faults.has(Marker::Obfuscation);
    let tells_usage = order.include_usage && !faults.has(Marker::NoUsage);
    let mut writer = Writer {
        events: Vec::new(),
        seed: seed.fork("events"),
        stamp,
        obfuscated,
        null_usage: tells_usage && !order.model.clone,
    };
    for (index, said) in reply.choices.iter().enumerate() {
        writer.choice(index, said, faults);
        if faults.has(Marker::DoneEarly) {
            continue;
        }
        let mut last = writer.chunk(index, json!({}), Some(said.finish));
        if order.model.clone && tells_usage && index + 1 == reply.choices.len() {
            last["usage"] = usage(reply.usage);
        }
        writer.push(last, EventKind::Frame);
    }
    if tells_usage && !order.model.clone {
        let mut totals = writer.chunk(0, json!({}), None);
        totals["choices"] = json!([]);
        totals["usage"] = usage(reply.usage);
        writer.push(totals, EventKind::Frame);
    }
    writer.events.push(Event { name: None, data: "[DONE]".to_owned(), part: EventKind::End });
    writer.events
}

struct Writer<'a> {
    events: Vec<Event>,
    seed: Seed,
    stamp: &'a Stamp,
    obfuscated: bool,
    /// Every chunk says that the usage comes later.
    null_usage: bool,
}

impl Writer<'_> {
    fn choice(&mut self, index: usize, said: &Said, faults: &Faults) {
        let first = if said.calls.is_empty() { json!("") } else { Value::Null };
        let opening = json!({ "role": "assistant", "content": first, "refusal": null });
        let opening = self.chunk(index, opening, None);
        self.push(opening, EventKind::Frame);
        if let Some(reasoning) = &said.reasoning {
            self.pieces(index, reasoning, "reasoning_content");
        }
        self.pieces(index, said.refusal.as_deref().unwrap_or_default(), "refusal");
        self.pieces(index, &said.text, "content");
        self.calls(index, said, faults.has(Marker::Interleaved));
    }

    fn pieces(&mut self, index: usize, text: &str, field: &str) {
        for piece in words::pieces(&mut self.seed, text) {
            self.delta(index, json!({ field: piece }));
        }
    }

    /// Calls one after the other, or a piece of each in turn.
    fn calls(&mut self, index: usize, said: &Said, interleaved: bool) {
        let mut rows: Vec<Vec<Value>> = Vec::new();
        for (at, call) in said.calls.iter().enumerate() {
            let function = json!({ "name": call.name, "arguments": "" });
            let mut row =
                vec![json!({ "index": at, "id": call.id, "type": "function", "function": function })];
            let pieces = words::pieces(&mut self.seed, &call.arguments).into_iter();
            row.extend(pieces.map(|piece| json!({ "index": at, "function": { "arguments": piece } })));
            rows.push(row);
        }
        if !interleaved {
            for call in rows.into_iter().flatten() {
                self.delta(index, json!({ "tool_calls": [call] }));
            }
            return;
        }
        let longest = rows.iter().map(Vec::len).max().unwrap_or(0);
        for step in 0..longest {
            for row in &rows {
                if let Some(call) = row.get(step) {
                    self.delta(index, json!({ "tool_calls": [call] }));
                }
            }
        }
    }

    fn delta(&mut self, index: usize, delta: Value) {
        let chunk = self.chunk(index, delta, None);
        self.push(chunk, EventKind::Delta);
    }

    fn chunk(&mut self, index: usize, delta: Value, finish: Option<&str>) -> Value {
        let mut chunk = json!({
            "id": self.stamp.id,
            "object": "chat.completion.chunk",
            "created": self.stamp.created,
            "model": self.stamp.model,
            "system_fingerprint": "fp_sandbox",
            "choices": [{ "index": index, "delta": delta, "finish_reason": finish, "logprobs": null }],
        });
        if self.null_usage {
            chunk["usage"] = Value::Null;
        }
        if self.obfuscated {
            let length = 1 + self.seed.below(16);
            chunk["obfuscation"] = self.seed.id(length).into();
        }
        chunk
    }

    fn push(&mut self, chunk: Value, part: EventKind) {
        self.events.push(Event { name: None, data: chunk.to_string(), part });
    }
}
