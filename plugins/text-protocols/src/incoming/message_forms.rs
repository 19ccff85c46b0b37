//! Messages and their events in other shapes than the protocol's, in its shapes: a text for a list of blocks, an input as a
//! text of JSON, reasons in the words of the other protocol or that do not fit the blocks. What is in shape keeps its bytes.

use std::borrow::Cow;
use std::collections::BTreeMap;

use gatehouse_sdk::Sse;

use crate::broken_json;
use crate::json::{JsonString, Object, Raw, Writer, items, quoted};
use crate::tool_ids;
use crate::tools::several_objects;

use super::chat::{BROKE_OFF, NAMELESS, Said};
use super::reasons;
use super::several_inputs;

/// The kinds of a block that calls a tool, the protocol's own first.
pub(super) const CALLS: [&str; 3] = ["tool_use", "function_call", "tool_call"];

/// What of a stream decides about its end.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    has_called: bool,
    pub(super) ids: Ids,
    /// The inputs with which open blocks began, by number, each until a piece of it comes.
    inputs: BTreeMap<u64, String>,
}

/// The members that say why an answer ended: the protocol's, and that of chat.
const REASONS: [&str; 2] = ["stop_reason", "finish_reason"];

/// Why a message, or an event of one, has ended, and whether it says so in the protocol's member.
fn reason_of<'a>(object: &Object<'a>) -> Option<(Cow<'a, str>, bool)> {
    let said = |name: &&str| object.text(name).filter(|reason| !reason.is_empty());
    let name = REASONS.iter().find(|name| said(name).is_some())?;
    Some((said(name)?, *name == REASONS[0]))
}

/// A whole message in the standard shapes; `None` where it has them already, or is something else.
pub(super) fn whole(json: &str) -> Option<String> {
    let outer = Object::parse(json)?;
    // A gateway like this one wraps its answers.
    let inner =
        outer.object("data").filter(|it| it.get("content").is_some() && outer.get("content").is_none());
    let mut has_changed = inner.is_some();
    let message = inner.as_ref().unwrap_or(&outer);
    // The older interface, and servers with a text in place of blocks.
    let content = ["content", "completion", "text"].iter().find_map(|name| message.get(name));
    let is_message = message.text("type").is_some_and(|kind| kind == "message");
    let told = reason_of(message);
    if !is_message && message.string(REASONS[0]).is_none() && (told.is_none() || content.is_none()) {
        return None;
    }
    let mut ids = Ids { message: message.text("id").unwrap_or_default().into_owned(), given: Vec::new() };
    if content.is_some_and(calls_nothing) {
        return Some(failure(NAMELESS));
    }
    let (reason, is_own) = told.unwrap_or_default();
    if reasons::is_failed(&reason) {
        return Some(failure(BROKE_OFF));
    }
    let (blocks, has_called) = blocks(content, &mut ids, &mut has_changed)?;
    let right = right_reason(&reason, has_called).or_else(|| foreign(&reason, is_own));
    let mut out = Writer::new(json.len() + 64);
    let has_ended = message.string(REASONS[0]).is_some() || !reason.is_empty();
    for (name, json) in [("type", "\"message\""), ("role", "\"assistant\""), ("model", "\"\"")] {
        if has_ended && message.get(name).is_none() {
            has_changed = true;
            out.member(name, json);
        }
    }
    for (name, raw) in message.iter() {
        match name {
            "content" => out.member(name, &blocks),
            _ if right.is_some() && REASONS.contains(&name) => {}
            "type" if raw.get() == "\"completion\"" => out.member(name, "\"message\""),
            "type" | "role" | "model" if has_ended && message.get(name).is_none() => {}
            _ => out.member(name, raw.get()),
        }
    }
    if !message.iter().any(|(name, _)| name == "content") {
        out.member("content", &blocks);
    }
    if let Some(right) = &right {
        out.string(REASONS[0], right);
    }
    (has_changed || right.is_some() || content.is_none()).then(|| out.done())
}

