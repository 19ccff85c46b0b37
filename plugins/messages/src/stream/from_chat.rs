//! A chat provider's stream as the events of a message.
//!
//! ```text
//! first choice     -> message_start (counts unknown: an estimate of the input)
//! text, reasoning, -> blocks, one at a time, in order (see `block_assembler`); a ping after the first one opens
//! tool calls
//! a whole message  -> the same blocks, each in one piece
//! finish_reason    -> remembered: the counts come later
//! counts, [DONE]   -> the last block closes, message_delta, message_stop
//! or the end
//! ```

use gatehouse_sdk::{Chunk, Context, Sse, TextFailure, Usage};
use gatehouse_text_protocols::incoming::is_error;
use gatehouse_text_protocols::json::{JsonString, Object, Repeated, last_members};
use gatehouse_text_protocols::relay::{Translation, count_bytes};
use gatehouse_text_protocols::tool_names;
use gatehouse_text_protocols::tools::{self, CallPiece};
use gatehouse_text_protocols::usage::{self, TokenCounts};

use super::block_assembler::{BlockAssembler, Piece};
use crate::response::completion::{Choice, Completion, Text};
use crate::response::message::{Ending, Event, Message, StopReason, UsageForm, message_id};
use crate::state::{State, unreadable};

/// The stream so far.
pub(crate) struct FromChat {
    state: State,
    cx: Context,
    counts: TokenCounts,
    /// Bytes that the model wrote.
    written: u64,
    blocks: Option<BlockAssembler>,
    refused: bool,
    finish: Option<String>,
    /// The stop sequence the provider names.
    sequence: Option<String>,
    /// Chunks of plain text, one like the other, while the block of a text is open.
    repeated: Repeated,
}

const DELTA: &str = "content_block_delta";

impl Translation for FromChat {
    fn event(&mut self, event: Sse, chunk: &mut Chunk) -> Result<(), TextFailure> {
        if self.repeat(&event, chunk) {
            return Ok(());
        }
        let before = chunk.output_bytes;
        let done = self.read(event, chunk);
        let bytes = u64::from(chunk.output_bytes.saturating_sub(before));
        self.written = self.written.saturating_add(bytes);
        self.counts.came_with(bytes);
        done
    }

    fn repeat(&mut self, event: &Sse, chunk: &mut Chunk) -> bool {
        let repeated = || self.repeated.write(event.data.trim());
        let Some((data, bytes)) = event.event.is_none().then(repeated).flatten() else { return false };
        self.written = self.written.saturating_add(bytes);
        count_bytes(chunk, bytes);
        chunk.send.push(Sse { event: Some(DELTA.to_owned()), data });
        true
    }

    /// Some providers never say `[DONE]`.
    fn end(&mut self, chunk: &mut Chunk) -> Result<(), TextFailure> {
        self.finish(chunk)
    }

    fn usage(&self) -> Option<Usage> {
        self.counts.settled(self.written).reported()
    }

    fn counts(&self) -> &TokenCounts {
        &self.counts
    }
}

impl FromChat {
    pub(crate) fn new(cx: &Context, state: State) -> Self {
        Self {
            state,
            cx: cx.clone(),
            counts: TokenCounts::default(),
            written: 0,
            blocks: None,
            refused: false,
            finish: None,
            sequence: None,
            repeated: Repeated::default(),
        }
    }

