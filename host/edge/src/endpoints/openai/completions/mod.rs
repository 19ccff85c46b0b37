//! `completions.create`: text in, text out, over models that answer conversations. A prompt is the message of a user; each
//! prompt of a list is a text request of its own, priced and paid like any other.

mod request;
mod stream;

use std::sync::Arc;

use bytes::Bytes;
use gatehouse_driver::{CompletionRequest, CompletionResponse, TextStream};
use gatehouse_model::{Key, RequestId};
use request::Asked;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use crate::endpoints::openai::fields::off_worker;
use crate::endpoints::text::{self, text_refusal};
use crate::endpoints::{dry_run, jobs};
use crate::errors::{Form, Outcome, Refusal};
use crate::http::body;
use crate::http::context::{EdgeContext, EndpointRequest};
use crate::response;

/// The surface that answers.
const SURFACE: &str = "chat.completions";
/// Batches of events on their way to the client.
const BATCHES: usize = 4;

/// Answers a request of one or several prompts.
pub(in crate::endpoints) async fn complete(mut request: EndpointRequest<'_>, key: Arc<Key>) -> Outcome {
    let context = request.context;
    body::check_type(&request.parts.headers)?;
    let body = jobs::checked_body(&mut request, &key, None).await?;
    let (length, is_dry_run) = (body.bytes().len(), body.is_dry_run());
    let (asked, bodies) = off_worker(length, move || Asked::read(&body)?.with_bodies()).await??;
    let requests = bodies.into_iter().enumerate().map(|(number, body)| {
        let id = match number {
            0 => request.id,
            // Its money is held under it.
            _ => RequestId::new(context.clock.now(), &*context.seed),
        };
        let (key, report) = (Arc::clone(&key), request.report.clone());
        CompletionRequest { id, key, surface: SURFACE, body, headers: Vec::new(), report }
    });
    let requests: Vec<_> = requests.collect();
    if asked.is_stream && !is_dry_run {
        return streamed(context, request.id, asked, requests).await;
    }
    let mut bodies = Vec::with_capacity(requests.len());
    // One after the other: a key that allows one request at once has all of them answered.
    for request in requests {
        match context.backend.complete(request).await {
            Ok(CompletionResponse::Whole(body)) => bodies.push(body),
            Ok(CompletionResponse::DryRun(found)) => return Ok(dry_run::answer(found, false)),
            Ok(CompletionResponse::Stream(_)) => return Err(unexpected()),
            // The prompts before it are paid, and a repetition would pay for them again.
            Err(error) if !bodies.is_empty() => return Err(text_refusal(error).never_repeated()),
            Err(error) => return Err(text_refusal(error)),
        }
    }
    // All of them are paid.
    Ok(response::json(&completion(&asked, &bodies).map_err(Refusal::never_repeated)?))
}

/// The events of each prompt, one after the other.
async fn streamed(
    context: &EdgeContext,
    id: RequestId,
    asked: Asked,
    requests: Vec<CompletionRequest>,
) -> Outcome {
    let mut requests = requests.into_iter();
    let first = requests.next().ok_or_else(unexpected)?;
    let CompletionResponse::Stream(mut first) =
        context.backend.complete(first).await.map_err(text_refusal)?
    else {
        return Err(unexpected());
    };
    // What fails before the first events has a status of its own.
    first.begin().await.map_err(text_refusal)?;
    let (sender, batches) = mpsc::channel(BATCHES);
    tokio::spawn(stream::pump(Arc::clone(&context.backend), asked, first, requests, sender));
    Ok(text::streamed(context, TextStream::from(batches), Form::OpenAi, id))
}

/// What was answered may be paid for.
fn unexpected() -> Refusal {
    Refusal::internal("a text family answered in another way than it was asked to").never_repeated()
}

/// The counts that answers add up.
const COUNTS: [&str; 3] = ["prompt_tokens", "completion_tokens", "total_tokens"];

/// The completion of the answers to each prompt, in their order.
fn completion(asked: &Asked, answers: &[Bytes]) -> Result<Value, Refusal> {
    let answers = answers.iter().map(|body| serde_json::from_slice(body));
    let answers: Vec<Value> = answers.collect::<Result<_, _>>().map_err(Refusal::internal)?;
    let mut choices = Vec::new();
    for (answer, (prompt, at)) in answers.iter().zip(asked.prompts.iter().zip(0..)) {
        for chat in answer.get("choices").and_then(Value::as_array).into_iter().flatten() {
            let content = chat.pointer("/message/content").and_then(Value::as_str).unwrap_or_default();
            let echo: &str = if asked.echo { prompt } else { "" };
            choices.push(choice_of(chat, &format!("{echo}{content}"), at * asked.count));
        }
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

/// A choice of a chat completion as one of a completion, with that text.
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