/// An answer, or an event, that is an error.
pub(super) fn failure(error: &str) -> String {
    format!("{{\"type\":\"error\",\"error\":{error}}}")
}

/// The kind of a block, by what it has where it does not say one.
pub(super) fn kind_of_block<'b>(block: &'b Object<'_>) -> Cow<'b, str> {
    let said = block.text("type").filter(|kind| !kind.is_empty());
    let has = |name: &str| block.get(name).is_some();
    said.unwrap_or_else(|| match () {
        () if has("name") && ["input", "arguments", "id"].into_iter().any(has) => CALLS[0].into(),
        () if has("thinking") => "thinking".into(),
        () if has("text") => "text".into(),
        () => "".into(),
    })
}

/// Whether a block calls a tool and does not say which.
fn calls_nothing(content: Raw<'_>) -> bool {
    let blocks = items(content).unwrap_or_default().into_iter();
    blocks.filter_map(|raw| Object::parse(raw.get())).any(|block| {
        CALLS.contains(&kind_of_block(&block).as_ref())
            && block.string("name").is_none_or(JsonString::is_empty)
    })
}

/// The blocks as they are to be, and whether one calls a tool.
fn blocks(content: Option<Raw<'_>>, ids: &mut Ids, has_changed: &mut bool) -> Option<(String, bool)> {
    let Some(content) = content else { return Some(("[]".to_owned(), false)) };
    let before = *has_changed;
    // One block, or one text, in the place of a list of them.
    let is_one = JsonString::of(content).is_some() || content.get().starts_with('{');
    *has_changed |= is_one;
    let mut has_called = false;
    let mut all: Vec<String> = Vec::new();
    for raw in if is_one { vec![content] } else { items(content)? } {
        let Some(block) = Object::parse(raw.get()) else {
            let is_text = JsonString::of(raw).is_some();
            *has_changed |= is_text;
            all.push(if is_text { text_block(raw.get()) } else { raw.get().to_owned() });
            continue;
        };
        let kind = kind_of_block(&block);
        has_called |= CALLS.contains(&kind.as_ref());
        let several = if CALLS.contains(&kind.as_ref()) { several_inputs::inputs(&block) } else { None };
        if let Some(several) = several {
            *has_changed = true;
            let first = ids.of(&block);
            let mut next = Some(first);
            for input in several {
                let id = next.take().unwrap_or_else(|| Some(ids.another()));
                all.push(call(&block, id, &input));
            }
            continue;
        }
        match self::block(&block, &kind, ids) {
            Shape::Standard => all.push(raw.get().to_owned()),
            Shape::Other(new) => {
                *has_changed = true;
                all.push(new);
            }
            Shape::Nothing => *has_changed = true,
        }
    }
    let json = if *has_changed == before { content.get().to_owned() } else { format!("[{}]", all.join(",")) };
    Some((json, has_called))
}

enum Shape {
    Standard,
    Other(String),
    /// It says nothing.
    Nothing,
}

fn text_block(text: &str) -> String {
    format!("{{\"type\":\"text\",\"text\":{text}}}")
}

fn block(block: &Object<'_>, kind: &str, ids: &mut Ids) -> Shape {
    let missing = |name: &str| block.string(name).is_none();
    let says_it = block.text("type").is_some_and(|said| said == kind);
    let (name, value) = match kind {
        "text" if says_it && !missing("text") => return Shape::Standard,
        "text" | "output_text" | "" => {
            let said = ["text", "content", "value"].iter().find_map(|name| block.get(name));
            let said = said.map(Said::all).filter(|said| !said.is_empty());
            return said.map_or(Shape::Nothing, |said| Shape::Other(text_block(&quoted(&said))));
        }
        "thinking" if missing("thinking") => ("thinking", "\"\"".to_owned()),
        "thinking" if missing("signature") => ("signature", "\"\"".to_owned()),
        _ if CALLS.contains(&kind) => {
            let (id, input) = (ids.of(block), input(block));
            if says_it && kind == CALLS[0] && id.is_none() && input.is_none() {
                return Shape::Standard;
            }
            let input = input.or_else(|| block.get("input").map(|raw| raw.get().to_owned()));
            return Shape::Other(call(block, id, &input.unwrap_or_else(|| "{}".to_owned())));
        }
        _ => return Shape::Standard,
    };
    let mut out = Writer::new(256);
    out.members(block.iter().filter(|(known, _)| *known != name));
    out.member(name, &value);
    Shape::Other(out.done())
}

