//! `messages`: who said what, judged by role. Contents are `parts`' business.

use gatehouse_sdk::Facts;
use serde_json::value::RawValue;

use crate::json::{Object, Text};
use crate::parts::{self, Content};
use crate::read::{Checked, Path, array, filled, needed, object, objects, text, word, wrong};
use crate::request::Tally;

const ROLES: [&str; 6] = ["developer", "system", "user", "assistant", "tool", "function"];
/// As many as a messages provider takes; no conversation is longer.
const MOST: usize = 100_000;

/// One turn of the conversation.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    /// `system` or `developer`.
    System(Content<'a>),
    User(Content<'a>),
    Assistant(Assistant<'a>),
    /// What a tool answered.
    Tool {
        call: Text<'a>,
        content: Content<'a>,
    },
    /// The deprecated form of it.
    Function,
}

#[derive(Debug)]
pub(crate) struct Assistant<'a> {
    pub(crate) content: Option<Content<'a>>,
    pub(crate) refusal: Option<Text<'a>>,
    pub(crate) calls: Vec<ToolCall<'a>>,
    /// Signed thinking of an earlier answer, handed back; see `answer`.
    pub(crate) thinking: Vec<(&'a RawValue, Object<'a>)>,
    /// The deprecated `function_call`.
    pub(crate) function: bool,
}

/// A call the model made.
#[derive(Debug)]
pub(crate) enum ToolCall<'a> {
    Function { id: Text<'a>, name: Text<'a>, arguments: Text<'a> },
    Custom,
}

pub(crate) fn read<'a>(
    path: &Path<'_>,
    raw: &'a RawValue,
    blobs: &[Facts],
    tally: &mut Tally<'a>,
) -> Checked<Vec<Message<'a>>> {
    let all = objects(path, raw)?;
    if all.is_empty() || all.len() > MOST {
        return Err(wrong(path, &format!("an array of 1 to {MOST} messages"), Some(raw)));
    }
    let mut reader = Reader { blobs, tally };
    all.iter().enumerate().map(|(at, message)| reader.message(&path.index(at), message)).collect()
}

/// Who reads a message, and where it counts.
pub(crate) struct Reader<'t, 'a> {
    pub(crate) blobs: &'t [Facts],
    pub(crate) tally: &'t mut Tally<'a>,
}

impl<'a> Reader<'_, 'a> {
    fn message(&mut self, path: &Path<'_>, message: &Object<'a>) -> Checked<Message<'a>> {
        if let Some(name) = message.get("name") {
            text(&path.key("name"), name)?;
        }
        let role = needed(path, message, "role", &crate::read::one_of(&ROLES))?;
        match word(&path.key("role"), role, &ROLES)? {
            "developer" | "system" => Ok(Message::System(self.content(path, message, &parts::WORDS)?)),
            "user" => Ok(Message::User(self.content(path, message, &parts::OF_USERS)?)),
            "assistant" => self.assistant(path, message).map(Message::Assistant),
            "tool" => {
                let id = needed(path, message, "tool_call_id", "a string")?;
                Ok(Message::Tool {
                    call: filled(&path.key("tool_call_id"), id)?,
                    content: self.content(path, message, &parts::WORDS)?,
                })
            }
            _ => {
                text(&path.key("name"), needed(path, message, "name", "a string")?)?;
                if let Some(content) = message.get("content") {
                    self.tally.read += text(&path.key("content"), content)?.len();
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
        let raw = needed(path, message, "content", "a string or an array of parts")?;
        parts::read(self, &path.key("content"), raw, kinds)
    }

    fn assistant(&mut self, path: &Path<'_>, message: &Object<'a>) -> Checked<Assistant<'a>> {
        let content = message
            .get("content")
            .map(|raw| parts::read(self, &path.key("content"), raw, &parts::OF_MODELS))
            .transpose()?;
        let refusal = message.get("refusal").map(|raw| text(&path.key("refusal"), raw)).transpose()?;
        let place = path.key("tool_calls");
        let calls = match message.get("tool_calls") {
            None => Vec::new(),
            Some(raw) => {
                let all = objects(&place, raw)?;
                all.iter()
                    .enumerate()
                    .map(|(at, call)| self.call(&place.index(at), call))
                    .collect::<Checked<_>>()?
            }
        };
        for name in ["audio", "function_call"] {
            if let Some(raw) = message.get(name) {
                object(&path.key(name), raw)?;
            }
        }
        let function = message.get("function_call").is_some();
        let said = content.is_some() || refusal.is_some() || message.get("audio").is_some();
        if !said && calls.is_empty() && !function {
            return Err(wrong(&path.key("content"), "a string or an array of parts, or `tool_calls`", None));
        }
        let thinking = self.thinking(&path.key("thinking_blocks"), message.get("thinking_blocks"))?;
        Ok(Assistant { content, refusal, calls, thinking, function })
    }

    fn call(&mut self, path: &Path<'_>, call: &Object<'a>) -> Checked<ToolCall<'a>> {
        let id = filled(&path.key("id"), needed(path, call, "id", "a string")?)?;
        let kind = needed(path, call, "type", "`function` or `custom`")?;
        let kind = word(&path.key("type"), kind, &["function", "custom"])?;
        let place = path.key(kind);
        let called = object(&place, needed(path, call, kind, "an object")?)?;
        let name = filled(&place.key("name"), needed(&place, &called, "name", "a string")?)?;
        let said = if kind == "function" { "arguments" } else { "input" };
        let arguments = text(&place.key(said), needed(&place, &called, said, "a string")?)?;
        self.tally.read += name.len() + arguments.len();
        Ok(match kind {
            "function" => ToolCall::Function { id, name, arguments },
            _ => ToolCall::Custom,
        })
    }

    /// Blocks of the messages protocol, as this family hands them out.
    fn thinking(
        &mut self,
        path: &Path<'_>,
        raw: Option<&'a RawValue>,
    ) -> Checked<Vec<(&'a RawValue, Object<'a>)>> {
        let all = raw.map(|raw| array(path, raw)).transpose()?.unwrap_or_default();
        all.into_iter()
            .enumerate()
            .map(|(at, raw)| {
                let place = path.index(at);
                let block = object(&place, raw)?;
                let kind = needed(&place, &block, "type", "`thinking` or `redacted_thinking`")?;
                let kind = word(&place.key("type"), kind, &["thinking", "redacted_thinking"])?;
                let fields: &[&str] = if kind == "thinking" { &["thinking", "signature"] } else { &["data"] };
                for name in fields {
                    text(&place.key(name), needed(&place, &block, name, "a string")?)?;
                }
                self.tally.read += block.text("thinking").map_or(0, Text::len);
                Ok((raw, block))
            })
            .collect()
    }
}
