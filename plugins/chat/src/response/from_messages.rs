//! Whole answers of a Messages provider, written for a chat client.
//!
//! Thinking is written as `reasoning_content`, and once more in `thinking_blocks`, signed and byte for byte. A
//! client that sends these back lets the provider continue its thinking through a tool loop.

use gatehouse_sdk::{Answered, Context, Extra, TextFailure};
use serde_json::value::RawValue;

use gatehouse_text_protocols::failures::unreadable;
use gatehouse_text_protocols::json::{JsonString, Object, Writer, quote, quoted};
use gatehouse_text_protocols::relay::clamp;
use gatehouse_text_protocols::tool_names;
use gatehouse_text_protocols::usage::{self, TokenCounts};

use crate::state::State;

/// The blocks of an answer, sorted.
#[derive(Default)]
struct Blocks<'a> {
    texts: Vec<JsonString<'a>>,
    thoughts: Vec<JsonString<'a>>,
    thinking: Vec<&'a RawValue>,
    calls: Vec<String>,
    output_bytes: u64,
}

pub(crate) fn answer(
    cx: &Context,
    state: &State,
    whole: &Object<'_>,
    body: &str,
) -> Result<Answered, TextFailure> {
    if whole.string("type").is_some_and(|kind| kind.decoded() == "error") {
        return Err(state.failures().of_error(body));
    }
    let Some(content) = whole.items("content") else {
        return Err(unreadable("it has no `content`", body));
    };
    let mut blocks = Blocks::default();
    for raw in content {
        blocks.take(raw, &state.names).ok_or_else(|| unreadable("a block of it is incomplete", body))?;
    }
    let stop = whole.text("stop_reason").unwrap_or_default();
    let mut choice = Writer::new(body.len());
    choice.member("index", "0");
    choice.member("message", &blocks.message());
    choice.member("logprobs", "null");
    choice.member("finish_reason", &quoted(finish_reason(&stop, !blocks.calls.is_empty())));

    let mut out = Writer::new(body.len() + 512);
    let given = whole.text("id");
    quote(&completion_id(given.as_deref(), cx.seed), out.name("id"));
    out.member("object", "\"chat.completion\"");
    out.member("created", &(cx.now.0 / 1000).to_string());
    quote(&state.model, out.name("model"));
    out.member("choices", &format!("[{}]", choice.done()));
    let mut counts = TokenCounts::default();
    counts.read_event(whole);
    let counts = counts.settled(blocks.output_bytes);
    let usage = usage::plausible(counts.reported(), blocks.output_bytes);
    if usage.is_some() {
        out.member("usage", &counts.chat_json());
    }
    Ok(Answered {
        body: out.done(),
        usage,
        counters: counts.counters(),
        output_bytes: clamp(blocks.output_bytes),
        extra: Extra::new(),
    })
}

/// A chat completion's id, made from the provider's; the same answer always has the same id.
pub(crate) fn completion_id(given: Option<&str>, seed: u64) -> String {
    match given {
        Some(given) if !given.is_empty() => {
            format!("chatcmpl-{}", given.strip_prefix("msg_").unwrap_or(given))
        }
        _ => format!("chatcmpl-{seed:016x}"),
    }
}

impl<'a> Blocks<'a> {
    /// Reads one block; `None` when it lacks a required member. Unknown kinds are skipped.
    fn take(&mut self, raw: &'a RawValue, names: &[(String, String)]) -> Option<()> {
        let block = Object::parse(raw.get())?;
        match block.string("type")?.decoded().as_ref() {
            "text" => {
                let text = block.string("text")?;
                self.output_bytes += text.len();
                self.texts.push(text);
            }
            "thinking" => {
                let thought = block.string("thinking")?;
                self.output_bytes += thought.len();
                self.thoughts.push(thought);
                self.thinking.push(raw);
            }
            "redacted_thinking" => self.thinking.push(raw),
            "tool_use" => {
                let (id, name) = (block.string("id")?, block.string("name")?);
                let input = block.get("input").map_or("{}", RawValue::get);
                self.output_bytes += name.len() + input.len() as u64;
                let mut function = Writer::new(input.len() + 64);
                quote(tool_names::own(names, &name.decoded()), function.name("name"));
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
fn joined(texts: &[JsonString<'_>]) -> String {
    format!("\"{}\"", texts.iter().map(|text| text.inner()).collect::<String>())
}

/// The `finish_reason` for a `stop_reason` of Messages. Reasons newer than this list are `stop`, and so are calls that
/// are not there.
pub(crate) fn finish_reason(stop: &str, has_called: bool) -> &'static str {
    match stop {
        "max_tokens" | "length" | "model_context_window_exceeded" => "length",
        // Some servers do not say that tools were called.
        "tool_use" | "end_turn" | "stop" | "tool_calls" | "" if has_called => "tool_calls",
        "refusal" | "content_filter" => "content_filter",
        _ => "stop",
    }
}
