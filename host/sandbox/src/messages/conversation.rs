//! Messages of a conversation and the rules between them: who begins, which results answer which calls, where
//! thinking stands and whether its signature is ours.

use std::collections::HashSet;

use serde_json::Value;

use super::block::{self, Block, Content, Role};
use super::errors::{invalid, unknown_word, wrong};
use super::models::Model;
use super::thinking::{self, Thinking};
use crate::common::schema::items;
use crate::text::answer::answer_text::{AnswerInput, own_words, told_beginning};
use crate::text::refusal::Refusal;

/// A message that passed.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) role: Role,
    /// One of text where the content is a plain string, none where that is empty.
    pub(super) blocks: Vec<Block>,
}

impl Message {
    /// All text of it.
    fn text(&self) -> String {
        let texts = self.blocks.iter().filter_map(|block| match &block.content {
            Content::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    fn calls(&self) -> Vec<&str> {
        let ids = self.blocks.iter().filter_map(|block| match &block.content {
            Content::ToolUse { id, .. } => Some(id.as_str()),
            _ => None,
        });
        ids.collect()
    }
}

fn result_id(block: &Block) -> Option<&str> {
    if let Content::ToolResult { id, .. } = &block.content { Some(id) } else { None }
}

/// Checks all messages.
pub(super) fn check(
    values: &[Value],
    model: &Model,
    thinking: Thinking,
    newer: bool,
) -> Result<Vec<Message>, Refusal> {
    let messages = values.iter().enumerate().map(|(at, value)| message(at, value, model, newer));
    let messages = messages.collect::<Result<Vec<_>, _>>()?;
    check_contents(&messages)?;
    check_tools(&messages)?;
    check_thinking(&messages, model, thinking)?;
    check_end(&messages, model)?;
    Ok(messages)
}

fn message(at: usize, value: &Value, model: &Model, newer: bool) -> Result<Message, Refusal> {
    let role = match value["role"].as_str() {
        Some("assistant") => Role::Assistant,
        Some("user") => Role::User,
        Some("system") if model.system_messages && at > 0 => Role::System,
        Some("system") => {
            return Err(invalid(
                "messages: Unexpected role \"system\". The Messages API accepts a top-level `system` parameter, \
                 not \"system\" as an input message role.",
            ));
        }
        _ => return Err(unknown_word(&format!("messages.{at}.role"), &["user", "assistant"])),
    };
    if let Value::String(text) = &value["content"] {
        let blocks = if text.is_empty() { Vec::new() } else { vec![Block::text(text)] };
        return Ok(Message { role, blocks });
    }
    let blocks = items(value, "content").iter().enumerate();
    let blocks = blocks
        .map(|(index, value)| block::check(&format!("messages.{at}.content.{index}"), value, role, newer));
    Ok(Message { role, blocks: blocks.collect::<Result<_, _>>()? })
}

/// The user begins, and only a final message of the assistant may be empty.
fn check_contents(messages: &[Message]) -> Result<(), Refusal> {
    if messages.first().is_none_or(|message| message.role != Role::User) {
        return Err(invalid("messages: first message must use the \"user\" role"));
    }
    for (at, message) in messages.iter().enumerate() {
        let may_be_empty = message.role == Role::Assistant && at + 1 == messages.len();
        if message.blocks.is_empty() && !may_be_empty {
            let words = match message.role {
                Role::User => "user messages must have non-empty content",
                _ => {
                    "all messages must have non-empty content except for the optional final assistant message"
                }
            };
            return Err(wrong(&format!("messages.{at}"), words));
        }
    }
    Ok(())
}

/// Each call is answered at the head of the next message; no other result is allowed.
fn check_tools(messages: &[Message]) -> Result<(), Refusal> {
    let mut known = HashSet::new();
    let mut calls: Vec<&str> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let results: Vec<&str> = message.blocks.iter().map_while(result_id).collect();
        check_answered(at, &calls, &results)?;
        for (index, block) in message.blocks.iter().enumerate() {
            let path = format!("messages.{at}.content.{index}");
            if let Content::ToolUse { id, .. } = &block.content
                && !known.insert(id.as_str())
            {
                return Err(wrong(&path, "`tool_use` ids must be unique"));
            }
            let Some(id) = result_id(block) else { continue };
            if !calls.contains(&id) {
                let words = format!(
                    "unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have \
                     a corresponding `tool_use` block in the previous message."
                );
                return Err(wrong(&path, &words));
            }
            if message.blocks[..index].iter().any(|earlier| result_id(earlier) == Some(id)) {
                let words = format!(
                    "each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}"
                );
                return Err(wrong(&path, &words));
            }
        }
        calls = message.calls();
    }
    check_answered(messages.len(), &calls, &[])
}

/// Refuses calls of the message before `at` that have no result.
fn check_answered(at: usize, calls: &[&str], results: &[&str]) -> Result<(), Refusal> {
    let missing: Vec<&str> = calls.iter().filter(|id| !results.contains(id)).copied().collect();
    if missing.is_empty() {
        return Ok(());
    }
    let words = format!(
        "`tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block must have \
         a corresponding `tool_result` block in the next message.",
        missing.join(", ")
    );
    Err(wrong(&format!("messages.{}", at.saturating_sub(1)), &words))
}

/// Thinking stands at the head of its message, unchanged. With `thinking` enabled, the message whose tool calls are
/// being answered must have it.
fn check_thinking(messages: &[Message], model: &Model, thinking: Thinking) -> Result<(), Refusal> {
    let is_enabled = matches!(thinking, Thinking::Enabled { .. });
    let last_calling = messages.iter().rposition(|message| !message.calls().is_empty());
    let continues = last_calling.is_some_and(|at| at + 2 >= messages.len());
    for (at, message) in messages.iter().enumerate() {
        let (mut position, mut before) = (0, None);
        let is_required = is_enabled && (Some(at) == last_calling && continues || at + 1 == messages.len());
        for (index, block) in message.blocks.iter().enumerate() {
            let (text, signature, field) = match &block.content {
                Content::Thinking { text, signature } => (text.as_str(), signature, "signature"),
                Content::Redacted(data) => (thinking::REDACTED_TEXT, data, "data"),
                _ => {
                    before = before.or(Some((index, block.tag.as_str())));
                    continue;
                }
            };
            if let Some((first, tag)) = before {
                return Err(misplaced(&format!("messages.{at}.content.{first}"), tag, false));
            }
            if !thinking::verify(model.id, position, text, signature) {
                let words = format!("Invalid `{field}` in `{}` block", block.tag);
                return Err(wrong(&format!("messages.{at}.content.{index}"), &words));
            }
            position += 1;
        }
        if is_required && message.role == Role::Assistant && position == 0 {
            let tag = before.map_or("text", |(_, tag)| tag);
            return Err(misplaced(&format!("messages.{at}.content.0"), tag, true));
        }
    }
    Ok(())
}

fn misplaced(path: &str, found: &str, is_required: bool) -> Refusal {
    let advice = if is_required {
        " When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the \
         lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from \
         previous turns. To avoid this requirement, disable `thinking`."
    } else {
        ""
    };
    let words = format!("Expected `thinking` or `redacted_thinking`, but found `{found}`.{advice}");
    wrong(&format!("{path}.type"), &words)
}

/// Whether the last message may be the assistant's, and how it may end.
fn check_end(messages: &[Message], model: &Model) -> Result<(), Refusal> {
    let Some(last) = messages.last().filter(|message| message.role == Role::Assistant) else {
        return Ok(());
    };
    if !model.prefill {
        return Err(invalid(
            "This model does not support assistant message prefill. The conversation must end with a user message.",
        ));
    }
    if last.text().ends_with(char::is_whitespace) {
        return Err(invalid("messages: final assistant content cannot end with trailing whitespace"));
    }
    Ok(())
}

/// Markers are read in the last words of the user's own; a client's program adds reminders to them.
pub(super) fn input(messages: &[Message]) -> AnswerInput {
    let is_models = |message: &&Message| message.role == Role::Assistant;
    let last = messages.iter().rev().skip_while(is_models).take_while(|message| !is_models(message));
    let last: Vec<&Message> = last.filter(|message| message.role == Role::User).collect();
    let mut words = last.iter().map(|message| own_words(&message.text()));
    let asks =
        |message: &Message| message.role == Role::User && !own_words(&message.text()).trim().is_empty();
    let asked = messages.iter().rposition(asks).unwrap_or(0);
    let called =
        messages[asked..].iter().flat_map(|message| &message.blocks).filter_map(|block| {
            match &block.content {
                Content::ToolUse { name, .. } => Some(name.clone()),
                _ => None,
            }
        });
    let mut input = AnswerInput {
        called: called.collect(),
        text: words.find(|words| !words.trim().is_empty()).unwrap_or_default(),
        continues: messages.last().is_some_and(|message| message.role == Role::Assistant),
        begins_with: messages.last().map(|message| told_beginning(&message.text())).unwrap_or_default(),
        turns: messages.iter().filter(|message| message.role == Role::User).count(),
        ..AnswerInput::default()
    };
    for block in last.iter().rev().flat_map(|message| &message.blocks) {
        match &block.content {
            Content::Image(name) => input.images.push(name.clone()),
            Content::ToolResult { text, images, .. } => {
                input.results.push(text.clone());
                input.images.extend_from_slice(images);
            }
            _ => {}
        }
    }
    input
}
