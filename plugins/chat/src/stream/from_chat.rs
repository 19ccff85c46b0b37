//! A chat provider's stream: the same chunks under the public name of the model, in the standard form. The
//! provider always sends the chunk with the token counts; the client reads it only if it asked for it.

use gatehouse_sdk::{Chunk, Context, Sse, TextFailure, Usage};
use serde_json::value::RawValue;

use gatehouse_text_protocols::failures::unreadable;
use gatehouse_text_protocols::incoming::is_error;
use gatehouse_text_protocols::json::{JsonString, Object, Repeated, Writer, quote, quoted};
use gatehouse_text_protocols::relay::{Translation, count_bytes};
use gatehouse_text_protocols::usage::{self, Report, TokenCounts};

use super::tool_calls::ToolCalls;
use super::whole_completion;
use super::{done, incomplete, send};
use crate::response::{output_bytes, wrong_reason};
use crate::state::State;

pub(super) struct FromChat {
    state: State,
    seed: u64,
    /// `id` and `created` of the provider's first chunk.
    id: String,
    created: String,
    choices: Vec<Choice>,
    counts: TokenCounts,
    /// The chunk with the token counts, as the client reads it.
    usage_chunk: Option<String>,
    output_bytes: u64,
    /// Chunks of plain text, one like the other.
    repeated: Repeated,
}

/// The state of one answer.
#[derive(Default)]
struct Choice {
    index: u64,
    begun: bool,
    finished: bool,
    has_called: bool,
    calls: ToolCalls,
}

impl Translation for FromChat {
    fn event(&mut self, event: Sse, out: &mut Chunk) -> Result<(), TextFailure> {
        let data = event.data.trim();
        if data == "[DONE]" {
            // Some servers give no reason: what they call the end is one.
            self.end_open_choices(out);
            return self.finish(out);
        }
        if self.repeat(&event, out) {
            return Ok(());
        }
        let name = event.event.as_deref();
        let Some(chunk) = Object::parse(data) else {
            // Some servers send named events that are not part of the answer.
            let named = name.is_some_and(|name| !matches!(name, "message" | "error"));
            return if named { Ok(()) } else { Err(unreadable("an event of it is no JSON object", data)) };
        };
        if name == Some("error") || chunk.get("error").is_some_and(is_error) {
            return Err(self.state.failures().of_error(data));
        }
        let is_named = name.is_some_and(|name| name != "message");
        if chunk.get("choices").is_none()
            && !is_named
            && let Some(failure) = self.state.failures().instead(data)
        {
            return Err(failure);
        }
        if self.choices.is_empty()
            && let Some(chunks) =
                whole_completion::chunks(&chunk, [("id", &self.id), ("created", &self.created)])
        {
            return chunks.into_iter().try_for_each(|data| self.event(Sse { event: None, data }, out));
        }
        self.keep_head(&chunk);
        let choices = chunk.items("choices").unwrap_or_default();
        self.count(&chunk, choices.is_empty());
        if choices.is_empty() {
            self.counts.came_with(0);
            return Ok(());
        }
        let has_begun = matches!(&*self.choices, [choice] if choice.begun);
        let is_counted = self.counts.is_reported_now();
        let is_learned = has_begun && !is_counted && name.is_none() && self.repeated.is_learning();
        let texts = if is_learned { texts(&chunk, &choices) } else { vec![] };
        let before = self.output_bytes;
        let written = self.rewrite(&chunk, choices, out);
        // Of several answers each may have counts of its own.
        let bytes = if self.choices.len() == 1 { self.output_bytes - before } else { 0 };
        self.counts.came_with(bytes);
        // The chunk may have begun another choice.
        if !texts.is_empty() && self.choices.len() == 1 {
            self.repeated.learn(data, &texts, &written);
        }
        send(out, written);
        Ok(())
    }

    fn repeat(&mut self, event: &Sse, out: &mut Chunk) -> bool {
        let repeated = || self.repeated.write(event.data.trim());
        let Some((chunk, bytes)) = event.event.is_none().then(repeated).flatten() else { return false };
        self.output_bytes = self.output_bytes.saturating_add(bytes);
        count_bytes(out, bytes);
        send(out, chunk);
        true
    }

    fn end(&mut self, out: &mut Chunk) -> Result<(), TextFailure> {
        self.finish(out)
    }

    fn usage(&self) -> Option<Usage> {
        usage::plausible(self.counts.settled(self.output_bytes).reported(), self.output_bytes)
    }

    fn counts(&self) -> &TokenCounts {
        &self.counts
    }
}

