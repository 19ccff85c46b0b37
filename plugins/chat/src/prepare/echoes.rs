//! Messages and tools for a chat provider, without what clients carry along from answers of other providers, or for
//! other providers: such a member is refused by name where it is not known. Everything else keeps its bytes.

use serde_json::value::RawValue;

use gatehouse_text_protocols::broken_json;
use gatehouse_text_protocols::json::{JsonString, Object, Writer, is_null, items};
use gatehouse_text_protocols::rules::Rules;

use super::fitting::{Fitting, MESSAGES, content_of};
use crate::request::messages::{ECHOES, INDEX};
use crate::request::{InputEstimate, Request};

/// What a provider is sent back, if it asks for it.
const REASONING: &str = "reasoning_content";

/// Writes the messages.
pub(super) fn messages(
    raw: &RawValue,
    request: &Request<'_>,
    rules: &Rules,
    fitting: &Fitting,
    into: &mut String,
) {
    let estimate = &request.estimate;
    let is_changed = estimate.is_odd || fitting.changes();
    let Some(all) = is_changed.then(|| items(raw)).flatten() else { return with_files(raw, estimate, into) };
    let drops = |name: &str| ECHOES.contains(&name) && !(rules.reasoning_history && name == REASONING);
    list(fitting.sent(MESSAGES, &all), into, |(at, raw), into| {
        let object = Object::parse(raw.get()).unwrap_or_default();
        let says = |name: &str| object.get(name).is_some_and(|raw| raw.get() != "[]");
        let is_silent =
            !["content", "tool_calls", "function_call", "audio", "refusal"].iter().any(|name| says(name));
        members(raw, into, |name, raw, out| match name {
            _ if drops(name) => {}
            "tool_calls" => calls(raw, fitting, out),
            "tool_call_id" => fitting.id(raw, out.name(name)),
            "content" if is_silent || !fitting.before(at).is_empty() => {}
            "content" => parts(raw, estimate, fitting, at, out.name(name)),
            // It says nothing, and not every server knows the name.
            _ if is_null(raw) => {}
            _ => out.member(name, raw.get()),
        });
        if is_silent {
            into.pop();
            into.push_str(",\"content\":\"\"}");
        } else if let before @ [_, ..] = fitting.before(at) {
            into.pop();
            into.push_str(",\"content\":");
            joined(before.iter().chain([&at]).map(|at| (*at, all[*at])), estimate, fitting, into);
            into.push('}');
        }
    });
}

