//! Turns of a conversation, and what they must be to one another: who begins, which results answer which calls,
//! where thinking stands and whose it is.

use serde_json::Value;

use super::block::{self, Block, Content, Role};
use super::refusal::Refusal;
use super::rules::Model;
use super::shape::{Judged, Shape, wrong};
use super::thinking::{self, Thinking};
use crate::text::answer::words;

/// The most messages a request may have.
const MAX_MESSAGES: usize = 100_000;

/// A turn that passed.
#[derive(Clone, Debug)]
pub(super) struct Turn<'a> {
    pub(super) role: Role,
    /// A plain string, where the content is one.
    pub(super) plain: Option<&'a str>,
    pub(super) blocks: Vec<Block<'a>>,
}

impl<'a> Turn<'a> {
    /// Everything written in it.
    pub(super) fn text(&self) -> String {
        let texts = self.blocks.iter().filter_map(|block| match block.content {
            Content::Text(text) => Some(text),
            _ => None,
        });
        let texts: Vec<&str> = self.plain.into_iter().chain(texts).collect();
        texts.join("\n")
    }

    fn calls(&self) -> impl Iterator<Item = &'a str> {
        self.blocks.iter().filter_map(|block| match block.content {
            Content::ToolUse { id } => Some(id),
            _ => None,
        })
    }

    /// The results it begins with.
    fn leading_results(&self) -> Vec<&'a str> {
        let ids = self.blocks.iter().map_while(|block| match &block.content {
            Content::ToolResult { id, .. } => Some(*id),
            _ => None,
        });
        ids.collect()
    }

    pub(super) fn tokens(&self) -> u64 {
        self.plain.map_or(0, words::count) + self.blocks.iter().map(|block| block.tokens).sum::<u64>()
    }
}

/// Judges all messages.
pub(super) fn judge<'a>(
    messages: &'a [Value],
    model: &Model,
    thinking: Thinking,
    newer: bool,
) -> Judged<Vec<Turn<'a>>> {
    if messages.is_empty() {
        return Err(Refusal::invalid("messages: at least one message is required"));
    }
    if messages.len() > MAX_MESSAGES {
        let words =
            format!("List should have at most {MAX_MESSAGES} items after validation, not {}", messages.len());
        return Err(wrong("messages", &words));
    }
    let turns = messages.iter().enumerate().map(|(at, value)| turn(at, value, model, newer));
    let turns: Vec<Turn<'a>> = turns.collect::<Judged<_>>()?;
    contents(&turns)?;
    tools(&turns)?;
    thought(&turns, model, thinking)?;
    ending(&turns, model)?;
    Ok(turns)
}

fn turn<'a>(at: usize, value: &'a Value, model: &Model, newer: bool) -> Judged<Turn<'a>> {
    let shape = Shape::of(format!("messages.{at}"), value)?;
    let role = match shape.need_text("role")? {
        "assistant" => Role::Assistant,
        "user" => Role::User,
        "system" if model.system_turns && at > 0 => Role::System,
        "system" => {
            return Err(Refusal::invalid(
                "messages: Unexpected role \"system\". The Messages API accepts a top-level `system` parameter, \
                 not \"system\" as an input message role.",
            ));
        }
        _ => return Err(shape.wrong("role", "Input should be 'user' or 'assistant'")),
    };
    shape.only(&["role", "content"])?;
    let content = shape.need("content")?;
    if let Value::String(text) = content {
        return Ok(Turn { role, plain: Some(text), blocks: Vec::new() });
    }
    let Some(values) = content.as_array() else {
        return Err(shape.wrong("content", "Input should be a valid string or list"));
    };
    let path = shape.path("content");
    let blocks = values.iter().enumerate();
    let blocks = blocks.map(|(at, value)| block::judge(&format!("{path}.{at}"), value, role, newer));
    Ok(Turn { role, plain: None, blocks: blocks.collect::<Judged<_>>()? })
}

