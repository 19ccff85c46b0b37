//! A completion a provider sent in one piece although a stream was asked for, as the chunks it would have sent.
//! Only makes chunks; `chunks` passes them on as it does a provider's own.

use serde_json::value::RawValue;

use crate::json::{Object, Writer, quoted};

/// The chunks of a whole completion: what was said, why it ended, what it counts. `None` when it is none:
/// some providers send all that was said so far along with every delta. `usual` is written first where the
/// completion lacks it.
pub(super) fn chunks(whole: &Object<'_>, usual: [(&str, &str); 2]) -> Option<Vec<String>> {
    // A gateway like this one wraps its answers.
    let inner = whole.object("data").filter(|inner| inner.get("choices").is_some());
    let whole = inner.as_ref().unwrap_or(whole);
    let choices: Vec<Object<'_>> =
        whole.items("choices")?.into_iter().filter_map(|raw| Object::parse(raw.get())).collect();
    let is_whole = |choice: &Object<'_>| choice.object("message").is_some() && choice.get("delta").is_none();
    if choices.is_empty() || !choices.iter().all(is_whole) {
        return None;
    }
    let told = |said: bool| {
        let choices: Vec<String> =
            (0..).zip(&choices).map(|(place, choice)| part(place, choice, said)).collect();
        chunk(whole, usual, &choices.join(","), None)
    };
    let mut chunks = vec![told(true), told(false)];
    chunks.extend(whole.get("usage").map(|usage| chunk(whole, usual, "", Some(usage))));
    Some(chunks)
}

/// A chunk with everything that stands beside the choices.
fn chunk(whole: &Object<'_>, usual: [(&str, &str); 2], choices: &str, usage: Option<&RawValue>) -> String {
    let mut out = Writer::new(256 + choices.len());
    for (name, json) in usual.into_iter().filter(|(name, _)| whole.get(name).is_none()) {
        out.member(name, json);
    }
    out.member("object", "\"chat.completion.chunk\"");
    for (name, raw) in whole
        .iter()
        .filter(|(name, _)| !matches!(*name, "object" | "choices" | "usage") && whole.get(name).is_some())
    {
        out.member(name, raw.get());
    }
    out.member("choices", &format!("[{choices}]"));
    if let Some(usage) = usage {
        out.member("usage", usage.get());
    }
    out.done()
}

/// A choice with all it said, or with why it ended.
fn part(place: u64, choice: &Object<'_>, said: bool) -> String {
    let message = choice.object("message").unwrap_or_default();
    let calls = message.items("tool_calls").filter(|calls| !calls.is_empty());
    let mut out = Writer::new(256);
    out.member("index", &choice.count_in("index").unwrap_or(place).to_string());
    if said {
        let mut delta = Writer::new(256);
        for (name, raw) in message.iter() {
            match (name, &calls) {
                ("tool_calls", Some(calls)) => delta.member(name, &numbered(calls)),
                ("tool_calls", None) => {}
                _ => delta.member(name, raw.get()),
            }
        }
        out.member("delta", &delta.done());
        out.member("logprobs", choice.get("logprobs").map_or("null", RawValue::get));
        out.member("finish_reason", "null");
    } else {
        let usual = if calls.is_some() { "tool_calls" } else { "stop" };
        let reason = choice.text("finish_reason").filter(|reason| !reason.is_empty());
        out.member("delta", "{}");
        out.member("logprobs", "null");
        out.member("finish_reason", reason.map_or(&quoted(usual), |reason| reason.quoted()));
    }
    out.done()
}

/// Calls under the numbers they have in a stream.
fn numbered(calls: &[&RawValue]) -> String {
    let numbered = calls.iter().enumerate().filter_map(|(place, raw)| {
        let call = Object::parse(raw.get())?;
        let mut out = Writer::new(raw.get().len() + 16);
        out.member("index", &place.to_string());
        for (name, raw) in call.iter().filter(|(name, _)| *name != "index") {
            out.member(name, raw.get());
        }
        Some(out.done())
    });
    format!("[{}]", numbered.collect::<Vec<_>>().join(","))
}
