//! Several objects as the input of one call of a Messages provider: as many calls, whole and as a stream. The first keeps its id;
//! the blocks after them are numbered on.

use gatehouse_sdk::Sse;

use crate::json::{Object, Writer, quoted};
use crate::tools::{JsonNesting, several_objects};

use super::message_forms::Ids;

/// The calls of a stream that are cut out of others.
#[derive(Debug, Default)]
pub(super) struct SeveralInputs {
    /// How many blocks were added: the numbers that come are so much too small.
    added: u64,
    open: Option<Open>,
}

/// The call that is open.
#[derive(Debug)]
struct Open {
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
    /// The events in place of one.
    pub(super) fn event(&mut self, event: Sse, ids: &mut Ids) -> Vec<Sse> {
        let is_start = event.data.contains("\"content_block_start\"");
        let is_piece = self.open.is_some() && event.data.contains("\"partial_json\"");
        if !is_start && !is_piece && self.added == 0 {
            return vec![event];
        }
        let Some(data) = Object::parse(&event.data) else { return vec![event] };
        let Some(index) = data.unsigned("index") else { return vec![event] };
        if is_start {
            let block =
                data.object("content_block").filter(|it| it.text("type").as_deref() == Some("tool_use"));
            let name = block.and_then(|block| Some(block.string("name")?.quoted().to_owned()));
            self.open = name.map(|name| Open { name, input: String::new(), nesting: JsonNesting::default() });
        }
        let piece = data
            .object("delta")
            .filter(|_| is_piece)
            .and_then(|it| Some(it.text("partial_json")?.into_owned()));
        if let Some(piece) = piece {
            return self.pieces(event, &piece, index, ids);
        }
        vec![numbered(event, index + self.added)]
    }

    /// A piece of an input, cut where another object begins.
    fn pieces(&mut self, event: Sse, piece: &str, index: u64, ids: &mut Ids) -> Vec<Sse> {
        let Some(open) = &mut self.open else { return vec![event] };
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
                    events.push(delta(index + self.added, &said));
                }
                return events;
            }
            if !now.is_empty() {
                events.push(delta(index + self.added, now));
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
            events.push(block_event("content_block_stop", index + self.added, ""));
            self.added += 1;
            open.input.clear();
            open.nesting = JsonNesting::default();
            let block = format!(
                r#"{{"type":"tool_use","id":{},"name":{},"input":{{}}}}"#,
                quoted(&ids.another()),
                open.name
            );
            events.push(block_event(
                "content_block_start",
                index + self.added,
                &format!(",\"content_block\":{block}"),
            ));
        }
    }
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
    let mut out = Writer::new(event.data.len() + 8);
    for (name, raw) in data.iter() {
        let number = index.to_string();
        out.member(name, if name == "index" { &number } else { raw.get() });
    }
    let data = out.done();
    Sse { data, ..event }
}