/// Who begins, and that everybody says something.
fn contents(turns: &[Turn<'_>]) -> Judged<()> {
    if turns[0].role != Role::User {
        return Err(Refusal::invalid("messages: first message must use the \"user\" role"));
    }
    for (at, turn) in turns.iter().enumerate() {
        let is_empty = turn.plain.is_none_or(str::is_empty) && turn.blocks.is_empty();
        let may_be = turn.role == Role::Assistant && at + 1 == turns.len();
        if is_empty && !may_be {
            let words = match turn.role {
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

/// Every call is answered at the head of the next turn, and nothing else is.
fn tools(turns: &[Turn<'_>]) -> Judged<()> {
    let mut known = std::collections::HashSet::new();
    for (at, turn) in turns.iter().enumerate() {
        let results = turn.leading_results();
        let previous = at.checked_sub(1).and_then(|before| turns.get(before));
        let asked: Vec<&str> = previous.map(|turn| turn.calls().collect()).unwrap_or_default();
        let missing: Vec<&str> = asked.iter().filter(|id| !results.contains(id)).copied().collect();
        if !missing.is_empty() {
            return Err(unanswered(at - 1, &missing));
        }
        for (place, block) in turn.blocks.iter().enumerate() {
            let path = format!("messages.{at}.content.{place}");
            match &block.content {
                Content::ToolUse { id } if !known.insert(*id) => {
                    return Err(wrong(&path, "`tool_use` ids must be unique"));
                }
                Content::ToolResult { id, .. } if !asked.contains(id) => {
                    let words = format!(
                        "unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block \
                         must have a corresponding `tool_use` block in the previous message."
                    );
                    return Err(wrong(&path, &words));
                }
                Content::ToolResult { id, .. } => {
                    let earlier = turn.blocks[..place].iter();
                    let twice = |it: &Block<'_>| matches!(&it.content, Content::ToolResult { id: other, .. } if other == id);
                    if earlier.into_iter().any(twice) {
                        let words = format!(
                            "each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}"
                        );
                        return Err(wrong(&path, &words));
                    }
                }
                _ => {}
            }
        }
    }
    let open: Vec<&str> = turns.last().map(|turn| turn.calls().collect()).unwrap_or_default();
    if open.is_empty() { Ok(()) } else { Err(unanswered(turns.len() - 1, &open)) }
}

fn unanswered(at: usize, ids: &[&str]) -> Refusal {
    let words = format!(
        "`tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block must \
         have a corresponding `tool_result` block in the next message.",
        ids.join(", ")
    );
    wrong(&format!("messages.{at}"), &words)
}

/// Thinking stands at the head of its turn, unchanged; and where a turn with tools goes on, it must be there.
fn thought(turns: &[Turn<'_>], model: &Model, thinking: Thinking) -> Judged<()> {
    let last_calling = turns.iter().rposition(|turn| turn.calls().next().is_some());
    let going_on = last_calling.is_some_and(|at| at + 2 >= turns.len());
    for (at, turn) in turns.iter().enumerate() {
        let mut place = 0;
        let mut before = None;
        let required = matches!(thinking, Thinking::Enabled { .. })
            && (Some(at) == last_calling && going_on || at + 1 == turns.len());
        for (index, block) in turn.blocks.iter().enumerate() {
            let path = format!("messages.{at}.content.{index}");
            let genuine = match block.content {
                Content::Thinking { text, signature } => thinking::verify(model.id, place, text, signature),
                Content::Redacted(data) => thinking::verify_redacted(model.id, place, data),
                _ => {
                    before = before.or(Some((index, block.tag)));
                    continue;
                }
            };
            if let Some((first, tag)) = before {
                return Err(misplaced(&format!("messages.{at}.content.{first}"), tag, false));
            }
            if !genuine {
                let field = if block.tag == "thinking" { "signature" } else { "data" };
                return Err(wrong(&path, &format!("Invalid `{field}` in `{}` block", block.tag)));
            }
            place += 1;
        }
        if required && turn.role == Role::Assistant && place == 0 {
            let tag = before.map_or("text", |(_, tag)| tag);
            return Err(misplaced(&format!("messages.{at}.content.0"), tag, true));
        }
    }
    Ok(())
}

fn misplaced(at: &str, found: &str, required: bool) -> Refusal {
    let more = if required {
        " When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the \
         lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from \
         previous turns. To avoid this requirement, disable `thinking`."
    } else {
        ""
    };
    let words = format!("Expected `thinking` or `redacted_thinking`, but found `{found}`.{more}");
    wrong(&format!("{at}.type"), &words)
}

/// Whether the last turn may be the assistant's, and how it may end.
fn ending(turns: &[Turn<'_>], model: &Model) -> Judged<()> {
    let Some(last) = turns.last().filter(|turn| turn.role == Role::Assistant) else { return Ok(()) };
    if !model.prefill {
        return Err(Refusal::invalid(
            "This model does not support assistant message prefill. The conversation must end with a user message.",
        ));
    }
    if last.text().ends_with(char::is_whitespace) {
        return Err(Refusal::invalid(
            "messages: final assistant content cannot end with trailing whitespace",
        ));
    }
    Ok(())
}
