//! Whole answers. Those of a chat provider keep their bytes, but for the public name of the model.

pub(crate) mod from_messages;

use gatehouse_sdk::{Answered, Body, Context, Extra, Reply, TextFailure};

use gatehouse_text_protocols::failures::unreadable;
use gatehouse_text_protocols::incoming::is_error;
use gatehouse_text_protocols::json::{Edits, JsonString, Object, Raw, Writer, quote, quoted};
use gatehouse_text_protocols::relay::clamp;
use gatehouse_text_protocols::usage::{self, TokenCounts};

use crate::embeddings;
use crate::state::State;

/// Some servers put it before a text.
const MARK: char = '\u{feff}';

pub(crate) fn answer(cx: &Context, state: &State, reply: &Reply) -> Result<Answered, TextFailure> {
    if let Body::Blob(_) = &reply.body {
        return Err(unreadable("it came as a file", ""));
    }
    let body = reply.text();
    if !reply.is_success() {
        return Err(state.failures().of_answer(reply.status, &body));
    }
    let body = body.trim_start_matches(MARK);
    let turned = state.turned(body);
    let state = turned.as_ref().unwrap_or(state);
    let mended = match &state.embeddings {
        None => state.incoming().whole(body),
        Some(_) => None,
    };
    let body = mended.as_deref().unwrap_or(body);
    let Some(whole) = Object::parse(body) else {
        if let Some(failure) = state.failures().instead(body) {
            return Err(failure);
        }
        let what = if body.trim().is_empty() { "it is empty" } else { "it is no JSON object" };
        return Err(unreadable(what, body));
    };
    let choices = whole.items("choices").unwrap_or_default();
    let is_there = |name: &&str| whole.get(name).is_some_and(|raw| raw.get() != "[]");
    let has_answer = !choices.is_empty() || ["content", "data"].iter().any(is_there);
    if !has_answer && let Some(failure) = state.failures().instead(body) {
        return Err(failure);
    }
    if whole.get("error").is_some_and(is_error) {
        return Err(state.failures().of_error(body));
    }
    if let Some(asked) = &state.embeddings {
        return embeddings::answer::answer(state, asked, &whole, body);
    }
    if state.translated {
        return from_messages::answer(cx, state, &whole, body);
    }
    // A gateway like this one wraps its answers.
    match whole.object("data").filter(|inner| inner.get("choices").is_some()) {
        Some(inner) => plain(cx, state, &inner, inner.items("choices").unwrap_or_default(), body),
        None => plain(cx, state, &whole, choices, body),
    }
}

fn plain(
    cx: &Context,
    state: &State,
    whole: &Object<'_>,
    choices: Vec<Raw<'_>>,
    body: &str,
) -> Result<Answered, TextFailure> {
    if choices.is_empty() {
        return Err(unreadable("it has no `choices`", body));
    }
    let mut written = 0_u64;
    let mut edits = Edits::default();
    for raw in choices {
        let choice = Object::parse(raw.get());
        let Some((choice, message)) =
            choice.and_then(|choice| choice.object("message").map(|it| (choice, it)))
        else {
            return Err(unreadable("a choice of it has no `message`", body));
        };
        written = written.saturating_add(output_bytes(&message));
        if let Some((reason, right)) = wrong_reason(&choice, calls(&message), state.legacy) {
            edits.replace(reason, quoted(right));
        }
        for (at, raw) in message.items("tool_calls").unwrap_or_default().into_iter().enumerate() {
            match with_id(raw, cx.seed, at) {
                Ok(None) => {}
                Ok(Some(call)) => edits.replace(raw, call),
                Err(NoName) => return Err(unreadable("a call of it has no name", body)),
            }
        }
    }
    let reports = usage::chat_reports(whole);
    let counts = TokenCounts::of_reports(&reports);
    let (is_sum, counts) = (counts.is_sum(), counts.settled(written));
    let reported = usage::plausible(counts.reported(), written);
    // Counts that stand elsewhere, or are the parts of a sum, have the place where clients look.
    let given = whole.get("usage");
    let own = reports.iter().find(|report| given.is_some_and(|given| std::ptr::eq(given, report.raw)));
    let is_elsewhere = reported.is_some() && (is_sum || own.is_none());
    if let Some((own, counted)) = own.filter(|_| !is_elsewhere).and_then(|own| Some((own, own.completed()?)))
    {
        edits.replace(own.raw, counted);
    }
    let mut out = Writer::new(body.len() + 64);
    let (mut has_id, mut has_object, mut has_created, mut has_model) = (false, false, false, false);
    for (name, raw) in whole.iter() {
        match name {
            // Not every client takes a nothing, or a text for a number, where each answer has a value.
            "id" | "object" if JsonString::of(raw).is_none() => continue,
            "usage" if is_elsewhere || own.is_none() => continue,
            "created" if raw.get().parse::<i64>().is_err() => continue,
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
    if is_elsewhere {
        out.member("usage", &counts.chat_json());
    }
    Ok(Answered {
        body: out.done(),
        usage: reported,
        counters: counts.counters(),
        output_bytes: clamp(written),
        extra: Extra::new(),
    })
}

/// A call that does not say what is called.
struct NoName;

/// A call with an id and a type, where it lacks one: a client sends both back.
fn with_id(raw: Raw<'_>, seed: u64, at: usize) -> Result<Option<String>, NoName> {
    let Some(call) = Object::parse(raw.get()) else { return Err(NoName) };
    let called = call.object("function").or_else(|| call.object("custom")).ok_or(NoName)?;
    called.string("name").filter(|name| !name.is_empty()).ok_or(NoName)?;
    let (has_id, has_type) = (call.string("id").is_some(), call.string("type").is_some());
    if has_id && has_type {
        return Ok(None);
    }
    let mut out = Writer::new(raw.get().len() + 64);
    if !has_id {
        out.member("id", &quoted(&format!("call_{seed:016x}_{at}")));
    }
    if !has_type {
        out.member("type", "\"function\"");
    }
    out.members(call.iter().filter(|(name, _)| call.get(name).is_some()));
    Ok(Some(out.done()))
}

/// Bytes the model wrote in a message, or in a delta of one.
pub(crate) fn output_bytes(message: &Object<'_>) -> u64 {
    let texts = ["content", "reasoning_content", "reasoning", "refusal"];
    let mut bytes: u64 = texts.iter().filter_map(|name| message.string(name)).map(JsonString::len).sum();
    let calls = message.objects("tool_calls");
    let called = calls.filter_map(|call| call.object("function").or_else(|| call.object("custom")));
    for called in called.chain(message.object("function_call")) {
        let texts = ["name", "arguments", "input"];
        bytes += texts.iter().filter_map(|name| called.string(name)).map(JsonString::len).sum::<u64>();
    }
    bytes
}

/// Whether a message calls tools.
pub(crate) fn calls(message: &Object<'_>) -> bool {
    message.items("tool_calls").is_some_and(|calls| !calls.is_empty())
        || message.get("function_call").is_some()
}

/// A reason that says that tools were called, where none was, or the reverse, and the right one: an agent would wait for what
/// never comes, or not call what it should.
pub(crate) fn wrong_reason<'a>(
    choice: &Object<'a>,
    has_called: bool,
    is_legacy: bool,
) -> Option<(Raw<'a>, &'static str)> {
    let reason = choice.string("finish_reason")?;
    let right = match (reason.decoded().as_ref(), has_called) {
        ("tool_calls" | "function_call", false) => "stop",
        ("stop", true) if !is_legacy => "tool_calls",
        _ => return None,
    };
    Some((reason.raw(), right))
}
