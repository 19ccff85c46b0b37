//! Messages of a conversation: their text, images and tokens, and the rule that every tool call is answered.
//!
//! Reads values that passed the schema.

use std::collections::HashSet;

use serde::Deserialize;

use super::errors::invalid;
use crate::text::answer::words;
use crate::text::input_image::{self, ImageError};
use crate::text::refusal::Refusal;

/// Tokens of content that is not looked into.
const OPAQUE_TOKENS: u64 = 100;

/// A message as it comes.
#[derive(Deserialize)]
pub(super) struct MessageBody {
    role: String,
    content: Option<Content>,
    tool_calls: Option<Vec<CallBody>>,
    tool_call_id: Option<String>,
    function_call: Option<serde::de::IgnoredAny>,
    refusal: Option<serde::de::IgnoredAny>,
    audio: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
struct Part {
    text: Option<String>,
    refusal: Option<String>,
    image_url: Option<ImageUrl>,
}

#[derive(Deserialize)]
struct ImageUrl {
    url: String,
}

#[derive(Deserialize)]
struct CallBody {
    id: String,
    function: FunctionBody,
}

#[derive(Deserialize)]
struct FunctionBody {
    arguments: String,
}

/// A message that passed.
#[derive(Clone, Debug, Default)]
pub(super) struct Message {
    pub(super) role: String,
    pub(super) text: String,
    pub(super) images: Vec<String>,
    pub(super) tokens: u64,
    /// Ids of the calls it makes.
    calls: Vec<String>,
    /// The call it answers.
    answers: Option<String>,
}

/// Checks all messages.
pub(super) fn check(bodies: Vec<MessageBody>) -> Result<Vec<Message>, Refusal> {
    let messages: Vec<Message> =
        bodies.into_iter().enumerate().map(|(at, body)| message(at, body)).collect::<Result<_, _>>()?;
    check_calls_are_answered(&messages)?;
    Ok(messages)
}

fn message(at: usize, body: MessageBody) -> Result<Message, Refusal> {
    let path = format!("messages[{at}].content");
    let calls = body.tool_calls.unwrap_or_default();
    let is_empty = calls.is_empty()
        && body.content.is_none()
        && (body.function_call.is_none() && body.refusal.is_none() && body.audio.is_none());
    if is_empty {
        let message = format!("Invalid value for 'content': expected a string, got null. ({path})");
        return Err(invalid(&path, message));
    }
    let mut message = Message { role: body.role, answers: body.tool_call_id, ..Message::default() };
    for call in calls {
        message.tokens += 1 + words::count(&call.function.arguments);
        message.calls.push(call.id);
    }
    match body.content {
        None => {}
        Some(Content::Text(text)) => {
            message.tokens += words::count(&text);
            message.text = text;
        }
        Some(Content::Parts(parts)) => {
            for (at, part) in parts.into_iter().enumerate() {
                match (part.text.as_ref().or(part.refusal.as_ref()), part.image_url) {
                    (Some(text), _) => message.tokens += words::count(text),
                    (None, Some(image)) => {
                        let (name, tokens) = picture(&format!("{path}[{at}].image_url.url"), &image.url)?;
                        message.images.push(name);
                        message.tokens += tokens;
                    }
                    (None, None) => message.tokens += OPAQUE_TOKENS,
                }
                message.text.push_str(&part.text.unwrap_or_default());
            }
        }
    }
    Ok(message)
}

/// Checks an image; gives its name and tokens.
fn picture(path: &str, url: &str) -> Result<(String, u64), Refusal> {
    let Some(uri) = url.strip_prefix("data:") else {
        if url.starts_with("https://") || url.starts_with("http://") {
            return Ok(("an image by url".to_owned(), OPAQUE_TOKENS));
        }
        let message =
            format!("Invalid '{path}'. Expected a valid URL, but got a value with an invalid format.");
        return Err(invalid(path, message).code("invalid_value"));
    };
    let base64 = || invalid(path, "Invalid base64 image_url.").code("invalid_base64");
    let format = || {
        let message = "You uploaded an unsupported image. Please make sure your image has of one the following \
                       formats: ['png', 'jpeg', 'gif', 'webp'].";
        invalid(path, message).code("invalid_image_format")
    };
    let (mime, data) = uri.split_once(";base64,").ok_or_else(base64)?;
    let image = input_image::inspect(data).map_err(|error| match error {
        ImageError::Base64 => base64(),
        ImageError::Truncated | ImageError::UnknownFormat => format(),
    })?;
    // A wrong image type is accepted, since the bytes decide. A type that is no image is not.
    if mime.starts_with("image/") { Ok((image.name(), image.tokens())) } else { Err(format()) }
}

/// Tool messages follow directly the calls they answer, one for each.
fn check_calls_are_answered(messages: &[Message]) -> Result<(), Refusal> {
    let (mut open, mut known): (Vec<&str>, HashSet<&str>) = (Vec::new(), HashSet::new());
    for (at, message) in messages.iter().enumerate() {
        if let Some(id) = &message.answers {
            if !known.contains(id.as_str()) {
                let message = if known.is_empty() {
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with \
                     'tool_calls'."
                } else {
                    "Invalid parameter: 'tool_call_id' not found in 'tool_calls' of previous message."
                };
                return Err(invalid(&format!("messages.[{at}].role"), message));
            }
            open.retain(|call| call != id);
            continue;
        }
        check_none_open(at, &open)?;
        open = message.calls.iter().map(String::as_str).collect();
        known = open.iter().copied().collect();
    }
    check_none_open(messages.len(), &open)
}

fn check_none_open(at: usize, open: &[&str]) -> Result<(), Refusal> {
    if open.is_empty() {
        return Ok(());
    }
    let message = format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. \
         The following tool_call_ids did not have response messages: {}",
        open.join(", ")
    );
    Err(invalid(&format!("messages.[{at}].role"), message))
}
