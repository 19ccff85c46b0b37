//! The body of a call to a chat provider, as `serde` writes it. Shapes only; `to_chat` and `chat_messages` fill
//! them.

use std::borrow::Cow;

use gatehouse_text_protocols::json::{JsonString, Raw};
use serde::Serialize;

/// A chat completion request.
#[derive(Serialize)]
pub(crate) struct ChatRequest<'a> {
    pub(crate) model: &'a str,
    pub(crate) messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) temperature: Option<Raw<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) top_p: Option<Raw<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) stop: &'a [JsonString<'a>],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stream: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tools: Vec<ToolDefinition<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool_choice: Option<ToolChoice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<JsonString<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reasoning_effort: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) response_format: Option<ResponseFormat<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) service_tier: Option<&'static str>,
}

#[derive(Serialize)]
pub(crate) struct StreamOptions {
    pub(crate) include_usage: bool,
}

/// One message.
#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(crate) enum Message<'a> {
    System {
        content: TextValue<'a>,
    },
    User {
        content: UserContent<'a>,
    },
    Assistant {
        content: Option<TextValue<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<TextValue<'a>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall<'a>>,
    },
    Tool {
        tool_call_id: JsonString<'a>,
        content: TextValue<'a>,
    },
}

/// A user's content: one text, or parts.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum UserContent<'a> {
    Text(TextValue<'a>),
    Parts(Vec<Part<'a>>),
}

/// A part of a user's content.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Part<'a> {
    Text { text: JsonString<'a> },
    ImageUrl { image_url: ImageUrl<'a> },
    File { file: File<'a> },
}

#[derive(Serialize)]
pub(crate) struct ImageUrl<'a> {
    pub(crate) url: TextValue<'a>,
}

#[derive(Serialize)]
pub(crate) struct File<'a> {
    pub(crate) filename: &'static str,
    pub(crate) file_data: TextValue<'a>,
}

/// A tool the model called.
#[derive(Serialize)]
pub(crate) struct ToolCall<'a> {
    pub(crate) id: JsonString<'a>,
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) function: CalledFunction<'a>,
}

#[derive(Serialize)]
pub(crate) struct CalledFunction<'a> {
    pub(crate) name: JsonString<'a>,
    /// JSON as text.
    pub(crate) arguments: &'a str,
}

#[derive(Serialize)]
pub(crate) struct ToolDefinition<'a> {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) function: FunctionDefinition<'a>,
}

#[derive(Serialize)]
pub(crate) struct FunctionDefinition<'a> {
    pub(crate) name: JsonString<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<JsonString<'a>>,
    pub(crate) parameters: Raw<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) strict: Option<bool>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum ToolChoice<'a> {
    Mode(&'static str),
    Named {
        #[serde(rename = "type")]
        kind: &'static str,
        function: FunctionName<'a>,
    },
}

#[derive(Serialize)]
pub(crate) struct FunctionName<'a> {
    pub(crate) name: JsonString<'a>,
}

#[derive(Serialize)]
pub(crate) struct ResponseFormat<'a> {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) json_schema: Schema<'a>,
}

#[derive(Serialize)]
pub(crate) struct Schema<'a> {
    pub(crate) name: &'static str,
    pub(crate) schema: Raw<'a>,
    pub(crate) strict: bool,
}

/// A text: as the client wrote it, or joined from several.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum TextValue<'a> {
    Raw(JsonString<'a>),
    Made(Cow<'a, str>),
}

impl TextValue<'_> {
    pub(crate) fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Raw(text) => text.decoded(),
            Self::Made(text) => Cow::Borrowed(text),
        }
    }
}
