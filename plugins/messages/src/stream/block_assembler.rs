//! Assembles the blocks of a message from pieces of text, thinking and tool calls. A chat provider may send the
//! pieces in any order; a message has one open block at a time and opens none twice.
//!
//! The open block grows as its pieces come. A tool's block closes when its JSON is complete and another block
//! is waiting. Until then the pieces of other blocks are queued, in the order the blocks began. So consecutive
//! tool calls stream at once, and interleaved ones come one after the other.

use std::borrow::Cow;

use gatehouse_sdk::{Chunk, TextFailure};
use gatehouse_text_protocols::tools::{CallPiece, JsonNesting, Taken, ToolCalls};
use serde_json::value::RawValue;

use crate::response::message::{ContentBlock, Delta, Event, tool_id};

/// A piece from the provider.
#[derive(Clone, Copy)]
pub(crate) enum Piece<'a> {
    Text(&'a str),
    Thinking(&'a str),
    Call(CallPiece<'a>),
}

/// The blocks so far.
#[derive(Default)]
pub(crate) struct BlockAssembler {
    /// The message's id, for tools without one.
    message: String,
    /// Which tool is which; `tools` has their contents.
    calls: ToolCalls,
    tools: Vec<Tool>,
    open: Option<Kind>,
    queue: Vec<QueuedBlock>,
    /// The index of the block that is open, or opens next.
    index: u32,
    pinged: bool,
}

/// The type of a block; a tool by its index in `tools`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
    Tool(usize),
}

struct QueuedBlock {
    kind: Kind,
    text: String,
}

#[derive(Default)]
struct Tool {
    name: String,
    json: JsonNesting,
    closed: bool,
}

impl BlockAssembler {
    pub(crate) fn new(message: String) -> Self {
        Self { message, ..Self::default() }
    }

    /// Whether nothing came yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.index == 0 && self.open.is_none() && self.queue.is_empty()
    }

    /// Adds a piece.
    ///
    /// # Errors
    /// More of a tool whose JSON was complete.
    pub(crate) fn push(&mut self, piece: Piece<'_>, chunk: &mut Chunk) -> Result<(), TextFailure> {
        match piece {
            Piece::Text(text) => self.add(Kind::Text, text, chunk),
            Piece::Thinking(text) => self.add(Kind::Thinking, text, chunk),
            Piece::Call(piece) => {
                let mut more = Some(Cow::Borrowed(piece.arguments));
                while let Some(arguments) = more {
                    let piece = CallPiece { arguments: &arguments, ..piece };
                    let Taken { call, added, rest } = self.calls.take(&piece);
                    self.name(call);
                    self.add(Kind::Tool(call), &added, chunk)?;
                    more = rest.map(Cow::Owned);
                }
                Ok(())
            }
        }
    }

    fn add(&mut self, kind: Kind, text: &str, chunk: &mut Chunk) -> Result<(), TextFailure> {
        if let Kind::Tool(position) = kind
            && self.tools[position].closed
        {
            return if text.trim().is_empty() { Ok(()) } else { Err(does_not_fit()) };
        }
        // A text is added to the last queued text only: two texts with a tool between them are two blocks.
        let queued = match kind {
            Kind::Tool(_) => self.queue.iter_mut().find(|block| block.kind == kind),
            Kind::Text | Kind::Thinking => self.queue.last_mut().filter(|block| block.kind == kind),
        };
        if let Some(queued) = queued {
            queued.text.push_str(text);
        } else if self.open == Some(kind) && (self.queue.is_empty() || matches!(kind, Kind::Tool(_))) {
            self.grow(kind, text, chunk);
        } else {
            self.queue.push(QueuedBlock { kind, text: text.to_owned() });
        }
        self.advance(chunk);
        Ok(())
    }

    /// Closes every block; whether a tool was called.
    ///
    /// # Errors
    /// A tool without a name.
    pub(crate) fn finish(&mut self, chunk: &mut Chunk) -> Result<bool, TextFailure> {
        if self.tools.iter().any(|tool| tool.name.is_empty()) {
            return Err(does_not_fit());
        }
        for block in std::mem::take(&mut self.queue) {
            self.close(chunk);
            self.begin(&block, chunk);
        }
        self.close(chunk);
        Ok(!self.tools.is_empty())
    }

    /// Gives a tool its name, once that is known.
    fn name(&mut self, position: usize) {
        self.tools.resize_with(self.calls.len(), Tool::default);
        let tool = &mut self.tools[position];
        if let Some(name) = self.calls.name(position).filter(|_| tool.name.is_empty()) {
            name.clone_into(&mut tool.name);
        }
    }

    /// Opens the queued blocks, as far as the open one is complete.
    fn advance(&mut self, chunk: &mut Chunk) {
        while let Some(next) = self.queue.first() {
            let named = !matches!(next.kind, Kind::Tool(position) if self.tools[position].name.is_empty());
            let done = match self.open {
                Some(Kind::Tool(position)) => self.tools[position].json.is_complete(),
                Some(Kind::Text | Kind::Thinking) | None => true,
            };
            if !(named && done) {
                return;
            }
            let next = self.queue.remove(0);
            self.close(chunk);
            self.begin(&next, chunk);
        }
    }

    fn begin(&mut self, block: &QueuedBlock, chunk: &mut Chunk) {
        let index = self.index;
        self.open = Some(block.kind);
        let (id, name, input);
        let content_block = match block.kind {
            Kind::Text => ContentBlock::Text { text: "" },
            Kind::Thinking => ContentBlock::Thinking { thinking: "", signature: "" },
            Kind::Tool(position) => {
                let tool = &self.tools[position];
                id = tool_id(self.calls.id(position), &self.message, position);
                name = tool.name.as_str();
                input = RawValue::from_string("{}".to_owned()).expect("an empty object is JSON");
                ContentBlock::ToolUse { id: &id, name, input: &input }
            }
        };
        chunk.send.push(Event::ContentBlockStart { index, content_block }.sse());
        if !self.pinged {
            self.pinged = true;
            chunk.send.push(Event::Ping.sse());
        }
        self.grow(block.kind, &block.text, chunk);
    }

    fn grow(&mut self, kind: Kind, text: &str, chunk: &mut Chunk) {
        if text.is_empty() {
            return;
        }
        let delta = match kind {
            Kind::Text => Delta::Text { text },
            Kind::Thinking => Delta::Thinking { thinking: text },
            Kind::Tool(position) => {
                self.tools[position].json.read(text);
                Delta::InputJson { partial_json: text }
            }
        };
        chunk.send.push(Event::ContentBlockDelta { index: self.index, delta }.sse());
    }

    fn close(&mut self, chunk: &mut Chunk) {
        let Some(kind) = self.open else { return };
        if let Kind::Tool(position) = kind {
            if self.tools[position].json.is_blank() {
                self.grow(kind, "{}", chunk);
            }
            self.tools[position].closed = true;
        }
        self.open = None;
        chunk.send.push(Event::ContentBlockStop { index: self.index }.sse());
        self.index += 1;
    }
}

fn does_not_fit() -> TextFailure {
    TextFailure::upstream("the provider's stream of a tool's arguments does not fit together")
}
