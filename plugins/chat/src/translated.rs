//! Whole answers of a messages provider, as a chat client reads them.
//!
//! Thinking comes as `reasoning_content`, and once more in `thinking_blocks`, signed and byte for byte: a
//! client that hands these back with the message lets the provider go on thinking through a tool loop.

use gatehouse_sdk::{Answered, Context, TextFailure};
use serde_json::value::RawValue;

use crate::json::{Object, Text, Writer, quote, quoted};
use crate::state::State;
use crate::trouble;
use crate::usage::{self, Counted};

/// What the blocks of an answer come to.
#[derive(Default)]
struct Said<'a> {
    texts: Vec<Text<'a>>,
    thoughts: Vec<Text<'a>>,
    thinking: Vec<&'a RawValue>,
    calls: Vec<String>,
    written: u64,
}

pub(crate) fn answer(
    cx: &Context,
    state: &State,
    whole: &Object<'_>,
    body: &str,
) -> Result<Answered, TextFailure> {
    if whole.text("type").is_some_and(|kind| kind.decoded() == "error") {
        return Err(trouble::of_error(state, body));
    }
    let Some(blocks) = whole.items("content") else {
        return Err(trouble::unreadable("it has no `content`", body));
    };
    let mut said = Said::default();
    for raw in blocks {
        said.take(raw).ok_or_else(|| trouble::unreadable("a block of it is incomplete", body))?;
    }
    let stop = whole.text("stop_reason").map(Text::decoded).unwrap_or_default();
    let mut choice = Writer::new(body.len());
    choice.member("index", "0");
    choice.member("message", &said.message());
    choice.member("logprobs", "null");
    choice.member("finish_reason", &quoted(usage::finish(&stop)));

    let mut out = Writer::new(body.len() + 512);
    let given = whole.text("id").map(Text::decoded);
    quote(&id(given.as_deref(), cx.seed), out.name("id"));
    out.member("object", "\"chat.completion\"");
    out.member("created", &(cx.now.0 / 1000).to_string());
    quote(&state.model, out.name("model"));
    out.member("choices", &format!("[{}]", choice.done()));
    let mut counted = Counted::default();
    if let Some(usage) = whole.object("usage") {
        counted.take(&usage);
    }
    let usage = usage::believable(counted.usage(), said.written);
    if usage.is_some() {
        out.member("usage", &counted.written());
    }
    Ok(Answered { body: out.done(), usage, output_bytes: u32::try_from(said.written).unwrap_or(u32::MAX) })
}

/// The provider's id in this protocol's form; the same answer always has the same.
pub(crate) fn id(given: Option<&str>, seed: u64) -> String {
    match given {
        Some(given) if !given.is_empty() => {
            format!("chatcmpl-{}", given.strip_prefix("msg_").unwrap_or(given))
        }
        _ => format!("chatcmpl-{seed:016x}"),
    }
}

impl<'a> Said<'a> {
    /// Takes one block; `None` when it lacks what it must have. Kinds nobody here knows are passed over.
    fn take(&mut self, raw: &'a RawValue) -> Option<()> {
        let block = Object::parse(raw.get())?;
        match block.text("type")?.decoded().as_ref() {
            "text" => {
                let text = block.text("text")?;
                self.written += text.len();
                self.texts.push(text);
            }
            "thinking" => {
                let thought = block.text("thinking")?;
                self.written += thought.len();
                self.thoughts.push(thought);
                self.thinking.push(raw);
            }
            "redacted_thinking" => self.thinking.push(raw),
            "tool_use" => {
                let (id, name) = (block.text("id")?, block.text("name")?);
                let input = block.get("input").map_or("{}", RawValue::get);
                self.written += name.len() + input.len() as u64;
                let mut function = Writer::new(input.len() + 64);
                function.member("name", name.quoted());
                quote(input, function.name("arguments"));
                let mut call = Writer::new(input.len() + 128);
                call.member("id", id.quoted());
                call.member("type", "\"function\"");
                call.member("function", &function.done());
                self.calls.push(call.done());
            }
            _ => {}
        }
        Some(())
    }

    /// `content` is null only where there are calls and no text.
    fn message(&self) -> String {
        let mut out = Writer::new(256);
        out.member("role", "\"assistant\"");
        if self.texts.is_empty() && !self.calls.is_empty() {
            out.member("content", "null");
        } else {
            out.member("content", &joined(&self.texts));
        }
        out.member("refusal", "null");
        if !self.thoughts.is_empty() {
            out.member("reasoning_content", &joined(&self.thoughts));
        }
        if !self.thinking.is_empty() {
            let blocks: Vec<&str> = self.thinking.iter().map(|raw| raw.get()).collect();
            out.member("thinking_blocks", &format!("[{}]", blocks.join(",")));
        }
        if !self.calls.is_empty() {
            out.member("tool_calls", &format!("[{}]", self.calls.join(",")));
        }
        out.done()
    }
}

/// Texts written one after the other.
fn joined(texts: &[Text<'_>]) -> String {
    format!("\"{}\"", texts.iter().map(|text| text.inner()).collect::<String>())
}
