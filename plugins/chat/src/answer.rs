//! Whole answers of a chat provider: the provider's bytes, under the public name of the model.

use gatehouse_sdk::{Answered, Body, Context, Reply, TextFailure};

use crate::json::{Object, Text, Writer, quote, quoted};
use crate::state::State;
use crate::{translated, trouble, usage};

pub(crate) fn answer(cx: &Context, state: &State, reply: &Reply) -> Result<Answered, TextFailure> {
    let body = match &reply.body {
        Body::Inline(bytes) => String::from_utf8_lossy(bytes),
        Body::Blob(_) => return Err(trouble::unreadable("it came as a file", "")),
    };
    if !reply.is_success() {
        return Err(trouble::of_answer(state, reply.status, &body));
    }
    let Some(whole) = Object::parse(&body) else {
        let what = if body.trim().is_empty() { "it is empty" } else { "it is no JSON object" };
        return Err(trouble::unreadable(what, &body));
    };
    if whole.get("error").is_some() {
        return Err(trouble::of_error(state, &body));
    }
    if state.translated {
        return translated::answer(cx, state, &whole, &body);
    }
    // A gateway like this one wraps its answers.
    let inner = whole.object("data").filter(|inner| inner.get("choices").is_some());
    plain(cx, state, inner.as_ref().unwrap_or(&whole), &body)
}

fn plain(cx: &Context, state: &State, whole: &Object<'_>, body: &str) -> Result<Answered, TextFailure> {
    let choices = whole.items("choices").unwrap_or_default();
    if choices.is_empty() {
        return Err(trouble::unreadable("it has no `choices`", body));
    }
    let mut written = 0_u64;
    for raw in choices {
        let message = Object::parse(raw.get()).and_then(|choice| choice.object("message"));
        let Some(message) = message else {
            return Err(trouble::unreadable("a choice of it has no `message`", body));
        };
        written = written.saturating_add(said(&message));
    }
    let mut out = Writer::new(body.len() + 64);
    let (mut id, mut kind, mut made, mut named) = (false, false, false, false);
    for (name, raw) in whole.iter() {
        match name {
            "model" => {
                named = true;
                quote(&state.model, out.name(name));
                continue;
            }
            "id" => id = true,
            "object" => kind = true,
            "created" => made = true,
            _ => {}
        }
        out.member(name, raw.get());
    }
    // Some clones leave out what every client expects.
    if !id {
        out.member("id", &quoted(&format!("chatcmpl-{:016x}", cx.seed)));
    }
    if !kind {
        out.member("object", "\"chat.completion\"");
    }
    if !made {
        out.member("created", &(cx.now.0 / 1000).to_string());
    }
    if !named {
        quote(&state.model, out.name("model"));
    }
    let counted = whole.object("usage").and_then(|usage| usage::of_chat(&usage));
    Ok(Answered {
        body: out.done(),
        usage: usage::believable(counted, written),
        output_bytes: u32::try_from(written).unwrap_or(u32::MAX),
    })
}

/// Bytes the model wrote in a message, or in a delta of one.
pub(crate) fn said(message: &Object<'_>) -> u64 {
    let texts = ["content", "reasoning_content", "reasoning", "refusal"];
    let mut bytes: u64 = texts.iter().filter_map(|name| message.text(name)).map(Text::len).sum();
    let calls = message.items("tool_calls").unwrap_or_default();
    let calls = calls.into_iter().filter_map(|raw| Object::parse(raw.get()));
    let called = calls.filter_map(|call| call.object("function").or_else(|| call.object("custom")));
    for called in called.chain(message.object("function_call")) {
        let texts = ["name", "arguments", "input"];
        bytes += texts.iter().filter_map(|name| called.text(name)).map(Text::len).sum::<u64>();
    }
    bytes
}
