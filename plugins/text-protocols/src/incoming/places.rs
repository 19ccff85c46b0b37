//! The place of an event in a Messages provider's stream: its kind, and the number of its block, where its server leaves them out.
//! An event that has no place fails the stream: what it says would be lost.

use gatehouse_sdk::Sse;

use crate::json::{Object, Writer, quoted};

use super::chat::{NAMELESS, Said};
use super::forms::is_error;
use super::message_forms::{CALLS, failure, kind_of_block};

/// What is known of the blocks so far.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// The numbers of those that have begun, the last one last.
    begun: Vec<u64>,
}

/// The events of a block, and where each has what it says.
const BLOCK: [(&str, &str); 3] =
    [(START, "content_block"), ("content_block_delta", "delta"), ("content_block_stop", "")];
const START: &str = "content_block_start";

/// The protocol's names of events. A server that writes no kind may write one here, or a name of its own.
const KINDS: [&str; 8] = [
    "message_start",
    START,
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "ping",
    "error",
];

/// The error of a stream with a piece of an input that belongs to no call.
const NO_CALL: &str = r#"{"type":"server_error","message":"the input of a call came without the call"}"#;

impl Places {
    /// An event with its kind and number, and whether one that looks the same has them, too, wherever it comes.
    pub(super) fn placed(&mut self, event: Sse) -> (Sse, bool) {
        let Some(data) = Object::parse(&event.data) else { return (event, false) };
        if let Some(data) = with_text(&data, event.event.as_deref()) {
            return (self.placed(Sse { data, ..event }).0, false);
        }
        let said = word(&data);
        // An error is one under any name.
        if said.is_none() && data.get("error").is_some_and(is_error) {
            return (event, false);
        }
        let name = event.event.clone().filter(|name| KINDS.contains(&name.as_str()));
        let known = said.clone().or(name).or_else(|| kind_of(&data).map(str::to_owned));
        let Some(kind) = known else { return (event, false) };
        let given = data.unsigned("index");
        let inner = BLOCK.iter().find(|(event, _)| *event == kind).map(|(_, inner)| *inner);
        let number = given.or_else(|| inner.map(|_| self.number(kind == START)));
        let part = inner.and_then(|inner| data.object(inner));
        let part_kind = part.as_ref().and_then(|part| kind_of_part(part, kind == START));
        if let Some((part, number)) = part.as_ref().zip(number)
            && let Err(error) = self.follow(part, part_kind.as_deref(), number, kind == START)
        {
            return (Sse { event: Some("error".to_owned()), data: failure(error) }, false);
        }
        let changed = part.as_ref().zip(part_kind).filter(|(part, kind)| word(part).as_ref() != Some(kind));
        let changed = changed.map(|(part, kind)| written(part, &[("type", &quoted(&kind))]));
        let is_input = part.as_ref().is_some_and(|part| part.get("partial_json").is_some());
        let is_standard = said.is_some() && given == number && changed.is_none();
        if is_standard {
            let is_plain = inner.is_some() && kind != START && !is_input;
            return (event, is_plain);
        }
        let (kind, number) = (quoted(&kind), number.map(|number| number.to_string()));
        let mut members: Vec<(&str, &str)> = vec![("type", &kind)];
        members.extend(number.as_deref().map(|number| ("index", number)));
        members.extend(inner.zip(changed.as_deref()));
        let data = written(&data, &members);
        (Sse { data, ..event }, false)
    }

    /// The number of a block that its server leaves out: the next one, or the last.
    fn number(&self, is_next: bool) -> u64 {
        let last = self.begun.last().copied();
        if is_next { last.map_or(0, |last| last.saturating_add(1)) } else { last.unwrap_or(0) }
    }

    /// Notes a block that begins, and whether a piece of an input has one.
    fn follow(
        &mut self,
        part: &Object<'_>,
        kind: Option<&str>,
        number: u64,
        is_start: bool,
    ) -> Result<(), &'static str> {
        if !is_start {
            let is_input = part.get("partial_json").is_some();
            return if is_input && !self.begun.contains(&number) { Err(NO_CALL) } else { Ok(()) };
        }
        if kind.is_some_and(|kind| CALLS.contains(&kind)) && word_of(part, "name").is_none() {
            return Err(NAMELESS);
        }
        // Nothing can follow in a block that has not begun.
        self.begun.extend(kind.map(|_| number));
        Ok(())
    }
}

