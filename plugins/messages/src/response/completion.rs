//! Reads what a chat provider sends: whole completions and chunks have one shape. Only reads; `response` and
//! `stream::from_chat` translate.

use std::borrow::Cow;

use gatehouse_text_protocols::json::JsonString;
use serde::Deserialize;
use serde_json::value::RawValue;

/// A decoded string, borrowed unless it has escapes.
#[derive(Deserialize)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// A completion, or a chunk of one.
#[derive(Deserialize)]
pub(crate) struct Completion<'a> {
    #[serde(borrow, default)]
    pub(crate) id: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) choices: Option<Vec<Choice<'a>>>,
    #[serde(borrow, default)]
    pub(crate) error: Option<&'a RawValue>,
}

/// One answer.
#[derive(Deserialize)]
pub(crate) struct Choice<'a> {
    pub(crate) index: Option<u64>,
    #[serde(borrow, default)]
    pub(crate) delta: Option<Content<'a>>,
    /// The whole message. Some providers send it in a stream, instead of a delta or with each one; so it is
    /// read only when it is needed.
    #[serde(borrow, default)]
    pub(crate) message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) finish_reason: Option<Text<'a>>,
    /// Where vLLM stopped: a text, or the number of a token.
    #[serde(borrow, default)]
    stop_reason: Option<&'a RawValue>,
    /// The same of SGLang.
    #[serde(borrow, default)]
    matched_stop: Option<&'a RawValue>,
}

impl Choice<'_> {
    /// The client's stop sequence at which the model stopped, where the provider says so.
    pub(crate) fn stopped_at<'s>(&self, stops: &'s [String]) -> Option<&'s str> {
        let named = [self.stop_reason, self.matched_stop].into_iter().flatten();
        let mut named = named.filter_map(JsonString::of).map(JsonString::decoded);
        named.find_map(|named| stops.iter().find(|stop| **stop == named)).map(String::as_str)
    }
}

/// A message, or a delta of one.
#[derive(Deserialize)]
pub(crate) struct Content<'a> {
    #[serde(borrow, default)]
    pub(crate) content: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) refusal: Option<Text<'a>>,
    #[serde(borrow, default)]
    reasoning_content: Option<Text<'a>>,
    /// The name other servers give `reasoning_content`.
    #[serde(borrow, default)]
    reasoning: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) tool_calls: Option<Vec<ToolCall<'a>>>,
}

/// A tool call, or a piece of one.
#[derive(Deserialize)]
pub(crate) struct ToolCall<'a> {
    pub(crate) index: Option<u64>,
    #[serde(borrow, default)]
    pub(crate) id: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) function: Option<Function<'a>>,
}

/// The called function.
#[derive(Default, Deserialize)]
pub(crate) struct Function<'a> {
    #[serde(borrow, default)]
    pub(crate) name: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) arguments: Option<Text<'a>>,
}

impl<'a> Content<'a> {
    /// Takes out the reasoning, unless it is empty.
    pub(crate) fn take_reasoning(&mut self) -> Option<Text<'a>> {
        let says = |text: &Text<'_>| !text.0.is_empty();
        self.reasoning_content.take().filter(says).or_else(|| self.reasoning.take().filter(says))
    }
}
