//! The conversation as Messages writes it: user and assistant messages alternate, each an array of blocks.
//! Tool results become blocks of the user message that follows.

use std::collections::{BTreeMap, VecDeque};

use serde_json::value::RawValue;

use gatehouse_text_protocols::broken_json;
use gatehouse_text_protocols::check::{Checked, instead};
use gatehouse_text_protocols::field_names::MessagePaths;
use gatehouse_text_protocols::json::{JsonString, Object, Writer, quote, quoted};
use gatehouse_text_protocols::limits::{IMAGE_TYPES, no_prefill};
use gatehouse_text_protocols::path::Path;
use gatehouse_text_protocols::prefill;
use gatehouse_text_protocols::rules::{Prefill, Rules};
use gatehouse_text_protocols::tool_ids::{self, DistinctIds};

use super::to_messages::fitted_name;
use crate::request::messages::{Assistant, Message, ToolCall};
use crate::request::parts::{Content, Part, PartKind, Source, wrong_media};

/// Expected in place of a custom tool, which is called with free text.
pub(crate) const ONLY_FUNCTIONS: &str = "`function`, the only kind this model calls";

/// The messages, written.
#[derive(Default)]
pub(crate) struct Conversation<'a> {
    /// The array of messages.
    pub(crate) json: String,
    /// Texts of `system` and `developer` messages, with their `cache_control`.
    system: Vec<(JsonString<'a>, Option<&'a RawValue>)>,
    role: Option<&'static str>,
    /// Where each message came from.
    pub(crate) places: Vec<MessagePaths>,
    /// The client's paths of the message and of its part that is written next.
    at: (String, String),
    /// Ids of calls so far.
    ids: DistinctIds,
    /// Calls of the last message of the model that have no result yet: the client's ids, and those that are sent.
    open: Vec<(String, String)>,
    /// What of the answer the client has already.
    pub(crate) lead: String,
    /// The model is told to begin with it.
    pub(crate) is_told: bool,
}

