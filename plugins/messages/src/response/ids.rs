//! Ids of messages and tool calls, made from the chat provider's own, so that both logs agree and a call is known again.

use gatehouse_sdk::Context;
use gatehouse_text_protocols::tool_ids;

/// A `msg_...` from a chat completion's id; without one, from the time and the seed of the call.
pub(crate) fn message(id: &str, cx: &Context) -> String {
    if id.starts_with("msg_") && id.len() > 4 {
        return clean(id);
    }
    let rest = clean(id.strip_prefix("chatcmpl-").unwrap_or(id));
    if rest.is_empty() { format!("msg_{:016x}{:016x}", cx.now.0, cx.seed) } else { format!("msg_{rest}") }
}

/// A tool call's own id, or one made from the message's id and the call's index.
pub(crate) fn tool(id: Option<&str>, message: &str, index: usize) -> String {
    match id.filter(|id| !id.is_empty()) {
        Some(id) => tool_ids::encoded(id).into_owned(),
        None => format!("toolu_{}_{index}", message.strip_prefix("msg_").unwrap_or(message)),
    }
}

/// The letters ids are made of.
fn clean(id: &str) -> String {
    id.chars().filter(|letter| letter.is_ascii_alphanumeric() || "_-".contains(*letter)).collect()
}
