//! A script from the provider's side: the calls that it must get, and what it answers to each.
//!
//! `gatehouse plugin mock` serves them. What concerns only the host and the family (timers, probes, the clock) is left out.

use gatehouse_sdk::{Framing, Outage, Reply, Sse};
use serde_json::{Value, json};

use crate::lines::{Ask, Expect, Feed, Line, Position};
use crate::script::Script;

/// The calls of one task, or of one text request, in their order.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversation {
    /// Where the client's request stands.
    pub position: String,
    /// At least one.
    pub exchanges: Vec<Exchange>,
    /// The media that the family hands to the host, each with its type where the script says it.
    pub media: Vec<(String, Option<String>)>,
}

/// One call and its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    /// Where the answer stands.
    pub position: String,
    /// What the script expects of the call, in the form of `expect`; an empty object where it expects nothing of it.
    pub call: Value,
    /// What follows.
    pub answer: ProviderAnswer,
}

/// What a provider does with a call.
#[derive(Clone, Debug, PartialEq)]
pub enum ProviderAnswer {
    /// It replies.
    Reply(Reply),
    /// No reply comes.
    Outage(Outage),
    /// It streams these events, or frames.
    Events(Vec<Sse>, Framing),
}

impl Script {
    /// Every conversation with a provider, in the order of the script.
    ///
    /// ```
    /// use gatehouse_testkit::Script;
    ///
    /// let script = r#"
    ///     {"submit": {"surface": "images.generate", "body": {"prompt": "a kite"}}}
    ///     {"expect": {"accepted": {}}}
    ///     "start"
    ///     {"expect": {"call": {"path": "/v1/sketches"}}}
    ///     {"reply": {"status": 200, "json": {"id": "s7"}}}
    ///     {"expect": {"wait": {}}}
    /// "#;
    /// let conversations = Script::parse(script, "a.play".as_ref()).unwrap().conversations();
    /// assert_eq!(conversations[0].exchanges[0].call["path"], "/v1/sketches");
    /// assert_eq!(conversations[0].exchanges[0].position, "a.play:6");
    /// ```
    #[must_use]
    pub fn conversations(&self) -> Vec<Conversation> {
        let mut reader = Reader::default();
        for (line, position) in &self.lines {
            reader.line(line, position);
        }
        reader.finish();
        reader.done
    }
}

#[derive(Default)]
struct Reader {
    done: Vec<Conversation>,
    current: Option<Conversation>,
    /// What is expected of the call that is out.
    call: Option<Value>,
    /// A stream that goes on with the next events.
    streams: bool,
    /// How the family takes a stream.
    framing: Framing,
}

impl Reader {
    fn line(&mut self, line: &Line, position: &Position) {
        let streams = std::mem::take(&mut self.streams);
        match line {
            Line::Submit(_) | Line::Ask(Ask::Text(_) | Ask::Translate(_) | Ask::Direct(_)) => {
                self.begin(position);
            }
            Line::Expect(expect) => {
                self.streams = streams;
                self.expected(expect);
            }
            Line::Feed(Feed::Reply(reply)) => self.answered(ProviderAnswer::Reply(reply.clone()), position),
            Line::Feed(Feed::Outage(outage)) => self.answered(ProviderAnswer::Outage(*outage), position),
            Line::Ask(Ask::Answer(reply) | Ask::Split(_, _, reply)) => {
                self.answered(ProviderAnswer::Reply(reply.clone()), position);
            }
            Line::Ask(Ask::Events(events)) => {
                self.streams = true;
                self.streamed(events, streams, position);
            }
            Line::Later(_) | Line::Feed(_) | Line::Ask(_) => {}
        }
    }

    fn begin(&mut self, position: &Position) {
        self.finish();
        self.current =
            Some(Conversation { position: position.to_string(), exchanges: Vec::new(), media: Vec::new() });
    }

    fn finish(&mut self) {
        (self.call, self.framing) = (None, Framing::Sse);
        self.done.extend(self.current.take().filter(|conversation| !conversation.exchanges.is_empty()));
    }

    /// A script may begin with a migrated state: a task that was accepted before.
    fn current(&mut self, position: &Position) -> &mut Conversation {
        if self.current.is_none() {
            self.begin(position);
        }
        self.current.as_mut().expect("one has just begun")
    }

