//! The messages of a call to a chat provider, as `serde` writes them. Shapes only; `chat_messages` fills them.

use std::borrow::Cow;

use gatehouse_text_protocols::json::JsonString;
use serde::Serialize;

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
        tool_call_id: TextValue<'a>,
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
    pub(crate) id: TextValue<'a>,
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) function: CalledFunction<'a>,
}

#[derive(Serialize)]
pub(crate) struct CalledFunction<'a> {
    pub(crate) name: TextValue<'a>,
    /// JSON as text.
    pub(crate) arguments: &'a str,
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
