//! Streams: each frame is an answer of its own, of which only the last says why the answer ended.
//!
//! The end is told when the provider has closed the stream: older models write a reason into every frame, and counts may
//! come after it.

use gatehouse_sdk::{Context, FrameReader, Sse, TextFailure};
use gatehouse_text_protocols::failures::unreadable;
use gatehouse_text_protocols::incoming::{is_harmless, is_notice, without_number_words};
use gatehouse_text_protocols::json::{Writer, quoted};
use gatehouse_text_protocols::relay::event;
use gatehouse_text_protocols::standard::{GOOGLE, Standard};
use gatehouse_text_protocols::usage::PieceCounts;

use crate::answer::{is_list, message, message_id, shaped};
use crate::content::GenerateContentResponse;
use crate::errors::ErrorReader;
use crate::pieces::{Piece, Pieces, stop_reason};
use crate::state::State;
use crate::usage::UsageMetadata;

/// A stream under way.
pub struct Stream {
    state: State,
    seed: u64,
    pieces: Pieces,
    standard: Standard,
    begun: bool,
    /// The number of the next block.
    next: usize,
    open: Option<Open>,
    usage: Option<UsageMetadata>,
    counts: PieceCounts,
    /// Bytes of the answer without its thoughts.
    written: u64,
    reason: Option<String>,
    blocked: bool,
    /// Every frame of the answer so far had a reason.
    has_reasons: bool,
    /// After the last of them came words that nobody knows.
    has_words: bool,
}

/// The kind of the block that is open; a signed thought is over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Text,
    Thinking { signed: bool },
}

impl FrameReader for Stream {
    fn push(&mut self, frames: Vec<Sse>) -> Result<Vec<Sse>, TextFailure> {
        let mut events = Vec::new();
        for frame in frames {
            // Some servers between end their streams as OpenAI does.
            if matches!(frame.data.trim(), "" | "[DONE]") {
                continue;
            }
            if is_notice(&frame) {
                self.has_words |= !is_harmless(&frame.data);
                continue;
            }
            // What came before a failure in the same batch is lost with it: the host ends the stream either way.
            self.frame(&frame.data, &mut events)?;
        }
        Ok(events)
    }

    fn end(&mut self) -> Result<Vec<Sse>, TextFailure> {
        let mut events = Vec::new();
        let stop = match &self.reason {
            // Of a model that gives a reason in every frame, the words may be those of a failure.
            Some(_) if self.has_words && self.has_reasons => return Ok(events),
            Some(reason) => stop_reason(reason, self.pieces.has_called())?,
            None if self.blocked => "refusal",
            None => return Ok(events),
        };
        self.close(&mut events);
        let delta = format!("{{\"stop_reason\":{},\"stop_sequence\":null}}", quoted(stop));
        let usage = self.usage.unwrap_or_default();
        let usage = self.counts.sum(self.written).map_or(usage, |all| usage.with_candidates(all)).json();
        event(&mut events, "message_delta", &[("delta", &delta), ("usage", &usage)]);
        event(&mut events, "message_stop", &[]);
        Ok(events)
    }
}

impl Stream {
    pub(crate) fn new(cx: &Context, state: State) -> Self {
        Self {
            pieces: Pieces::new(cx.seed, &state),
            standard: Standard::new(GOOGLE),
            state,
            seed: cx.seed,
            begun: false,
            next: 0,
            open: None,
            usage: None,
            counts: PieceCounts::default(),
            written: 0,
            reason: None,
            blocked: false,
            has_reasons: true,
            has_words: false,
        }
    }

