//! Answers of a text family as JSON, as written scripts expect them. `sdk/README.md` lists the fields.

use gatehouse_sdk::{Answered, Chunk, Obstacle, Prepared, Refusal, TextFailure, Usage};
use serde_json::{Value, json};

use super::shown::{bytes, call, parsed, refused};

/// The answer to a request.
pub(crate) fn prepared(verdict: &Result<Prepared<Vec<u8>>, Refusal>) -> Value {
    match verdict {
        Ok(prepared) => json!({"prepared": {
            "call": call(&prepared.call),
            "streaming": prepared.streaming,
            "input_bytes": prepared.input_bytes,
            "pictures": prepared.pictures,
            "max_output_tokens": prepared.max_output_tokens,
            "state": bytes(&prepared.state),
        }}),
        Err(refusal) => refused(refusal),
    }
}

/// The client's answer.
pub(crate) fn answered(answer: &Result<Answered, TextFailure>) -> Value {
    match answer {
        Ok(answered) => json!({"answered": {
            "body": parsed(&answered.body),
            "usage": usage(answered.usage),
            "output_bytes": answered.output_bytes,
        }}),
        Err(why) => failed(why),
    }
}

/// A piece of the client's stream.
pub(crate) fn chunk(chunk: &Result<Chunk, TextFailure>) -> Value {
    match chunk {
        Ok(chunk) => {
            let send = chunk.send.iter().map(|sse| json!({"event": sse.event, "data": parsed(&sse.data)}));
            json!({"chunk": {
                "send": send.collect::<Vec<_>>(),
                "usage": usage(chunk.usage),
                "output_bytes": chunk.output_bytes,
                "last": chunk.last,
            }})
        }
        Err(why) => failed(why),
    }
}

fn failed(failure: &TextFailure) -> Value {
    let obstacle = match failure.obstacle {
        Obstacle::Invalid => "invalid",
        Obstacle::NotFound => "not-found",
        Obstacle::TooLarge => "too-large",
        Obstacle::TooLong => "too-long",
        Obstacle::RateLimited => "rate-limited",
        Obstacle::Account => "account",
        Obstacle::Upstream => "upstream",
    };
    json!({"failed": {"obstacle": obstacle, "message": failure.message, "field": failure.field}})
}

fn usage(usage: Option<Usage>) -> Value {
    json!(usage)
}
