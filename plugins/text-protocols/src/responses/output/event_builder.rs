//! A response under construction, and the events that tell it: every item is added, told piece by piece, and done.
//!
//! ```text
//! created, in_progress, then for each item
//!   added -> part added -> delta* -> done -> part done -> item done
//! and one of completed, incomplete
//! ```
//! Items are numbered as they come, and each is told whole before the next: clients join the pieces of the item that was added
//! last. A text, a thought and a refusal end when something else begins. A provider may take turns between calls: one ends
//! when its JSON does and another has begun, and what came of the others meanwhile waits. A call that the end
//! cuts short is in the last object but is never told as done: clients run what is done. A failure is not
//! told here: the host writes it.

use gatehouse_sdk::{Chunk, Usage};

use crate::json::{JsonString, Object, Raw, Writer};
use crate::tools::JsonNesting;

use super::item::{Content, OutputItem};
use super::item_events::ItemEvents;
use crate::responses::echo::{Echo, Ending};

#[derive(Debug)]
pub(crate) struct EventBuilder {
    echo: Echo,
    events: ItemEvents,
    begun: bool,
    items: Vec<OutputItem>,
    calls: Vec<Call>,
    /// The call that is open.
    open_call: Option<usize>,
    /// Log probabilities that wait for the text of their tokens, JSON without brackets.
    logprobs: String,
}

/// A call by the provider's number; it has an item once its name is known.
#[derive(Debug, Default)]
struct Call {
    number: u64,
    id: String,
    name: String,
    item: Option<usize>,
    /// Arguments that wait for the item.
    early: String,
    json: JsonNesting,
}

/// A kind of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Refusal,
    Reasoning,
}

impl EventBuilder {
    pub(crate) fn new(echo: Echo) -> Self {
        Self {
            echo,
            events: ItemEvents::default(),
            begun: false,
            items: Vec::new(),
            calls: Vec::new(),
            open_call: None,
            logprobs: String::new(),
        }
    }