    fn read(&mut self, event: Sse, chunk: &mut Chunk) -> Result<(), TextFailure> {
        let data = event.data.trim();
        if data == "[DONE]" {
            // Some servers give no reason: what they call the end is one.
            if self.blocks.as_ref().is_some_and(|blocks| !blocks.is_empty()) {
                self.finish.get_or_insert_default();
            }
            return self.finish(chunk);
        }
        let name = event.event.as_deref();
        let is_other = name.is_some_and(|name| !matches!(name, "message" | "error"));
        let completion: Completion<'_> = match serde_json::from_str(data) {
            Ok(completion) => completion,
            Err(_) if let Some(data) = last_members(data) => return self.read(Sse { data, ..event }, chunk),
            // Some servers send named events that are not part of the answer.
            Err(_) if is_other => return Ok(()),
            Err(_) => return Err(unreadable()),
        };
        if completion.error.is_some_and(is_error) || name == Some("error") {
            return Err(self.state.failures().of_error(data));
        }
        if completion.choices.is_none()
            && !is_other
            && let Some(failure) = self.state.failures().instead(data)
        {
            return Err(failure);
        }
        // Most chunks have no counts, and are read once.
        if let Some(counting) = Some(data).filter(|data| usage::may_report(data)).and_then(Object::parse) {
            self.counts.read_completion(&counting);
        }
        let choices = completion.choices.unwrap_or_default();
        let sent = chunk.send.len();
        self.repeated.forget();
        for choice in choices.into_iter().filter(|choice| choice.index.unwrap_or(0) == 0) {
            self.choice(completion.id.as_ref(), choice, chunk)?;
        }
        // Nothing but a piece of the open block was made of it.
        if let [Sse { event: Some(kind), data: written }] = &chunk.send[sent..]
            && kind == DELTA
            && !is_other
            && !self.counts.is_reported_now()
            && self.repeated.is_learning()
            && let Some(text) = only_text(data)
        {
            self.repeated.learn(data, &[text], written);
        }
        Ok(())
    }

    fn choice(
        &mut self,
        id: Option<&Text<'_>>,
        choice: Choice<'_>,
        chunk: &mut Chunk,
    ) -> Result<(), TextFailure> {
        let shown = self.state.shown;
        if let Some(sequence) = choice.stopped_at(&self.state.stops) {
            self.sequence = Some(sequence.to_owned());
        }
        let whole = choice.message.filter(|_| self.blocks.is_none() && choice.delta.is_none());
        let is_whole = whole.is_some();
        let whole = whole.map(|raw| serde_json::from_str(raw.get()).map_err(|_| unreadable()));
        let delta = choice.delta.or(whole.transpose()?);
        if self.blocks.is_none() {
            self.start(id.map_or("", |id| &id.0), chunk);
        }
        if let (Some(mut delta), Some(blocks)) = (delta, self.blocks.as_mut()) {
            if let Some(Text(text)) = delta.take_reasoning() {
                count_bytes(chunk, text.len() as u64);
                if shown {
                    blocks.push(Piece::Thinking(&text), chunk)?;
                }
            }
            self.refused |= delta.refusal.as_ref().is_some_and(|text| !text.0.is_empty());
            for Text(text) in delta.content.into_iter().chain(delta.refusal) {
                if !text.is_empty() {
                    count_bytes(chunk, text.len() as u64);
                    blocks.push(Piece::Text(&text), chunk)?;
                }
            }
            let calls = delta.tool_calls.unwrap_or_default();
            let place = tools::places(if is_whole { usize::MAX } else { calls.len() });
            for (position, call) in calls.into_iter().enumerate() {
                let function = call.function.unwrap_or_default();
                let arguments = function.arguments.map(|text| text.0).unwrap_or_default();
                count_bytes(chunk, arguments.len() as u64);
                let piece = CallPiece {
                    number: call.index,
                    place: place(position),
                    id: call.id.as_ref().map(|id| id.0.as_ref()),
                    name: function.name.as_ref().map(|name| tool_names::own(&self.state.names, &name.0)),
                    arguments: &arguments,
                };
                blocks.push(Piece::Call(piece), chunk)?;
            }
        }
        if let Some(Text(reason)) = choice.finish_reason.filter(|reason| !reason.0.is_empty()) {
            self.finish = Some(reason.into_owned());
        } else if is_whole {
            // A whole message is complete, with or without a reason.
            self.finish.get_or_insert_default();
        }
        Ok(())
    }

    fn start(&mut self, id: &str, chunk: &mut Chunk) {
        let id = message_id(id, &self.cx);
        let usage = UsageForm::Short(self.state.begun(self.counts.usage()).into());
        chunk.send.push(Event::MessageStart { message: Message::new(&id, &self.state.model, usage) }.sse());
        self.blocks = Some(BlockAssembler::new(id));
    }

    fn finish(&mut self, chunk: &mut Chunk) -> Result<(), TextFailure> {
        let (Some(reason), Some(blocks)) = (&self.finish, self.blocks.as_mut()) else {
            return Err(TextFailure::upstream("the provider's stream ended before its answer did"));
        };
        let called = blocks.finish(chunk)?;
        self.counts = self.counts.settled(self.written);
        let sequence = self.sequence.as_deref();
        let stop = if self.refused {
            StopReason::Refusal
        } else {
            StopReason::of_chat(reason, called, sequence.is_some())
        };
        let sequence = sequence.filter(|_| stop == StopReason::StopSequence);
        let delta = Ending { stop_reason: stop, stop_sequence: sequence };
        chunk.send.push(Event::MessageDelta { delta, usage: self.counts.usage().into() }.sse());
        chunk.send.push(Event::MessageStop.sse());
        chunk.last = true;
        Ok(())
    }
}

/// The text of a chunk with one choice that has a text, and nothing else that is told or counted.
fn only_text(data: &str) -> Option<JsonString<'_>> {
    let chunk = Object::parse(data)?;
    let [choice] = chunk.items("choices")?[..] else { return None };
    let choice = Object::parse(choice.get())?;
    let delta = choice.object("delta")?;
    let says = |name: &str| delta.get(name).is_some_and(|raw| raw.get() != "\"\"");
    let others = ["reasoning_content", "reasoning", "refusal", "tool_calls"];
    let is_alone = choice.get("finish_reason").is_none() && !others.iter().any(|name| says(name));
    delta.string("content").filter(|text| is_alone && !text.is_empty())
}
