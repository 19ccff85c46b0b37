//! What a Messages client reads, where this family writes it: whole messages, and the events of a stream. Ids are made from the
//! chat provider's own, so that both logs agree and a call is known again.

use gatehouse_sdk::{Context, Sse, Usage};
use gatehouse_text_protocols::tool_ids;
use serde::Serialize;
use serde_json::value::RawValue;

/// A whole message.
#[derive(Serialize)]
pub(crate) struct Message<'a> {
    pub(crate) id: &'a str,
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) role: &'static str,
    pub(crate) model: &'a str,
    pub(crate) content: Vec<ContentBlock<'a>>,
    pub(crate) stop_reason: Option<StopReason>,
    pub(crate) stop_sequence: Option<&'a str>,
    pub(crate) usage: UsageForm,
}

impl<'a> Message<'a> {
    pub(crate) fn new(id: &'a str, model: &'a str, usage: UsageForm) -> Self {
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

/// `usage` as a stream writes it.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Counts {
    input_tokens: u64,
    cache_creation_input_tokens: u64,
    cache_read_input_tokens: u64,
    output_tokens: u64,
}

impl From<Usage> for Counts {
    fn from(usage: Usage) -> Self {
        Self {
            input_tokens: usage.input,
            cache_creation_input_tokens: usage.cache_write,
            cache_read_input_tokens: usage.cached,
            output_tokens: usage.output,
        }
    }
}

/// `usage` in its two forms: short in a stream, full in a whole answer.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum UsageForm {
    Short(Counts),
    Full {
        #[serde(flatten)]
        counts: Counts,
        cache_creation: CacheCreation,
        service_tier: &'static str,
    },
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct CacheCreation {
    ephemeral_5m_input_tokens: u64,
    ephemeral_1h_input_tokens: u64,
}

impl UsageForm {
    pub(crate) fn full(usage: Usage) -> Self {
        Self::Full {
            counts: usage.into(),
            cache_creation: CacheCreation {
                ephemeral_5m_input_tokens: usage.cache_write.saturating_sub(usage.cache_write_hour),
                ephemeral_1h_input_tokens: usage.cache_write_hour,
            },
            service_tier: "standard",
        }
    }

    pub(crate) fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// A content block; in a stream, as it opens.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ContentBlock<'a> {
    Text { text: &'a str },
    Thinking { thinking: &'a str, signature: &'a str },
    ToolUse { id: &'a str, name: &'a str, input: &'a RawValue },
}

/// `stop_reason`, as far as a chat provider reports it; few report a stop sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StopReason {
    EndTurn,
    MaxTokens,
    Refusal,
    StopSequence,
    ToolUse,
}

impl StopReason {
    /// From `finish_reason`. Some providers send `stop` after a tool call, or `tool_calls` without one.
    pub(crate) fn of_chat(reason: &str, called: bool, at_sequence: bool) -> Self {
        match reason {
            "length" | "max_tokens" => Self::MaxTokens,
            "content_filter" => Self::Refusal,
            _ if called => Self::ToolUse,
            _ if at_sequence => Self::StopSequence,
            _ => Self::EndTurn,
        }
    }
}

/// An event.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Event<'a> {
    MessageStart { message: Message<'a> },
    ContentBlockStart { index: u32, content_block: ContentBlock<'a> },
    Ping,
    ContentBlockDelta { index: u32, delta: Delta<'a> },
    ContentBlockStop { index: u32 },
    MessageDelta { delta: Ending<'a>, usage: Counts },
    MessageStop,
}

/// What is added to a block.
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
pub(crate) struct Ending<'a> {
    pub(crate) stop_reason: StopReason,
    pub(crate) stop_sequence: Option<&'a str>,
}

impl Event<'_> {
    /// The event as it is sent.
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

/// A `msg_...` from a chat completion's id; without one, from the time and the seed of the call.
pub(crate) fn message_id(id: &str, cx: &Context) -> String {
    if id.starts_with("msg_") && id.len() > 4 {
        return clean_id(id);
    }
    let rest = clean_id(id.strip_prefix("chatcmpl-").unwrap_or(id));
    if rest.is_empty() { format!("msg_{:016x}{:016x}", cx.now.0, cx.seed) } else { format!("msg_{rest}") }
}

/// A tool call's own id, or one made from the message's id and the call's index.
pub(crate) fn tool_id(id: Option<&str>, message: &str, index: usize) -> String {
    match id.filter(|id| !id.is_empty()) {
        Some(id) => tool_ids::encoded(id).into_owned(),
        None => format!("toolu_{}_{index}", message.strip_prefix("msg_").unwrap_or(message)),
    }
}

/// The letters ids are made of.
fn clean_id(id: &str) -> String {
    id.chars().filter(|letter| letter.is_ascii_alphanumeric() || "_-".contains(*letter)).collect()
}
