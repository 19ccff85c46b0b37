//! The conversation of a request: items, their parts, and the chat messages they become.

mod conversation;
mod entry;
mod items;
mod parts;

pub(super) use conversation::{Conversation, Thinking};
pub(super) use entry::{Entry, HISTORY, INPUT};