/// The event of a block with its text, where that stands in the place of the block or the delta, or has another form there.
fn with_text(data: &Object<'_>, name: Option<&str>) -> Option<String> {
    let kind = word(data).or_else(|| name.map(str::to_owned))?;
    let (_, inner) = BLOCK[..2].iter().find(|(event, _)| *event == kind)?;
    let raw = data.get(inner)?;
    let own = if kind == START { "text" } else { "text_delta" };
    let is_odd = Object::parse(raw.get())
        .is_none_or(|part| word(&part).is_some_and(|kind| kind == own) && part.string("text").is_none());
    let text = Some(raw).filter(|_| is_odd).map(Said::all).filter(|text| !text.is_empty())?;
    let part = format!("{{\"type\":\"{own}\",\"text\":{}}}", quoted(&text));
    Some(written(data, &[(inner, &part)]))
}

/// The kind that an object says.
fn word(object: &Object<'_>) -> Option<String> {
    word_of(object, "type")
}

fn word_of(object: &Object<'_>, name: &str) -> Option<String> {
    object.text(name).filter(|word| !word.is_empty()).map(std::borrow::Cow::into_owned)
}

/// The kind of a block that begins, or of a delta.
fn kind_of_part(part: &Object<'_>, is_start: bool) -> Option<String> {
    if is_start {
        let kind = kind_of_block(part);
        return (!kind.is_empty()).then(|| kind.into_owned());
    }
    word(part).or_else(|| kind_of_delta(part))
}

/// The kind of an event that says none, by what it has.
fn kind_of(data: &Object<'_>) -> Option<&'static str> {
    if data.object("message").is_some() {
        return Some("message_start");
    }
    if data.object("content_block").is_some() {
        return Some("content_block_start");
    }
    let delta = data.object("delta")?;
    let is_end = delta.get("stop_reason").is_some() || data.get("usage").is_some();
    Some(if is_end { "message_delta" } else { "content_block_delta" })
}

fn kind_of_delta(delta: &Object<'_>) -> Option<String> {
    let kinds = [
        ("text", "text_delta"),
        ("thinking", "thinking_delta"),
        ("signature", "signature_delta"),
        ("partial_json", "input_json_delta"),
    ];
    kinds.into_iter().find(|(name, _)| delta.string(name).is_some()).map(|(_, kind)| kind.to_owned())
}

/// The object with these members in the place of its own.
fn written(object: &Object<'_>, members: &[(&str, &str)]) -> String {
    let mut out = Writer::new(256);
    members.iter().for_each(|(name, json)| out.member(name, json));
    out.members(object.iter().filter(|(name, _)| !members.iter().any(|(new, _)| new == name)));
    out.done()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn placed(events: &[Value]) -> Vec<Value> {
        let mut places = Places::default();
        let place = |event: &Value| places.placed(Sse { event: None, data: event.to_string() }).0;
        events.iter().map(place).map(|event| serde_json::from_str(&event.data).expect("JSON")).collect()
    }

    /// Without it a piece without its kind or number is lost in a stream that looks complete.
    #[test]
    fn an_event_has_its_kind_and_number() {
        let call = json!({"type": "tool_use", "id": "t", "name": "f", "input": {}});
        let start =
            |index: u64, block: &Value| json!({"type": START, "index": index, "content_block": block});
        let piece = |index: u64| json!({"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", "partial_json": "{}"}});
        let usual = [start(0, &call), start(1, &call), piece(0), piece(1)];
        assert_eq!(placed(&usual), usual, "two at once are as they came");
        let bare = [
            json!({"message": {"id": "m"}}),
            json!({"content_block": {"id": "t", "name": "f", "input": {}}}),
            json!({"delta": {"partial_json": "{}"}}),
            json!({"type": "content_block_stop"}),
            json!({"content_block": {"text": ""}}),
            json!({"delta": {"type": 7, "text": "a"}}),
            json!({"delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 1}}),
        ];
        let expected = [
            json!({"type": "message_start", "message": {"id": "m"}}),
            start(0, &call),
            piece(0),
            json!({"type": "content_block_stop", "index": 0}),
            start(1, &json!({"type": "text", "text": ""})),
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "a"}}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 1}}),
        ];
        assert_eq!(placed(&bare), expected);
        for lost in [piece(1), start(1, &json!({"type": "tool_use", "id": "t", "name": "", "input": {}}))] {
            let told = placed(&[start(0, &call), lost]);
            assert_eq!(told[1]["type"], "error", "{told:?}");
        }
    }
}
