//! An answer for people: the text and the tokens of a text family, the receipt of a task, the words of a refusal. Reads
//! the shapes of the public API; what it does not know is shown as it came.

use std::time::Duration;

use gatehouse_model::TaskId;
use maud::{Markup, html};
use serde_json::Value;

use crate::format::{count, span};
use crate::parts::elements::{Tone, chip};
use crate::runs::{Answer, Run};

/// Characters of an answer that are shown as it came.
const SHOWN: usize = 64 * 1024;

/// What was found in an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Found {
    pub(super) text: String,
    /// Tokens read and written.
    pub(super) tokens: Option<(u64, u64)>,
    pub(super) task: Option<TaskId>,
    /// A refusal's message and field.
    pub(super) refusal: Option<(String, Option<String>)>,
}

/// Reads an answer as far as it came.
pub(super) fn read(answer: &Answer) -> Found {
    let text = String::from_utf8_lossy(&answer.bytes);
    if answer.is_stream {
        return events(&text);
    }
    serde_json::from_str(&text).map(|value: Value| whole(&value)).unwrap_or_default()
}

fn whole(value: &Value) -> Found {
    // `{code, data}` around it.
    let inside = if value.get("code").is_some() { &value["data"] } else { value };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let parts = |value: &Value| -> String {
        value.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str()).collect()
    };
    let said = text(&inside["choices"][0]["message"]["content"]).unwrap_or_else(|| {
        let outputs = inside["output"].as_array().into_iter().flatten();
        parts(&inside["content"]) + &outputs.map(|one| parts(&one["content"])).collect::<String>()
    });
    let task = [&inside[0]["task_id"], &inside["id"]].into_iter().find_map(|id| id.as_str()?.parse().ok());
    Found { text: said, tokens: tokens(&inside["usage"]), task, refusal: refusal(value) }
}

/// The error of any of the forms.
pub(super) fn refusal(value: &Value) -> Option<(String, Option<String>)> {
    let error = value.get("error").filter(|error| !error.is_null())?;
    let message = error["message"].as_str().or(error.as_str())?.to_owned();
    Some((message, error["param"].as_str().map(str::to_owned)))
}

fn tokens(usage: &Value) -> Option<(u64, u64)> {
    let number = |names: [&str; 2]| names.iter().find_map(|name| usage[*name].as_u64());
    let read = number(["prompt_tokens", "input_tokens"]);
    let written = number(["completion_tokens", "output_tokens"]);
    (read.is_some() || written.is_some()).then(|| (read.unwrap_or_default(), written.unwrap_or_default()))
}

fn events(text: &str) -> Found {
    let mut found = Found::default();
    for data in text.lines().filter_map(|line| line.strip_prefix("data:")) {
        let Ok(event) = serde_json::from_str::<Value>(data.trim()) else { continue };
        let is_text = event["type"] == "response.output_text.delta";
        let delta =
            event["choices"][0]["delta"]["content"].as_str().or_else(|| event["delta"]["text"].as_str());
        let delta = delta.or_else(|| event["delta"].as_str().filter(|_| is_text));
        found.text += delta.unwrap_or_default();
        let usages = [&event["usage"], &event["message"]["usage"], &event["response"]["usage"]];
        if let Some((read, written)) = usages.into_iter().find_map(tokens) {
            // What was read may stand in the first event alone.
            let before = found.tokens.unwrap_or_default();
            found.tokens = Some((if read == 0 { before.0 } else { read }, written));
        }
        let failed = refusal(&event).or_else(|| refusal(&event["response"]));
        found.refusal = found.refusal.or(failed);
    }
    found
}

