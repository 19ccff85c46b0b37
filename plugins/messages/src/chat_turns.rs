//! Turns of Messages as messages of Chat: results of tools come first and alone, pictures inside them follow
//! in a user message, and an assistant's text and calls stay in one message.

use std::borrow::Cow;

use gatehouse_sdk::{Refusal, TextRequest};
use serde::Serialize;

use crate::blocks::{Block, Role, Source, Turn, blob};
use crate::open_chat::{Called, File, Link, Message, Part, ToolCall, UserContent, speechless};
use crate::raw::{Raw, inner, text};
use crate::request::Request;
use crate::rules::Rules;

/// A text: as the client wrote it, or put together from several.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Words<'a> {
    Raw(Raw<'a>),
    Made(Cow<'a, str>),
}

/// All of them.
pub(crate) fn messages<'a>(
    request: &Request<'a>,
    inquiry: &TextRequest,
    rules: &Rules,
) -> Result<Vec<Message<'a>>, Refusal> {
    let mut out = Vec::with_capacity(request.turns.len() + 1);
    if !request.system.is_empty() {
        out.push(Message::System { content: joined(&request.system) });
    }
    for (index, turn) in request.turns.iter().enumerate() {
        match turn.role {
            Role::User => user(index, turn, &mut out)?,
            Role::Assistant => out.push(assistant(index, turn, inquiry, rules)?),
        }
    }
    Ok(out)
}

fn user<'a>(index: usize, turn: &Turn<'a>, out: &mut Vec<Message<'a>>) -> Result<(), Refusal> {
    let mut parts = Vec::new();
    let mut shown = Vec::new();
    for block in &turn.blocks {
        let Block::ToolResult { id, blocks, failed } = block else {
            parts.push(part(index, block)?);
            continue;
        };
        let mut texts = Vec::new();
        for block in blocks {
            match part(index, block)? {
                Part::Text { text } => texts.push(text),
                other => shown.push(other),
            }
        }
        let content = match (failed, joined(&texts)) {
            (false, words) => words,
            (true, words) => Words::Made(format!("Error: {}", words.text()).into()),
        };
        out.push(Message::Tool { tool_call_id: id, content });
    }
    shown.append(&mut parts);
    if !shown.is_empty() {
        out.push(Message::User { content: user_content(shown) });
    }
    Ok(())
}

/// One text where there is nothing else: not every clone reads parts.
fn user_content(parts: Vec<Part<'_>>) -> UserContent<'_> {
    let texts: Option<Vec<Raw<'_>>> = parts
        .iter()
        .map(|part| match part {
            Part::Text { text } => Some(*text),
            Part::ImageUrl { .. } | Part::File { .. } => None,
        })
        .collect();
    match texts {
        Some(texts) => UserContent::Words(joined(&texts)),
        None => UserContent::Parts(parts),
    }
}

fn part<'a>(index: usize, block: &Block<'a>) -> Result<Part<'a>, Refusal> {
    match block {
        Block::Text(text) => Ok(Part::Text { text }),
        Block::Image(Source::Base64 { media_type, data }) => {
            Ok(Part::ImageUrl { image_url: Link { url: data_uri(media_type, data) } })
        }
        Block::Image(Source::Url(url)) => Ok(Part::ImageUrl { image_url: Link { url: Words::Raw(url) } }),
        Block::Document(Source::Text(text)) => Ok(Part::Text { text }),
        Block::Document(Source::Base64 { media_type, data }) => {
            Ok(Part::File { file: File { filename: "document.pdf", file_data: data_uri(media_type, data) } })
        }
        other => Err(speechless(index, &named(other))),
    }
}

/// A block in the words of its author.
fn named(block: &Block<'_>) -> String {
    match block {
        Block::Text(_) => "a `text` block".to_owned(),
        Block::Image(Source::Other(kind)) => format!("a picture whose source is a `{kind}`"),
        Block::Image(_) => "an `image` block".to_owned(),
        Block::Document(Source::Other(kind)) => format!("a document whose source is a `{kind}`"),
        Block::Document(_) => "a document by its URL".to_owned(),
        Block::Thinking(_) => "a `thinking` block".to_owned(),
        Block::Redacted => "a `redacted_thinking` block".to_owned(),
        Block::ToolUse { .. } => "a `tool_use` block".to_owned(),
        Block::ToolResult { .. } => "a `tool_result` block".to_owned(),
        Block::Other(kind) => format!("a `{kind}` block"),
    }
}

fn assistant<'a>(
    index: usize,
    turn: &Turn<'a>,
    inquiry: &TextRequest,
    rules: &Rules,
) -> Result<Message<'a>, Refusal> {
    let (mut texts, mut thoughts, mut tool_calls) = (Vec::new(), Vec::new(), Vec::new());
    for block in &turn.blocks {
        match block {
            Block::Text(text) => texts.push(*text),
            Block::Thinking(thought) => thoughts.push(*thought),
            Block::Redacted => {}
            Block::ToolUse { id, name, input } => {
                if embeds(input, inquiry) {
                    return Err(speechless(index, "a file inside a tool's `input`"));
                }
                let function = Called { name, arguments: input.get() };
                tool_calls.push(ToolCall { id, kind: "function", function });
            }
            other => return Err(speechless(index, &named(other))),
        }
    }
    let reasons = rules.reasoning_history && !thoughts.is_empty();
    let silent = texts.is_empty() && !tool_calls.is_empty();
    Ok(Message::Assistant {
        content: (!silent).then(|| joined(&texts)),
        reasoning_content: reasons.then(|| joined(&thoughts)),
        tool_calls,
    })
}

/// Whether the host has cut a file out of it: a reference inside quoted JSON would not be put back.
fn embeds(input: Raw<'_>, inquiry: &TextRequest) -> bool {
    let names = inquiry.blobs.iter().filter_map(|facts| facts.blob.as_deref());
    names.into_iter().any(|name| input.get().contains(name))
}

/// A `data:` URI; what the host has cut out becomes one when it is sent.
fn data_uri<'a>(media_type: Raw<'a>, data: Raw<'a>) -> Words<'a> {
    if blob(data).is_some() {
        return Words::Raw(data);
    }
    let written = |raw: Raw<'a>| text(raw).unwrap_or_default();
    Words::Made(format!("data:{};base64,{}", written(media_type), written(data)).into())
}

/// Several texts as one, a line each.
fn joined<'a>(texts: &[Raw<'a>]) -> Words<'a> {
    match texts {
        [] => Words::Made("".into()),
        [one] => Words::Raw(one),
        several => {
            let texts: Vec<Cow<'_, str>> = several.iter().map(|raw| read(raw)).collect();
            Words::Made(texts.join("\n").into())
        }
    }
}

/// A text; with half a character in it, as it was written.
fn read(raw: Raw<'_>) -> Cow<'_, str> {
    text(raw).unwrap_or_else(|| inner(raw).into())
}

impl Words<'_> {
    fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Raw(raw) => read(raw),
            Self::Made(text) => Cow::Borrowed(text),
        }
    }
}
