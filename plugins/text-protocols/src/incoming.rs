//! What a provider sends, before a family reads it: in the form of its protocol, whatever form the provider has for it.
//!
//! Compatible servers write a text as a list of parts, arguments as an object, half of a character at the end of a piece.
//! And the text that a model was told to begin with is taken off here ([`crate::prefill`]). What needs no change keeps
//! its bytes: a whole answer is known to need none by one reading (`plain`), a piece of a stream by those before it. Never judges
//! an answer; the families do.

mod bodies;
mod call_names;
mod chat;
mod forms;
mod listed;
mod message_forms;
mod message_pieces;
mod messages;
mod notices;
mod places;
mod plain;
mod reasons;
mod several_inputs;
mod think;
mod vendors;
mod verdict;

use gatehouse_sdk::Sse;

use crate::halves::without_halves;
use crate::json::{self, Raw};
use crate::prefill::Lead;
pub use bodies::{speaks_chat, without_number_words};
use chat::Chat;
pub use forms::is_error;
use messages::Messages;
pub use notices::{is_harmless, is_notice};

/// The answer to one request as it comes in.
#[derive(Debug)]
pub struct Incoming {
    protocol: Protocol,
    /// Words were left out that may have been those of a failure: `[DONE]` alone says no longer that the answer is whole.
    has_words: bool,
    /// Something of the answer was said.
    has_said: bool,
}

#[derive(Debug)]
enum Protocol {
    Chat(Chat),
    Messages(Messages),
}

/// What the client of a chat provider reads.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChatClient {
    /// Calls of the older kind: it asked with `functions`.
    pub is_legacy: bool,
    /// Several answers: it asked for them.
    pub has_several: bool,
    /// Completions, with all that a provider adds to them.
    pub reads_completions: bool,
}

impl Incoming {
    /// Of a provider of that protocol; `lead` is the beginning that the client has already.
    #[must_use]
    pub fn new(is_chat: bool, lead: &str) -> Self {
        if is_chat {
            return Self::of_chat(lead, ChatClient::default());
        }
        Self::of(Protocol::Messages(Messages::new(Lead::new(lead))))
    }

    /// Of a chat provider.
    #[must_use]
    pub fn of_chat(lead: &str, client: ChatClient) -> Self {
        Self::of(Protocol::Chat(Chat::new(Lead::new(lead), client)))
    }

    /// Whether it reads a chat provider.
    #[must_use]
    pub fn is_chat(&self) -> bool {
        matches!(self.protocol, Protocol::Chat(_))
    }

    fn of(protocol: Protocol) -> Self {
        Self { protocol, has_words: false, has_said: false }
    }

    /// A whole answer; `None` where it stays as it is.
    pub fn whole(&mut self, body: &str) -> Option<String> {
        let is_plain = match &self.protocol {
            Protocol::Chat(chat) => chat.is_plain(body),
            Protocol::Messages(messages) => messages.is_plain(body),
        };
        if is_plain { without_halves(body) } else { self.mended(body) }
    }

    /// The same of an answer in any form.
    fn mended(&mut self, body: &str) -> Option<String> {
        if body.trim_start().starts_with('[')
            && let Some(whole) = self.listed(body)
        {
            return Some(whole);
        }
        if let Some(values) = bodies::several(body).filter(|values| !values.is_cut()) {
            return match values.all[..] {
                [one] => self.whole(one).or_else(|| Some(one.to_owned())),
                ref several => self.listed(&format!("[{}]", several.join(","))),
            };
        }
        let numbers = without_number_words(body);
        let body = numbers.as_deref().unwrap_or(body);
        let judged = verdict::judged(body, self.is_chat(), false);
        let body = judged.as_deref().unwrap_or(body);
        let changed = match &mut self.protocol {
            Protocol::Chat(chat) => chat.whole(body),
            Protocol::Messages(messages) => messages.whole(body),
        };
        without_halves(changed.as_deref().unwrap_or(body)).or(changed).or(judged).or(numbers)
    }

