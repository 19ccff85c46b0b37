//! `messages`, checked by role. The contents are read in `parts`.

use gatehouse_text_protocols::broken_json;
use gatehouse_text_protocols::limits::MAX_MESSAGES;
use serde_json::value::RawValue;

use super::InputEstimate;
use super::parts::{self, CACHE, Content, ContentReader};
use gatehouse_text_protocols::check::{
    Checked, array, nonempty_string, object, objects, required, required_choice, string, wrong,
};
use gatehouse_text_protocols::json::{JsonString, Object, is_null};
use gatehouse_text_protocols::path::Path;
use gatehouse_text_protocols::rules::Rules;

/// Members of a message that are counted one by one, or that no model reads.
const OWN: [&str; 11] = [
    "audio",
    "cache_control",
    "content",
    "function_call",
    "name",
    "provider_specific_fields",
    "refusal",
    "role",
    "thinking_blocks",
    "tool_call_id",
    "tool_calls",
];
/// Members of messages, parts, calls and tools that clients carry along from answers of other providers, or for other providers.
pub(crate) const ECHOES: [&str; 7] = [
    "cache_control",
    "provider_specific_fields",
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "thinking_blocks",
    "annotations",
];
/// The number of a call in a stream; a call of a message has none.
pub(crate) const INDEX: &str = "index";
const ROLES: [&str; 6] = ["developer", "system", "user", "assistant", "tool", "function"];

/// One message.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    /// `system` or `developer`.
    System(Content<'a>),
    User(Content<'a>),
    Assistant(Assistant<'a>),
    /// The result of a tool call.
    Tool {
        call: JsonString<'a>,
        content: Content<'a>,
    },
    /// The deprecated form of a tool result.
    Function,
}

#[derive(Debug)]
pub(crate) struct Assistant<'a> {
    pub(crate) content: Option<Content<'a>>,
    pub(crate) refusal: Option<JsonString<'a>>,
    pub(crate) calls: Vec<ToolCall<'a>>,
    /// Signed thinking of an earlier answer; see `response::from_messages`.
    pub(crate) thinking: Vec<(&'a RawValue, Object<'a>)>,
    /// The deprecated `function_call` is present.
    pub(crate) function_call: bool,
    /// An `audio` of an earlier answer is named.
    pub(crate) audio: bool,
}

/// A call the model made.
#[derive(Debug)]
pub(crate) enum ToolCall<'a> {
    /// `arguments` is a text, or what some clients write in place of one.
    Function {
        id: JsonString<'a>,
        name: JsonString<'a>,
        arguments: Option<&'a RawValue>,
        cache: Option<&'a RawValue>,
    },
    Custom {
        id: JsonString<'a>,
    },
}

impl<'a> Message<'a> {
    pub(crate) fn content(&self) -> Option<&Content<'a>> {
        match self {
            Self::System(content) | Self::User(content) | Self::Tool { content, .. } => Some(content),
            Self::Assistant(said) => said.content.as_ref(),
            Self::Function => None,
        }
    }

    /// Whether both are turns of one side, and this one has nothing but its content.
    pub(crate) fn goes_on_in(&self, next: &Self) -> bool {
        match (self, next) {
            (Self::User(_), Self::User(_)) => true,
            (Self::Assistant(said), Self::Assistant(_)) => said.content.is_some() && said.is_only_content(),
            _ => false,
        }
    }
}

impl Assistant<'_> {
    /// Whether it is nothing but white space.
    pub(crate) fn is_silent(&self) -> bool {
        self.is_only_content() && self.content.as_ref().is_none_or(Content::is_blank)
    }

    fn is_only_content(&self) -> bool {
        let refuses = self.refusal.is_some_and(|text| !text.is_blank());
        self.calls.is_empty() && !refuses && !self.function_call && !self.audio
    }
}

impl<'a> ToolCall<'a> {
    pub(crate) fn id(&self) -> &JsonString<'a> {
        let (Self::Function { id, .. } | Self::Custom { id }) = self;
        id
    }
}

pub(crate) fn read<'a>(
    path: &Path<'_>,
    raw: &'a RawValue,
    rules: &Rules,
    estimate: &mut InputEstimate<'a>,
) -> Checked<Vec<Message<'a>>> {
    let all = objects(path, raw)?;
    if all.is_empty() || all.len() > MAX_MESSAGES {
        return Err(wrong(path, &format!("an array of 1 to {MAX_MESSAGES} messages"), Some(raw)));
    }
    let mut reader = ContentReader { rules, estimate };
    all.iter().enumerate().map(|(at, message)| reader.message(&path.index(at), message)).collect()
}