/// The head of a run: its state, its time, its tokens.
pub(super) fn head(run: &Run, answer: &Answer, found: &Found) -> Markup {
    let (tone, word) = match (answer.status, answer.ended) {
        _ if answer.failure.is_some() || found.refusal.is_some() => (Tone::Error, "failed"),
        (_, None) => (Tone::Info, "running"),
        _ => (Tone::Ok, "answered"),
    };
    html! {
        div.title {
            (chip(tone, word))
            @if let Some(status) = answer.status { span.muted { "HTTP " (status) } }
            @if let Some(ended) = answer.ended { span.muted { (span(ended.since(run.at).max(Duration::from_millis(1)))) } }
            @if let Some((read, written)) = found.tokens {
                span.muted { (count(read)) " tokens in, " (count(written)) " out" }
            }
        }
        @if let Some(failure) = &answer.failure { div.problems { p { (failure) } } }
        @if let Some((message, param)) = &found.refusal {
            div.problems { p { @if let Some(param) = param { code { (param) } ": " } (message) } }
        }
    }
}

/// The text, and everything as it came.
pub(super) fn body(answer: &Answer, found: &Found) -> Markup {
    let raw = String::from_utf8_lossy(&answer.bytes);
    let pretty =
        serde_json::from_str::<Value>(&raw).ok().and_then(|value| serde_json::to_string_pretty(&value).ok());
    let shown: String = pretty.as_deref().unwrap_or(&raw).chars().take(SHOWN).collect();
    html! {
        @if !found.text.is_empty() { p.answer { (found.text) } }
        @if !shown.is_empty() {
            details.recipe {
                summary { @if answer.is_stream { "Events" } @else { "The answer" } }
                pre.block tabindex="0" role="region" aria-label="The answer as it came" { code { (shown) } }
                @if answer.is_cut { p.muted { "The rest is not kept." } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(bytes: &str, is_stream: bool) -> Found {
        read(&Answer { status: Some(200), is_stream, bytes: bytes.as_bytes().to_vec(), ..Answer::default() })
    }

    #[test]
    fn texts_and_tokens_of_every_protocol_are_found() {
        for (bytes, is_stream) in [
            (
                r#"{"choices":[{"message":{"content":"Hello"}}],"usage":{"prompt_tokens":3,"completion_tokens":5}}"#,
                false,
            ),
            (
                r#"{"code":200,"data":{"choices":[{"message":{"content":"Hello"}}],"usage":{"prompt_tokens":3,"completion_tokens":5}}}"#,
                false,
            ),
            (
                r#"{"content":[{"type":"text","text":"Hello"}],"usage":{"input_tokens":3,"output_tokens":5}}"#,
                false,
            ),
            (
                r#"{"output":[{"content":[{"text":"Hel"},{"text":"lo"}]}],"usage":{"input_tokens":3,"output_tokens":5}}"#,
                false,
            ),
            (
                "data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"lo\"}}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":5}}\n\ndata: [DONE]\n\n",
                true,
            ),
            (
                "event: message_start\ndata: {\"message\":{\"usage\":{\"input_tokens\":3,\"output_tokens\":0}}}\n\ndata: {\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello\"}}\n\ndata: {\"usage\":{\"output_tokens\":5}}\n\n",
                true,
            ),
            (
                "data: {\"type\":\"response.output_text.delta\",\"delta\":\"Hello\"}\n\ndata: {\"type\":\"x\",\"delta\":\"no\"}\n\ndata: {\"response\":{\"usage\":{\"input_tokens\":3,\"output_tokens\":5}}}\n\n",
                true,
            ),
        ] {
            let found = found(bytes, is_stream);
            assert_eq!((found.text.as_str(), found.tokens), ("Hello", Some((3, 5))), "{bytes}");
            assert_eq!(found.refusal, None, "{bytes}");
        }
    }

    #[test]
    fn receipts_and_refusals_are_found() {
        let task = TaskId::from_bits(7);
        let receipt = json!({"code": 200, "data": [{"task_id": task.to_string(), "status": "submitted"}]});
        assert_eq!(found(&receipt.to_string(), false).task, Some(task));
        let asset = json!({"code": 200, "data": {"id": task.to_string()}});
        assert_eq!(found(&asset.to_string(), false).task, Some(task));
        let refused = json!({"error": {"message": "size: no", "param": "size"}});
        assert_eq!(
            found(&refused.to_string(), false).refusal,
            Some(("size: no".into(), Some("size".into())))
        );
        assert_eq!(found("no JSON", false), Found::default());
    }
}