    /// The answer that a list of events makes, or the one that is among them.
    fn listed(&mut self, body: &str) -> Option<String> {
        let numbers = without_number_words(body);
        let all = json::items(serde_json::from_str(numbers.as_deref().unwrap_or(body)).ok()?)?;
        let objects: Vec<_> = all.iter().filter(|raw| raw.get().starts_with('{')).collect();
        let are_pieces = listed::are_pieces(&objects);
        let whole = |raw: &&&Raw<'_>| !are_pieces && listed::is_whole(raw, objects.len() == 1);
        if let Some(whole) =
            objects.iter().find(|raw| listed::is_failure(raw)).or_else(|| objects.iter().find(whole))
        {
            return self.whole(whole.get()).or_else(|| Some(whole.get().to_owned()));
        }
        if objects.is_empty() {
            return None;
        }
        let is_chat = self.is_chat();
        let word = |raw: &Raw<'_>| serde_json::from_str(raw.get()).unwrap_or_else(|_| raw.get().to_owned());
        let mut events = Vec::new();
        for data in all.iter().map(word) {
            events.extend(self.event(Sse { event: None, data }));
        }
        events.extend(self.end());
        Some(listed::assembled(events.iter().map(|event| event.data.trim()), is_chat))
    }

    /// The next event of a stream, and what was held back before it.
    pub fn event(&mut self, event: Sse) -> Vec<Sse> {
        let event = plain(event);
        let Some(values) = bodies::several(&event.data) else { return self.one(event) };
        let rest = Some(values.rest).filter(|rest| !rest.is_empty());
        let name = if values.all.len() == 1 { event.event.clone() } else { None };
        let all = values.all.iter().map(|data| (name.clone(), *data)).chain(rest.map(|rest| (None, rest)));
        all.flat_map(|(name, data)| self.one(plain(Sse { event: name, data: data.to_owned() }))).collect()
    }

    /// Whether a chunk or a delta in the form of the protocol stays as it is and leaves nothing behind here, if it has a piece of a
    /// text or of thinking without escapes.
    pub(crate) fn is_at_rest(&self) -> bool {
        match &self.protocol {
            Protocol::Chat(chat) => chat.is_at_rest(),
            Protocol::Messages(messages) => messages.is_at_rest(),
        }
    }

    /// The next event, of one value.
    fn one(&mut self, event: Sse) -> Vec<Sse> {
        if is_notice(&event) {
            self.has_words |= !is_harmless(&event.data);
            return Vec::new();
        }
        if self.has_words && event.data == "[DONE]" {
            return Vec::new();
        }
        let event = verdict::judged_event(event, self.is_chat(), self.has_said);
        self.has_said = self.has_said || verdict::says(&event.data);
        let mut events = match &mut self.protocol {
            Protocol::Chat(chat) => chat.event(event),
            Protocol::Messages(messages) => messages.event(event),
        };
        for event in &mut events {
            if let Some(data) = without_halves(&event.data) {
                event.data = data;
            }
        }
        events
    }

    /// What is held back at the end of a stream.
    pub fn end(&mut self) -> Vec<Sse> {
        match &mut self.protocol {
            Protocol::Chat(chat) => chat.end(),
            Protocol::Messages(messages) => messages.end(),
        }
    }
}

