//! Writes an answer: as one object, and as the chunks of a stream.

use serde_json::{Value, json};

use super::errors::Chat;
use crate::text::answer::generate::{Answer, Call, Part, Stop};
use crate::text::answer::seed::Seed;
use crate::text::answer::words;
use crate::text::delivery::reply::{Event, EventKind};
use crate::text::endpoint::Written;
use crate::text::markers::Marker;
use crate::text::record::Usage;

/// One choice, its parts sorted by the fields they are written to.
#[derive(Default)]
struct Choice<'a> {
    text: &'a str,
    /// Only clones show their thinking.
    reasoning: Option<&'a str>,
    refusal: Option<&'a str>,
    calls: Vec<&'a Call>,
    finish: &'static str,
}

impl<'a> Choice<'a> {
    fn of(answer: &'a Answer, shows_reasoning: bool) -> Self {
        let mut choice = Self { finish: finish(&answer.stop), ..Self::default() };
        for part in &answer.parts {
            match part {
                Part::Call(call) => choice.calls.push(call),
                Part::Refusal(text) => choice.refusal = Some(text),
                Part::Text(text) => choice.text = text,
                Part::Thinking { text, .. } if shows_reasoning => choice.reasoning = Some(text),
                Part::Thinking { .. } | Part::Redacted { .. } => {}
            }
        }
        choice
    }
}

fn finish(stop: &Stop) -> &'static str {
    match stop {
        Stop::Calls => "tool_calls",
        Stop::Filtered => "content_filter",
        Stop::Length => "length",
        Stop::End | Stop::Paused | Stop::Refused | Stop::Sequence(_) => "stop",
    }
}

fn choices<'a>(answer: &'a Written<'_, Chat>) -> impl Iterator<Item = (usize, Choice<'a>)> {
    let shows_reasoning = answer.request.details.model.clone;
    answer.answers.iter().map(move |answer| Choice::of(answer, shows_reasoning)).enumerate()
}

/// The answer in one piece.
pub(super) fn whole(answer: &Written<'_, Chat>) -> Value {
    let mut body = json!({
        "id": answer.id,
        "object": "chat.completion",
        "created": answer.created,
        "model": answer.request.model,
        "choices": choices(answer).map(message).collect::<Vec<_>>(),
        "system_fingerprint": "fp_sandbox",
        "service_tier": "default",
    });
    if !answer.faults.has(Marker::NoUsage) {
        body["usage"] = usage(answer.usage);
    }
    body
}

fn message((index, choice): (usize, Choice<'_>)) -> Value {
    let has_content = !choice.text.is_empty() || choice.calls.is_empty() && choice.refusal.is_none();
    let content = has_content.then_some(choice.text);
    let mut message =
        json!({ "role": "assistant", "content": content, "refusal": choice.refusal, "annotations": [] });
    if let Some(reasoning) = choice.reasoning {
        message["reasoning_content"] = reasoning.into();
    }
    if !choice.calls.is_empty() {
        let call = |call: &&Call| {
            let function = json!({ "name": call.name, "arguments": call.arguments });
            json!({ "id": call.id, "type": "function", "function": function })
        };
        message["tool_calls"] = choice.calls.iter().map(call).collect();
    }
    json!({ "index": index, "message": message, "finish_reason": choice.finish, "logprobs": null })
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
pub(super) fn events(answer: &Written<'_, Chat>) -> Vec<Event> {
    let (details, faults) = (&answer.request.details, answer.faults);
    let is_clone = details.model.clone;
    let tells_usage = details.include_usage && !faults.has(Marker::NoUsage);
    let mut writer = Writer {
        events: Vec::new(),
        seed: answer.seed.clone(),
        answer,
        obfuscated: details.obfuscated || faults.has(Marker::Obfuscation),
        null_usage: tells_usage && !is_clone,
    };
    for (index, choice) in choices(answer) {
        writer.choice(index, &choice);
        if faults.has(Marker::DoneEarly) {
            continue;
        }
        let mut last = writer.chunk(index, json!({}), Some(choice.finish));
        if is_clone && tells_usage && index + 1 == answer.answers.len() {
            last["usage"] = usage(answer.usage);
        }
        writer.push(&last, EventKind::Frame);
    }
    if tells_usage && !is_clone {
        let mut totals = writer.chunk(0, json!({}), None);
        totals["choices"] = json!([]);
        totals["usage"] = usage(answer.usage);
        writer.push(&totals, EventKind::Frame);
    }
    writer.events.push(Event { name: None, data: "[DONE]".to_owned(), kind: EventKind::End });
    writer.events
}

struct Writer<'a> {
    events: Vec<Event>,
    seed: Seed,
    answer: &'a Written<'a, Chat>,
    obfuscated: bool,
    /// Chunks before the last carry `"usage": null`.
    null_usage: bool,
}

impl Writer<'_> {
    fn choice(&mut self, index: usize, choice: &Choice<'_>) {
        let content = choice.calls.is_empty().then_some("");
        let first = json!({ "role": "assistant", "content": content, "refusal": null });
        let first = self.chunk(index, first, None);
        self.push(&first, EventKind::Frame);
        self.pieces(index, choice.reasoning.unwrap_or_default(), "reasoning_content");
        self.pieces(index, choice.refusal.unwrap_or_default(), "refusal");
        self.pieces(index, choice.text, "content");
        self.calls(index, &choice.calls);
    }

    fn pieces(&mut self, index: usize, text: &str, field: &str) {
        for piece in words::pieces(&mut self.seed, text) {
            self.delta(index, json!({ field: piece }));
        }
    }

    /// Calls one after the other, or interleaved: one piece of each in turn.
    fn calls(&mut self, index: usize, calls: &[&Call]) {
        let mut deltas: Vec<(usize, Value)> = Vec::new();
        for (at, call) in calls.iter().enumerate() {
            let function = json!({ "name": call.name, "arguments": "" });
            deltas.push((0, json!({ "index": at, "id": call.id, "type": "function", "function": function })));
            let pieces = words::pieces(&mut self.seed, &call.arguments).into_iter().enumerate();
            deltas.extend(
                pieces.map(|(step, piece)| {
                    (step + 1, json!({ "index": at, "function": { "arguments": piece } }))
                }),
            );
        }
        if self.answer.faults.has(Marker::Interleaved) {
            deltas.sort_by_key(|(step, _)| *step);
        }
        for (_, call) in deltas {
            self.delta(index, json!({ "tool_calls": [call] }));
        }
    }

    fn delta(&mut self, index: usize, delta: Value) {
        let chunk = self.chunk(index, delta, None);
        self.push(&chunk, EventKind::Delta);
    }

    fn chunk(&mut self, index: usize, delta: Value, finish: Option<&str>) -> Value {
        let mut chunk = json!({
            "id": self.answer.id,
            "object": "chat.completion.chunk",
            "created": self.answer.created,
            "model": self.answer.request.model,
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

    fn push(&mut self, chunk: &Value, kind: EventKind) {
        self.events.push(Event { name: None, data: chunk.to_string(), kind });
    }
}