impl FromChat {
    pub(super) fn new(cx: &Context, state: State) -> Self {
        Self {
            state,
            seed: cx.seed,
            id: quoted(&format!("chatcmpl-{:016x}", cx.seed)),
            created: (cx.now.0 / 1000).to_string(),
            choices: Vec::new(),
            counts: TokenCounts::default(),
            usage_chunk: None,
            output_bytes: 0,
            repeated: Repeated::default(),
        }
    }

    /// `[DONE]` or the end of the stream. An error unless every answer has its `finish_reason`.
    fn finish(&mut self, out: &mut Chunk) -> Result<(), TextFailure> {
        if self.choices.is_empty() || self.choices.iter().any(|choice| !choice.finished) {
            return Err(incomplete());
        }
        if self.choices.iter().any(|choice| !choice.calls.are_named()) {
            return Err(unreadable("a call of it has no name", ""));
        }
        let settled = self.counts.settled(self.output_bytes);
        let is_more = self.counts.is_sum() || settled.usage() != self.counts.usage();
        if let Some(usage_chunk) = self.usage_chunk.take().filter(|_| self.state.counted) {
            send(out, if is_more { self.chunk_of_counts(&settled.chat_json()) } else { usage_chunk });
        }
        done(out);
        Ok(())
    }

    /// Ends every answer that has begun and has no reason, with the usual one.
    fn end_open_choices(&mut self, out: &mut Chunk) {
        for choice in self.choices.iter_mut().filter(|choice| choice.begun && !choice.finished) {
            choice.finished = true;
            let reason = if choice.has_called { "tool_calls" } else { "stop" };
            let lacking = choice.calls.rewrite_all(None, self.seed, choice.has_called);
            let delta = lacking.map_or_else(String::new, |calls| format!("\"tool_calls\":{calls}"));
            let usage = if self.state.counted { ",\"usage\":null" } else { "" };
            let data = format!(
                "{{\"id\":{},\"object\":\"chat.completion.chunk\",\"created\":{},\"model\":{},\"choices\":[{{\"index\":{},\
                 \"delta\":{{{delta}}},\"logprobs\":null,\"finish_reason\":\"{reason}\"}}]{usage}}}",
                self.id,
                self.created,
                quoted(&self.state.model),
                choice.index,
            );
            send(out, data);
        }
    }

    fn keep_head(&mut self, chunk: &Object<'_>) {
        if self.choices.is_empty() {
            if let Some(id) = chunk.string("id") {
                id.quoted().clone_into(&mut self.id);
            }
            if let Some(created) = chunk.get("created").filter(|raw| is_second(raw)) {
                created.get().clone_into(&mut self.created);
            }
        }
    }

    /// Reads the token counts of a chunk. Some servers send them in every chunk, some in the last one with
    /// content. In each case the client reads one chunk with counts, at the end: those that are billed.
    fn count(&mut self, chunk: &Object<'_>, alone: bool) {
        let Some(report) = usage::chat_reports(chunk).pop() else { return };
        let (raw, said) = (report.raw, self.counts.read_chat(&report));
        let made = match said {
            Report::Less => Some(self.counts.chat_json()),
            Report::All => report.completed(),
        };
        let written = made.as_deref().unwrap_or_else(|| raw.get());
        let is_plain = said == Report::All && chunk.get("usage").is_some();
        let usage_chunk = if alone && is_plain {
            let mut out = Writer::new(256);
            for (name, raw) in chunk.iter() {
                match name {
                    "model" => quote(&self.state.model, out.name(name)),
                    "usage" => out.member(name, written),
                    _ => out.member(name, raw.get()),
                }
            }
            out.done()
        } else {
            self.chunk_of_counts(written)
        };
        self.usage_chunk = Some(usage_chunk);
    }

    fn chunk_of_counts(&self, usage: &str) -> String {
        let mut out = Writer::new(256);
        out.member("id", &self.id);
        out.member("object", "\"chat.completion.chunk\"");
        out.member("created", &self.created);
        quote(&self.state.model, out.name("model"));
        out.member("choices", "[]");
        out.member("usage", usage);
        out.done()
    }

    fn rewrite(&mut self, chunk: &Object<'_>, choices: Vec<&RawValue>, out: &mut Chunk) -> String {
        let mut json = Writer::new(256);
        // Not every server has in each chunk what every client reads there.
        let kind = "\"chat.completion.chunk\"";
        for (name, own) in [("id", self.id.as_str()), ("object", kind), ("created", &self.created)] {
            if !chunk.iter().any(|(known, _)| known == name) {
                json.member(name, own);
            }
        }
        for (name, raw) in chunk.iter() {
            match name {
                "model" | "usage" => {}
                // Not every client takes a nothing, or a text for a number, where each chunk has a value.
                "id" if JsonString::of(raw).is_none() => json.member(name, &self.id),
                "object" if JsonString::of(raw).is_none() => json.string(name, "chat.completion.chunk"),
                "created" if !is_second(raw) => json.member(name, &self.created),
                "choices" => {
                    let into = json.name(name);
                    into.push('[');
                    for (at, raw) in choices.iter().enumerate() {
                        if at > 0 {
                            into.push(',');
                        }
                        self.choice(raw, into, out);
                    }
                    into.push(']');
                }
                _ => json.member(name, raw.get()),
            }
        }
        quote(&self.state.model, json.name("model"));
        if self.state.counted {
            json.member("usage", "null");
        }
        json.done()
    }

