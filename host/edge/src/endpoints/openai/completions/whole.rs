//! Chat completions as one completion. Pure.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::endpoints::openai::completions::request::Asked;
use crate::errors::Refusal;

/// The counts that answers add up.
const COUNTS: [&str; 3] = ["prompt_tokens", "completion_tokens", "total_tokens"];

/// The completion of the answers to each prompt, in their order.
pub(super) fn completion(asked: &Asked, answers: &[Bytes]) -> Result<Value, Refusal> {
    let answers: Vec<Value> = answers
        .iter()
        .map(|body| serde_json::from_slice(body))
        .collect::<Result<_, _>>()
        .map_err(Refusal::internal)?;
    let mut choices = Vec::new();
    for (answer, (prompt, at)) in answers.iter().zip(asked.prompts.iter().zip(0..)) {
        let found = answer.get("choices").and_then(Value::as_array).into_iter().flatten();
        choices
            .extend(found.map(|choice| self::choice(choice, asked.echo.then_some(prompt), at * asked.count)));
    }
    let mut usage = Map::new();
    answers.iter().filter_map(|answer| answer.get("usage")).for_each(|one| add(&mut usage, one));
    let first = answers.first().unwrap_or(&Value::Null);
    let mut completion = head(first);
    completion["choices"] = choices.into();
    if !usage.is_empty() {
        completion["usage"] = usage.into();
    }
    Ok(completion)
}

/// What a completion and each piece of one begin with: id, moment and model of a chat completion.
pub(super) fn head(chat: &Value) -> Value {
    let id = chat.get("id").and_then(Value::as_str).unwrap_or_default();
    json!({
        "id": format!("cmpl-{}", id.strip_prefix("chatcmpl-").unwrap_or(id)),
        "object": "text_completion",
        "created": chat.get("created"),
        "model": chat.get("model"),
        "choices": [],
    })
}

/// Adds the counts of an answer.
pub(super) fn add(usage: &mut Map<String, Value>, one: &Value) {
    for name in COUNTS {
        let Some(count) = one.get(name).and_then(Value::as_u64) else { continue };
        let before = usage.get(name).and_then(Value::as_u64).unwrap_or_default();
        usage.insert(name.to_owned(), before.saturating_add(count).into());
    }
}

/// A choice of a chat completion as one of a completion.
fn choice(chat: &Value, prompt: Option<&String>, offset: u64) -> Value {
    let content = chat.pointer("/message/content").and_then(Value::as_str).unwrap_or_default();
    let text = format!("{}{content}", prompt.map_or("", String::as_str));
    choice_of(chat, &text, offset)
}

/// The choice with that text.
pub(super) fn choice_of(chat: &Value, text: &str, offset: u64) -> Value {
    let index = chat.get("index").and_then(Value::as_u64).unwrap_or_default();
    let finish = chat.get("finish_reason");
    json!({"index": offset.saturating_add(index), "text": text, "logprobs": null, "finish_reason": finish})
}

#[cfg(test)]
mod tests {
    use gatehouse_driver::CheckedBody;

    use super::*;

    /// Without it the answer to one prompt would be read as that to another.
    #[test]
    fn choices_are_numbered_by_prompt_and_counts_are_sums() {
        let body = json!({"prompt": ["a", "b"], "n": 2, "echo": true}).to_string();
        let asked = Asked::read(&CheckedBody::parse(body.into(), None).unwrap()).unwrap();
        let answer = |text: &str| {
            let choice =
                |index: u64| json!({"index": index, "message": {"content": text}, "finish_reason": "stop"});
            let usage = json!({"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3});
            let chat = json!({"id": "chatcmpl-1", "created": 7, "model": "m",
                "choices": [choice(0), choice(1)], "usage": usage});
            Bytes::from(chat.to_string())
        };
        let found = completion(&asked, &[answer("1"), answer("2")]).unwrap();
        let choice = |index: u64, text: &str| json!({"index": index, "text": text, "logprobs": null, "finish_reason": "stop"});
        let expected = json!({
            "id": "cmpl-1", "object": "text_completion", "created": 7, "model": "m",
            "choices": [choice(0, "a1"), choice(1, "a1"), choice(2, "b2"), choice(3, "b2")],
            "usage": {"prompt_tokens": 2, "completion_tokens": 4, "total_tokens": 6},
        });
        assert_eq!(found, expected);
    }
}