impl<'a> Conversation<'a> {
    pub(crate) fn write(messages: &[Message<'a>], rules: &Rules) -> Checked<Self> {
        let mut conversation = Self { json: "[".to_owned(), ..Self::default() };
        let child = Path::BRACKETED.key("messages");
        let (before, last) = match messages.split_last() {
            Some((Message::Assistant(last), before)) => (before, Some(last)),
            _ => (messages, None),
        };
        let mut at = 0;
        while at < before.len() {
            conversation.message(&child.index(at), &before[at], rules)?;
            at += 1;
            if !conversation.open.is_empty() {
                let follows =
                    before[at..].iter().take_while(|message| !matches!(message, Message::Assistant(_)));
                let end = at + follows.count();
                if end < before.len() || last.is_some() || at < end {
                    conversation.after_calls(&child, at, &before[at..end], rules)?;
                }
                at = end;
            }
        }
        if let Some(last) = last {
            conversation.end(&child.index(before.len()), last, rules)?;
        }
        // What the system prompt says is asked where nobody else says anything: OpenAI's models answer that, and Messages has no
        // request without a message of the user.
        if conversation.role.is_none() {
            for (text, cache) in std::mem::take(&mut conversation.system) {
                conversation.text("user", text, cache);
            }
        }
        if conversation.role.is_none() {
            return Err(instead(&child, "at least one message of a user that is not empty", "none"));
        }
        conversation.json.push_str("]}]");
        Ok(conversation)
    }

    /// What follows a message that calls tools, up to the next one of the model. A provider takes one result for each call, and
    /// takes them first; a history that lacks one, or has one twice, would be refused on every further turn.
    fn after_calls(
        &mut self,
        child: &Path<'_>,
        first: usize,
        follows: &[Message<'a>],
        rules: &Rules,
    ) -> Checked<()> {
        let open = std::mem::take(&mut self.open);
        let mut waiting: BTreeMap<&str, VecDeque<usize>> = BTreeMap::new();
        for (at, (own, _)) in open.iter().enumerate() {
            waiting.entry(own).or_default().push_back(at);
        }
        let mut has_result = vec![false; open.len()];
        let mut is_result = vec![false; follows.len()];
        for (at, message) in follows.iter().enumerate() {
            let Message::Tool { call, content } = message else { continue };
            let known = waiting.get_mut(call.decoded().as_ref()).and_then(VecDeque::pop_front);
            let Some(known) = known else { continue };
            (is_result[at], has_result[known]) = (true, true);
            let path = child.index(first + at);
            self.begin(&path);
            self.result(&path, &open[known].1, content)?;
        }
        for ((_, id), _) in open.iter().zip(has_result).filter(|(_, has_result)| !has_result) {
            let block = format!(
                "{{\"type\":\"tool_result\",\"tool_use_id\":{},\"content\":{NO_RESULT}}}",
                quoted(id)
            );
            self.block("user").push_str(&block);
        }
        let mut others = follows.iter().enumerate().filter(|(at, _)| !is_result[*at]);
        others.try_for_each(|(at, message)| self.message(&child.index(first + at), message, rules))
    }

    /// A final assistant message, which the answer is to go on from.
    fn end(&mut self, path: &Path<'_>, message: &Assistant<'a>, rules: &Rules) -> Checked<()> {
        self.begin(path);
        let text = final_text(message);
        match rules.prefill {
            Prefill::Native => {
                self.assistant(path, message, rules, true)?;
                self.lead = text[text.trim_end().len()..].to_owned();
            }
            Prefill::Emulate if message.calls.is_empty() && !message.function_call => {
                if !text.trim().is_empty() {
                    let told = quoted(&prefill::instruction(text.trim_end()));
                    let block = format!("{{\"type\":\"text\",\"text\":{told}}}");
                    self.block("user").push_str(&block);
                    self.is_told = true;
                }
                self.lead = text;
            }
            Prefill::Emulate | Prefill::Refuse => {
                self.assistant(path, message, rules, true)?;
                return Err(no_prefill());
            }
        }
        Ok(())
    }

    /// The system prompt: one text, or blocks where one of them is to be cached.
    pub(crate) fn system(&self, instruction: Option<&str>) -> Option<String> {
        let texts = || self.system.iter().filter(|(text, _)| !text.is_blank());
        if texts().any(|(_, cache)| cache.is_some()) {
            let blocks = texts().map(|(text, cache)| text_block(text.quoted(), *cache));
            let added = instruction.map(|added| format!("{{\"type\":\"text\",\"text\":{}}}", quoted(added)));
            return Some(format!("[{}]", blocks.chain(added).collect::<Vec<_>>().join(",")));
        }
        let added = instruction.map(quoted);
        let added = added.iter().map(|text| &text[1..text.len() - 1]);
        let all: Vec<&str> = texts().map(|(text, _)| text.inner()).chain(added).collect();
        (!all.is_empty()).then(|| format!("\"{}\"", all.join("\\n")))
    }

    fn message(&mut self, path: &Path<'_>, message: &Message<'a>, rules: &Rules) -> Checked<()> {
        self.begin(path);
        match message {
            Message::System(Content::Text(text)) => self.system.push((*text, None)),
            Message::System(Content::Parts(parts)) => {
                let texts = parts.iter().filter_map(|part| match part.kind {
                    PartKind::Text(text) => Some((text, part.cache)),
                    _ => None,
                });
                self.system.extend(texts);
            }
            Message::User(content) => self.content(path, "user", content)?,
            Message::Assistant(message) => self.assistant(path, message, rules, false)?,
            // The call that it is of is not there: it is told as a text.
            Message::Tool { content, .. } => {
                let texts = content.text();
                if !texts.trim().is_empty() {
                    let block = text_block(&quoted(&format!("{LOST_CALL}{texts}")), None);
                    self.block("user").push_str(&block);
                }
                let parts = if let Content::Parts(parts) = content { parts.as_slice() } else { &[] };
                for (at, part) in parts.iter().enumerate() {
                    if !matches!(part.kind, PartKind::Text(_)) {
                        self.part(&path.key("content").index(at), "user", part)?;
                    }
                }
            }
            Message::Function => {
                return Err(instead(
                    &path.key("role"),
                    "`tool`, this model takes functions as `tools` only",
                    "the string \"function\"",
                ));
            }
        }
        Ok(())
    }

    /// The buffer for the next block of `role`; begins a message when the role changes.
    fn block(&mut self, role: &'static str) -> &mut String {
        let (message, part) = self.at.clone();
        if self.role != Some(role) {
            self.places.push(MessagePaths { own: message.clone(), parts: Vec::new() });
        }
        if let Some(place) = self.places.last_mut() {
            if place.own != message {
                place.own.clear();
            }
            place.parts.push(part);
        }
        if self.role == Some(role) {
            self.json.push(',');
        } else {
            if self.role.is_some() {
                self.json.push_str("]},");
            }
            self.role = Some(role);
            self.json.push_str("{\"role\":\"");
            self.json.push_str(role);
            self.json.push_str("\",\"content\":[");
        }
        &mut self.json
    }

    /// What is written next came from that message.
    fn begin(&mut self, path: &Path<'_>) {
        self.at = (path.to_string(), path.to_string());
    }

    /// Leaves out a text that says nothing, which Messages refuses.
    fn text(&mut self, role: &'static str, text: JsonString<'_>, cache: Option<&RawValue>) {
        if !text.is_blank() {
            let block = text_block(text.quoted(), cache);
            self.block(role).push_str(&block);
        }
    }

    fn content(&mut self, path: &Path<'_>, role: &'static str, content: &Content<'a>) -> Checked<()> {
        match content {
            Content::Text(text) => self.text(role, *text, None),
            Content::Parts(parts) => {
                for (at, part) in parts.iter().enumerate() {
                    let child = path.key("content");
                    let child = child.index(at);
                    self.at.1 = match part.kind {
                        PartKind::Image(_) => child.key("image_url").key("url").to_string(),
                        PartKind::File { .. } => child.key("file").key("file_data").to_string(),
                        _ => child.to_string(),
                    };
                    self.part(&child, role, part)?;
                }
            }
        }
        Ok(())
    }

    fn part(&mut self, path: &Path<'_>, role: &'static str, part: &Part<'a>) -> Checked<()> {
        let block = match &part.kind {
            PartKind::Text(text) | PartKind::Refusal(text) => {
                self.text(role, *text, part.cache);
                return Ok(());
            }
            PartKind::Image(source) => image_block(path, source, part.cache)?,
            PartKind::File { source: Some(source), name } => document_block(path, source, *name, part.cache)?,
            PartKind::File { source: None, .. } => {
                return Err(instead(
                    &path.key("file").key("file_data"),
                    "a base64 `data:` URI of a PDF",
                    "a `file_id`",
                ));
            }
            PartKind::Audio => {
                return Err(instead(
                    &path.key("type"),
                    "text, images or files, this model does not listen",
                    "the string \"input_audio\"",
                ));
            }
        };
        self.block(role).push_str(&block);
        Ok(())
    }

    /// `is_last` leaves out the white space that ends the text: a provider does not go on from it.
    fn assistant(
        &mut self,
        path: &Path<'_>,
        message: &Assistant<'a>,
        rules: &Rules,
        is_last: bool,
    ) -> Checked<()> {
        if message.function_call {
            let expected = "nothing, this model takes functions as `tools` only";
            return Err(instead(&path.key("function_call"), expected, "an object"));
        }
        for (raw, members) in message.thinking.iter().filter(|_| rules.thinks()) {
            let block =
                if members.occurrences("index") == 0 { raw.get().to_owned() } else { without_index(members) };
            self.block("assistant").push_str(&block);
        }
        if is_last && message.calls.is_empty() {
            let text = final_text(message);
            if !text.trim().is_empty() {
                let block = text_block(&quoted(text.trim_end()), None);
                self.block("assistant").push_str(&block);
            }
        } else if let Some(content) = &message.content {
            self.content(path, "assistant", content)?;
        } else if let Some(refusal) = message.refusal {
            self.text("assistant", refusal, None);
        }
        for (at, call) in message.calls.iter().enumerate() {
            let child = path.key("tool_calls");
            let child = child.index(at);
            let ToolCall::Function { id, name, arguments, cache } = call else {
                return Err(instead(&child.key("type"), ONLY_FUNCTIONS, "the string \"custom\""));
            };
            let input = match arguments.map(|raw| (raw, JsonString::of(raw))) {
                Some((_, Some(text))) => broken_json::object(&text.decoded()),
                Some((raw, None)) => raw.get().to_owned(),
                None => "{}".to_owned(),
            };
            let id = self.fresh(*id);
            let mut out = Writer::new(input.len() + 96);
            out.member("type", "\"tool_use\"");
            out.string("id", &id);
            out.member("name", &fitted_name(*name));
            out.member("input", &input);
            out.optional("cache_control", *cache);
            let block = out.done();
            self.at.1 = child.to_string();
            self.block("assistant").push_str(&block);
        }
        Ok(())
    }

    /// The id of a call as it is sent; one that was there already is another one.
    fn fresh(&mut self, id: JsonString<'_>) -> String {
        let own = id.decoded().into_owned();
        let fresh = self.ids.next(&tool_ids::fitted(&own));
        self.open.push((own, fresh.clone()));
        fresh
    }

    fn result(&mut self, path: &Path<'_>, id: &str, content: &Content<'_>) -> Checked<()> {
        let mut out = Writer::new(128);
        out.member("type", "\"tool_result\"");
        out.string("tool_use_id", id);
        let mut cache = None;
        match content {
            content if content.is_blank() => out.member("content", "\"\""),
            Content::Text(text) => out.member("content", text.quoted()),
            Content::Parts(parts) => {
                let mut blocks = Vec::new();
                for (at, part) in parts.iter().enumerate() {
                    match &part.kind {
                        PartKind::Text(text) if !text.is_blank() => {
                            blocks.push(text_block(text.quoted(), None));
                        }
                        PartKind::Image(source) => {
                            blocks.push(image_block(&path.key("content").index(at), source, None)?);
                        }
                        _ => {}
                    }
                }
                out.member("content", &format!("[{}]", blocks.join(",")));
                cache = parts.iter().rev().find_map(|part| part.cache);
            }
        }
        out.optional("cache_control", cache);
        let block = out.done();
        self.block("user").push_str(&block);
        Ok(())
    }
}

/// In place of the result that a call does not have, JSON.
const NO_RESULT: &str = "\"(no result)\"";
/// Before the result of a call that is not in the conversation.
const LOST_CALL: &str = "Result of an earlier tool call: ";

/// A thinking block without the `index` this family adds in a stream.
fn without_index(members: &Object<'_>) -> String {
    let mut out = Writer::new(256);
    out.members(members.iter().filter(|(name, _)| *name != "index"));
    out.done()
}

/// All text of a final message of the model.
fn final_text(message: &Assistant<'_>) -> String {
    match &message.content {
        Some(content) => content.text(),
        None => message.refusal.map(JsonString::decoded).unwrap_or_default().into_owned(),
    }
}

/// A block of a text that is JSON already.
fn text_block(text: &str, cache: Option<&RawValue>) -> String {
    let mut out = Writer::new(text.len() + 64);
    out.member("type", "\"text\"");
    out.member("text", text);
    out.optional("cache_control", cache);
    out.done()
}

fn image_block(path: &Path<'_>, source: &Source<'_>, cache: Option<&RawValue>) -> Checked<String> {
    let refused = || wrong_media(&path.key("image_url").key("url"), "a JPEG, PNG, GIF or WebP image", source);
    // Many clients write the type of a JPEG after its file ending.
    let known = |mime: &str| {
        let mime = if mime.eq_ignore_ascii_case("image/jpg") { "image/jpeg" } else { mime };
        IMAGE_TYPES.into_iter().find(|known| known.eq_ignore_ascii_case(mime))
    };
    let inner = match source {
        Source::Url(url) => format!("{{\"type\":\"url\",\"url\":{}}}", quoted(url)),
        Source::Data { mime, base64 } => base64_source(known(mime).ok_or_else(refused)?, base64),
        Source::Blob { mime, blob } => {
            base64_source(known(mime).ok_or_else(refused)?, &format!("{blob}:base64"))
        }
    };
    Ok(media_block("image", &inner, None, cache))
}

fn document_block(
    path: &Path<'_>,
    source: &Source<'_>,
    name: Option<JsonString<'_>>,
    cache: Option<&RawValue>,
) -> Checked<String> {
    const PDF: &str = "application/pdf";
    let refused = || wrong_media(&path.key("file").key("file_data"), "a base64 `data:` URI of a PDF", source);
    let inner = match source {
        Source::Data { mime, base64 } if mime.eq_ignore_ascii_case(PDF) => base64_source(PDF, base64),
        Source::Blob { mime, blob } if mime == PDF => base64_source(PDF, &format!("{blob}:base64")),
        _ => return Err(refused()),
    };
    Ok(media_block("document", &inner, name, cache))
}

fn base64_source(mime: &str, data: &str) -> String {
    let mut out = Writer::new(data.len() + 64);
    out.member("type", "\"base64\"");
    quote(mime, out.name("media_type"));
    quote(data, out.name("data"));
    out.done()
}

fn media_block(kind: &str, source: &str, title: Option<JsonString<'_>>, cache: Option<&RawValue>) -> String {
    let mut out = Writer::new(source.len() + 64);
    quote(kind, out.name("type"));
    out.member("source", source);
    if let Some(title) = title.filter(|title| !title.is_empty()) {
        out.member("title", title.quoted());
    }
    out.optional("cache_control", cache);
    out.done()
}
