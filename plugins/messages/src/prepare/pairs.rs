//! Calls and their results in the messages for a chat provider. A provider takes one result for each call, right behind it,
//! and no other; a history that lacks one, or has one twice, would be refused on every further turn.

use std::collections::{BTreeMap, VecDeque};

use gatehouse_text_protocols::field_names::MessagePaths;
use gatehouse_text_protocols::tool_ids::{CallIds, DistinctIds};

use super::chat_request::{Message, TextValue, UserContent};

/// A message, and where it came from.
type Placed<'a> = (Message<'a>, MessagePaths);

/// In place of the result that a call does not have.
const NO_RESULT: &str = "(no result)";
/// Before the result of a call that is not in the conversation.
const LOST_CALL: &str = "Result of an earlier tool call: ";

/// The messages, each call followed by its result, under an id that the provider takes.
pub(crate) fn paired(messages: Vec<Placed<'_>>, ids: CallIds) -> Vec<Placed<'_>> {
    let mut out = Vec::with_capacity(messages.len());
    let mut rest = messages.into_iter().peekable();
    while let Some((mut message, place)) = rest.next() {
        let own = place.own.clone();
        let open = calls(&mut message, ids);
        out.push((lost(message), place));
        if open.is_empty() || rest.peek().is_none() {
            continue;
        }
        let mut follows = Vec::new();
        while let Some(next) = rest.next_if(|(next, _)| !matches!(next, Message::Assistant { .. })) {
            follows.push(next);
        }
        let mut results: BTreeMap<String, VecDeque<usize>> = BTreeMap::new();
        for (at, (message, _)) in follows.iter().enumerate() {
            if let Message::Tool { tool_call_id, .. } = message {
                results.entry(tool_call_id.text().into_owned()).or_default().push_back(at);
            }
        }
        let mut follows: Vec<Option<Placed<'_>>> = follows.into_iter().map(Some).collect();
        for (id, sent) in open {
            let its = results.get_mut(&id).and_then(VecDeque::pop_front);
            let (content, place) = match its.and_then(|at| follows[at].take()) {
                Some((Message::Tool { content, .. }, place)) => (content, place),
                _ => {
                    (TextValue::Made(NO_RESULT.into()), MessagePaths { own: own.clone(), parts: Vec::new() })
                }
            };
            out.push((Message::Tool { tool_call_id: TextValue::Made(sent.into()), content }, place));
        }
        out.extend(follows.into_iter().flatten().map(|(message, place)| (lost(message), place)));
    }
    out
}

/// The ids of a message's calls: the client's, and those that are sent. No two of them are the same.
fn calls(message: &mut Message<'_>, fitting: CallIds) -> Vec<(String, String)> {
    let Message::Assistant { tool_calls, .. } = message else { return Vec::new() };
    let mut distinct = DistinctIds::default();
    let mut ids: Vec<(String, String)> = Vec::with_capacity(tool_calls.len());
    for call in tool_calls {
        let own = call.id.text().into_owned();
        let sent = fitting.fitted(&distinct.next(&own)).into_owned();
        if sent != own {
            call.id = TextValue::Made(sent.clone().into());
        }
        ids.push((own, sent));
    }
    ids
}

/// The result of a call that is not there, as a text of the user; any other message as it is.
fn lost(message: Message<'_>) -> Message<'_> {
    match message {
        Message::Tool { content, .. } => {
            let told = format!("{LOST_CALL}{}", content.text());
            Message::User { content: UserContent::Text(TextValue::Made(told.into())) }
        }
        other => other,
    }
}