/// A call with that id and input.
fn call(block: &Object<'_>, id: Option<String>, input: &str) -> String {
    let mut out = Writer::new(256);
    out.member("type", "\"tool_use\"");
    match id {
        Some(id) => out.string("id", &id),
        None => out.optional("id", block.get("id")),
    }
    let others = |name: &str| !["type", "id", "call_id", "input", "arguments"].contains(&name);
    out.members(block.iter().filter(|(name, _)| others(name)));
    out.member("input", input);
    out.done()
}

/// The ids of an answer's calls: results of tools come back under them.
#[derive(Debug, Default)]
pub(super) struct Ids {
    /// That of the message, of which others are made.
    message: String,
    given: Vec<String>,
}

impl Ids {
    /// The id of a call that the provider has none for.
    pub(super) fn another(&mut self) -> String {
        self.of(&Object::default()).unwrap_or_default()
    }

    /// The id of the next call, where its own will not do: it is missing, no text, in other letters than the protocol's, or that
    /// of another call.
    fn of(&mut self, block: &Object<'_>) -> Option<String> {
        let raw = ["call_id", "id"].iter().find_map(|name| block.get(name));
        let own = raw.map(|raw| JsonString::of(raw).map_or_else(|| raw.get().into(), JsonString::decoded));
        let own = own.filter(|own| !own.is_empty()).map(|own| tool_ids::encoded(&own).into_owned());
        let number = self.given.len();
        let mut id = own.unwrap_or_else(|| {
            format!("toolu_{}_{number}", self.message.strip_prefix("msg_").unwrap_or(&self.message))
        });
        if self.given.contains(&id) {
            id = format!("{id}_{}", number + 1);
        }
        let is_own = block.text("id").is_some_and(|own| own == id);
        self.given.push(id.clone());
        (!is_own).then_some(id)
    }
}

/// The input of a call that came as `null`, as the text of an object, or under the other protocol's name.
fn input(block: &Object<'_>) -> Option<String> {
    let Some(raw) = block.get("input").or_else(|| block.get("arguments")) else {
        return Some("{}".to_owned());
    };
    if block.get("input").is_none() && raw.get().starts_with('{') {
        return Some(raw.get().to_owned());
    }
    if matches!(raw.get(), "[]" | "\"\"") {
        return Some("{}".to_owned());
    }
    let text = JsonString::of(raw)?.decode()?;
    // Some encode it twice.
    let text = serde_json::from_str::<String>(&text).map_or(text, Into::into);
    let one = Object::parse(text.trim()).map(|_| text.trim().to_owned());
    // Several become calls of their own later.
    one.or_else(|| several_objects(&text).map(|all| all.concat())).or_else(|| broken_json::meant(&text))
}

/// The reason in the words of the protocol, as the blocks have it; `None` where it is right. Newer reasons stay.
fn right_reason(reason: &str, has_called: bool) -> Option<Cow<'static, str>> {
    let meant = reasons::of_messages(reason);
    let right = match (meant.unwrap_or(reason), has_called) {
        ("end_turn", true) => Some("tool_use"),
        ("tool_use", false) => Some("end_turn"),
        _ => meant,
    };
    right.map(Cow::Borrowed)
}

/// A reason that stands in the member of the other protocol.
fn foreign(reason: &str, is_own: bool) -> Option<Cow<'static, str>> {
    (!is_own && !reason.is_empty()).then(|| Cow::Owned(reason.to_owned()))
}

