//! `contents`: a conversation as Google writes it. Each message becomes one entry of parts; a message that says nothing is
//! left out, and the state keeps which is which.

use std::borrow::Cow;
use std::collections::HashMap;

use gatehouse_sdk::Refusal;
use gatehouse_text_protocols::json::{JsonString, Object, Raw, Writer, items};
use gatehouse_text_protocols::tool_ids;

use super::{Model, media};
use crate::names::fitted;
use crate::pieces::MADE_ID;
use crate::signature::{self, Signed, UNSIGNED};

/// The conversation, written.
pub(super) struct Contents {
    pub(super) json: String,
    /// Of each entry, the message it was made of.
    pub(super) sent: Vec<usize>,
}

impl Contents {
    pub(super) fn write(body: &Object<'_>, model: Model<'_>) -> Result<Self, Refusal> {
        let (mut entries, mut sent) = (Vec::new(), Vec::new());
        let messages = body.items("messages").unwrap_or_default();
        let mut names = HashMap::new();
        for (at, raw) in messages.iter().enumerate() {
            let message = Object::parse(raw.get()).unwrap_or_default();
            let is_model = message.text("role").as_deref() == Some("assistant");
            let mut parts = Parts {
                model,
                parts: vec![],
                text: None,
                calls: 0,
                signed: HashMap::new(),
                names: &mut names,
            };
            parts.message(&message, &format!("messages.{at}"))?;
            let parts = parts.done();
            if !parts.is_empty() {
                let role = if is_model { "model" } else { "user" };
                entries.push(format!("{{\"role\":\"{role}\",\"parts\":[{}]}}", parts.join(",")));
                sent.push(at);
            }
        }
        Ok(Self { json: format!("[{}]", entries.join(",")), sent })
    }
}

/// The parts of one message.
struct Parts<'b, 'n> {
    model: Model<'n>,
    parts: Vec<Writer>,
    /// The last part of text.
    text: Option<usize>,
    calls: usize,
    /// What Google signed of the message.
    signed: HashMap<Signed, String>,
    /// The functions by the ids of their calls, of all messages so far.
    names: &'n mut HashMap<Cow<'b, str>, Cow<'b, str>>,
}