    /// The first two events, once.
    pub(crate) fn begin(&mut self, out: &mut Chunk) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        let object = self.echo.object(Ending::InProgress, "[]", None);
        for kind in ["response.created", "response.in_progress"] {
            self.events.send(kind, &[("response", &object)], out);
        }
    }

    /// Log probabilities of the next text's tokens, as a chat completion has them.
    pub(crate) fn logprobs(&mut self, of_chat: &[Raw<'_>]) {
        let entries: Vec<String> = of_chat.iter().filter_map(|raw| logprob_entry(raw, true)).collect();
        join(&mut self.logprobs, &entries.join(","));
    }

    /// A piece of text.
    pub(crate) fn text(&mut self, kind: Kind, piece: JsonString<'_>, out: &mut Chunk) {
        if piece.is_empty() {
            return;
        }
        let at = self.open_text(kind, out);
        let item = &mut self.items[at];
        let (Content::Text { text, .. } | Content::Refusal(text) | Content::Reasoning { text, .. }) =
            &mut item.content
        else {
            return;
        };
        text.push_str(piece.inner());
        let logprobs = if kind == Kind::Text { self.take_logprobs(at) } else { String::new() };
        self.events.delta(at, &self.items[at], piece.quoted(), &logprobs, out);
    }

    /// The end of a thought: its signed block, JSON. A thought without text is an item too: it must come back.
    pub(crate) fn thought(&mut self, block: &Object<'_>, out: &mut Chunk) {
        let mut json = Writer::new(256);
        // `index` is the chat family's.
        json.members(block.iter().filter(|(name, _)| *name != "index"));
        let sealed = self.echo.seal(&json.done());
        let last = self.items.len().checked_sub(1);
        let open = last.filter(|at| {
            matches!(self.items[*at].content, Content::Reasoning { .. }) && self.items[*at].is_open
        });
        let at = open.unwrap_or_else(|| {
            self.close_texts(out);
            self.add("rs", Content::Reasoning { text: String::new(), sealed: None }, out)
        });
        if let Content::Reasoning { sealed: kept, .. } = &mut self.items[at].content {
            *kept = Some(sealed);
        }
        self.close(at, out);
    }

    /// A piece of a call.
    pub(crate) fn call(&mut self, number: u64, piece: &Object<'_>, out: &mut Chunk) {
        let at = self.calls.iter().position(|call| call.number == number).unwrap_or_else(|| {
            self.calls.push(Call { number, ..Call::default() });
            self.calls.len() - 1
        });
        let call = &mut self.calls[at];
        if let Some(id) = piece.text("id").filter(|id| !id.is_empty()) {
            call.id = id.into_owned();
        }
        let function = piece.object("function").or_else(|| piece.object("custom")).unwrap_or_default();
        if let Some(name) = function.text("name").filter(|_| call.name.is_empty()) {
            call.name = name.into_owned();
        }
        if let Some(piece) = function.string("arguments").or_else(|| function.string("input")) {
            call.json.read(&piece.decoded());
            call.early.push_str(piece.inner());
        }
        self.advance(false, out);
    }

    /// Tells what waits, as far as the open call is complete: at the end all of it.
    fn advance(&mut self, is_end: bool, out: &mut Chunk) {
        loop {
            let next =
                self.calls.iter().position(|call| call.item.is_none() && !(is_end && call.name.is_empty()));
            if let Some(open) = self.open_call {
                let early = std::mem::take(&mut self.calls[open].early);
                self.arguments(open, &early, out);
                if next.is_none() || !(is_end || self.calls[open].json.is_complete()) {
                    return;
                }
                if let Some(item) = self.calls[open].item {
                    self.close(item, out);
                }
                self.open_call = None;
            }
            let Some(next) = next.filter(|next| !self.calls[*next].name.is_empty()) else { return };
            self.close_texts(out);
            let Call { id, name, .. } = &self.calls[next];
            let (call_id, name) = (id.clone(), name.clone());
            let is_custom = self.echo.is_custom(&name);
            let prefix = if is_custom { "ctc" } else { "fc" };
            let content = Content::Call { call_id, name, arguments: String::new(), is_custom };
            self.calls[next].item = Some(self.add(prefix, content, out));
            self.open_call = Some(next);
        }
    }

    /// A piece of a call's arguments, JSON without quotes.
    fn arguments(&mut self, call: usize, piece: &str, out: &mut Chunk) {
        if piece.is_empty() {
            return;
        }
        let Some(at) = self.calls[call].item else { return };
        let Content::Call { arguments, is_custom, .. } = &mut self.items[at].content else { return };
        arguments.push_str(piece);
        // That of a custom tool is told once it is whole.
        if !*is_custom {
            self.events.delta(at, &self.items[at], &format!("\"{piece}\""), "", out);
        }
    }

    /// The end, by the provider's `finish_reason`; the response object.
    pub(crate) fn finish(&mut self, reason: &str, usage: Option<(Usage, u64)>, out: &mut Chunk) -> String {
        self.begin(out);
        self.advance(true, out);
        let ending = match reason {
            "length" => Ending::Incomplete("max_output_tokens"),
            "content_filter" => Ending::Incomplete("content_filter"),
            _ => Ending::Completed,
        };
        let is_cut = ending != Ending::Completed;
        let last = self.items.len().checked_sub(1);
        for at in 0..self.items.len() {
            let item = &mut self.items[at];
            item.is_cut = is_cut && item.is_open && last == Some(at);
            let is_call = matches!(item.content, Content::Call { .. });
            if item.is_cut && is_call {
                item.is_open = false;
            } else {
                self.close(at, out);
            }
        }
        let items: Vec<String> = self.items.iter().map(|item| item.json(&self.echo, false)).collect();
        let object = self.echo.object(ending, &format!("[{}]", items.join(",")), usage);
        self.events.send(&format!("response.{}", ending.status()), &[("response", &object)], out);
        out.last = true;
        object
    }

    /// The open item of that kind, or a new one.
    fn open_text(&mut self, kind: Kind, out: &mut Chunk) -> usize {
        let is_kind = |item: &OutputItem| match item.content {
            Content::Text { .. } => kind == Kind::Text,
            Content::Refusal(_) => kind == Kind::Refusal,
            Content::Reasoning { .. } => kind == Kind::Reasoning,
            Content::Call { .. } => false,
        };
        if let Some(at) = self.items.iter().rposition(|item| item.is_open && is_kind(item)) {
            return at;
        }
        self.close_texts(out);
        if let Some(open) = self.open_call.filter(|open| self.calls[*open].json.is_complete()) {
            self.open_call = None;
            if let Some(item) = self.calls[open].item {
                self.close(item, out);
            }
        }
        let (prefix, content) = match kind {
            Kind::Text => ("msg", Content::Text { text: String::new(), logprobs: String::new() }),
            Kind::Refusal => ("msg", Content::Refusal(String::new())),
            Kind::Reasoning => ("rs", Content::Reasoning { text: String::new(), sealed: None }),
        };
        let at = self.add(prefix, content, out);
        self.events.part_added(at, &self.items[at], out);
        at
    }

    fn add(&mut self, prefix: &str, content: Content, out: &mut Chunk) -> usize {
        self.begin(out);
        let at = self.items.len();
        let id = self.echo.item_id(prefix, at);
        self.items.push(OutputItem { id, content, is_open: true, is_cut: false });
        self.events.added(at, &self.items[at], &self.echo, out);
        at
    }

    fn close_texts(&mut self, out: &mut Chunk) {
        for at in 0..self.items.len() {
            if !matches!(self.items[at].content, Content::Call { .. }) {
                self.close(at, out);
            }
        }
    }

    /// Hands the log probabilities that wait to the text of that item, and gives them.
    fn take_logprobs(&mut self, at: usize) -> String {
        let waiting = std::mem::take(&mut self.logprobs);
        if let Content::Text { logprobs, .. } = &mut self.items[at].content {
            join(logprobs, &waiting);
        }
        waiting
    }

    /// Tells that an item is done, if it is open.
    fn close(&mut self, at: usize, out: &mut Chunk) {
        if !self.items[at].is_open {
            return;
        }
        // Some providers send the last ones after the text.
        if matches!(self.items[at].content, Content::Text { .. }) {
            self.take_logprobs(at);
        }
        // A call without arguments has none to parse, so it gets the empty object.
        if let Content::Call { arguments, is_custom: false, .. } = &mut self.items[at].content
            && arguments.is_empty()
        {
            arguments.push_str("{}");
            self.events.delta(at, &self.items[at], "\"{}\"", "", out);
        }
        self.items[at].is_open = false;
        self.events.done(at, &self.items[at], &self.echo, out);
    }
}

/// Puts entries of a list behind others.
fn join(entries: &mut String, more: &str) {
    if !entries.is_empty() && !more.is_empty() {
        entries.push(',');
    }
    entries.push_str(more);
}

/// The log probabilities of a chat completion's token, or of one of its alternatives, as an entry of a response; `None` where its token
/// or its number is missing. Some providers leave out the bytes, which clients of responses expect.
fn logprob_entry(raw: Raw<'_>, has_alternatives: bool) -> Option<String> {
    let given = Object::parse(raw.get())?;
    let mut out = Writer::new(raw.get().len() + 32);
    out.member("token", given.string("token")?.quoted());
    let bytes = given.get("bytes").filter(|raw| raw.get().starts_with('['));
    out.member("bytes", bytes.map_or("[]", |raw| raw.get()));
    out.member("logprob", given.get("logprob")?.get());
    if has_alternatives {
        let alternatives = given.items("top_logprobs").unwrap_or_default();
        let alternatives: Vec<String> =
            alternatives.into_iter().filter_map(|raw| logprob_entry(raw, false)).collect();
        out.member("top_logprobs", &format!("[{}]", alternatives.join(",")));
    }
    Some(out.done())
}
