//! Messages of a conversation: their text, images and tokens, and the rule that every tool call is answered.
//!
//! Reads values that passed the schema.

use std::collections::HashSet;

use serde_json::Value;

use super::errors::{bad, invalid};
use crate::common::links;
use crate::common::schema::{items, text};
use crate::text::answer::words;
use crate::text::input_image::{self, ImageError, OPAQUE_TOKENS, is_web};
use crate::text::refusal::Refusal;

/// A message that passed.
#[derive(Clone, Debug, Default)]
pub(super) struct Message {
    pub(super) role: String,
    pub(super) text: String,
    pub(super) images: Vec<String>,
    pub(super) tokens: u64,
    /// Names of the tools it calls.
    pub(super) called: Vec<String>,
    /// Ids of the calls it makes.
    calls: Vec<String>,
    /// The call it answers.
    answers: Option<String>,
}

/// Letters of the longest id of a call that OpenAI takes back.
const MAX_ID: usize = 40;

/// Checks all messages; `has_long_ids` is a server that takes back ids of any length.
pub(super) fn check(values: &[Value], has_long_ids: bool) -> Result<Vec<Message>, Refusal> {
    if !has_long_ids {
        check_ids(values)?;
    }
    let messages = values.iter().enumerate().map(|(at, value)| message(at, value));
    let messages = messages.collect::<Result<Vec<_>, _>>()?;
    check_calls_are_answered(&messages)?;
    Ok(messages)
}

fn check_ids(values: &[Value]) -> Result<(), Refusal> {
    let all = values.iter().enumerate().flat_map(|(at, value)| {
        let calls = items(value, "tool_calls").iter().enumerate();
        let calls = calls
            .map(move |(call, value)| (format!("messages[{at}].tool_calls[{call}].id"), text(value, "id")));
        calls.chain([(format!("messages[{at}].tool_call_id"), text(value, "tool_call_id"))])
    });
    let mut lengths = all.map(|(path, id)| (path, id.chars().count()));
    let Some((path, length)) = lengths.find(|(_, length)| *length > MAX_ID) else { return Ok(()) };
    let message = format!(
        "Invalid '{path}': string too long. Expected a string with maximum length {MAX_ID}, but got a string with length \
         {length} instead."
    );
    Err(invalid(&path, message).code("string_above_max_length"))
}

fn message(at: usize, value: &Value) -> Result<Message, Refusal> {
    let path = format!("messages[{at}].content");
    if ["content", "tool_calls", "function_call", "refusal", "audio"].iter().all(|name| value[name].is_null())
    {
        let message = format!("Invalid value for 'content': expected a string, got null. ({path})");
        return Err(invalid(&path, message));
    }
    let own = |name: &str| text(value, name).to_owned();
    let answers = value["tool_call_id"].as_str().map(str::to_owned);
    let mut message = Message { role: own("role"), text: own("content"), answers, ..Message::default() };
    message.tokens = words::count(&message.text);
    for call in items(value, "tool_calls") {
        message.tokens += 1 + words::count(text(&call["function"], "arguments"));
        message.calls.push(text(call, "id").to_owned());
        message.called.push(text(&call["function"], "name").to_owned());
    }
    for (at, part) in items(value, "content").iter().enumerate() {
        message.tokens += match text(part, "type") {
            name @ ("text" | "refusal") => words::count(text(part, name)),
            "image_url" => {
                let url = text(&part["image_url"], "url");
                let (name, tokens) = picture(&format!("{path}[{at}].image_url.url"), url)?;
                message.images.push(name);
                tokens
            }
            _ => OPAQUE_TOKENS,
        };
        message.text.push_str(text(part, "text"));
    }
    Ok(message)
}

/// Checks an image; gives its name and tokens.
fn picture(path: &str, url: &str) -> Result<(String, u64), Refusal> {
    let Some(uri) = url.strip_prefix("data:") else {
        if !is_web(url) {
            let message =
                format!("Invalid '{path}'. Expected a valid URL, but got a value with an invalid format.");
            return Err(invalid(path, message).code("invalid_value"));
        }
        if links::is_there(url) {
            return Ok(("an image by url".to_owned(), OPAQUE_TOKENS));
        }
        return Err(bad(format!("Error while downloading {url}.")).code("invalid_image_url"));
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
