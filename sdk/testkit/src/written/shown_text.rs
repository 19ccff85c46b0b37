//! Answers of a text family and of a dialect as JSON, as written scripts expect them. `sdk/README.md` lists the fields.

use gatehouse_sdk::{
    Answered, Chunk, Counter, DialectPrepared, Obstacle, Prepared, Refusal, Sse, TextFailure,
};
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
            "usage": answered.usage,
            "counters": counters(&answered.counters),
            "output_bytes": answered.output_bytes,
        }}),
        Err(why) => failed(why),
    }
}

/// A piece of the client's stream.
pub(crate) fn chunk(chunk: &Result<Chunk, TextFailure>) -> Value {
    match chunk {
        Ok(chunk) => {
            json!({"chunk": {
                "send": sent(&chunk.send),
                "usage": chunk.usage,
                "counters": counters(&chunk.counters),
                "output_bytes": chunk.output_bytes,
                "last": chunk.last,
            }})
        }
        Err(why) => failed(why),
    }
}

/// A dialect's call.
pub(crate) fn translated(verdict: &Result<DialectPrepared<Vec<u8>>, Refusal>) -> Value {
    match verdict {
        Ok(prepared) => json!({"translated": {
            "call": call(&prepared.call),
            "framing": prepared.framing.name(),
            "state": bytes(&prepared.state),
        }}),
        Err(refusal) => refused(refusal),
    }
}

/// A dialect's Messages answer.
pub(crate) fn read(answer: &Result<String, TextFailure>) -> Value {
    match answer {
        Ok(body) => json!({"read": parsed(body)}),
        Err(why) => failed(why),
    }
}

/// A dialect's Messages events.
pub(crate) fn events(events: &Result<Vec<Sse>, TextFailure>) -> Value {
    match events {
        Ok(events) => json!({"read": sent(events)}),
        Err(why) => failed(why),
    }
}

fn sent(events: &[Sse]) -> Vec<Value> {
    events.iter().map(|sse| json!({"event": sse.event, "data": parsed(&sse.data)})).collect()
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
    let TextFailure { message, field, retry_after_ms, .. } = failure;
    json!({"failed": {"obstacle": obstacle, "message": message, "field": field, "retry_after_ms": retry_after_ms}})
}

fn counters(counters: &[Counter]) -> Value {
    counters.iter().map(|(name, count)| (name.clone(), json!(count))).collect()
}