/// The contents of several messages as one: a text if there are only texts, as not every server reads parts.
fn joined<'r>(
    messages: impl Iterator<Item = (usize, &'r RawValue)>,
    estimate: &InputEstimate<'_>,
    fitting: &Fitting,
    into: &mut String,
) {
    let content = |(at, raw): (usize, &'r RawValue)| Some((at, Object::parse(raw.get())?.get("content")?));
    let says = |(_, raw): &(usize, &RawValue)| JsonString::of(raw).is_none_or(|text| !text.is_blank());
    let contents: Vec<(usize, &RawValue)> = messages.filter_map(content).filter(says).collect();
    let texts: Option<Vec<&str>> =
        contents.iter().map(|(_, raw)| JsonString::of(raw).map(JsonString::inner)).collect();
    if let Some(texts) = texts {
        into.push('"');
        into.push_str(&texts.join("\\n\\n"));
        return into.push('"');
    }
    let parts = contents.into_iter().flat_map(|(at, raw)| match items(raw) {
        Some(all) => fitting.sent(&content_of(at), &all),
        None => vec![(at, raw)],
    });
    list(parts.collect(), into, |(_, raw), into| match JsonString::of(raw) {
        Some(text) => {
            let mut out = Writer::new(raw.get().len() + 32);
            out.string("type", "text");
            out.member("text", text.quoted());
            into.push_str(&out.done());
        }
        None => part(raw, estimate, into),
    });
}

/// Writes the tools.
pub(super) fn tools(raw: &RawValue, into: &mut String) {
    let Some(all) = items(raw).filter(|_| raw.get().contains(ECHOES[0])) else {
        return into.push_str(raw.get());
    };
    let without = |raw: &RawValue, into: &mut String| {
        members(raw, into, |name, raw, out| match name {
            "function" => members(raw, out.name(name), |name, raw, out| {
                if name != ECHOES[0] {
                    out.member(name, raw.get());
                }
            }),
            _ if name == ECHOES[0] => {}
            _ => out.member(name, raw.get()),
        });
    };
    list(all, into, without);
}

/// Calls; an empty list of them is left out.
fn calls(raw: &RawValue, fitting: &Fitting, out: &mut Writer) {
    match items(raw) {
        Some(none) if none.is_empty() => {}
        Some(all) => list(all, out.name("tool_calls"), |raw, into| {
            let has_type = Object::parse(raw.get()).is_some_and(|call| call.get("type").is_some());
            members(raw, into, |name, raw, out| match name {
                _ if ECHOES.contains(&name) || name == INDEX => {}
                "type" if !has_type => {}
                "id" => fitting.id(raw, out.name(name)),
                "function" => {
                    if !has_type {
                        out.string("type", name);
                    }
                    function(raw, out.name(name));
                }
                _ => out.member(name, raw.get()),
            });
        }),
        None => out.member("tool_calls", raw.get()),
    }
}

/// A called function, its arguments as a text.
fn function(raw: &RawValue, into: &mut String) {
    let Some(object) = Object::parse(raw.get()) else { return into.push_str(raw.get()) };
    let arguments = object.get("arguments");
    let text = arguments.and_then(JsonString::of);
    let mended = text.and_then(|text| broken_json::kept(&text.decoded()));
    if text.is_some() && mended.is_none() {
        return into.push_str(raw.get());
    }
    let mut out = Writer::new(raw.get().len() + 16);
    out.members(object.iter().filter(|(name, _)| *name != "arguments"));
    out.string("arguments", mended.as_deref().unwrap_or_else(|| arguments.map_or("{}", RawValue::get)));
    into.push_str(&out.done());
}

/// The content of the message with that number.
fn parts(raw: &RawValue, estimate: &InputEstimate<'_>, fitting: &Fitting, at: usize, into: &mut String) {
    let Some(all) = items(raw) else { return with_files(raw, estimate, into) };
    list(fitting.sent(&content_of(at), &all), into, |(_, raw), into| part(raw, estimate, into));
}

/// One part of a content.
fn part(raw: &RawValue, estimate: &InputEstimate<'_>, into: &mut String) {
    members(raw, into, |name, raw, out| {
        if !ECHOES.contains(&name) {
            with_files(raw, estimate, out.name(name));
        }
    });
}

/// Writes an array, item by item.
fn list<T>(all: Vec<T>, into: &mut String, one: impl Fn(T, &mut String)) {
    into.push('[');
    for (at, item) in all.into_iter().enumerate() {
        if at > 0 {
            into.push(',');
        }
        one(item, into);
    }
    into.push(']');
}

/// Writes an object, member by member; any other value as it is.
fn members(raw: &RawValue, into: &mut String, one: impl Fn(&str, &RawValue, &mut Writer)) {
    let Some(object) = Object::parse(raw.get()) else { return into.push_str(raw.get()) };
    let mut out = Writer::new(raw.get().len());
    for (name, raw) in object.iter() {
        one(name, raw, &mut out);
    }
    into.push_str(&out.done());
}

/// Copies a value, its files as the provider is sent them.
fn with_files(raw: &RawValue, estimate: &InputEstimate<'_>, into: &mut String) {
    let json = raw.get();
    let mut done = 0;
    for (text, sent) in &estimate.files {
        // The offset of the string in the JSON it was read from.
        let start = (text.quoted().as_ptr() as usize).wrapping_sub(json.as_ptr() as usize);
        let Some(before) = json.get(done..start) else { continue };
        into.push_str(before);
        into.push_str(sent);
        done = start + text.quoted().len();
    }
    into.push_str(&json[done..]);
}