impl<'a> ContentReader<'_, 'a> {
    fn message(&mut self, path: &Path<'_>, message: &Object<'a>) -> Checked<Message<'a>> {
        self.estimate.is_odd |= message.iter().any(|(name, raw)| ECHOES.contains(&name) || is_null(raw));
        if let Some(name) = message.get("name") {
            self.estimate.count(string(&path.key("name"), name)?);
        }
        // Servers read more of a message than the protocol has.
        let others = message.iter().filter(|(name, raw)| !OWN.contains(name) && !is_null(raw));
        others.for_each(|(_, raw)| self.estimate.count_raw(raw));
        match required_choice(path, message, "role", &ROLES)? {
            "developer" | "system" => Ok(Message::System(self.content(path, message, &parts::TEXT_ONLY)?)),
            "user" => Ok(Message::User(self.content(path, message, &parts::USER_PARTS)?)),
            "assistant" => self.assistant(path, message).map(Message::Assistant),
            "tool" => {
                let id = required(path, message, "tool_call_id", "a string")?;
                let call = nonempty_string(&path.key("tool_call_id"), id)?;
                // A tool may have nothing to say.
                self.estimate.is_odd |= message.get("content").is_none();
                let content = match message.get("content") {
                    Some(_) => self.content(path, message, &parts::TOOL_PARTS)?,
                    None => Content::Parts(Vec::new()),
                };
                Ok(Message::Tool { call, content })
            }
            _ => {
                string(&path.key("name"), required(path, message, "name", "a string")?)?;
                if let Some(content) = message.get("content") {
                    self.estimate.count(string(&path.key("content"), content)?);
                }
                Ok(Message::Function)
            }
        }
    }

    fn content(
        &mut self,
        path: &Path<'_>,
        message: &Object<'a>,
        kinds: &[&'static str],
    ) -> Checked<Content<'a>> {
        let raw = required(path, message, "content", "a string or an array of parts")?;
        let content = parts::read(self, &path.key("content"), raw, kinds)?;
        Ok(content.cached(message.get(CACHE)))
    }

    fn assistant(&mut self, path: &Path<'_>, message: &Object<'a>) -> Checked<Assistant<'a>> {
        let content = message
            .get("content")
            .map(|raw| parts::read(self, &path.key("content"), raw, &parts::MODEL_PARTS))
            .transpose()?;
        let cache = message.get(CACHE);
        let refusal = message.get("refusal").map(|raw| string(&path.key("refusal"), raw)).transpose()?;
        let child = path.key("tool_calls");
        let calls = match message.get("tool_calls") {
            None => Vec::new(),
            Some(raw) => {
                let all = objects(&child, raw)?;
                let whose = |at: usize| cache.filter(|_| at + 1 == all.len());
                all.iter()
                    .enumerate()
                    .map(|(at, call)| self.call(&child.index(at), call, whose(at)))
                    .collect::<Checked<_>>()?
            }
        };
        self.estimate.is_odd |= calls.is_empty() && message.get("tool_calls").is_some();
        let content = content.map(|content| content.cached(cache.filter(|_| calls.is_empty())));
        for name in ["audio", "function_call"] {
            if let Some(raw) = message.get(name) {
                object(&path.key(name), raw)?;
                self.estimate.count_raw(raw);
            }
        }
        refusal.into_iter().for_each(|text| self.estimate.count(text));
        let function_call = message.get("function_call").is_some();
        let audio = message.get("audio").is_some();
        // A model may have nothing to say, and clients keep that.
        let has_content = content.is_some() || refusal.is_some() || audio;
        self.estimate.is_odd |= !has_content && calls.is_empty() && !function_call;
        let thinking = self.thinking(&path.key("thinking_blocks"), message.get("thinking_blocks"))?;
        Ok(Assistant { content, refusal, calls, thinking, function_call, audio })
    }

    /// `cache` is that of a message which ends with the call.
    fn call(
        &mut self,
        path: &Path<'_>,
        call: &Object<'a>,
        cache: Option<&'a RawValue>,
    ) -> Checked<ToolCall<'a>> {
        self.estimate.is_odd |= call.iter().any(|(name, _)| ECHOES.contains(&name) || name == INDEX);
        let id = nonempty_string(&path.key("id"), required(path, call, "id", "a string")?)?;
        let kind = match call.get("type") {
            None if call.get("function").is_some() => "function",
            _ => required_choice(path, call, "type", &["function", "custom"])?,
        };
        self.estimate.is_odd |= call.get("type").is_none();
        let child = path.key(kind);
        let called = object(&child, required(path, call, kind, "an object")?)?;
        let name = nonempty_string(&child.key("name"), required(&child, &called, "name", "a string")?)?;
        if kind == "custom" {
            let input = string(&child.key("input"), required(&child, &called, "input", "a string")?)?;
            [name, input].into_iter().for_each(|text| self.estimate.count(text));
            return Ok(ToolCall::Custom { id });
        }
        // A model wrote them, or a server: they are never the client's fault.
        let arguments = called.get("arguments");
        let text = arguments.and_then(JsonString::of);
        let is_object = arguments.is_some_and(|raw| raw.get().starts_with('{'));
        if let Some(raw) = arguments.filter(|_| text.is_none() && !is_object) {
            string(&child.key("arguments"), raw)?;
        }
        let is_broken = |text: JsonString<'_>| broken_json::kept(&text.decoded()).is_some();
        self.estimate.is_odd |= text.is_none_or(is_broken);
        self.estimate.count(name);
        match (text, arguments) {
            (Some(text), _) => self.estimate.count(text),
            (None, Some(raw)) => self.estimate.count_raw(raw),
            (None, None) => {}
        }
        let cache = call.get(CACHE).or_else(|| called.get(CACHE)).or(cache);
        Ok(ToolCall::Function { id, name, arguments, cache })
    }

    /// Thinking blocks of the Messages protocol, which this family adds to its answers.
    fn thinking(
        &mut self,
        path: &Path<'_>,
        raw: Option<&'a RawValue>,
    ) -> Checked<Vec<(&'a RawValue, Object<'a>)>> {
        let all = raw.map(|raw| array(path, raw)).transpose()?.unwrap_or_default();
        all.into_iter()
            .enumerate()
            .map(|(at, raw)| {
                let child = path.index(at);
                let block = object(&child, raw)?;
                let kind = required_choice(&child, &block, "type", &["thinking", "redacted_thinking"])?;
                let fields: &[&str] = if kind == "thinking" { &["thinking", "signature"] } else { &["data"] };
                for name in fields {
                    string(&child.key(name), required(&child, &block, name, "a string")?)?;
                }
                block.string("thinking").into_iter().for_each(|text| self.estimate.count(text));
                Ok((raw, block))
            })
            .collect()
    }
}