impl Shapes {
    /// Whether a block is open that began with its input.
    pub(super) fn has_inputs(&self) -> bool {
        !self.inputs.is_empty()
    }

    /// The events in place of one; `None` where it stays.
    pub(super) fn event(&mut self, event: &Sse) -> Option<Vec<Sse>> {
        // Most events are such, and stay.
        if event.data.contains("\"content_block_delta\"") {
            if !self.inputs.is_empty() {
                let number = Object::parse(&event.data).and_then(|data| data.unsigned("index"));
                self.inputs.remove(&number.unwrap_or(0));
            }
            return None;
        }
        let data = Object::parse(&event.data)?;
        let kind = data.text("type").or_else(|| event.event.as_deref().map(Into::into))?;
        match kind.as_ref() {
            "message_start" => {
                let message = data.object("message")?;
                self.ids.message = message.text("id").unwrap_or_default().into_owned();
                if message.get("model").is_some() {
                    return None;
                }
                let written = written(message.iter().filter(|(name, _)| *name != "model"), "model", "\"\"");
                Some(vec![with(event, &data, "message", &written)])
            }
            "content_block_start" => {
                let block = data.object("content_block")?;
                let kind = block.text("type")?;
                if let Some(begun) = begun_with_text(event, &data, &kind, &block) {
                    return Some(begun);
                }
                let kind = Some(kind).filter(|kind| CALLS.contains(&kind.as_ref()))?;
                self.has_called = true;
                let id = self.ids.of(&block);
                let given = input(&block).or_else(|| block.get("input").map(|raw| raw.get().to_owned()))?;
                let is_empty = given.trim_start_matches('{').trim_start() == "}";
                let has_own = block.get("input").is_some_and(|it| it.get() == given);
                if is_empty && has_own && id.is_none() && kind == CALLS[0] {
                    return None;
                }
                // Clients join what comes after, and read nothing of the beginning.
                self.inputs.insert(data.unsigned("index").unwrap_or(0), given);
                Some(vec![with(event, &data, "content_block", &call(&block, id, "{}"))])
            }
            "content_block_stop" => {
                let number = data.unsigned("index").unwrap_or(0);
                let input = self.inputs.remove(&number).filter(|input| input != "{}")?;
                let delta = format!("{{\"type\":\"input_json_delta\",\"partial_json\":{}}}", quoted(&input));
                let data =
                    format!("{{\"type\":\"content_block_delta\",\"index\":{number},\"delta\":{delta}}}");
                Some(vec![Sse { event: Some("content_block_delta".to_owned()), data }, event.clone()])
            }
            "message_delta" => {
                let delta = data.object("delta")?;
                let (reason, is_own) = reason_of(&delta)?;
                if reasons::is_failed(&reason) {
                    return Some(vec![Sse { event: Some("error".to_owned()), data: failure(BROKE_OFF) }]);
                }
                let right = right_reason(&reason, self.has_called).or_else(|| foreign(&reason, is_own))?;
                let members = delta.iter().filter(|(name, _)| !REASONS.contains(name));
                Some(vec![with(event, &data, "delta", &written(members, REASONS[0], &quoted(&right)))])
            }
            _ => None,
        }
    }
}

/// A block that begins with a text, and the text as a piece of its own: not every client reads what a block begins with.
fn begun_with_text(event: &Sse, data: &Object<'_>, kind: &str, block: &Object<'_>) -> Option<Vec<Sse>> {
    let name = ["text", "thinking"].into_iter().find(|name| *name == kind)?;
    let text = block.string(name).filter(|text| !text.is_empty())?;
    let empty = written(block.iter().filter(|(known, _)| *known != name), name, "\"\"");
    let number = data.unsigned("index").unwrap_or(0);
    let piece = format!(
        "{{\"type\":\"content_block_delta\",\"index\":{number},\"delta\":{{\"type\":\"{name}_delta\",\"{name}\":{}}}}}",
        text.quoted()
    );
    let piece = Sse { event: Some("content_block_delta".to_owned()), data: piece };
    Some(vec![with(event, data, "content_block", &empty), piece])
}

