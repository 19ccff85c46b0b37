//! Content blocks of a request: their shapes, and what each counts.
//!
//! Knows a block's own rules; what blocks must be to one another is `turn`'s.

use serde_json::Value;

use super::refusal::Refusal;
use super::shape::{Judged, Shape, Ttl, one_of, wrong};
use crate::text::answer::words;
use crate::text::input_image::{self, Bad};

/// The largest image, decoded.
const MAX_IMAGE_BYTES: usize = 5 << 20;
const MAX_IMAGE_SIDE: u64 = 8000;
/// What counts that cannot be looked into.
const UNSEEN_TOKENS: u64 = 100;

const IMAGE_TYPES: &[&str] = &["image/jpeg", "image/png", "image/gif", "image/webp"];

/// Every tag, in the order the API lists them.
const TAGS: &[&str] = &[
    "document",
    "image",
    "redacted_thinking",
    "search_result",
    "server_tool_use",
    "text",
    "thinking",
    "tool_result",
    "tool_use",
    "web_search_tool_result",
];
const USER_TAGS: &[&str] = &["document", "image", "search_result", "text", "tool_result"];
const ASSISTANT_TAGS: &[&str] =
    &["redacted_thinking", "server_tool_use", "text", "thinking", "tool_use", "web_search_tool_result"];
/// What a tool's result may hold.
const RESULT_TAGS: &[&str] = &["document", "image", "search_result", "text"];

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Assistant,
    System,
    User,
}

impl Role {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Assistant => "assistant",
            Self::System => "system",
            Self::User => "user",
        }
    }
}

/// A block that passed.
#[derive(Clone, Debug)]
pub(super) struct Block<'a> {
    pub(super) value: &'a Value,
    pub(super) tag: &'static str,
    pub(super) content: Content<'a>,
    pub(super) tokens: u64,
    pub(super) ttl: Option<Ttl>,
}

/// What others have to know of it.
#[derive(Clone, Debug)]
pub(super) enum Content<'a> {
    Image(String),
    Other,
    Redacted(&'a str),
    Text(&'a str),
    Thinking { text: &'a str, signature: &'a str },
    ToolResult { id: &'a str, text: String, images: Vec<String> },
    ToolUse { id: &'a str },
}

/// Judges a block at `at`. `newer` is version 2026-10-21.
pub(super) fn judge<'a>(at: &str, value: &'a Value, role: Role, newer: bool) -> Judged<Block<'a>> {
    let shape = Shape::of(at, value)?;
    let tag = shape.tag(TAGS)?;
    let tag = TAGS.iter().find(|known| **known == tag).copied().unwrap_or_default();
    let shape = Shape { at: format!("{at}.{tag}"), ..shape };
    let allowed = match role {
        Role::Assistant => ASSISTANT_TAGS.contains(&tag) || (tag == "document" && !newer),
        Role::System => tag == "text",
        Role::User => USER_TAGS.contains(&tag),
    };
    if !allowed {
        let owner = if USER_TAGS.contains(&tag) { "user" } else { "assistant" };
        return Err(wrong(at, &format!("`{tag}` blocks can only be in `{owner}` messages")));
    }
    let (content, tokens) = match tag {
        "text" => text(&shape, newer && role == Role::User)?,
        "image" => picture(&shape)?,
        "document" => document(&shape)?,
        "thinking" => {
            shape.only(&["type", "thinking", "signature"])?;
            let (text, signature) = (shape.need_text("thinking")?, shape.need_text("signature")?);
            (Content::Thinking { text, signature }, words::count(text))
        }
        "redacted_thinking" => {
            shape.only(&["type", "data"])?;
            (Content::Redacted(shape.need_text("data")?), 1)
        }
        "tool_use" | "server_tool_use" => tool_use(&shape, tag)?,
        "tool_result" => tool_result(&shape, newer)?,
        _ => (Content::Other, words::count(&value.to_string())),
    };
    let ttl = if tag.ends_with("thinking") { None } else { shape.cache_control()? };
    Ok(Block { value, tag, content, tokens, ttl })
}

fn text<'a>(shape: &Shape<'a>, newer_user: bool) -> Judged<(Content<'a>, u64)> {
    shape.only(&["type", "text", "citations", "cache_control"])?;
    let text = shape.need_text("text")?;
    let citations = shape.list("citations")?;
    if newer_user && citations.is_some_and(|citations| !citations.is_empty()) {
        return Err(shape.wrong("citations", "Extra inputs are not permitted"));
    }
    if text.is_empty() {
        return Err(Refusal::invalid("messages: text content blocks must be non-empty"));
    }
    Ok((Content::Text(text), words::count(text)))
}