impl<'b> Parts<'b, '_> {
    fn message(&mut self, message: &Object<'b>, path: &str) -> Result<(), Refusal> {
        let Some(content) = message.get("content") else { return Ok(()) };
        if let Some(text) = JsonString::of(content) {
            self.text(text);
            return Ok(());
        }
        let blocks = items(content).unwrap_or_default();
        let blocks: Vec<Object<'b>> =
            blocks.iter().map(|raw| Object::parse(raw.get()).unwrap_or_default()).collect();
        // All of them first: a client may bring the thoughts of a message back in another order.
        for block in &blocks {
            self.sign(block);
        }
        blocks
            .iter()
            .enumerate()
            .try_for_each(|(at, block)| self.block(block, &format!("{path}.content.{at}")))
    }

    fn sign(&mut self, block: &Object<'b>) {
        let written = block.text("signature").unwrap_or_default();
        if let Some((signed @ (Signed::Call(_) | Signed::Text), signature)) = signature::read(&written) {
            self.signed.insert(signed, signature.to_owned());
        }
    }

    fn block(&mut self, block: &Object<'b>, path: &str) -> Result<(), Refusal> {
        let kind = block.text("type").unwrap_or_default();
        match kind.as_ref() {
            "text" => block.string("text").into_iter().for_each(|text| self.text(text)),
            "image" | "document" => self.file(block, path)?,
            "tool_use" => self.call(block),
            "tool_result" => self.result(block, path)?,
            "thinking" => self.thought(block),
            // Another model's, which nobody else reads.
            "redacted_thinking" => {}
            "search_result" => self.blocks(block, "content", path)?,
            other => {
                let problem = format!(
                    "expected `text`, `image`, `document`, `tool_use`, `tool_result`, `search_result` or `thinking`, got {other:?}"
                );
                return Err(Refusal::invalid(format!("{path}.type"), problem));
            }
        }
        Ok(())
    }

    fn text(&mut self, text: JsonString<'_>) {
        if text.is_empty() {
            return;
        }
        self.text = Some(self.parts.len());
        let mut part = Writer::new(text.quoted().len() + 16);
        part.member("text", text.quoted());
        self.parts.push(part);
    }

    /// Blocks inside of a block: texts and files.
    fn blocks(&mut self, outer: &Object<'b>, member: &str, path: &str) -> Result<(), Refusal> {
        let Some(content) = outer.get(member) else { return Ok(()) };
        if let Some(text) = JsonString::of(content) {
            self.text(text);
            return Ok(());
        }
        for (at, raw) in items(content).unwrap_or_default().into_iter().enumerate() {
            let block = Object::parse(raw.get()).unwrap_or_default();
            self.block(&block, &format!("{path}.{member}.{at}"))?;
        }
        Ok(())
    }

    fn file(&mut self, block: &Object<'b>, path: &str) -> Result<(), Refusal> {
        let source = block.object("source").unwrap_or_default();
        match media::part(&source, path)? {
            Some(part) => self.push(&part),
            None if source.get("content").is_some() => {
                self.blocks(&source, "content", &format!("{path}.source"))?;
            }
            None => source.string("data").into_iter().for_each(|text| self.text(text)),
        }
        Ok(())
    }

    /// A part that is written already.
    fn push(&mut self, part: &str) {
        let members = Object::parse(part).unwrap_or_default();
        self.parts.push(members.iter().map(|(name, raw)| (name, raw.get())).collect());
    }

    fn call(&mut self, block: &Object<'b>) {
        let number = self.calls;
        self.calls += 1;
        let (id, name) = (block.text("id").unwrap_or_default(), block.text("name").unwrap_or_default());
        let mut call = Writer::new(128);
        own_id(&id, &mut call);
        call.string("name", &fitted(&name));
        call.member("args", block.get("input").map_or("{}", |input| input.get()));
        self.names.insert(id, name);
        let mut part = Writer::new(192);
        part.member("functionCall", &call.done());
        match self.signed.remove(&Signed::Call(number)) {
            Some(signature) => part.string("thoughtSignature", &signature),
            // Later models demand one of the first call of a step.
            None if number == 0 && !self.model.is_early() => part.string("thoughtSignature", UNSIGNED),
            None => {}
        }
        self.parts.push(part);
    }

    /// A result is a text for Google, or an object; its files stand beside it.
    fn result(&mut self, block: &Object<'b>, path: &str) -> Result<(), Refusal> {
        let id = block.text("tool_use_id").unwrap_or_default();
        let content = block.get("content");
        let mut files = Vec::new();
        let text = match content.map(|content| (JsonString::of(content), content)) {
            None => "\"\"".to_owned(),
            Some((Some(text), _)) => text.quoted().to_owned(),
            Some((None, content)) => texts(content, &mut files),
        };
        let is_error = block.get("is_error").is_some_and(|raw| raw.get() == "true");
        let mut out = Writer::new(text.len() + 128);
        own_id(&id, &mut out);
        let name = self.names.get(&id).cloned().unwrap_or_else(|| id.clone());
        out.string("name", &fitted(&name));
        out.member("response", &format!("{{\"{}\":{text}}}", if is_error { "error" } else { "output" }));
        self.push(&format!("{{\"functionResponse\":{}}}", out.done()));
        for (at, file) in files {
            self.block(&file, &format!("{path}.content.{at}"))?;
        }
        Ok(())
    }

    /// A thought that Google signed goes back as it came; any other is only the client's to read.
    fn thought(&mut self, block: &Object<'b>) {
        let written = block.text("signature").unwrap_or_default();
        let Some((Signed::Thought, signature)) = signature::read(&written) else { return };
        let mut part = Writer::new(256);
        part.member("text", block.get("thinking").map_or("\"\"", |text| text.get()));
        part.member("thought", "true");
        part.string("thoughtSignature", signature);
        self.parts.push(part);
    }

    fn done(mut self) -> Vec<String> {
        if let Some(signature) = self.signed.remove(&Signed::Text) {
            match self.text {
                Some(at) => self.parts[at].string("thoughtSignature", &signature),
                None if self.parts.is_empty() => {}
                None => {
                    let mut part = Writer::new(64);
                    part.string("text", "");
                    part.string("thoughtSignature", &signature);
                    self.parts.push(part);
                }
            }
        }
        self.parts.into_iter().map(Writer::done).collect()
    }
}

/// Google's own ids go back; it knows nothing of those that were made for it.
fn own_id(id: &str, out: &mut Writer) {
    if !id.is_empty() && !id.starts_with(MADE_ID) {
        out.string("id", &tool_ids::decoded(id));
    }
}