    fn frame(&mut self, data: &str, events: &mut Vec<Sse>) -> Result<(), TextFailure> {
        let mended = without_number_words(data);
        let data = mended.as_deref().unwrap_or(data);
        if is_list(data) {
            return Err(ErrorReader { state: &self.state }.of_frame(data));
        }
        let shaped = shaped(data, &mut self.standard);
        let data = shaped.as_deref().unwrap_or(data);
        let mut standard = None;
        let frame = GenerateContentResponse::read(data, &mut standard);
        let mut frame =
            frame.ok_or_else(|| unreadable("a frame of it is no GenerateContentResponse", data))?;
        if frame.error.is_some() {
            return Err(ErrorReader { state: &self.state }.of_frame(data));
        }
        let counted = frame.usage_metadata.and_then(|usage| usage.candidates_token_count);
        let before = self.written;
        if let Some(usage) = frame.usage_metadata {
            self.usage = Some(self.usage.map_or(usage, |known| usage.with(known)));
        }
        self.blocked |= frame.is_blocked();
        self.begin(frame.response_id.as_deref(), events);
        let Some(candidate) = frame.candidate() else { return Ok(()) };
        for part in candidate.content.and_then(|content| content.parts).unwrap_or_default() {
            for piece in self.pieces.of(part)? {
                self.piece(piece, events);
            }
        }
        if let Some(count) = counted.filter(|_| self.written > before) {
            self.counts.add(count);
        }
        self.has_words = false;
        self.has_reasons &= candidate.finish_reason.is_some();
        self.reason = candidate.finish_reason.or_else(|| self.reason.take());
        Ok(())
    }

    fn begin(&mut self, response: Option<&str>, events: &mut Vec<Sse>) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        let (id, usage) = (message_id(response, self.seed), self.usage.unwrap_or_default());
        let message = message(&id, &self.state.upstream, "[]", None, Some(usage));
        event(events, "message_start", &[("message", &message)]);
    }

    fn piece(&mut self, piece: Piece, events: &mut Vec<Sse>) {
        if let Piece::Text(text) | Piece::Call { input: text, .. } = &piece {
            self.written = self.written.saturating_add(text.len() as u64);
        }
        match piece {
            Piece::Text(text) => {
                if self.open != Some(Open::Text) {
                    self.start(Open::Text, r#"{"type":"text","text":""}"#, events);
                }
                self.delta("text_delta", "text", &text, events);
            }
            Piece::Thought(thought) => {
                self.think(events);
                self.delta("thinking_delta", "thinking", &thought, events);
            }
            Piece::Signature(signature) => {
                self.think(events);
                self.delta("signature_delta", "signature", &signature, events);
                self.open = Some(Open::Thinking { signed: true });
            }
            Piece::Call { id, name, input } => {
                self.close(events);
                let mut block = Writer::new(128);
                block.string("type", "tool_use");
                block.string("id", &id);
                block.string("name", &name);
                block.member("input", "{}");
                self.started(&block.done(), events);
                self.delta("input_json_delta", "partial_json", &input, events);
                self.stopped(events);
            }
        }
    }

    /// Has a thinking block open that is not signed yet.
    fn think(&mut self, events: &mut Vec<Sse>) {
        let open = Open::Thinking { signed: false };
        if self.open != Some(open) {
            self.start(open, r#"{"type":"thinking","thinking":"","signature":""}"#, events);
        }
    }

    fn start(&mut self, open: Open, block: &str, events: &mut Vec<Sse>) {
        self.close(events);
        self.started(block, events);
        self.open = Some(open);
    }

    fn close(&mut self, events: &mut Vec<Sse>) {
        if self.open.take().is_some() {
            self.stopped(events);
        }
    }

    fn started(&mut self, block: &str, events: &mut Vec<Sse>) {
        let index = self.next.to_string();
        event(events, "content_block_start", &[("index", &index), ("content_block", block)]);
    }

    fn delta(&self, kind: &str, member: &str, text: &str, events: &mut Vec<Sse>) {
        let mut delta = Writer::new(text.len() + 64);
        delta.string("type", kind);
        delta.string(member, text);
        let index = self.next.to_string();
        event(events, "content_block_delta", &[("index", &index), ("delta", &delta.done())]);
    }

    fn stopped(&mut self, events: &mut Vec<Sse>) {
        event(events, "content_block_stop", &[("index", &self.next.to_string())]);
        self.next += 1;
    }
}
