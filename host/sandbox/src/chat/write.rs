//! Writes an answer: as one object, and as the chunks of a stream.

use serde_json::{Value, json};

use super::errors::Chat;
use super::logprobs::{self, Token};
use crate::common::schema::{items, text};
use crate::text::answer::generate::{Answer, Part, Stop};
use crate::text::answer::seed::Seed;
use crate::text::answer::words;
use crate::text::delivery::reply::{Event, EventKind};
use crate::text::endpoint::Written;
use crate::text::markers::Marker;
use crate::text::record::Usage;

fn finish(stop: &Stop) -> &'static str {
    match stop {
        Stop::Calls => "tool_calls",
        Stop::Filtered => "content_filter",
        Stop::Length => "length",
        Stop::End | Stop::Paused | Stop::Refused | Stop::Sequence(_) => "stop",
    }
}

/// The answer in one piece.
pub(super) fn whole(answer: &Written<'_, Chat>) -> Value {
    let choice = |(index, choice): (usize, &Answer)| {
        let (message, finish) = (message(choice, answer), finish(&choice.stop));
        let logprobs = judged(&message, answer.request.details.logprobs);
        json!({ "index": index, "message": message, "finish_reason": finish, "logprobs": logprobs })
    };
    let choices: Vec<Value> = answer.answers.iter().enumerate().map(choice).collect();
    let mut body = json!({
        "id": answer.id,
        "object": "chat.completion",
        "created": answer.created,
        "model": answer.request.model,
        "choices": choices,
        "system_fingerprint": "fp_sandbox",
        "service_tier": "default",
    });
    if !answer.faults.has(Marker::NoUsage) {
        body["usage"] = usage(answer.usage);
    }
    body
}

/// The message of one choice. Only clones show their thinking.
fn message(choice: &Answer, answer: &Written<'_, Chat>) -> Value {
    let mut message = json!({ "role": "assistant", "content": null, "refusal": null, "annotations": [] });
    let mut calls: Vec<Value> = Vec::new();
    for part in &choice.parts {
        match part {
            Part::Call(call) => {
                let function = json!({ "name": call.name, "arguments": call.arguments });
                calls.push(json!({ "id": call.id, "type": "function", "function": function }));
            }
            Part::Refusal(text) => message["refusal"] = text.as_str().into(),
            Part::Text(text) => message["content"] = text.as_str().into(),
            Part::Thinking { text, .. } if answer.request.details.model.clone => {
                message["reasoning_content"] = text.as_str().into();
            }
            Part::Thinking { .. } | Part::Redacted { .. } => {}
        }
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    } else if message["content"].is_null() && message["refusal"].is_null() {
        message["content"] = "".into();
    }
    message
}

/// `logprobs` of a whole choice, if they are asked for.
fn judged(message: &Value, top: Option<usize>) -> Value {
    let Some(top) = top else { return Value::Null };
    let field = if message["refusal"].is_null() { "content" } else { "refusal" };
    let entries = logprobs::tokens(text(message, field), top).into_iter().map(|token| token.entry);
    logprobs::of(field, entries.collect())
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
    for (index, choice) in answer.answers.iter().enumerate() {
        writer.choice(index, &message(choice, answer));
        if faults.has(Marker::DoneEarly) {
            continue;
        }
        let mut last = writer.chunk(index, json!({}), Some(finish(&choice.stop)), Value::Null);
        if is_clone && tells_usage && index + 1 == answer.answers.len() {
            last["usage"] = usage(answer.usage);
        }
        writer.push(&last, EventKind::Frame);
    }
    if tells_usage && !is_clone {
        let mut totals = writer.chunk(0, json!({}), None, Value::Null);
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
    fn choice(&mut self, index: usize, message: &Value) {
        let calls = items(message, "tool_calls");
        let content = calls.is_empty().then_some("");
        let first = json!({ "role": "assistant", "content": content, "refusal": null });
        let top = self.answer.request.details.logprobs;
        let no_tokens = top.map_or(Value::Null, |_| logprobs::of("content", vec![]));
        let first = self.chunk(index, first, None, no_tokens);
        self.push(&first, EventKind::Frame);
        for field in ["reasoning_content", "refusal", "content"] {
            match top.filter(|_| field != "reasoning_content") {
                Some(top) => self.tokens(index, field, logprobs::tokens(text(message, field), top)),
                None => {
                    for piece in words::pieces(&mut self.seed, text(message, field)) {
                        self.delta(index, json!({ field: piece }), Value::Null);
                    }
                }
            }
        }
        self.calls(index, calls);
    }

    /// A text with the log probabilities of its tokens, one to three of them in a chunk.
    fn tokens(&mut self, index: usize, field: &str, mut tokens: Vec<Token<'_>>) {
        while !tokens.is_empty() {
            let count = (1 + self.seed.below(3)).min(tokens.len());
            let (texts, entries): (String, Vec<Value>) =
                tokens.drain(..count).map(|token| (token.text, token.entry)).unzip();
            self.delta(index, json!({ field: texts }), logprobs::of(field, entries));
        }
    }

    /// Calls one after the other, or interleaved: one piece of each in turn.
    fn calls(&mut self, index: usize, calls: &[Value]) {
        let mut deltas: Vec<(usize, Value)> = Vec::new();
        for (at, call) in calls.iter().enumerate() {
            let mut start = call.clone();
            start["index"] = at.into();
            start["function"]["arguments"] = "".into();
            deltas.push((0, start));
            let pieces = words::pieces(&mut self.seed, text(&call["function"], "arguments"));
            let delta = |piece| json!({ "index": at, "function": { "arguments": piece } });
            deltas.extend(pieces.into_iter().enumerate().map(|(step, piece)| (step + 1, delta(piece))));
        }
        if self.answer.faults.has(Marker::Interleaved) {
            deltas.sort_by_key(|(step, _)| *step);
        }
        for (_, call) in deltas {
            self.delta(index, json!({ "tool_calls": [call] }), Value::Null);
        }
    }

    fn delta(&mut self, index: usize, delta: Value, logprobs: Value) {
        let chunk = self.chunk(index, delta, None, logprobs);
        self.push(&chunk, EventKind::Delta);
    }

    fn chunk(&mut self, index: usize, delta: Value, finish: Option<&str>, logprobs: Value) -> Value {
        let mut chunk = json!({
            "id": self.answer.id,
            "object": "chat.completion.chunk",
            "created": self.answer.created,
            "model": self.answer.request.model,
            "system_fingerprint": "fp_sandbox",
            "choices": [{ "index": index, "delta": delta, "finish_reason": finish, "logprobs": logprobs }],
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
