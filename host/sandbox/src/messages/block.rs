//! Content blocks of a request: the rules of each block alone, its text, images and tokens.
//!
//! Reads values that passed the schema. The rules between blocks are in `conversation`.

use serde_json::Value;

use super::errors::{invalid, wrong};
use crate::common::links;
use crate::common::schema::{items, text};
use crate::text::answer::words;
use crate::text::input_image::{self, ImageError, OPAQUE_TOKENS, is_web};
use crate::text::refusal::Refusal;

/// The largest image, decoded.
const MAX_IMAGE_BYTES: usize = 5 << 20;
const MAX_IMAGE_SIDE: u64 = 8000;

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
    ToolUse { id: String, name: String },
}

impl Block {
    /// A block of plain text.
    pub(super) fn text(text: &str) -> Self {
        Self { tag: "text".to_owned(), content: Content::Text(text.to_owned()), tokens: words::count(text) }
    }
}

/// Checks the block at `path`. `newer` is version 2026-10-21.
pub(super) fn check(path: &str, value: &Value, role: Role, newer: bool) -> Result<Block, Refusal> {
    let tag = text(value, "type");
    let is_users = USER_TAGS.contains(&tag);
    let is_allowed = match role {
        Role::Assistant => !is_users || tag == "text" || (tag == "document" && !newer),
        Role::System => tag == "text",
        Role::User => is_users,
    };
    if !is_allowed {
        let owner = if is_users { "user" } else { "assistant" };
        return Err(wrong(path, &format!("`{tag}` blocks can only be in `{owner}` messages")));
    }
    let path = format!("{path}.{tag}");
    let own = |name: &str| text(value, name).to_owned();
    let source = &value["source"];
    let source_path = format!("{path}.source.{}", text(source, "type"));
    let (content, tokens) = match tag {
        "text" => {
            if newer && role == Role::User && !items(value, "citations").is_empty() {
                return Err(wrong(&format!("{path}.citations"), "Extra inputs are not permitted"));
            }
            says("messages", text(value, "text"))?;
            return Ok(Block::text(text(value, "text")));
        }
        "image" => image(&source_path, source)?,
        "document" => (Content::Other, document(&source_path, source)?),
        "thinking" => {
            let content = Content::Thinking { text: own("thinking"), signature: own("signature") };
            (content, words::count(text(value, "thinking")))
        }
        "redacted_thinking" => (Content::Redacted(own("data")), 1),
        "tool_use" => (
            Content::ToolUse { id: own("id"), name: own("name") },
            1 + words::count(&value["input"].to_string()),
        ),
        "server_tool_use" => (Content::Other, 1 + words::count(&value["input"].to_string())),
        "tool_result" => tool_result(&path, value, newer)?,
        _ => (Content::Other, words::count(&value.to_string())),
    };
    Ok(Block { tag: tag.to_owned(), content, tokens })
}

/// Checks that the text of a block says something.
pub(super) fn says(field: &str, text: &str) -> Result<(), Refusal> {
    match text {
        "" => Err(invalid(format!("{field}: text content blocks must be non-empty"))),
        text if text.trim().is_empty() => {
            Err(invalid(format!("{field}: text content blocks must contain non-whitespace text")))
        }
        _ => Ok(()),
    }
}

fn image(path: &str, source: &Value) -> Result<(Content, u64), Refusal> {
    let tag = text(source, "type");
    if tag != "base64" {
        check_url(path, source)?;
        return Ok((Content::Image(format!("an image by {tag}")), OPAQUE_TOKENS));
    }
    let image = input_image::inspect(text(source, "data")).map_err(|error| match error {
        ImageError::Base64 => wrong(path, "invalid base64 data"),
        ImageError::Truncated | ImageError::UnknownFormat => invalid("Could not process image"),
    })?;
    let data = format!("{path}.data");
    let media_type = text(source, "media_type");
    if image.mime != media_type {
        return Err(wrong(&data, &format!("Image does not match the provided media type {media_type}")));
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

/// Tokens of a document.
fn document(path: &str, source: &Value) -> Result<u64, Refusal> {
    let data = text(source, "data");
    match text(source, "type") {
        "text" => Ok(words::count(data)),
        "content" => Ok(words::count(&source["content"].to_string())),
        "base64" if !data.starts_with("JVBERi") => {
            Err(wrong(&format!("{path}.data"), "The PDF specified was not valid."))
        }
        _ => check_url(path, source).map(|()| OPAQUE_TOKENS),
    }
}

fn check_url(path: &str, source: &Value) -> Result<(), Refusal> {
    let url = text(source, "url");
    if text(source, "type") != "url" {
        return Ok(());
    }
    if !is_web(url) {
        return Err(wrong(&format!("{path}.url"), "Only HTTPS URLs are supported."));
    }
    if links::is_there(url) {
        return Ok(());
    }
    Err(invalid("Unable to download the file. Please verify the URL and try again."))
}

fn tool_result(path: &str, value: &Value, newer: bool) -> Result<(Content, u64), Refusal> {
    let mut result = text(value, "content").to_owned();
    let (mut images, mut tokens) = (Vec::new(), 1 + words::count(&result));
    for (at, value) in items(value, "content").iter().enumerate() {
        let block = check(&format!("{path}.content.{at}"), value, Role::User, newer)?;
        tokens += block.tokens;
        match block.content {
            Content::Text(part) => result.push_str(&part),
            Content::Image(name) => images.push(name),
            _ => {}
        }
    }
    Ok((Content::ToolResult { id: text(value, "tool_use_id").to_owned(), text: result, images }, tokens))
}
