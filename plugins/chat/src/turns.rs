//! The conversation in the messages protocol: two roles that take turns, each turn an array of blocks.
//! Answers of tools become a user's blocks, and join the turn of the user who speaks next.

use serde_json::value::RawValue;

use crate::json::{Object, Text, Writer, quote, quoted};
use crate::messages::{Assistant, Message, ToolCall};
use crate::parts::{Content, Part, Source, What, unfit};
use crate::read::{Checked, Path, in_these_words, instead, wrong};
use crate::rules::Rules;
use crate::translate::{ONLY_FUNCTIONS, tool_id};

const PICTURES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// The turns, written.
pub(crate) struct Turns<'a> {
    /// The array of messages.
    pub(crate) json: String,
    /// Texts of `system` and `developer`, with their wish to be cached.
    system: Vec<(Text<'a>, Option<&'a RawValue>)>,
    role: Option<&'static str>,
}

impl<'a> Turns<'a> {
    pub(crate) fn write(messages: &[Message<'a>], rules: &Rules) -> Checked<Self> {
        let mut turns = Self { json: "[".to_owned(), system: Vec::new(), role: None };
        let place = Path::Root.key("messages");
        for (at, message) in messages.iter().enumerate() {
            turns.message(&place.index(at), message, rules)?;
        }
        if turns.role.is_none() {
            return Err(instead(&place, "at least one message of a user that is not empty", "none"));
        }
        turns.json.push_str("]}]");
        if turns.role == Some("assistant") && !rules.prefill {
            return Err(in_these_words(
                "messages",
                "This model does not support assistant message prefill. The conversation must end with a user \
                 message.",
            ));
        }
        Ok(turns)
    }

    /// The system prompt: one text, or blocks where one of them is to be cached.
    pub(crate) fn system(&self, instruction: Option<&str>) -> Option<String> {
        let texts = || self.system.iter().filter(|(text, _)| !text.is_empty());
        if texts().any(|(_, cache)| cache.is_some()) {
            let blocks = texts().map(|(text, cache)| block_of_text(*text, *cache));
            let added = instruction.map(|added| format!("{{\"type\":\"text\",\"text\":{}}}", quoted(added)));
            return Some(format!("[{}]", blocks.chain(added).collect::<Vec<_>>().join(",")));
        }
        let added = instruction.map(quoted);
        let added = added.iter().map(|text| &text[1..text.len() - 1]);
        let all: Vec<&str> = texts().map(|(text, _)| text.inner()).chain(added).collect();
        (!all.is_empty()).then(|| format!("\"{}\"", all.join("\\n")))
    }

    fn message(&mut self, path: &Path<'_>, message: &Message<'a>, rules: &Rules) -> Checked<()> {
        match message {
            Message::System(Content::Text(text)) => self.system.push((*text, None)),
            Message::System(Content::Parts(parts)) => {
                let texts = parts.iter().filter_map(|part| match part.what {
                    What::Text(text) => Some((text, part.cache)),
                    _ => None,
                });
                self.system.extend(texts);
            }
            Message::User(content) => self.content(path, "user", content)?,
            Message::Assistant(said) => self.assistant(path, said, rules)?,
            Message::Tool { call, content } => self.result(*call, content),
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

    /// Where the next block of `role` is to be written.
    fn block(&mut self, role: &'static str) -> &mut String {
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

    /// Empty texts are left out: that protocol has none.
    fn text(&mut self, role: &'static str, text: Text<'_>, cache: Option<&RawValue>) {
        if !text.is_empty() {
            let block = block_of_text(text, cache);
            self.block(role).push_str(&block);
        }
    }

    fn content(&mut self, path: &Path<'_>, role: &'static str, content: &Content<'a>) -> Checked<()> {
        match content {
            Content::Text(text) => self.text(role, *text, None),
            Content::Parts(parts) => {
                for (at, part) in parts.iter().enumerate() {
                    self.part(&path.key("content").index(at), role, part)?;
                }
            }
        }
        Ok(())
    }

    fn part(&mut self, path: &Path<'_>, role: &'static str, part: &Part<'a>) -> Checked<()> {
        let block = match &part.what {
            What::Text(text) | What::Refusal(text) => {
                self.text(role, *text, part.cache);
                return Ok(());
            }
            What::Image(source) => picture(path, source, part.cache)?,
            What::File { source: Some(source), name } => document(path, source, *name, part.cache)?,
            What::File { source: None, .. } => {
                return Err(instead(
                    &path.key("file").key("file_data"),
                    "a base64 `data:` URI of a PDF",
                    "a `file_id`",
                ));
            }
            What::Audio => {
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

    fn assistant(&mut self, path: &Path<'_>, said: &Assistant<'a>, rules: &Rules) -> Checked<()> {
        if said.function {
            let expected = "nothing, this model takes functions as `tools` only";
            return Err(instead(&path.key("function_call"), expected, "an object"));
        }
        for (raw, members) in said.thinking.iter().filter(|_| rules.thinks()) {
            let block = if members.count("index") == 0 { raw.get().to_owned() } else { unnumbered(members) };
            self.block("assistant").push_str(&block);
        }
        if let Some(content) = &said.content {
            self.content(path, "assistant", content)?;
        } else if let Some(refusal) = said.refusal {
            self.text("assistant", refusal, None);
        }
        for (at, call) in said.calls.iter().enumerate() {
            let place = path.key("tool_calls");
            let place = place.index(at);
            let ToolCall::Function { id, name, arguments } = call else {
                return Err(instead(&place.key("type"), ONLY_FUNCTIONS, "the string \"custom\""));
            };
            let input = input(&place.key("function").key("arguments"), *arguments)?;
            let mut out = Writer::new(input.len() + 96);
            out.member("type", "\"tool_use\"");
            out.member("id", &tool_id(*id));
            out.member("name", name.quoted());
            out.member("input", &input);
            let block = out.done();
            self.block("assistant").push_str(&block);
        }
        Ok(())
    }

    fn result(&mut self, call: Text<'_>, content: &Content<'_>) {
        let mut out = Writer::new(128);
        out.member("type", "\"tool_result\"");
        out.member("tool_use_id", &tool_id(call));
        let mut cache = None;
        match content {
            Content::Text(text) => out.member("content", text.quoted()),
            Content::Parts(parts) => {
                let texts = parts.iter().filter_map(|part| match part.what {
                    What::Text(text) if !text.is_empty() => Some(block_of_text(text, None)),
                    _ => None,
                });
                out.member("content", &format!("[{}]", texts.collect::<Vec<_>>().join(",")));
                cache = parts.iter().rev().find_map(|part| part.cache);
            }
        }
        if let Some(cache) = cache {
            out.member("cache_control", cache.get());
        }
        let block = out.done();
        self.block("user").push_str(&block);
    }
}

/// A block of thinking without its place in a stream, which is our own addition.
fn unnumbered(members: &Object<'_>) -> String {
    let mut out = Writer::new(256);
    for (name, raw) in members.iter().filter(|(name, _)| *name != "index") {
        out.member(name, raw.get());
    }
    out.done()
}

fn block_of_text(text: Text<'_>, cache: Option<&RawValue>) -> String {
    let mut out = Writer::new(text.quoted().len() + 64);
    out.member("type", "\"text\"");
    out.member("text", text.quoted());
    if let Some(cache) = cache {
        out.member("cache_control", cache.get());
    }
    out.done()
}

fn picture(path: &Path<'_>, source: &Source<'_>, cache: Option<&RawValue>) -> Checked<String> {
    let refused = || unfit(&path.key("image_url").key("url"), "a JPEG, PNG, GIF or WebP image", source);
    // Many write the type of a JPEG by the ending of its file.
    let known = |mime: &str| {
        let mime = if mime.eq_ignore_ascii_case("image/jpg") { "image/jpeg" } else { mime };
        PICTURES.into_iter().find(|known| known.eq_ignore_ascii_case(mime))
    };
    let inner = match source {
        Source::Url(url) => format!("{{\"type\":\"url\",\"url\":{}}}", url.quoted()),
        Source::Data { mime, base64 } => embedded(known(mime).ok_or_else(refused)?, base64),
        Source::Blob { mime, blob } => embedded(known(mime).ok_or_else(refused)?, &format!("{blob}:base64")),
    };
    Ok(sourced("image", &inner, None, cache))
}

fn document(
    path: &Path<'_>,
    source: &Source<'_>,
    name: Option<Text<'_>>,
    cache: Option<&RawValue>,
) -> Checked<String> {
    const PDF: &str = "application/pdf";
    let refused = || unfit(&path.key("file").key("file_data"), "a base64 `data:` URI of a PDF", source);
    let inner = match source {
        Source::Data { mime, base64 } if mime.eq_ignore_ascii_case(PDF) => embedded(PDF, base64),
        // The host tells media apart, not documents.
        Source::Blob { mime, blob } if mime == PDF || mime == "application/octet-stream" => {
            embedded(PDF, &format!("{blob}:base64"))
        }
        _ => return Err(refused()),
    };
    Ok(sourced("document", &inner, name, cache))
}

fn embedded(mime: &str, data: &str) -> String {
    let mut out = Writer::new(data.len() + 64);
    out.member("type", "\"base64\"");
    quote(mime, out.name("media_type"));
    quote(data, out.name("data"));
    out.done()
}

fn sourced(kind: &str, source: &str, title: Option<Text<'_>>, cache: Option<&RawValue>) -> String {
    let mut out = Writer::new(source.len() + 64);
    quote(kind, out.name("type"));
    out.member("source", source);
    if let Some(title) = title.filter(|title| !title.is_empty()) {
        out.member("title", title.quoted());
    }
    if let Some(cache) = cache {
        out.member("cache_control", cache.get());
    }
    out.done()
}

/// The arguments of a call as the object they must be; none at all is the empty one.
fn input(path: &Path<'_>, arguments: Text<'_>) -> Checked<String> {
    let written = arguments.decoded();
    let json = written.trim();
    if json.is_empty() {
        return Ok("{}".to_owned());
    }
    let is_object = json.starts_with('{') && serde_json::from_str::<&RawValue>(json).is_ok();
    if !is_object {
        let came = serde_json::value::to_raw_value(json).ok();
        return Err(wrong(path, "JSON of an object", came.as_deref()));
    }
    Ok(json.to_owned())
}