fn picture<'a>(shape: &Shape<'a>) -> Judged<(Content<'a>, u64)> {
    shape.only(&["type", "source", "cache_control"])?;
    let source = Shape::of(shape.path("source"), shape.need("source")?)?;
    let tag = source.tag(&["base64", "file", "url"])?;
    let source = Shape { at: format!("{}.{tag}", source.at), ..source };
    if tag != "base64" {
        return linked(&source, tag).map(|()| (Content::Image(format!("an image by {tag}")), UNSEEN_TOKENS));
    }
    source.only(&["type", "media_type", "data"])?;
    let (mime, data) = (source.need_text("media_type")?, source.need_text("data")?);
    if !IMAGE_TYPES.contains(&mime) {
        return Err(source.wrong("media_type", &one_of(IMAGE_TYPES)));
    }
    let seen = input_image::look(data).map_err(|bad| match bad {
        Bad::Base64 => wrong(&source.at, "invalid base64 data"),
        Bad::Broken | Bad::Kind => Refusal::invalid("Could not process image"),
    })?;
    if seen.mime != mime {
        let words = format!("Image does not match the provided media type {mime}");
        return Err(source.wrong("data", &words));
    }
    if seen.bytes > MAX_IMAGE_BYTES {
        let words = format!("image exceeds 5 MB maximum: {} bytes > {MAX_IMAGE_BYTES} bytes", seen.bytes);
        return Err(wrong(&source.at, &words));
    }
    if seen.width.max(seen.height) > MAX_IMAGE_SIDE {
        let words = "At least one of the image dimensions exceed max allowed size: 8000 pixels";
        return Err(source.wrong("data", words));
    }
    Ok((Content::Image(seen.name()), seen.tokens()))
}

fn linked(source: &Shape<'_>, tag: &str) -> Judged<()> {
    if tag == "file" {
        source.only(&["type", "file_id"])?;
        return source.need_text("file_id").map(drop);
    }
    source.only(&["type", "url"])?;
    let url = source.need_text("url")?;
    if url.starts_with("https://") || url.starts_with("http://") {
        return Ok(());
    }
    Err(source.wrong("url", "Only HTTPS URLs are supported."))
}

fn document<'a>(shape: &Shape<'a>) -> Judged<(Content<'a>, u64)> {
    shape.only(&["type", "source", "title", "context", "citations", "cache_control"])?;
    let source = Shape::of(shape.path("source"), shape.need("source")?)?;
    let tag = source.tag(&["base64", "content", "file", "text", "url"])?;
    let source = Shape { at: format!("{}.{tag}", source.at), ..source };
    match tag {
        "text" => {
            source.only(&["type", "media_type", "data"])?;
            source.word("media_type", &["text/plain"])?;
            Ok((Content::Other, words::count(source.need_text("data")?)))
        }
        "base64" => {
            source.only(&["type", "media_type", "data"])?;
            source.word("media_type", &["application/pdf"])?;
            if source.need_text("data")?.starts_with("JVBERi") {
                Ok((Content::Other, UNSEEN_TOKENS))
            } else {
                Err(source.wrong("data", "The PDF specified was not valid."))
            }
        }
        "content" => Ok((Content::Other, words::count(&source.need("content")?.to_string()))),
        _ => linked(&source, tag).map(|()| (Content::Other, UNSEEN_TOKENS)),
    }
}

fn tool_use<'a>(shape: &Shape<'a>, tag: &str) -> Judged<(Content<'a>, u64)> {
    shape.only(&["type", "id", "name", "input", "caller", "cache_control"])?;
    let (id, _) = (shape.need_text("id")?, shape.need_text("name")?);
    if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)) {
        return Err(shape.wrong("id", "String should match pattern '^[a-zA-Z0-9_-]+$'"));
    }
    let input = shape.need("input")?;
    if !input.is_object() {
        return Err(shape.wrong("input", "Input should be a valid dictionary"));
    }
    let content = if tag == "tool_use" { Content::ToolUse { id } } else { Content::Other };
    Ok((content, 1 + words::count(&input.to_string())))
}

fn tool_result<'a>(shape: &Shape<'a>, newer: bool) -> Judged<(Content<'a>, u64)> {
    shape.only(&["type", "tool_use_id", "content", "is_error", "cache_control"])?;
    shape.flag("is_error")?;
    let id = shape.need_text("tool_use_id")?;
    let (mut text, mut images, mut tokens) = (String::new(), Vec::new(), 1);
    match shape.maybe("content") {
        None => {}
        Some(Value::String(said)) => {
            text.clone_from(said);
            tokens += words::count(said);
        }
        Some(Value::Array(blocks)) => {
            for (at, value) in blocks.iter().enumerate() {
                let at = format!("{}.{at}", shape.path("content"));
                Shape::of(&*at, value)?.tag(RESULT_TAGS)?;
                let block = judge(&at, value, Role::User, newer)?;
                tokens += block.tokens;
                match block.content {
                    Content::Text(said) => text.push_str(said),
                    Content::Image(name) => images.push(name),
                    _ => {}
                }
            }
        }
        Some(_) => return Err(shape.wrong("content", "Input should be a valid string or list")),
    }
    Ok((Content::ToolResult { id, text, images }, tokens))
}