/// The texts of a tool's result, joined, JSON; its other blocks with their places.
fn texts<'b>(content: Raw<'b>, files: &mut Vec<(usize, Object<'b>)>) -> String {
    let mut joined = Vec::new();
    for (at, raw) in items(content).unwrap_or_default().into_iter().enumerate() {
        let block = Object::parse(raw.get()).unwrap_or_default();
        match block.string("text") {
            Some(text) => joined.push(text.inner()),
            None => files.push((at, block)),
        }
    }
    format!("\"{}\"", joined.join("\\n"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn contents(upstream: &str, messages: Value) -> (Value, Vec<usize>) {
        let body = json!({"messages": messages}).to_string();
        let body = Object::parse(&body).expect("an object");
        let contents = Contents::write(&body, Model { name: upstream }).expect("accepted");
        (serde_json::from_str(&contents.json).expect("JSON"), contents.sent)
    }

    /// Without it Google refuses the second request of a tool loop: a signature is missing, or stands elsewhere.
    #[test]
    fn signatures_go_back_to_their_parts_in_any_order() {
        let thinking = |text: &str, signature: &str| json!({"type": "thinking", "thinking": text, "signature": signature});
        let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "f", "input": {}});
        let text = json!({"type": "text", "text": "so"});
        let sent = |blocks: Vec<Value>| {
            contents("gemini-3-pro", json!([{"role": "assistant", "content": blocks}])).0[0]["parts"].clone()
        };
        let function = |id: &str| json!({"functionCall": {"id": id, "name": "f", "args": {}}});
        let signed = |mut part: Value, signature: &str| {
            part["thoughtSignature"] = signature.into();
            part
        };
        let expected = json!([
            signed(json!({"text": "hm", "thought": true}), "H"),
            signed(json!({"text": "so"}), "T"),
            signed(function("1"), "A"),
            signed(function("2"), "B"),
        ]);
        let signatures = [
            thinking("hm", "google:h:H"),
            thinking("", "google:t:T"),
            thinking("", "google:c0:A"),
            thinking("", "google:c1:B"),
        ];
        let first: Vec<Value> =
            signatures.iter().cloned().chain([text.clone(), call("1"), call("2")]).collect();
        assert_eq!(sent(first), expected);
        let [h, t, a, b] = signatures;
        assert_eq!(sent(vec![h, t, text, a, call("1"), b, call("2")]), expected);
        // A history of another model has none, or foreign ones.
        let unsigned = json!([signed(function("1"), UNSIGNED), function("2")]);
        assert_eq!(sent(vec![thinking("hm", "EqQB"), call("1"), call("2")]), unsigned);
        let early = contents("gemini-2.5-pro", json!([{"role": "assistant", "content": [call("1")]}])).0;
        assert_eq!(early[0]["parts"], json!([function("1")]));
    }

    #[test]
    fn a_result_names_its_function_and_an_id_that_google_gave() {
        let made = format!("{MADE_ID}1_0");
        let (found, sent) = contents(
            "gemini-2.5-pro",
            json!([
                {"role": "user", "content": ""},
                {"role": "assistant", "content": [
                    {"type": "tool_use", "id": "g1", "name": "weather", "input": {"city": "Oslo"}},
                    {"type": "tool_use", "id": made, "name": "time", "input": {}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "g1", "content": [
                        {"type": "text", "text": "a"},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "blob:1:base64"}},
                        {"type": "text", "text": "b"},
                    ]},
                    {"type": "tool_result", "tool_use_id": made, "content": "late", "is_error": true},
                    {"type": "text", "text": "and?"},
                ]},
            ]),
        );
        let expected = json!([
            {"role": "model", "parts": [
                {"functionCall": {"id": "g1", "name": "weather", "args": {"city": "Oslo"}}},
                {"functionCall": {"name": "time", "args": {}}},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"id": "g1", "name": "weather", "response": {"output": "a\nb"}}},
                {"inlineData": {"mimeType": "image/png", "data": "blob:1:base64"}},
                {"functionResponse": {"name": "time", "response": {"error": "late"}}},
                {"text": "and?"},
            ]},
        ]);
        assert_eq!((found, sent), (expected, vec![1, 2]));
    }

    #[test]
    fn files_are_sent_as_bytes_or_as_an_address() {
        let file = |source: Value| {
            let block = json!({"type": "document", "source": source});
            contents("m", json!([{"role": "user", "content": [block]}])).0[0]["parts"].clone()
        };
        assert_eq!(
            file(json!({"type": "url", "url": "https://a.example/b.PDF?c=d.png"})),
            json!([{"fileData": {"mimeType": "application/pdf", "fileUri": "https://a.example/b.PDF?c=d.png"}}])
        );
        assert_eq!(
            file(json!({"type": "url", "url": "https://a.example/b"})),
            json!([{"fileData": {"fileUri": "https://a.example/b"}}])
        );
        assert_eq!(
            file(json!({"type": "text", "media_type": "text/plain", "data": "x"})),
            json!([{"text": "x"}])
        );
        let blocks = json!({"type": "content", "content": [{"type": "text", "text": "y"}]});
        assert_eq!(file(blocks), json!([{"text": "y"}]));
    }
}
