//! Whole answers. Those of a chat provider keep their bytes, but for the public name of the model.

pub(crate) mod from_messages;
pub(crate) mod output_bytes;

use gatehouse_sdk::{Answered, Body, Context, Extra, Reply, TextFailure};

use gatehouse_text_protocols::incoming::Incoming;
use gatehouse_text_protocols::json::{Edits, Object, Raw, Writer, quote, quoted};
use gatehouse_text_protocols::relay::clamp;
use gatehouse_text_protocols::usage::{self, TokenCounts};

use crate::embeddings;
use crate::errors;
use crate::state::State;
use output_bytes::output_bytes;

pub(crate) fn answer(cx: &Context, state: &State, reply: &Reply) -> Result<Answered, TextFailure> {
    let body = match &reply.body {
        Body::Inline(bytes) => String::from_utf8_lossy(bytes),
        Body::Blob(_) => return Err(errors::unreadable("it came as a file", "")),
    };
    if !reply.is_success() {
        return Err(errors::of(state).of_answer(reply.status, &body));
    }
    let mended = match &state.embeddings {
        None => Incoming::new(!state.translated, &state.lead).whole(&body),
        Some(_) => None,
    };
    let body = mended.as_deref().unwrap_or(&body);
    let Some(whole) = Object::parse(body) else {
        let what = if body.trim().is_empty() { "it is empty" } else { "it is no JSON object" };
        return Err(errors::unreadable(what, body));
    };
    if whole.get("error").is_some() {
        return Err(errors::of(state).of_error(body));
    }
    if let Some(asked) = &state.embeddings {
        return embeddings::answer::answer(state, asked, &whole, body);
    }
    if state.translated {
        return from_messages::answer(cx, state, &whole, body);
    }
    // A gateway like this one wraps its answers.
    let inner = whole.object("data").filter(|inner| inner.get("choices").is_some());
    plain(cx, state, inner.as_ref().unwrap_or(&whole), body)
}

fn plain(cx: &Context, state: &State, whole: &Object<'_>, body: &str) -> Result<Answered, TextFailure> {
    let choices = whole.items("choices").unwrap_or_default();
    if choices.is_empty() {
        return Err(errors::unreadable("it has no `choices`", body));
    }
    let mut written = 0_u64;
    let mut edits = Edits::default();
    for raw in choices {
        let choice = Object::parse(raw.get());
        let Some((choice, message)) =
            choice.and_then(|choice| choice.object("message").map(|it| (choice, it)))
        else {
            return Err(errors::unreadable("a choice of it has no `message`", body));
        };
        written = written.saturating_add(output_bytes(&message));
        if let Some(reason) = wrong_reason(&choice, calls(&message)) {
            edits.replace(reason, quoted("stop"));
        }
    }
    let counts = TokenCounts::of_completion(whole);
    if let Some((raw, counted)) =
        whole.get("usage").zip(whole.object("usage").as_ref().and_then(usage::completed))
    {
        edits.replace(raw, counted);
    }
    let mut out = Writer::new(body.len() + 64);
    let (mut has_id, mut has_object, mut has_created, mut has_model) = (false, false, false, false);
    for (name, raw) in whole.iter() {
        match name {
            "model" => {
                has_model = true;
                quote(&state.model, out.name(name));
                continue;
            }
            "id" => has_id = true,
            "object" => has_object = true,
            "created" => has_created = true,
            _ => {}
        }
        edits.write(raw, out.name(name));
    }
    // Some compatible servers leave out members that every client expects.
    if !has_id {
        out.member("id", &quoted(&format!("chatcmpl-{:016x}", cx.seed)));
    }
    if !has_object {
        out.member("object", "\"chat.completion\"");
    }
    if !has_created {
        out.member("created", &(cx.now.0 / 1000).to_string());
    }
    if !has_model {
        quote(&state.model, out.name("model"));
    }
    let reported = usage::plausible(counts.reported(), written);
    if reported.is_some() && whole.get("usage").is_none() {
        out.member("usage", &counts.chat_json());
    }
    Ok(Answered { body: out.done(), usage: reported, output_bytes: clamp(written), extra: Extra::new() })
}

/// Whether a message calls tools.
pub(crate) fn calls(message: &Object<'_>) -> bool {
    message.items("tool_calls").is_some_and(|calls| !calls.is_empty())
        || message.get("function_call").is_some()
}

/// A reason that says that tools were called, where none was: an agent would wait for what never comes.
pub(crate) fn wrong_reason<'a>(choice: &Object<'a>, has_called: bool) -> Option<Raw<'a>> {
    let reason = choice.string("finish_reason").filter(|_| !has_called)?;
    matches!(reason.decoded().as_ref(), "tool_calls" | "function_call").then(|| reason.raw())
}
