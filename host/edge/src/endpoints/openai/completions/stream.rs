//! The chunks of chat completions as pieces of one completion: the prompts one after the other, one `[DONE]` at the end.

use std::future::poll_fn;
use std::sync::Arc;

use gatehouse_driver::{CompletionRequest, CompletionResponse, TextError, TextStream};
use gatehouse_model::Sse;
use serde_json::{Map, Value};
use tokio::sync::mpsc::Sender;

use crate::backend::Backend;
use crate::endpoints::openai::completions::request::Asked;
use crate::endpoints::openai::completions::{add, choice_of, head};

/// What ends the stream of a chat completion.
const DONE: &str = "[DONE]";

/// Sends the pieces of every prompt, as fast as the client takes them. A client that leaves ends the stream of the prompt
/// that is answered; the others are never asked.
pub(super) async fn pump(
    backend: Arc<dyn Backend>,
    asked: Asked,
    first: TextStream,
    mut rest: impl Iterator<Item = CompletionRequest> + Send,
    sender: Sender<Result<Vec<Sse>, TextError>>,
) {
    let mut pieces = Pieces::default();
    let mut source = first;
    for (number, prompt) in (0..).zip(&asked.prompts) {
        pieces.begin(asked.echo.then(|| prompt.clone()), number * asked.count, asked.count);
        loop {
            let batch = tokio::select! {
                biased;
                () = sender.closed() => return,
                batch = poll_fn(|cx| source.poll_next(cx)) => batch,
            };
            let failed = matches!(batch, Some(Err(_)));
            let Some(batch) = batch else { break };
            let batch =
                batch.map(|events| events.iter().flat_map(|event| pieces.of(event)).collect::<Vec<_>>());
            let is_empty = batch.as_ref().is_ok_and(Vec::is_empty);
            if (!is_empty && sender.send(batch).await.is_err()) || failed {
                return;
            }
        }
        let Some(next) = rest.next() else { break };
        let answer = tokio::select! {
            biased;
            () = sender.closed() => return,
            answer = backend.complete(next) => answer,
        };
        source = match answer {
            Ok(CompletionResponse::Stream(stream)) => stream,
            Ok(_) => return,
            Err(error) => {
                let _ = sender.send(Err(error)).await;
                return;
            }
        };
    }
    let _ = sender.send(Ok(pieces.end())).await;
}

/// Makes the pieces.
#[derive(Default)]
struct Pieces {
    /// Of the first chunk of all.
    head: Option<Value>,
    /// What each choice begins with, until it has.
    echo: Option<String>,
    /// The number of the prompt's first choice, and how many there are.
    choices: (u64, u64),
    usage: Map<String, Value>,
}

impl Pieces {
    /// Goes on with the next prompt.
    fn begin(&mut self, echo: Option<String>, offset: u64, count: u64) {
        (self.echo, self.choices) = (echo, (offset, count));
    }

    /// The pieces that an event of a chat completion is.
    fn of(&mut self, event: &Sse) -> Vec<Sse> {
        if event.data == DONE {
            return Vec::new();
        }
        let chunk: Value = serde_json::from_str(&event.data).unwrap_or_default();
        if chunk.get("error").is_some() {
            return vec![event.clone()];
        }
        if let Some(usage) = chunk.get("usage") {
            add(&mut self.usage, usage);
        }
        let head = self.head.get_or_insert_with(|| head(&chunk)).clone();
        let (offset, count) = self.choices;
        let mut choices = Vec::new();
        if let Some(prompt) = self.echo.take() {
            let begun = |index: u64| choice_of(&serde_json::json!({"index": index}), &prompt, offset);
            choices.extend((0..count).map(begun));
        }
        for choice in chunk.get("choices").and_then(Value::as_array).into_iter().flatten() {
            let text = choice.pointer("/delta/content").and_then(Value::as_str).unwrap_or_default();
            if !text.is_empty() || choice.get("finish_reason").is_some_and(|reason| !reason.is_null()) {
                choices.push(choice_of(choice, text, offset));
            }
        }
        let piece = |choice: Value| {
            let mut piece = head.clone();
            piece["choices"] = vec![choice].into();
            Sse { event: None, data: piece.to_string() }
        };
        choices.into_iter().map(piece).collect()
    }

    /// What ends the stream: the counts, where they were asked for.
    fn end(&mut self) -> Vec<Sse> {
        let counted = (!self.usage.is_empty()).then(|| {
            let mut last = self.head.clone().unwrap_or_default();
            last["usage"] = std::mem::take(&mut self.usage).into();
            Sse { event: None, data: last.to_string() }
        });
        let done = Sse { event: None, data: DONE.to_owned() };
        counted.into_iter().chain([done]).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Without it a client would mix up prompts, miss the end, or read a chat's chunks.
    #[test]
    fn chunks_of_several_prompts_are_one_stream() {
        let chunk = |fields: Value| {
            let mut chunk = json!({"id": "chatcmpl-1", "created": 7, "model": "m"});
            chunk.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            Sse { event: None, data: chunk.to_string() }
        };
        let delta = |content: &str, finish: Option<&str>| {
            let delta = json!({"index": 0, "delta": {"content": content}, "finish_reason": finish});
            chunk(json!({"choices": [delta], "usage": null}))
        };
        let counts = chunk(json!({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}}));
        let done = Sse { event: None, data: DONE.to_owned() };
        let mut pieces = Pieces::default();
        let mut found = Vec::new();
        for (offset, prompt) in [(0, "a"), (1, "b")] {
            pieces.begin(Some(prompt.to_owned()), offset, 1);
            let events =
                [delta("", None), delta("x", None), delta("", Some("stop")), counts.clone(), done.clone()];
            found.extend(events.iter().flat_map(|event| pieces.of(event)));
        }
        found.extend(pieces.end());
        assert_eq!(found.pop().unwrap().data, DONE);
        let read = |event: &Sse| serde_json::from_str::<Value>(&event.data).unwrap();
        let texts: Vec<Value> = found.iter().map(read).collect();
        let outline: Vec<(u64, &str, bool)> = texts
            .iter()
            .flat_map(|piece| piece["choices"].as_array().unwrap())
            .map(|choice| {
                let index = choice["index"].as_u64().unwrap();
                (index, choice["text"].as_str().unwrap(), choice["finish_reason"] == "stop")
            })
            .collect();
        let expected = |prompt: u64, text: &'static str| {
            [(prompt, text, false), (prompt, "x", false), (prompt, "", true)]
        };
        assert_eq!(outline, [expected(0, "a"), expected(1, "b")].concat());
        assert_eq!(texts.last().unwrap()["usage"], json!({"prompt_tokens": 2, "completion_tokens": 4}));
        assert!(texts.iter().all(|piece| piece["id"] == "cmpl-1" && piece["object"] == "text_completion"));
    }
}