/// An event without what some servers write around its data: the name of the field once more, the end in other letters.
fn plain(mut event: Sse) -> Sse {
    if let Some(data) = event.data.trim_start().strip_prefix("data:") {
        event.data = data.to_owned();
    }
    if let Some(data) = without_number_words(&event.data) {
        event.data = data;
    }
    if event.data.len() < 16 && event.data.trim().trim_matches(['[', ']']).eq_ignore_ascii_case("done") {
        event.data = "[DONE]".to_owned();
    }
    event
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn chat(lead: &str, delta: Value, reason: Value) -> Value {
        let event = json!({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
        let mut incoming = Incoming::new(true, lead);
        let mut events = incoming.event(Sse { event: None, data: event.to_string() });
        events.extend(incoming.end());
        let read = |event: &Sse| serde_json::from_str::<Value>(&event.data).expect("JSON");
        read(events.last().expect("an event"))["choices"][0]["delta"].clone()
    }

    /// Without it a server's list of parts, or its object of arguments, would reach clients or fail the answer.
    #[test]
    fn every_form_of_a_delta_becomes_the_standard_one() {
        let hello = json!([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "He"},
                           {"type": "reference", "reference_ids": [1]}, {"type": "text", "text": "llo"}]);
        let call = |arguments: Value| json!({"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": arguments}}]});
        for (given, expected) in [
            (json!({"content": hello}), json!({"content": "Hello", "reasoning_content": "hm"})),
            (
                json!({"content": [{"type": "thinking", "thinking": "hm"}]}),
                json!({"reasoning_content": "hm"}),
            ),
            (json!({"content": {"type": "text", "text": "x"}}), json!({"content": "x"})),
            (json!({"content": ["a", "b"]}), json!({"content": "ab"})),
            (json!({"content": {"value": "x", "annotations": []}}), json!({"content": "x"})),
            (
                json!({"content": {"items": [1, 2], "summary": "s"}}),
                json!({"content": "{\"items\":[1,2],\"summary\":\"s\"}"}),
            ),
            (json!({"content": {"value": [5]}}), json!({"content": "{\"value\":[5]}"})),
            (json!({"content": {"value": 5}}), json!({"content": "{\"value\":5}"})),
            (
                json!({"content": {"total": 3, "type": "invoice"}}),
                json!({"content": "{\"total\":3,\"type\":\"invoice\"}"}),
            ),
            (json!({"content": [{"name": "a"}]}), json!({"content": "[{\"name\":\"a\"}]"})),
            (json!({"content": [1, 2]}), json!({"content": "[1,2]"})),
            (json!({"content": [{"type": "reference", "reference_ids": [1]}]}), json!({})),
            (call(json!({"a": [1, "x"]})), call(json!("{\"a\":[1,\"x\"]}"))),
            (call(json!("{}")), call(json!("{}"))),
            (call(json!(null)), call(json!(""))),
        ] {
            assert_eq!(chat("", given.clone(), json!(null)), expected, "{given}");
        }
    }

    #[test]
    fn a_whole_answer_is_read_in_every_form() {
        let message =
            |message: Value| json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
        let given = json!({"role": "assistant", "content": [{"type": "text", "text": "Hello"}],
                           "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": {"a": 1}}}, {"id": "d", "function": {"name": "g"}}]});
        let expected = json!({"role": "assistant", "content": "Hello",
                              "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{\"a\":1}"}},
                                             {"id": "d", "function": {"name": "g", "arguments": "{}"}}]});
        let read = Incoming::new(true, "").whole(&message(given).to_string()).expect("changed");
        assert_eq!(serde_json::from_str::<Value>(&read).expect("JSON"), message(expected));
        let plain = message(json!({"role": "assistant", "content": "hi"})).to_string();
        assert_eq!(Incoming::new(true, "").whole(&plain), None);
        assert_eq!(Incoming::new(false, "x").whole("no JSON"), None);
    }

    /// Without it a provider's answer has the plugin run out of its stack, which counts as the plugin's fault.
    #[test]
    fn parts_inside_of_each_other_are_not_followed_to_their_end() {
        let deep = format!("{}\"a\"{}", "[".repeat(100_000), "]".repeat(100_000));
        for body in [
            format!(r#"{{"choices":[{{"message":{{"content":{deep}}},"finish_reason":"stop"}}]}}"#),
            format!(
                r#"{{"choices":[{{"message":{{"content":"x","thinking":{deep}}},"finish_reason":"stop"}}]}}"#
            ),
        ] {
            assert!(Incoming::new(true, "").whole(&body).is_some_and(|body| body.contains("[[[")));
        }
    }

    #[test]
    fn an_end_is_known_however_it_is_written() {
        for (given, expected) in [
            ("[DONE]", "[DONE]"),
            ("[done]", "[DONE]"),
            (" DONE ", "[DONE]"),
            ("data: [DONE]", "[DONE]"),
            ("data: {}", " {}"),
        ] {
            let events = Incoming::new(true, "").event(Sse { event: None, data: given.to_owned() });
            assert_eq!(
                events.iter().map(|event| event.data.as_str()).collect::<Vec<_>>(),
                [expected],
                "{given}"
            );
        }
    }

    /// Without it half an answer looks whole after the words of a failure that nobody foresaw.
    #[test]
    fn an_end_after_unknown_words_says_nothing() {
        for (word, count) in [("insufficient balance", 0), ("[PING]", 1), ("keep-alive", 1), ("5", 1)] {
            let mut incoming = Incoming::new(true, "");
            let events =
                [word, "[DONE]"].map(|data| incoming.event(Sse { event: None, data: data.to_owned() }));
            assert_eq!(events.concat().len(), count, "{word}");
        }
    }

    /// Without it an answer that failed looks complete.
    #[test]
    fn an_event_of_nothing_is_left_out_unless_it_is_an_error() {
        for is_chat in [true, false] {
            for (name, count) in [(None, 0), (Some("message"), 0), (Some("error"), 1)] {
                let event = Sse { event: name.map(str::to_owned), data: "null".to_owned() };
                assert_eq!(Incoming::new(is_chat, "").event(event).len(), count, "{name:?}");
            }
        }
    }

    /// Without it the halves of a character that arrives in two pieces would become two replacement characters.
    #[test]
    fn halves_of_a_character_meet_and_single_ones_are_marked() {
        let play = |is_chat: bool, pieces: [&str; 2]| {
            let mut incoming = Incoming::new(is_chat, "");
            let write = |piece: &str| match is_chat {
                true => format!(r#"{{"choices":[{{"delta":{{"content":"{piece}"}}}}]}}"#),
                false => format!(
                    r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{piece}"}}}}"#
                ),
            };
            let events =
                pieces.iter().flat_map(|piece| incoming.event(Sse { event: None, data: write(piece) }));
            let texts = events.map(|event| {
                let event: Value = serde_json::from_str(&event.data).expect("JSON");
                let text =
                    if is_chat { &event["choices"][0]["delta"]["content"] } else { &event["delta"]["text"] };
                text.as_str().unwrap_or_default().to_owned()
            });
            texts.collect::<String>()
        };
        for is_chat in [true, false] {
            assert_eq!(play(is_chat, [r"a\ud83d", r"\ude00b"]), "a\u{1f600}b");
            assert_eq!(play(is_chat, [r"a\uD83D", "b"]), "a\u{fffd}b");
            assert_eq!(play(is_chat, [r"a\ude00", r"\\ud83d"]), "a\u{fffd}\\ud83d");
        }
    }

    /// Events of a Messages provider, and what becomes of them.
    fn played(events: &[Value]) -> Vec<Value> {
        let mut incoming = Incoming::new(false, "");
        let play = |event: &Value| incoming.event(Sse { event: None, data: event.to_string() });
        let events = events.iter().flat_map(play);
        events.map(|event| serde_json::from_str(&event.data).expect("JSON")).collect()
    }

    fn starts(index: u64, block: &Value) -> Value {
        json!({"type": "content_block_start", "index": index, "content_block": block})
    }

    fn adds(index: u64, kind: &str, name: &str, text: &str) -> Value {
        json!({"type": "content_block_delta", "index": index, "delta": {"type": kind, name: text}})
    }

    fn stops(index: u64) -> Value {
        json!({"type": "content_block_stop", "index": index})
    }

    /// Without it every delta but the first loses what was written into that one, and with it its text or its block.
    #[test]
    fn events_that_look_alike_are_mended_alike() {
        let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "f", "input": {}});
        let first = call("a");
        for (block, kind, name) in [
            (json!({"type": "text", "text": ""}), "text_delta", "text"),
            (json!({"type": "thinking", "thinking": "", "signature": ""}), "thinking_delta", "thinking"),
            (call("b"), "input_json_delta", "partial_json"),
        ] {
            // Each of a length of its own: the input of a call is one object.
            let pieces = ["{\"a\":", "\"b", "cd\"", "}"].map(|piece| adds(1, kind, name, piece));
            let all = |pieces: Vec<Value>| {
                [vec![starts(0, &first), stops(0), starts(1, &block)], pieces, vec![stops(1)]].concat()
            };
            let expected = all(pieces.to_vec());
            let without = |at: &str, inside: bool| {
                let bend = |mut piece: Value| {
                    let object = if inside { &mut piece["delta"] } else { &mut piece };
                    object.as_object_mut().expect("an object").remove(at);
                    piece
                };
                all(pieces.iter().cloned().map(bend).collect())
            };
            for given in
                [expected.clone(), without("type", true), without("type", false), without("index", false)]
            {
                assert_eq!(played(&given), expected, "{given:?}");
            }
        }
    }

    /// Without it pieces of one call are read as those of another: a call is invented, or one runs without its input.
    #[test]
    fn blocks_may_be_open_at_once() {
        let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "f", "input": {}});
        let adds = |index: u64, piece: &str| adds(index, "input_json_delta", "partial_json", piece);
        let usual = [
            starts(0, &call("a")),
            starts(1, &call("b")),
            adds(0, "{\"p\":1}"),
            adds(1, "{\"p\""),
            adds(1, ":1}"),
            stops(0),
            starts(2, &call("c")),
            adds(2, "{\"p\":1}"),
            stops(1),
            stops(2),
        ];
        assert_eq!(played(&usual), usual);
        let mut whole = call("a");
        whole["input"] = json!({"p": 1});
        let given = [starts(0, &whole), starts(1, &call("b")), adds(1, "{}"), stops(1), stops(0)];
        let expected = [
            starts(0, &call("a")),
            starts(1, &call("b")),
            adds(1, "{}"),
            stops(1),
            adds(0, "{\"p\":1}"),
            stops(0),
        ];
        assert_eq!(played(&given), expected);
        // Two objects in the first: the second goes behind all blocks that have begun, which keep their numbers.
        let given = [
            starts(0, &call("a")),
            starts(1, &call("b")),
            adds(0, "{\"p\":1}{\"p\""),
            adds(1, "{}"),
            adds(0, ":2}"),
            stops(1),
            stops(0),
            starts(2, &call("c")),
            adds(2, "{}"),
            stops(2),
        ];
        let expected = [
            starts(0, &call("a")),
            starts(1, &call("b")),
            adds(0, "{\"p\":1}"),
            stops(0),
            starts(2, &call("toolu__2")),
            adds(2, "{\"p\""),
            adds(1, "{}"),
            adds(2, ":2}"),
            stops(1),
            stops(2),
            starts(3, &call("c")),
            adds(3, "{}"),
            stops(3),
        ];
        assert_eq!(played(&given), expected);
    }

    /// Without it an error under a name of the server's own is an event of the answer, in the provider's words.
    #[test]
    fn an_event_takes_its_kind_from_a_name_of_the_protocol_alone() {
        for (name, data, expected) in [
            ("chunk", r#"{"error":{"message":"x"}}"#, None),
            ("message_delta", r#"{"error":{"message":"x"}}"#, None),
            ("chunk", r#"{"note":1}"#, None),
            ("chunk", r#"{"delta":{"text":"a"}}"#, Some("content_block_delta")),
            ("content_block_stop", "{}", Some("content_block_stop")),
            ("message_stop", "{}", Some("message_stop")),
            ("message_stop", r#"{"error":null}"#, Some("message_stop")),
        ] {
            let event = Sse { event: Some(name.to_owned()), data: data.to_owned() };
            let events = Incoming::new(false, "").event(event);
            let read: Value = serde_json::from_str(&events[0].data).expect("JSON");
            assert_eq!(read["type"].as_str(), expected, "{name} {data}");
        }
    }

    #[test]
    fn a_lead_is_taken_off_streams_of_both_protocols() {
        assert_eq!(chat("Hello", json!({"content": "Hello you"}), json!(null)), json!({"content": " you"}));
        let mut incoming = Incoming::new(true, "Hello");
        let mut read = String::new();
        for data in [
            r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#,
            r#"{"choices":[{"delta":{"content":"He"}}]}"#,
            r#"{"choices":[{"delta":{"content":" did"}}]}"#,
            r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
        ] {
            for event in incoming.event(Sse { event: None, data: data.to_owned() }) {
                let event: Value = serde_json::from_str(&event.data).expect("JSON");
                read += event["choices"][0]["delta"]["content"].as_str().unwrap_or_default();
            }
        }
        assert_eq!(read, "He did", "nothing is lost");
        for (stop, expected) in [("max_tokens", ""), ("end_turn", "He")] {
            let mut incoming = Incoming::new(false, "Hello");
            let mut events = vec![];
            for data in [
                json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "He"}}),
                json!({"type": "content_block_stop", "index": 0}),
                json!({"type": "message_delta", "delta": {"stop_reason": stop}}),
            ] {
                events.extend(incoming.event(Sse { event: None, data: data.to_string() }));
            }
            let events: Vec<Value> =
                events.iter().map(|it| serde_json::from_str(&it.data).expect("JSON")).collect();
            let text: String = events.iter().filter_map(|it| it["delta"]["text"].as_str()).collect();
            assert_eq!(text, expected, "{stop}");
            let kinds: Vec<&str> = events.iter().filter_map(|it| it["type"].as_str()).collect();
            assert_eq!(kinds[kinds.len() - 2..], ["content_block_stop", "message_delta"]);
        }
    }

    #[test]
    fn a_lead_is_taken_off_whole_answers_of_both_protocols() {
        let message = |content: Value| {
            json!({"type": "message", "role": "assistant", "model": "m", "content": content, "stop_reason": "end_turn"})
                .to_string()
        };
        let text = |text: &str| json!([{"type": "text", "text": text}]);
        let read = |given: Value| Incoming::new(false, "Hello").whole(&message(given));
        assert_eq!(read(text("Hello you")), Some(message(text(" you"))));
        assert_eq!(
            read(text("Hello")),
            Some(message(json!([]))),
            "a text of nothing would be refused when it comes back"
        );
        assert_eq!(read(text("You")), None);
        let whole = |text: &str| {
            json!({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}).to_string()
        };
        assert_eq!(Incoming::new(true, "Hello").whole(&whole("Hello you")), Some(whole(" you")));
    }
}
