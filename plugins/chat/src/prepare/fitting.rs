//! What a chat provider is sent of a conversation in place of what the client wrote: no texts and turns that say nothing, which
//! many servers refuse, and for the ids of calls that another provider has made those that this one takes back.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::value::RawValue;

use gatehouse_text_protocols::json::{JsonString, quote};
use gatehouse_text_protocols::tool_ids::CallIds;

use crate::request::messages::{Message, ToolCall};
use crate::request::parts::Content;

/// The list of messages, as [`Fitting::sent`] names it.
pub(super) const MESSAGES: &str = "messages";

/// What changes.
pub(super) struct Fitting {
    ids: CallIds,
    has_ids: bool,
    /// Lists of which items are not sent: the path of each, and the numbers of those that are.
    pub(super) lists: BTreeMap<String, Vec<usize>>,
    /// Turns that are sent as the beginning of the next one: what stood between them is not sent, and not every server takes two
    /// of one side.
    joined: BTreeMap<usize, Vec<usize>>,
}

impl Fitting {
    pub(super) fn of(messages: &[Message<'_>], ids: CallIds) -> Self {
        let mut lists = BTreeMap::new();
        let mut shorten = |list: &dyn Fn() -> String, count: usize, is_blank: &dyn Fn(usize) -> bool| {
            if !(0..count).any(is_blank) {
                return;
            }
            let sent: Vec<usize> = (0..count).filter(|at| !is_blank(*at)).collect();
            if !sent.is_empty() {
                lists.insert(list(), sent);
            }
        };
        let joined = joined(messages);
        let begun: BTreeSet<usize> = joined.values().flatten().copied().collect();
        let is_left_out = |at: usize| is_silent(messages, at) || begun.contains(&at);
        shorten(&|| MESSAGES.to_owned(), messages.len(), &is_left_out);
        for (at, message) in messages.iter().enumerate() {
            if let Some(Content::Parts(parts)) = message.content() {
                shorten(&|| content_of(at), parts.len(), &|at| parts[at].is_blank());
            }
        }
        let differs = |id: &JsonString<'_>| matches!(ids.fitted(&id.decoded()), Cow::Owned(_));
        let has_ids = messages.iter().any(|message| match message {
            Message::Tool { call, .. } => differs(call),
            Message::Assistant(said) => said.calls.iter().map(ToolCall::id).any(differs),
            _ => false,
        });
        Self { ids, has_ids, lists, joined }
    }

    /// The turns that are sent as the beginning of that one.
    pub(super) fn before(&self, message: usize) -> &[usize] {
        self.joined.get(&message).map_or(&[], Vec::as_slice)
    }

    pub(super) fn changes(&self) -> bool {
        self.has_ids || !self.lists.is_empty()
    }

    /// The items of a list that are sent, with their numbers.
    pub(super) fn sent<'r>(&self, list: &str, all: &[&'r RawValue]) -> Vec<(usize, &'r RawValue)> {
        let numbers = self.lists.get(list);
        let is_sent = |at: &usize| numbers.is_none_or(|numbers| numbers.binary_search(at).is_ok());
        all.iter().copied().enumerate().filter(|(at, _)| is_sent(at)).collect()
    }

    /// Writes the id of a call, or of the call that a result is of.
    pub(super) fn id(&self, raw: &RawValue, into: &mut String) {
        let own = JsonString::of(raw).map(JsonString::decoded).unwrap_or_default();
        match self.ids.fitted(&own) {
            Cow::Owned(fitted) => quote(&fitted, into),
            Cow::Borrowed(_) => into.push_str(raw.get()),
        }
    }
}

/// Whether a message says nothing. The last word of the user stays: it is what is asked.
fn is_silent(messages: &[Message<'_>], at: usize) -> bool {
    match &messages[at] {
        Message::System(content) => content.is_blank(),
        Message::User(content) => content.is_blank() && at + 1 < messages.len(),
        Message::Assistant(said) => said.is_silent(),
        Message::Tool { .. } | Message::Function => false,
    }
}

/// The turns that become the beginning of another one, by that.
fn joined(messages: &[Message<'_>]) -> BTreeMap<usize, Vec<usize>> {
    let mut all: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let (mut last, mut is_apart) = (None, false);
    for (at, message) in messages.iter().enumerate() {
        let is_turn = matches!(message, Message::User(_) | Message::Assistant(_));
        if is_silent(messages, at) {
            is_apart |= is_turn;
            continue;
        }
        let before = last.replace(at).filter(|_| is_apart);
        is_apart = false;
        let Some(before) = before.filter(|before| messages[*before].goes_on_in(message)) else { continue };
        let mut turns = all.remove(&before).unwrap_or_default();
        turns.push(before);
        all.insert(at, turns);
    }
    all
}

/// The list of parts of a message, as [`Fitting::sent`] names it.
pub(super) fn content_of(message: usize) -> String {
    format!("{MESSAGES}.{message}.content")
}