    fn expected(&mut self, expect: &Expect) {
        let Expect::Part(part) = expect else {
            if matches!(expect, Expect::Call(_)) {
                self.call = Some(json!({}));
            }
            return;
        };
        match part["translated"]["framing"].as_str() {
            Some("lines") => self.framing = Framing::Lines,
            Some("json-array") => self.framing = Framing::JsonArray,
            _ => {}
        }
        let nested = ["prepared", "translated", "planned"].map(|name| &part[name]["call"]);
        let called = [&part["call"], &part["merged"]].into_iter().chain(nested);
        if let Some(call) = called.into_iter().find(|call| call.is_object()) {
            self.call = Some(call.clone());
        }
        let named =
            [&part["done"]["products"], &part["fail"]["products"], &part["view"]["products"], &part["probe"]];
        let items = named.into_iter().filter_map(Value::as_array).flatten();
        let media = items.filter_map(|item| {
            Some((item["source"].as_str()?.to_owned(), item["mime"].as_str().map(str::to_owned)))
        });
        if let Some(current) = &mut self.current {
            current.media.extend(media);
        }
    }

    fn answered(&mut self, answer: ProviderAnswer, position: &Position) {
        let call = self.call.clone().unwrap_or_else(|| json!({}));
        let exchange = Exchange { position: position.to_string(), call, answer };
        self.current(position).exchanges.push(exchange);
    }

    fn streamed(&mut self, events: &[Sse], goes_on: bool, position: &Position) {
        let last = self.current(position).exchanges.last_mut();
        match last.map(|exchange| &mut exchange.answer) {
            Some(ProviderAnswer::Events(before, _)) if goes_on => before.extend_from_slice(events),
            _ => self.answered(ProviderAnswer::Events(events.to_vec(), self.framing), position),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mock that mixed up two tasks, or two pieces of a stream, would answer what no provider answers.
    #[test]
    fn a_script_is_read_from_the_providers_side() {
        let text = r#"
            {"submit": {"surface": "a", "body": {}}}
            {"expect": {"refused": {}}}
            {"submit": {"surface": "a", "body": {}}}
            "start"
            {"expect": {"call": {"path": "/one"}, "stage": "submitted"}}
            {"reply": {"status": 200, "json": {"id": 1}}}
            {"expect": {"wait": {}}}
            "timer"
            {"expect": {"call": {"path": "/two"}}}
            {"outage": "timeout"}
            {"expect": {"done": {"products": [{"source": "https://e.com/a.png", "mime": "image/png"}]}}}
            {"text": {"surface": "t", "body": {"model": "m"}, "route": {"provider": "p", "protocol": "chat"}}}
            {"expect": {"prepared": {"call": {"path": "/chat"}}}}
            {"events": [{"data": "a"}]}
            {"expect": {"chunk": {}}}
            {"events": [{"data": "b"}]}
            {"expect": {"chunk": {}}}
            "end"
            {"expect": {"chunk": {"last": true}}}
            {"answer": {"status": 429}}
            {"direct": {"surface": "s", "body": {}}}
            {"expect": {"planned": {"call": {"path": "/speak"}}}}
            {"answer": {"status": 200, "text": "sound", "headers": {"content-type": "audio/mpeg"}}}
            {"translate": {"dialect": "brook", "provider": "p", "body": {"model": "m", "stream": true}}}
            {"expect": {"translated": {"call": {"path": "/flow"}, "framing": "lines"}}}
            {"events": [{"data": "a"}]}
        "#;
        let conversations = Script::parse(text, "s.play".as_ref()).unwrap().conversations();
        let shown: Vec<Vec<String>> = conversations
            .iter()
            .map(|one| {
                let kind = |exchange: &Exchange| match &exchange.answer {
                    ProviderAnswer::Reply(reply) => reply.status.to_string(),
                    ProviderAnswer::Outage(outage) => outage.as_str().to_owned(),
                    ProviderAnswer::Events(events, framing) => format!("{} events {framing:?}", events.len()),
                };
                let path = |exchange: &Exchange| exchange.call["path"].as_str().unwrap_or("any").to_owned();
                one.exchanges.iter().map(|it| format!("{} {} {}", path(it), kind(it), it.position)).collect()
            })
            .collect();
        assert_eq!(
            shown,
            [
                vec!["/one 200 s.play:7", "/two timeout s.play:11"],
                vec!["/chat 2 events Sse s.play:15", "/chat 429 s.play:21"],
                vec!["/speak 200 s.play:24"],
                vec!["/flow 1 events Lines s.play:27"],
            ]
        );
        assert_eq!(conversations[0].position, "s.play:4");
        assert_eq!(
            conversations[0].media,
            [("https://e.com/a.png".to_owned(), Some("image/png".to_owned()))]
        );
    }
}
