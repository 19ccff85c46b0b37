//! Content blocks of a request: the rules of each block alone, its text, images and tokens.
//!
//! Reads values that passed the schema. The rules between blocks are in `conversation`.

use serde::Deserialize;
use serde_json::Value;

use super::errors::{internal, invalid, wrong};
use super::prompt::CacheControl;
use crate::text::answer::words;
use crate::text::input_image::{self, ImageError};
use crate::text::refusal::Refusal;

/// The largest image, decoded.
const MAX_IMAGE_BYTES: usize = 5 << 20;
const MAX_IMAGE_SIDE: u64 = 8000;
/// Tokens of content that is not looked into.
const OPAQUE_TOKENS: u64 = 100;

const USER_TAGS: &[&str] = &["document", "image", "search_result", "text", "tool_result"];

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Assistant,
    System,
    User,
}

/// A block that passed.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) tag: String,
    pub(super) content: Content,
    pub(super) tokens: u64,
    pub(super) cache: Option<CacheControl>,
}

/// What other rules and the answer need of a block.
#[derive(Clone, Debug)]
pub(super) enum Content {
    Image(String),
    Other,
    Redacted(String),
    Text(String),
    Thinking { text: String, signature: String },
    ToolResult { id: String, text: String, images: Vec<String> },
    ToolUse { id: String },
}

/// A block as it comes.
#[derive(Default, Deserialize)]
#[serde(default)]
struct BlockBody {
    #[serde(rename = "type")]
    tag: String,
    text: String,
    thinking: String,
    signature: String,
    data: String,
    id: String,
    input: Value,
    tool_use_id: String,
    content: Value,
    source: Source,
    citations: Option<Value>,
    cache_control: Option<CacheControl>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Source {
    #[serde(rename = "type")]
    tag: String,
    media_type: String,
    data: String,
    url: String,
    content: Value,
}

/// Checks the block at `path`. `newer` is version 2026-10-21.
pub(super) fn check(path: &str, value: &Value, role: Role, newer: bool) -> Result<Block, Refusal> {
    let body = BlockBody::deserialize(value).map_err(|_| internal())?;
    let is_users = USER_TAGS.contains(&body.tag.as_str());
    let is_allowed = match role {
        Role::Assistant => !is_users || body.tag == "text" || (body.tag == "document" && !newer),
        Role::System => body.tag == "text",
        Role::User => is_users,
    };
    if !is_allowed {
        let owner = if is_users { "user" } else { "assistant" };
        return Err(wrong(path, &format!("`{}` blocks can only be in `{owner}` messages", body.tag)));
    }
    let path = format!("{path}.{}", body.tag);
    let (content, tokens) = match body.tag.as_str() {
        "text" => {
            let is_cited = body.citations.as_ref().and_then(Value::as_array).is_some_and(|it| !it.is_empty());
            if newer && role == Role::User && is_cited {
                return Err(wrong(&format!("{path}.citations"), "Extra inputs are not permitted"));
            }
            if body.text.is_empty() {
                return Err(invalid("messages: text content blocks must be non-empty"));
            }
            let tokens = words::count(&body.text);
            (Content::Text(body.text), tokens)
        }
        "image" => image(&format!("{path}.source.{}", body.source.tag), &body.source)?,
        "document" => document(&format!("{path}.source.{}", body.source.tag), &body.source)?,
        "thinking" => {
            let tokens = words::count(&body.thinking);
            (Content::Thinking { text: body.thinking, signature: body.signature }, tokens)
        }
        "redacted_thinking" => (Content::Redacted(body.data), 1),
        "tool_use" => (Content::ToolUse { id: body.id }, 1 + words::count(&body.input.to_string())),
        "server_tool_use" => (Content::Other, 1 + words::count(&body.input.to_string())),
        "tool_result" => tool_result(&path, body.tool_use_id, &body.content, newer)?,
        _ => (Content::Other, words::count(&value.to_string())),
    };
    Ok(Block { tag: body.tag, content, tokens, cache: body.cache_control })
}

fn image(path: &str, source: &Source) -> Result<(Content, u64), Refusal> {
    if source.tag != "base64" {
        check_url(path, source)?;
        return Ok((Content::Image(format!("an image by {}", source.tag)), OPAQUE_TOKENS));
    }
    let image = input_image::inspect(&source.data).map_err(|error| match error {
        ImageError::Base64 => wrong(path, "invalid base64 data"),
        ImageError::Truncated | ImageError::UnknownFormat => invalid("Could not process image"),
    })?;
    let data = format!("{path}.data");
    if image.mime != source.media_type {
        let message = format!("Image does not match the provided media type {}", source.media_type);
        return Err(wrong(&data, &message));
    }
    if image.bytes > MAX_IMAGE_BYTES {
        let message = format!("image exceeds 5 MB maximum: {} bytes > {MAX_IMAGE_BYTES} bytes", image.bytes);
        return Err(wrong(path, &message));
    }
    if image.width.max(image.height) > MAX_IMAGE_SIDE {
        let message = "At least one of the image dimensions exceed max allowed size: 8000 pixels";
        return Err(wrong(&data, message));
    }
    Ok((Content::Image(image.name()), image.tokens()))
}

fn document(path: &str, source: &Source) -> Result<(Content, u64), Refusal> {
    let tokens = match source.tag.as_str() {
        "text" => words::count(&source.data),
        "content" => words::count(&source.content.to_string()),
        "base64" if source.data.starts_with("JVBERi") => OPAQUE_TOKENS,
        "base64" => return Err(wrong(&format!("{path}.data"), "The PDF specified was not valid.")),
        _ => {
            check_url(path, source)?;
            OPAQUE_TOKENS
        }
    };
    Ok((Content::Other, tokens))
}

fn check_url(path: &str, source: &Source) -> Result<(), Refusal> {
    let is_web = source.url.starts_with("https://") || source.url.starts_with("http://");
    if source.tag != "url" || is_web {
        return Ok(());
    }
    Err(wrong(&format!("{path}.url"), "Only HTTPS URLs are supported."))
}

fn tool_result(path: &str, id: String, content: &Value, newer: bool) -> Result<(Content, u64), Refusal> {
    let (mut text, mut images, mut tokens) = (String::new(), Vec::new(), 1);
    if let Value::String(whole) = content {
        text.clone_from(whole);
        tokens += words::count(whole);
    }
    for (at, value) in content.as_array().into_iter().flatten().enumerate() {
        let block = check(&format!("{path}.content.{at}"), value, Role::User, newer)?;
        tokens += block.tokens;
        match block.content {
            Content::Text(part) => text.push_str(&part),
            Content::Image(name) => images.push(name),
            _ => {}
        }
    }
    Ok((Content::ToolResult { id, text, images }, tokens))
}
