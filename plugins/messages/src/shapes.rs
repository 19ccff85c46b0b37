//! What a client of Messages reads, where it is written here and not passed on: whole messages and events.

use gatehouse_sdk::Sse;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::usage::{Counts, FullCounts};

/// A whole message.
#[derive(Serialize)]
pub(crate) struct Message<'a> {
    pub(crate) id: &'a str,
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) role: &'static str,
    pub(crate) model: &'a str,
    pub(crate) content: Vec<Content<'a>>,
    pub(crate) stop_reason: Option<Stop>,
    pub(crate) stop_sequence: Option<&'a str>,
    pub(crate) usage: Reported,
}

impl<'a> Message<'a> {
    pub(crate) fn new(id: &'a str, model: &'a str, usage: Reported) -> Self {
        Self {
            id,
            kind: "message",
            role: "assistant",
            model,
            content: Vec::new(),
            stop_reason: None,
            stop_sequence: None,
            usage,
        }
    }
}

/// Counts in their two forms.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Reported {
    Short(Counts),
    Full(FullCounts),
}

/// A content block; in a stream, as it opens.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Content<'a> {
    Text { text: &'a str },
    Thinking { thinking: &'a str, signature: &'a str },
    ToolUse { id: &'a str, name: &'a str, input: &'a RawValue },
}

/// Why the model stopped, as far as a chat provider can tell: it does not say which stop sequence it met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Stop {
    EndTurn,
    MaxTokens,
    Refusal,
    ToolUse,
}

impl Stop {
    /// From a chat provider's `finish_reason`. Some say `stop` after a tool call.
    pub(crate) fn of_chat(reason: &str, called: bool) -> Self {
        match reason {
            "length" | "max_tokens" => Self::MaxTokens,
            "content_filter" => Self::Refusal,
            "tool_calls" | "function_call" => Self::ToolUse,
            _ if called => Self::ToolUse,
            _ => Self::EndTurn,
        }
    }
}

/// An event.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Event<'a> {
    MessageStart { message: Message<'a> },
    ContentBlockStart { index: u32, content_block: Content<'a> },
    Ping,
    ContentBlockDelta { index: u32, delta: Delta<'a> },
    ContentBlockStop { index: u32 },
    MessageDelta { delta: Ending, usage: Counts },
    MessageStop,
}

/// What a block grows by.
#[derive(Serialize)]
#[serde(tag = "type")]
pub(crate) enum Delta<'a> {
    #[serde(rename = "text_delta")]
    Text { text: &'a str },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: &'a str },
    #[serde(rename = "input_json_delta")]
    InputJson { partial_json: &'a str },
}

/// How a message ends.
#[derive(Serialize)]
pub(crate) struct Ending {
    pub(crate) stop_reason: Stop,
    pub(crate) stop_sequence: Option<&'static str>,
}

impl Event<'_> {
    /// As it is sent.
    pub(crate) fn sse(&self) -> Sse {
        let name = match self {
            Self::MessageStart { .. } => "message_start",
            Self::ContentBlockStart { .. } => "content_block_start",
            Self::Ping => "ping",
            Self::ContentBlockDelta { .. } => "content_block_delta",
            Self::ContentBlockStop { .. } => "content_block_stop",
            Self::MessageDelta { .. } => "message_delta",
            Self::MessageStop => "message_stop",
        };
        Sse { event: Some(name.to_owned()), data: serde_json::to_string(self).expect("an event is JSON") }
    }
}
