//! Several objects as the input of one call of a Messages provider: as many calls, whole and as a stream. The first keeps its id;
//! the blocks after them are numbered on.

use gatehouse_sdk::Sse;

use crate::json::{Object, quoted};
use crate::tools::{JsonNesting, several_objects};

use super::message_forms::Ids;

/// The calls of a stream that are cut out of others.
#[derive(Debug, Default)]
pub(super) struct SeveralInputs {
    /// For each block that was added, the last one that had come by then, by number. Those that come behind it have a number
    /// that is larger by one.
    cuts: Vec<u64>,
    /// The highest number of a block that has come.
    last: u64,
    open: Vec<Open>,
}

/// A call that is open.
#[derive(Debug)]
struct Open {
    /// Its number as it comes.
    index: u64,
    /// Its number as it leaves, or that of the block that goes on with its input.
    number: u64,
    /// Its name, JSON.
    name: String,
    /// Its input as far as it has come.
    input: String,
    nesting: JsonNesting,
}

/// The inputs of a call that has several, each an object.
pub(super) fn inputs(block: &Object<'_>) -> Option<Vec<String>> {
    let text = block.text("input").or_else(|| block.text("arguments"))?;
    several_objects(&text).map(|all| all.into_iter().map(str::to_owned).collect())
}

impl SeveralInputs {
    /// Whether no call is open, and all blocks have the numbers that they came with.
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty() && self.cuts.is_empty()
    }

    /// The events in place of one.
    pub(super) fn event(&mut self, event: Sse, ids: &mut Ids) -> Vec<Sse> {
        let has = |word: &str| event.data.contains(word);
        let is_of_call = !self.open.is_empty() && (has("\"partial_json\"") || has("\"content_block_stop\""));
        if !is_of_call && !has("\"content_block_start\"") && self.cuts.is_empty() {
            return vec![event];
        }
        let Some(data) = Object::parse(&event.data) else { return vec![event] };
        let Some(index) = data.unsigned("index") else { return vec![event] };
        let is = |kind: &str| data.text("type").as_deref() == Some(kind);
        if is("content_block_start") {
            self.begin(&data, index);
        }
        let Some(at) = self.open.iter().position(|open| open.index == index) else {
            return vec![numbered(event, self.number(index))];
        };
        let piece = data.object("delta").and_then(|it| Some(it.text("partial_json")?.into_owned()));
        if let Some(piece) = piece {
            return self.pieces(&piece, at, ids);
        }
        let number = self.open[at].number;
        if is("content_block_stop") {
            self.open.remove(at);
        }
        vec![numbered(event, number)]
    }

    /// The number of a block as it leaves.
    fn number(&self, index: u64) -> u64 {
        behind(index, self.cuts.iter().filter(|cut| **cut < index).count())
    }

    fn begin(&mut self, data: &Object<'_>, index: u64) {
        self.last = self.last.max(index);
        self.open.retain(|open| open.index != index);
        let block = data.object("content_block").filter(|it| it.text("type").as_deref() == Some("tool_use"));
        let name = block.and_then(|block| Some(block.string("name")?.quoted().to_owned()));
        let number = self.number(index);
        let (input, nesting) = (String::new(), JsonNesting::default());
        self.open.extend(name.map(|name| Open { index, number, name, input, nesting }));
    }

    /// A piece of an input, cut where another object begins.
    fn pieces(&mut self, piece: &str, at: usize, ids: &mut Ids) -> Vec<Sse> {
        let Self { cuts, last, open } = self;
        let open = &mut open[at];
        let mut events = Vec::new();
        let mut rest = piece;
        loop {
            let is_behind = open.nesting.is_complete();
            let end = if is_behind { 0 } else { open.nesting.read_object(rest) };
            let now = &rest[..end];
            rest = rest[end..].trim_start();
            open.input.push_str(now);
            let goes_on = rest.starts_with('{') && open.input.trim_start().starts_with('{');
            if !goes_on {
                // What follows an object and begins none is as it came.
                let said = if events.is_empty() { piece.to_owned() } else { format!("{now}{rest}") };
                if !said.is_empty() || events.is_empty() {
                    events.push(delta(open.number, &said));
                }
                return events;
            }
            if !now.is_empty() {
                events.push(delta(open.number, now));
            }
            let length = JsonNesting::default().read_object(rest);
            if open.input.trim() == &rest[..length] {
                // The same once more.
                rest = &rest[length..];
                if rest.trim().is_empty() {
                    return events;
                }
                continue;
            }
            events.push(block_event("content_block_stop", open.number, ""));
            cuts.push(*last);
            open.number = behind(*last, cuts.len());
            open.input.clear();
            open.nesting = JsonNesting::default();
            let block = format!(
                r#"{{"type":"tool_use","id":{},"name":{},"input":{{}}}}"#,
                quoted(&ids.another()),
                open.name
            );
            events.push(block_event(
                "content_block_start",
                open.number,
                &format!(",\"content_block\":{block}"),
            ));
        }
    }
}

/// The number so many behind another.
fn behind(number: u64, by: usize) -> u64 {
    number.saturating_add(by.try_into().unwrap_or(u64::MAX))
}

fn delta(index: u64, piece: &str) -> Sse {
    let delta = format!(r#"{{"type":"input_json_delta","partial_json":{}}}"#, quoted(piece));
    block_event("content_block_delta", index, &format!(",\"delta\":{delta}"))
}

fn block_event(kind: &str, index: u64, more: &str) -> Sse {
    Sse { event: Some(kind.to_owned()), data: format!(r#"{{"type":"{kind}","index":{index}{more}}}"#) }
}

/// The event with that number.
fn numbered(event: Sse, index: u64) -> Sse {
    let Some(data) = Object::parse(&event.data).filter(|data| data.unsigned("index") != Some(index)) else {
        return event;
    };
    let data = data.with("index", &index.to_string());
    Sse { data, ..event }
}
