//! Pieces of text, thought and tool calls, which a chat provider may send in any order, as the blocks of a
//! message, of which one is open at a time and none is opened twice.
//!
//! The block that is open grows as pieces come. A tool's block closes when its JSON is whole and something
//! else wants to be said; until then the others wait, each with what it has, in the order they began. So
//! tools one after another stream live, and tools that interleave come out whole.

use gatehouse_sdk::{Chunk, TextFailure};
use serde_json::value::RawValue;

use crate::ids;
use crate::shapes::{Content, Delta, Event};

/// What the provider adds.
#[derive(Clone, Copy)]
pub(crate) enum Piece<'a> {
    Text(&'a str),
    Thought(&'a str),
    Call { index: Option<u64>, id: Option<&'a str>, name: Option<&'a str>, arguments: &'a str },
}

/// Blocks so far.
pub(crate) struct Weave {
    /// The message's id, for tools without one.
    message: String,
    tools: Vec<Tool>,
    open: Option<Kind>,
    waiting: Vec<Waiting>,
    /// The index of the block that is open, or opens next.
    index: u32,
    pinged: bool,
}

/// What a block is of; a tool by its place in `tools`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Thought,
    Tool(usize),
}

struct Waiting {
    kind: Kind,
    text: String,
}

#[derive(Default)]
struct Tool {
    /// The provider's number for it.
    index: Option<u64>,
    id: Option<String>,
    name: String,
    json: Json,
    closed: bool,
}

impl Weave {
    pub(crate) fn new(message: String) -> Self {
        Self { message, tools: Vec::new(), open: None, waiting: Vec::new(), index: 0, pinged: false }
    }

    /// Takes in a piece.
    ///
    /// # Errors
    /// More of a tool whose JSON was whole.
    pub(crate) fn push(&mut self, piece: Piece<'_>, chunk: &mut Chunk) -> Result<(), TextFailure> {
        let (kind, text) = match piece {
            Piece::Text(text) => (Kind::Text, text),
            Piece::Thought(text) => (Kind::Thought, text),
            Piece::Call { index, id, name, arguments } => (self.tool(index, id, name), arguments),
        };
        if let Kind::Tool(place) = kind
            && self.tools[place].closed
        {
            return if text.trim().is_empty() { Ok(()) } else { Err(torn()) };
        }
        // Text goes to the text that came last: two texts with a tool between them are two blocks.
        let held = match kind {
            Kind::Tool(_) => self.waiting.iter_mut().find(|waiting| waiting.kind == kind),
            Kind::Text | Kind::Thought => self.waiting.last_mut().filter(|waiting| waiting.kind == kind),
        };
        if let Some(held) = held {
            held.text.push_str(text);
        } else if self.open == Some(kind) && (self.waiting.is_empty() || matches!(kind, Kind::Tool(_))) {
            self.grow(kind, text, chunk);
        } else {
            self.waiting.push(Waiting { kind, text: text.to_owned() });
        }
        self.advance(chunk);
        Ok(())
    }

    /// Closes everything; says whether a tool was called.
    ///
    /// # Errors
    /// A tool without a name.
    pub(crate) fn finish(&mut self, chunk: &mut Chunk) -> Result<bool, TextFailure> {
        if self.tools.iter().any(|tool| tool.name.is_empty()) {
            return Err(torn());
        }
        for waiting in std::mem::take(&mut self.waiting) {
            self.close(chunk);
            self.begin(&waiting, chunk);
        }
        self.close(chunk);
        Ok(!self.tools.is_empty())
    }

    /// The tool a piece belongs to. Some servers leave the index out, or give every tool the same one: then
    /// a new id is a new tool.
    fn tool(&mut self, index: Option<u64>, id: Option<&str>, name: Option<&str>) -> Kind {
        let id = id.filter(|id| !id.is_empty());
        let known = self.tools.iter().rposition(|tool| index.is_none() || tool.index == index);
        let same = known.filter(|place| match (&self.tools[*place].id, id) {
            (Some(known), Some(id)) => known == id || name.is_none_or(str::is_empty),
            _ => true,
        });
        let place = same.unwrap_or_else(|| {
            self.tools.push(Tool { index, ..Tool::default() });
            self.tools.len() - 1
        });
        let tool = &mut self.tools[place];
        if tool.id.is_none() {
            tool.id = id.map(str::to_owned);
        }
        if let Some(name) = name.filter(|_| tool.name.is_empty()) {
            name.clone_into(&mut tool.name);
        }
        Kind::Tool(place)
    }

    /// Lets those that wait come forward, as far as what is open is done.
    fn advance(&mut self, chunk: &mut Chunk) {
        while let Some(next) = self.waiting.first() {
            let named = !matches!(next.kind, Kind::Tool(place) if self.tools[place].name.is_empty());
            let done = match self.open {
                Some(Kind::Tool(place)) => self.tools[place].json.is_whole(),
                Some(Kind::Text | Kind::Thought) | None => true,
            };
            if !(named && done) {
                return;
            }
            let next = self.waiting.remove(0);
            self.close(chunk);
            self.begin(&next, chunk);
        }
    }

    fn begin(&mut self, block: &Waiting, chunk: &mut Chunk) {
        let index = self.index;
        self.open = Some(block.kind);
        let (id, name, input);
        let content_block = match block.kind {
            Kind::Text => Content::Text { text: "" },
            Kind::Thought => Content::Thinking { thinking: "", signature: "" },
            Kind::Tool(place) => {
                let tool = &self.tools[place];
                id = ids::tool(tool.id.as_deref(), &self.message, place);
                name = tool.name.as_str();
                input = empty();
                Content::ToolUse { id: &id, name, input: &input }
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
            Kind::Thought => Delta::Thinking { thinking: text },
            Kind::Tool(place) => {
                self.tools[place].json.read(text);
                Delta::InputJson { partial_json: text }
            }
        };
        chunk.send.push(Event::ContentBlockDelta { index: self.index, delta }.sse());
    }

    fn close(&mut self, chunk: &mut Chunk) {
        let Some(kind) = self.open else { return };
        if let Kind::Tool(place) = kind {
            if self.tools[place].json.is_blank() {
                self.grow(kind, "{}", chunk);
            }
            self.tools[place].closed = true;
        }
        self.open = None;
        chunk.send.push(Event::ContentBlockStop { index: self.index }.sse());
        self.index += 1;
    }
}

/// How far a tool's JSON has come, without keeping it: only objects are arguments, so it is whole when the
/// outermost bracket closes.
#[derive(Default)]
struct Json {
    begun: bool,
    depth: u32,
    quoted: bool,
    escaped: bool,
}

impl Json {
    fn read(&mut self, text: &str) {
        for byte in text.bytes() {
            self.begun |= !byte.is_ascii_whitespace();
            match (self.quoted, byte) {
                (true, _) if self.escaped => self.escaped = false,
                (true, b'\\') => self.escaped = true,
                (_, b'"') => self.quoted = !self.quoted,
                (false, b'{' | b'[') => self.depth = self.depth.saturating_add(1),
                (false, b'}' | b']') => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }

    fn is_blank(&self) -> bool {
        !self.begun
    }

    fn is_whole(&self) -> bool {
        self.begun && self.depth == 0 && !self.quoted
    }
}

fn empty() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).expect("an empty object is JSON")
}

fn torn() -> TextFailure {
    TextFailure::upstream("the provider's stream of a tool's arguments does not fit together")
}
