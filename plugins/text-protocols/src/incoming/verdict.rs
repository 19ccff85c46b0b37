//! The verdict that MiniMax writes beside an answer of 200: in whole answers, and in the last event of a stream. An answer that it
//! calls a failure becomes one, whatever stands beside it; one that was held back behind some text has that text, and ends there.

use gatehouse_sdk::Sse;

use crate::json::{Object, Writer, is_null, quoted};
use crate::provider_error::{ProviderError, VERDICT};

/// Where both protocols have what a model says.
const TEXTS: [&str; 5] =
    ["\"content\"", "\"reasoning_content\"", "\"reasoning\"", "\"text\"", "\"thinking\""];

/// The answer, or the event, as its verdict has it. `None` where that is good, or there is no verdict. `has_said`: something of the
/// answer was said before.
pub(super) fn judged(json: &str, is_chat: bool, has_said: bool) -> Option<String> {
    if !json.contains(VERDICT) {
        return None;
    }
    let answer = Object::parse(json)?;
    let verdict = answer.object(VERDICT)?;
    let error = ProviderError::of_verdict(&verdict)?;
    if error.is_held_back() && (has_said || says(json)) {
        return Some(if is_chat { ended_chat(&answer) } else { ended_message(&answer) });
    }
    let mut out = Writer::new(128);
    out.member("type", "\"error\"");
    out.member(VERDICT, answer.get(VERDICT)?.get());
    Some(out.done())
}

/// The same of an event.
pub(super) fn judged_event(event: Sse, is_chat: bool, has_said: bool) -> Sse {
    match judged(&event.data, is_chat, has_said) {
        Some(data) => Sse { event: None, data },
        None => event,
    }
}

/// Whether a piece of an answer has a text.
pub(super) fn says(json: &str) -> bool {
    let has = |name: &str| {
        json.match_indices(name).any(|(at, _)| {
            let Some(value) = json[at + name.len()..].trim_start().strip_prefix(':') else { return false };
            let value = value.trim_start();
            // A list of parts or blocks says what is in it.
            value.starts_with('"') && !value.starts_with("\"\"")
        })
    };
    TEXTS.iter().any(|name| has(name))
}

fn ended_chat(answer: &Object<'_>) -> String {
    const ENDED: &str = r#"{"index":0,"delta":{},"finish_reason":"content_filter"}"#;
    let choice = |choice: Object<'_>| with(&choice, "finish_reason", "content_filter");
    let choices = answer.objects("choices").map(choice).collect::<Vec<_>>().join(",");
    let mut out = others(answer, "choices");
    out.member("choices", &format!("[{}]", if choices.is_empty() { ENDED } else { &choices }));
    out.done()
}

fn ended_message(answer: &Object<'_>) -> String {
    const REASON: (&str, &str) = ("stop_reason", "refusal");
    if answer.get("content").is_some() {
        let mut out = others(answer, REASON.0);
        out.string(REASON.0, REASON.1);
        return out.done();
    }
    let delta = answer.object("delta").filter(|delta| delta.get("text").is_none()).unwrap_or_default();
    let mut out = Writer::new(256);
    out.member("type", "\"message_delta\"");
    out.member("delta", &with(&delta, REASON.0, REASON.1));
    out.optional("usage", answer.get("usage"));
    out.done()
}

/// The answer without its verdict and that member.
fn others(answer: &Object<'_>, name: &str) -> Writer {
    let mut out = Writer::new(512);
    let is_other = |known: &str| known != VERDICT && known != name;
    out.members(answer.iter().filter(|(known, _)| is_other(known)));
    out
}

/// The object with that text in that member.
fn with(object: &Object<'_>, name: &str, text: &str) -> String {
    let mut out = Writer::new(256);
    let is_other = |(known, raw): &(&str, crate::json::Raw<'_>)| *known != name && !is_null(raw);
    out.members(object.iter().filter(is_other));
    out.member(name, &quoted(text));
    out.done()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn answer(verdict: u64, text: &str, reason: &str) -> Value {
        json!({"id": "c", "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": reason}],
               "usage": {"total_tokens": 9}, "base_resp": {"status_code": verdict, "status_msg": "m"}})
    }

    /// Without it an answer that failed is an empty one, which its client pays for.
    #[test]
    fn a_verdict_decides_what_an_answer_is() {
        let failed =
            |code: u64| json!({"type": "error", "base_resp": {"status_code": code, "status_msg": "m"}});
        let held = json!({"id": "c", "usage": {"total_tokens": 9},
            "choices": [{"index": 0, "message": {"role": "assistant", "content": "a"}, "finish_reason": "content_filter"}]});
        let no_choice = json!({"usage": {}, "base_resp": {"status_code": 1027, "status_msg": "m"}});
        let ended =
            json!({"usage": {}, "choices": [{"index": 0, "delta": {}, "finish_reason": "content_filter"}]});
        for (given, has_said, expected) in [
            (answer(0, "a", "stop"), false, None),
            (answer(1027, "", "stop"), false, Some(failed(1027))),
            (answer(1027, "a", "stop"), false, Some(held)),
            (answer(1008, "a", "stop"), true, Some(failed(1008))),
            (no_choice.clone(), false, Some(failed(1027))),
            (no_choice, true, Some(ended)),
            (json!({"base_resp": "x"}), false, None),
        ] {
            let found = judged(&given.to_string(), true, has_said);
            let found = found.map(|json| serde_json::from_str::<Value>(&json).expect("JSON"));
            assert_eq!(found, expected, "{given} {has_said}");
        }
    }

    #[test]
    fn what_was_held_back_of_a_message_is_refused() {
        let verdict = json!({"status_code": 1027, "status_msg": "m"});
        let whole = json!({"type": "message", "content": [{"type": "text", "text": "a"}], "stop_reason": "end_turn", "base_resp": verdict});
        let delta = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null}, "base_resp": verdict});
        let empty =
            json!({"type": "message", "content": [], "stop_reason": "end_turn", "base_resp": verdict});
        for (given, has_said, expected) in [
            (
                whole,
                false,
                json!({"type": "message", "content": [{"type": "text", "text": "a"}], "stop_reason": "refusal"}),
            ),
            (delta.clone(), true, json!({"type": "message_delta", "delta": {"stop_reason": "refusal"}})),
            (delta, false, json!({"type": "error", "base_resp": verdict})),
            (empty, false, json!({"type": "error", "base_resp": verdict})),
        ] {
            let found = judged(&given.to_string(), false, has_said).expect("it changes");
            assert_eq!(serde_json::from_str::<Value>(&found).expect("JSON"), expected, "{given}");
        }
    }

    #[test]
    fn a_text_is_seen_however_it_is_written() {
        for (json, expected) in [
            (r#"{"delta":{"content":"a"}}"#, true),
            (r#"{"delta": {"content" : "a"}}"#, true),
            (r#"{"delta":{"content":[{"type":"text","text":"a"}]}}"#, true),
            (r#"{"delta":{"type":"thinking_delta","thinking":"a"}}"#, true),
            (r#"{"delta":{"content":""}}"#, false),
            (r#"{"delta":{"content":null,"role":"assistant"}}"#, false),
            (r#"{"delta":{"audio_content":"a"}}"#, false),
        ] {
            assert_eq!(says(json), expected, "{json}");
        }
    }
}