/// Members, and one more.
fn written<'m>(members: impl Iterator<Item = (&'m str, Raw<'m>)>, name: &str, json: &str) -> String {
    let mut out = Writer::new(256);
    out.members(members);
    out.member(name, json);
    out.done()
}

/// The event with another value of a member.
fn with(event: &Sse, data: &Object<'_>, member: &str, json: &str) -> Sse {
    Sse { event: event.event.clone(), data: data.with(member, json) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Without it a tool runs without its input, or an answer fails for what a server leaves out.
    #[test]
    fn every_shape_of_a_message_becomes_the_standard_one() {
        let message = |content: Value, reason: &str| json!({"type": "message", "role": "assistant", "model": "m", "content": content, "stop_reason": reason});
        let text = json!([{"type": "text", "text": "a"}]);
        let call = |input: Value| json!([{"type": "tool_use", "id": "t", "name": "f", "input": input}]);
        for (given, expected) in [
            (message(json!("a"), "end_turn"), message(text.clone(), "end_turn")),
            (
                json!({"model": "m", "content": text, "stop_reason": "stop"}),
                message(text.clone(), "end_turn"),
            ),
            (message(text.clone(), "length"), message(text.clone(), "max_tokens")),
            (message(text.clone(), "MAX_TOKENS"), message(text.clone(), "max_tokens")),
            (message(text.clone(), "END_TURN"), message(text.clone(), "end_turn")),
            (message(text.clone(), "guardrail_intervened"), message(text.clone(), "refusal")),
            (message(text.clone(), "eos"), message(text.clone(), "end_turn")),
            (message(text.clone(), "tool_use"), message(text.clone(), "end_turn")),
            (message(call(json!({})), "end_turn"), message(call(json!({})), "tool_use")),
            (message(call(json!("{\"p\":1}")), "tool_use"), message(call(json!({"p": 1})), "tool_use")),
            (message(call(Value::Null), "tool_use"), message(call(json!({})), "tool_use")),
            (
                message(
                    json!([{"type": "text", "text": null}, {"type": "thinking", "thinking": "hm"}, text[0]]),
                    "end_turn",
                ),
                message(
                    json!([{"type": "thinking", "thinking": "hm", "signature": ""}, text[0]]),
                    "end_turn",
                ),
            ),
            (message(Value::Null, "refusal"), message(json!([]), "refusal")),
            (json!({"stop_reason": "refusal", "model": "m"}), message(json!([]), "refusal")),
            (
                json!({"code": 200, "data": message(text.clone(), "end_turn")}),
                message(text.clone(), "end_turn"),
            ),
            (message(json!({"type": "text", "text": "a"}), "end_turn"), message(text.clone(), "end_turn")),
            (message(json!(["a"]), "end_turn"), message(text.clone(), "end_turn")),
            (message(json!([{"text": "a"}]), "end_turn"), message(text.clone(), "end_turn")),
            (
                message(json!([{"type": "output_text", "text": "a", "annotations": []}]), "end_turn"),
                message(text.clone(), "end_turn"),
            ),
            (
                message(json!([{"type": "text", "text": [{"type": "text", "text": "a"}]}]), "end_turn"),
                message(text.clone(), "end_turn"),
            ),
            (
                message(json!([{"type": "text", "text": {"value": "a"}}]), "end_turn"),
                message(text.clone(), "end_turn"),
            ),
            (
                message(json!([{"type": "tool_use", "name": "f", "input": {}}]), "tool_use"),
                message(
                    json!([{"type": "tool_use", "id": "toolu__0", "name": "f", "input": {}}]),
                    "tool_use",
                ),
            ),
            (
                message(json!([{"type": "tool_use", "id": 7, "name": "f", "input": {}}]), "tool_use"),
                message(json!([{"type": "tool_use", "id": "7", "name": "f", "input": {}}]), "tool_use"),
            ),
            (
                message(
                    json!([{"type": "function_call", "id": "fc", "call_id": "t", "name": "f", "arguments": "{\"p\":1}"}]),
                    "end_turn",
                ),
                message(call(json!({"p": 1})), "tool_use"),
            ),
            (
                message(json!([call(json!({}))[0], call(json!({"p": 1}))[0]]), "tool_use"),
                message(
                    json!([call(json!({}))[0], {"type": "tool_use", "id": "t_2", "name": "f", "input": {"p": 1}}]),
                    "tool_use",
                ),
            ),
        ] {
            let new = whole(&given.to_string()).unwrap_or_else(|| panic!("{given}"));
            assert_eq!(serde_json::from_str::<Value>(&new).expect("JSON"), expected, "{given}");
        }
        let broken: Value = serde_json::from_str(&failure(BROKE_OFF)).expect("JSON");
        for reason in ["error", "failed", "interrupted"] {
            let new = whole(&message(text.clone(), reason).to_string()).expect("an error");
            assert_eq!(serde_json::from_str::<Value>(&new).expect("JSON"), broken, "{reason}");
        }
        for standard in
            [message(text, "pause_turn"), message(call(json!({"p": 1})), "max_tokens"), json!({"error": {}})]
        {
            assert_eq!(whole(&standard.to_string()), None, "{standard}");
        }
    }

    #[test]
    fn every_shape_of_an_event_becomes_the_standard_one() {
        let read = |events: &[Value]| {
            let mut shapes = Shapes::default();
            let events = events.iter().flat_map(|event| {
                let event = Sse { event: None, data: event.to_string() };
                shapes.event(&event).unwrap_or_else(|| vec![event])
            });
            events.map(|event| serde_json::from_str(&event.data).expect("JSON")).collect::<Vec<Value>>()
        };
        let start = |input: Value| json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": input}});
        let delta = json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{\"p\":1}"}});
        let stop = json!({"type": "content_block_stop", "index": 1});
        let end = |reason: &str| json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 1}});
        let expected = vec![start(json!({})), delta.clone(), stop.clone(), end("tool_use")];
        for given in [
            vec![start(json!({})), delta.clone(), stop.clone(), end("tool_use")],
            vec![start(json!({"p": 1})), stop.clone(), end("tool_calls")],
            vec![start(json!("{\"p\":1}")), stop.clone(), end("end_turn")],
            vec![start(json!({"p": 1})), delta, stop, end("stop")],
        ] {
            assert_eq!(read(&given), expected, "{given:?}");
        }
        let begun = |block: Value| json!({"type": "content_block_start", "index": 1, "content_block": block});
        let begins = json!({"type": "message_start", "message": {"id": "msg_a", "model": "m"}});
        let unnamed = begun(json!({"type": "tool_use", "id": null, "name": "f", "input": {}}));
        let other = begun(json!({"type": "function_call", "call_id": "t", "name": "f"}));
        let read_all = read(&[begins, unnamed, other, start(json!({}))]);
        let ids: Vec<&Value> = read_all[1..].iter().map(|event| &event["content_block"]["id"]).collect();
        assert_eq!(ids, ["toolu_a_0", "t", "t_3"]);
        assert!(
            read_all[1..].iter().all(|event| event["content_block"]["type"] == "tool_use"),
            "{read_all:?}"
        );
        assert_eq!(read(&[end("tool_use")]), [end("end_turn")]);
        assert_eq!(read(&[end("max_tokens")]), [end("max_tokens")]);
        assert_eq!(read(&[end("upstream_error")])[0]["type"], "error");
        let begins = json!({"type": "message_start", "message": {"id": "m"}});
        assert_eq!(read(&[begins])[0]["message"]["model"], "");
    }
}
