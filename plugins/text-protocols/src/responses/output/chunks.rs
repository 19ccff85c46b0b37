//! Completions and their chunks, as the chat family writes them, read into a response.

use gatehouse_sdk::{Chunk, Usage};

use crate::json::{Object, Writer};

use super::event_builder::{EventBuilder, Kind};
use crate::responses::echo::Echo;

/// A stream of chunks as events of a response.
#[derive(Debug)]
pub struct Reader {
    builder: EventBuilder,
    finish: String,
    reasoning: u64,
}

impl Reader {
    /// Before the first chunk.
    #[must_use]
    pub fn new(echo: Echo) -> Self {
        Self { builder: EventBuilder::new(echo), finish: String::new(), reasoning: 0 }
    }

    /// One chunk, or the `[DONE]` at the end; `usage` is what the provider has counted so far.
    pub fn chunk(&mut self, data: &str, usage: Option<Usage>, out: &mut Chunk) {
        if data == "[DONE]" {
            let usage = usage.map(|usage| (usage, self.reasoning));
            self.builder.finish(&self.finish, usage, out);
            return;
        }
        let Some(chunk) = Object::parse(data) else { return };
        self.builder.begin(out);
        self.reasoning = reasoning_tokens(&chunk).unwrap_or(self.reasoning);
        for choice in chunk.objects("choices") {
            // One answer was asked for.
            if choice.unsigned("index").unwrap_or(0) != 0 {
                continue;
            }
            if let Some(delta) = choice.object("delta") {
                self.logprobs(&choice, &delta);
                self.delta(&delta, false, out);
            }
            if let Some(reason) = choice.text("finish_reason").filter(|reason| !reason.is_empty()) {
                self.finish = reason.into_owned();
            }
        }
    }

    /// Log probabilities of a text. Those of a refusal have no place in a response, and those of thinking or of a call, which
    /// some servers send too, are not the text's.
    fn logprobs(&mut self, choice: &Object<'_>, delta: &Object<'_>) {
        let says = |name: &str| delta.get(name).is_some_and(|raw| !matches!(raw.get(), "\"\"" | "[]"));
        let others = ["reasoning_content", "reasoning", "refusal", "tool_calls"];
        if !says("content") && others.iter().any(|name| says(name)) {
            return;
        }
        let entries = choice.object("logprobs").and_then(|logprobs| logprobs.items("content"));
        self.builder.logprobs(&entries.unwrap_or_default());
    }

    /// What a delta says, or a whole message: its calls are numbered as they stand, whatever numbers they have.
    fn delta(&mut self, delta: &Object<'_>, is_whole: bool, out: &mut Chunk) {
        let thought = delta.string("reasoning_content").or_else(|| delta.string("reasoning"));
        for (kind, piece) in [
            (Kind::Reasoning, thought),
            (Kind::Text, delta.string("content")),
            (Kind::Refusal, delta.string("refusal")),
        ] {
            if let Some(piece) = piece {
                self.builder.text(kind, piece, out);
            }
        }
        for block in delta.objects("thinking_blocks") {
            self.builder.thought(&block, out);
        }
        for (at, raw) in (0..).zip(delta.items("tool_calls").unwrap_or_default()) {
            if let Some(piece) = Object::parse(raw.get()) {
                let number = piece.unsigned("index").filter(|_| !is_whole);
                self.builder.call(number.unwrap_or(at), &piece, out);
            }
        }
    }
}

/// A whole completion as a response object.
#[must_use]
pub fn whole(echo: Echo, completion: &str, usage: Option<Usage>) -> String {
    let mut reader = Reader::new(echo);
    // The events are made and thrown away, so that a whole response is what a stream of it would have ended in.
    let mut out = Chunk::default();
    let completion = Object::parse(completion).unwrap_or_default();
    let choices = completion.items("choices").unwrap_or_default();
    let choice = choices.first().and_then(|raw| Object::parse(raw.get())).unwrap_or_default();
    let message = choice.object("message").unwrap_or_default();
    reader.logprobs(&choice, &message);
    let blocks: Vec<Object<'_>> = message.objects("thinking_blocks").collect();
    if blocks.is_empty() {
        reader.delta(&message, true, &mut out);
    } else {
        for block in &blocks {
            if let Some(thought) = block.string("thinking") {
                reader.builder.text(Kind::Reasoning, thought, &mut out);
            }
            if block.string("signature").is_none_or(|signature| !signature.is_empty()) {
                reader.builder.thought(block, &mut out);
            }
        }
        let is_thought = |name: &str| matches!(name, "thinking_blocks" | "reasoning_content" | "reasoning");
        let mut rest = Writer::new(256);
        rest.members(message.iter().filter(|(name, _)| !is_thought(name)));
        let rest = rest.done();
        reader.delta(&Object::parse(&rest).unwrap_or_default(), true, &mut out);
    }
    let reason = choice.text("finish_reason").unwrap_or_default();
    let usage = usage.map(|usage| (usage, reasoning_tokens(&completion).unwrap_or(0)));
    reader.builder.finish(&reason, usage, &mut out)
}

fn reasoning_tokens(completion: &Object<'_>) -> Option<u64> {
    let usage = completion.object("usage")?;
    usage.object("completion_tokens_details")?.unsigned("reasoning_tokens")
}
