//! What concerns several messages of a conversation at once: their order, and tool loops.

use super::blocks::{Block, Message, Role};
use super::findings::Findings;

/// Which messages are sent, and in which order; `None` where it is all of them as they are. A Messages provider takes none
/// that says nothing; the last one is judged by what the answer is to go on from.
pub(crate) fn sent(messages: &[Message<'_>], findings: &Findings) -> Option<Vec<usize>> {
    let order = if findings.folds_system { order(messages) } else { None };
    let says = |at: &usize| *at + 1 == messages.len() || !messages[*at].is_blank();
    if findings.is_chat || (0..messages.len()).all(|at| says(&at)) {
        return order;
    }
    let order = order.unwrap_or_else(|| (0..messages.len()).collect());
    Some(order.into_iter().filter(says).collect())
}

/// The order of messages whose system messages become the user's: results of tools follow their calls at once.
/// `None` where that is the order they have.
fn order(messages: &[Message<'_>]) -> Option<Vec<usize>> {
    let mut order: Vec<usize> = (0..messages.len()).collect();
    let is_system = |at: &usize| messages[*at].role == Role::System;
    let mut at = 0;
    let mut changed = false;
    while at < messages.len() {
        let calls = messages[at].blocks.iter().any(|block| matches!(block, Block::ToolUse { .. }));
        let next = (at + 1..messages.len()).find(|next| !is_system(next)).unwrap_or(messages.len());
        if calls && next > at + 1 && next < messages.len() {
            order[at + 1..=next].rotate_right(1);
            changed = true;
        }
        at = next;
    }
    changed.then_some(order)
}

/// Whether the tool loop at the end of the conversation has a turn of the model without its thinking.
pub(crate) fn tool_loop_lacks_thinking(messages: &[Message<'_>]) -> bool {
    let has = |message: &Message<'_>, kind: fn(&Block<'_>) -> bool| message.blocks.iter().any(kind);
    let is_result = |block: &Block<'_>| matches!(block, Block::ToolResult { .. });
    let in_loop =
        messages.iter().rev().take_while(|message| message.role != Role::User || has(message, is_result));
    in_loop.filter(|message| message.role == Role::Assistant).any(|message| {
        has(message, |block| matches!(block, Block::ToolUse { .. }))
            && !has(message, |block| matches!(block, Block::Thinking(_) | Block::Redacted))
    })
}
