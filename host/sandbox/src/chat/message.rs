//! Messages of a conversation: their shapes, and that every tool call is answered where it has to be.

use std::collections::HashSet;

use serde_json::Value;

use super::part::{self, Content};
use super::refusal::Refusal;
use super::rules::Model;
use super::shape::{Judged, Shape};
use crate::text::answer::words;

/// A message that passed.
#[derive(Clone, Debug)]
pub(super) struct Message<'a> {
    pub(super) role: &'a str,
    pub(super) content: Content,
    /// Ids of the calls it makes.
    calls: Vec<&'a str>,
    /// The call it answers.
    answers: Option<&'a str>,
}

const ROLES: &[&str] = &["system", "assistant", "user", "function", "tool", "developer"];
const OLD_ROLES: &[&str] = &["system", "assistant", "user", "tool"];

/// Judges all messages.
pub(super) fn judge<'a>(body: &Shape<'a>, model: &Model) -> Judged<Vec<Message<'a>>> {
    body.need("messages")?;
    let values = body.list("messages")?.unwrap_or_default();
    if values.is_empty() {
        let words = "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty \
                     array instead.";
        return Err(Refusal::invalid("messages", Some("empty_array"), words));
    }
    let messages = values.iter().enumerate().map(|(at, value)| message(at, value, model));
    let messages: Vec<Message<'a>> = messages.collect::<Judged<_>>()?;
    answered(&messages)?;
    Ok(messages)
}

fn message<'a>(at: usize, value: &'a Value, model: &Model) -> Judged<Message<'a>> {
    let shape = Shape::of(format!("messages[{at}]"), value)?;
    let role = shape.need_word("role", if model.clone { OLD_ROLES } else { ROLES })?;
    let mut message = Message { role, content: Content::default(), calls: Vec::new(), answers: None };
    match role {
        "assistant" => {
            let mut fields =
                vec!["role", "content", "name", "tool_calls", "refusal", "audio", "function_call"];
            // Clients send an answer back with everything that came in it.
            fields.push("annotations");
            if model.clone {
                fields.push("reasoning_content");
            }
            shape.only(&fields)?;
            let (calls, tokens) = calls(&shape)?;
            message.calls = calls;
            if shape.maybe("content").is_some() {
                message.content = part::judge(&shape, &["text", "refusal"])?;
            } else if message.calls.is_empty()
                && ["function_call", "refusal", "audio"].iter().all(|it| shape.maybe(it).is_none())
            {
                let path = shape.path("content");
                let words = format!("Invalid value for 'content': expected a string, got null. ({path})");
                return Err(Refusal::invalid(&path, None, words));
            }
            message.content.tokens += tokens;
        }
        "tool" => {
            shape.only(&["role", "content", "tool_call_id"])?;
            message.answers = Some(shape.need_text("tool_call_id")?);
            message.content = part::judge(&shape, &["text"])?;
        }
        "user" => {
            shape.only(&["role", "content", "name"])?;
            message.content = part::judge(&shape, &["text", "image_url", "input_audio", "file"])?;
        }
        _ => {
            shape.only(&["role", "content", "name"])?;
            message.content = part::judge(&shape, &["text"])?;
        }
    }
    Ok(message)
}

/// The calls an assistant made, and the tokens they are.
fn calls<'a>(message: &Shape<'a>) -> Judged<(Vec<&'a str>, u64)> {
    let path = message.path("tool_calls");
    let Some(values) = message.list("tool_calls")? else { return Ok((Vec::new(), 0)) };
    if values.is_empty() {
        let words = format!(
            "Invalid '{path}': empty array. Expected an array with minimum length 1, but got an empty array instead."
        );
        return Err(Refusal::invalid(&path, Some("empty_array"), words));
    }
    let (mut ids, mut tokens) = (Vec::new(), 0);
    for (at, value) in values.iter().enumerate() {
        let call = Shape::of(format!("{path}[{at}]"), value)?;
        call.only(&["id", "type", "function"])?;
        ids.push(call.need_text("id")?);
        call.need_word("type", &["function"])?;
        let function = Shape::of(call.path("function"), call.need("function")?)?;
        function.only(&["name", "arguments"])?;
        function.need_text("name")?;
        tokens += 1 + words::count(function.need_text("arguments")?);
    }
    Ok((ids, tokens))
}

/// Tool messages stand right after the calls they answer, one for each.
fn answered(messages: &[Message<'_>]) -> Judged<()> {
    let (mut open, mut known): (Vec<&str>, HashSet<&str>) = (Vec::new(), HashSet::new());
    for (at, message) in messages.iter().enumerate() {
        if let Some(id) = message.answers {
            if !known.contains(id) {
                let words = if known.is_empty() {
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with \
                     'tool_calls'."
                } else {
                    "Invalid parameter: 'tool_call_id' not found in 'tool_calls' of previous message."
                };
                return Err(Refusal::invalid(&format!("messages.[{at}].role"), None, words));
            }
            open.retain(|call| *call != id);
            continue;
        }
        if !open.is_empty() {
            return Err(unanswered(at, &open));
        }
        open.clone_from(&message.calls);
        known = message.calls.iter().copied().collect();
    }
    if open.is_empty() { Ok(()) } else { Err(unanswered(messages.len(), &open)) }
}

fn unanswered(at: usize, ids: &[&str]) -> Refusal {
    let words = format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. \
         The following tool_call_ids did not have response messages: {}",
        ids.join(", ")
    );
    Refusal::invalid(&format!("messages.[{at}].role"), None, words)
}
