//! A whole completion in place of a stream, as the chunks of a stream. Only makes chunks; `from_chat` sends
//! them like the provider's own.

use serde_json::value::RawValue;

use gatehouse_text_protocols::json::{Object, Writer, quoted};

/// The chunks of a whole completion: the content, the `finish_reason`, the token counts. `None` when it is a
/// chunk: some providers send the whole message so far with every delta. `defaults` are written first for
/// members the completion lacks.
pub(super) fn chunks(whole: &Object<'_>, defaults: [(&str, &str); 2]) -> Option<Vec<String>> {
    // A gateway like this one wraps its answers.
    let inner = whole.object("data").filter(|inner| inner.get("choices").is_some());
    let whole = inner.as_ref().unwrap_or(whole);
    let choices: Vec<Object<'_>> = whole.objects("choices").collect();
    let is_whole = |choice: &Object<'_>| choice.object("message").is_some() && choice.get("delta").is_none();
    if choices.is_empty() || !choices.iter().all(is_whole) {
        return None;
    }
    let part_chunk = |with_content: bool| {
        let choices: Vec<String> =
            (0..).zip(&choices).map(|(index, choice)| part(index, choice, with_content)).collect();
        chunk(whole, defaults, &choices.join(","), None)
    };
    let mut chunks = vec![part_chunk(true), part_chunk(false)];
    chunks.extend(whole.get("usage").map(|usage| chunk(whole, defaults, "", Some(usage))));
    Some(chunks)
}

/// A chunk with these choices and the other members of the completion.
fn chunk(whole: &Object<'_>, defaults: [(&str, &str); 2], choices: &str, usage: Option<&RawValue>) -> String {
    let mut out = Writer::new(256 + choices.len());
    for (name, json) in defaults.into_iter().filter(|(name, _)| whole.get(name).is_none()) {
        out.member(name, json);
    }
    out.member("object", "\"chat.completion.chunk\"");
    let is_own = |name: &str| matches!(name, "object" | "choices" | "usage");
    out.members(whole.iter().filter(|(name, _)| !is_own(name) && whole.get(name).is_some()));
    out.member("choices", &format!("[{choices}]"));
    out.optional("usage", usage);
    out.done()
}

/// A choice with its content, or with its `finish_reason`.
fn part(index: u64, choice: &Object<'_>, with_content: bool) -> String {
    let message = choice.object("message").unwrap_or_default();
    let calls = message.items("tool_calls").filter(|calls| !calls.is_empty());
    let mut out = Writer::new(256);
    out.member("index", &choice.unsigned("index").unwrap_or(index).to_string());
    if with_content {
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
        let default = if calls.is_some() { "tool_calls" } else { "stop" };
        let reason = choice.string("finish_reason").filter(|reason| !reason.is_empty());
        out.member("delta", "{}");
        out.member("logprobs", "null");
        out.member("finish_reason", reason.map_or(&quoted(default), |reason| reason.quoted()));
    }
    out.done()
}

/// Calls with the numbers they have in a stream.
fn numbered(calls: &[&RawValue]) -> String {
    let numbered = calls.iter().enumerate().filter_map(|(index, raw)| {
        let call = Object::parse(raw.get())?;
        let mut out = Writer::new(raw.get().len() + 16);
        out.member("index", &index.to_string());
        out.members(call.iter().filter(|(name, _)| *name != "index"));
        Some(out.done())
    });
    format!("[{}]", numbered.collect::<Vec<_>>().join(","))
}