    fn choice(&mut self, raw: &RawValue, into: &mut String, out: &mut Chunk) {
        let (seed, is_legacy) = (self.seed, self.state.legacy);
        let Some(choice) = Object::parse(raw.get()) else { return into.push_str(raw.get()) };
        let delta = choice.object("delta");
        let index = choice.unsigned("index").unwrap_or(0);
        let known = self.choice_state(index);
        let role = delta.as_ref().is_some_and(|delta| delta.get("role").is_some());
        let calls = delta.as_ref().and_then(|delta| delta.items("tool_calls"));
        known.has_called |= calls.as_ref().is_some_and(|calls| !calls.is_empty())
            || delta.as_ref().is_some_and(|delta| delta.get("function_call").is_some());
        let wrong = wrong_reason(&choice, known.has_called, is_legacy).map(|(_, right)| right);
        let reason = choice.text("finish_reason").unwrap_or_default();
        // Of an answer that was cut, a call may lack what it does not have yet.
        let are_called = known.has_called && matches!(&*reason, "tool_calls" | "stop");
        let has_calls = calls.is_some() || are_called;
        let plain = delta.is_some() && role != known.begun && !has_calls && wrong.is_none();
        known.finished |= !reason.is_empty();
        let begins = !std::mem::replace(&mut known.begun, true);
        let delta = delta.unwrap_or_default();
        let bytes = output_bytes(&delta);
        if plain {
            into.push_str(raw.get());
        } else {
            let mut calls = has_calls.then(|| known.calls.rewrite_all(calls, seed, are_called)).flatten();
            let mut json = Writer::new(raw.get().len() + 64);
            if choice.get("delta").is_none() {
                json.member("delta", &rewritten(&delta, begins, calls.take()));
            }
            for (name, raw) in choice.iter() {
                match name {
                    "delta" if choice.get("delta").is_some() => {
                        json.member(name, &rewritten(&delta, begins, calls.take()));
                    }
                    "delta" => {}
                    "finish_reason" => {
                        json.member(name, wrong.map(quoted).as_deref().unwrap_or_else(|| raw.get()));
                    }
                    _ => json.member(name, raw.get()),
                }
            }
            into.push_str(&json.done());
        }
        self.output_bytes = self.output_bytes.saturating_add(bytes);
        count_bytes(out, bytes);
    }

    fn choice_state(&mut self, index: u64) -> &mut Choice {
        let position = self.choices.iter().position(|choice| choice.index == index).unwrap_or_else(|| {
            self.choices.push(Choice { index, ..Choice::default() });
            self.choices.len() - 1
        });
        &mut self.choices[position]
    }
}

/// The texts of a chunk that has one, and nothing else that changes this stream: what the model wrote, and the padding that
/// hides its length.
fn texts<'a>(chunk: &Object<'a>, choices: &[&'a RawValue]) -> Vec<JsonString<'a>> {
    let [choice] = choices else { return vec![] };
    let delta = Object::parse(choice.get()).and_then(|choice| choice.object("delta")).unwrap_or_default();
    let written = ["content", "reasoning_content", "reasoning"].iter().find_map(|name| delta.string(name));
    // Nothing else was written that would have to be counted, and no call begins.
    let written =
        written.filter(|text| delta.get("tool_calls").is_none() && output_bytes(&delta) == text.len());
    written.into_iter().chain(written.and_then(|_| chunk.string("obfuscation"))).collect()
}

/// Whether a value is a moment as chat clients read it.
fn is_second(raw: &RawValue) -> bool {
    raw.get().parse::<i64>().is_ok()
}

/// A delta with its role only at the beginning, and its calls rewritten.
fn rewritten(delta: &Object<'_>, begins: bool, mut calls: Option<String>) -> String {
    let mut json = Writer::new(128);
    if begins {
        json.member("role", delta.string("role").map_or("\"assistant\"", |role| role.quoted()));
    }
    for (name, raw) in delta.iter() {
        match name {
            "role" => {}
            "tool_calls" => {
                if let Some(calls) = calls.take() {
                    json.member(name, &calls);
                }
            }
            _ => json.member(name, raw.get()),
        }
    }
    if let Some(calls) = calls {
        json.member("tool_calls", &calls);
    }
    json.done()
}
