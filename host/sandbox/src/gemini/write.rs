//! Writes an answer: as one object, and as the frames of a stream.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::errors::Gemini;
use crate::text::answer::generate::{Answer, Part, Stop};
use crate::text::answer::words;
use crate::text::delivery::reply::{Event, EventKind};
use crate::text::endpoint::Written;
use crate::text::markers::Marker;

/// The answer in one piece.
pub(super) fn whole(answer: &Written<'_, Gemini>) -> Value {
    let choice = answer.answers.first().cloned().unwrap_or_default();
    let parts: Vec<Value> = choice.parts.iter().filter_map(|part| self::part(part, answer)).collect();
    let mut body = frame(answer, parts);
    end(&mut body, &choice, answer);
    body
}

/// The answer as frames, the last of which has its reason and the counts.
pub(super) fn events(answer: &Written<'_, Gemini>) -> Vec<Event> {
    let choice = answer.answers.first().cloned().unwrap_or_default();
    let mut seed = answer.seed.clone();
    let mut events = Vec::new();
    let mut push = |body: &Value, kind| events.push(Event { name: None, data: body.to_string(), kind });
    for own in &choice.parts {
        let Some(whole) = part(own, answer) else { continue };
        let pieces = whole["text"].as_str().map_or_else(Vec::new, |text| words::pieces(&mut seed, text));
        if pieces.is_empty() {
            push(&frame(answer, vec![whole.clone()]), EventKind::Delta);
        }
        for piece in pieces {
            let mut part = whole.clone();
            part["text"] = piece.into();
            push(&frame(answer, vec![part]), EventKind::Delta);
        }
    }
    let mut last = frame(answer, vec![json!({ "text": "" })]);
    end(&mut last, &choice, answer);
    push(&last, EventKind::End);
    events
}

fn frame(answer: &Written<'_, Gemini>, parts: Vec<Value>) -> Value {
    json!({
        "candidates": [{ "content": { "parts": parts, "role": "model" }, "index": 0 }],
        "modelVersion": answer.request.model,
        "responseId": answer.id,
    })
}

/// One part on the wire; `None` for what this provider does not show.
fn part(part: &Part, answer: &Written<'_, Gemini>) -> Option<Value> {
    match part {
        Part::Call(call) => {
            // A call that is cut, or is no JSON, does not leave the model: its reason says so.
            let args: Value = serde_json::from_str(&call.arguments).ok().filter(Value::is_object)?;
            let signature = STANDARD.encode(format!("signed {}", call.id));
            let called = json!({ "id": call.id, "name": call.name, "args": args });
            Some(json!({ "functionCall": called, "thoughtSignature": signature }))
        }
        Part::Text(text) => Some(json!({ "text": text })),
        Part::Thinking { text, .. } => {
            answer.request.details.shows_thoughts.then(|| json!({ "text": text, "thought": true }))
        }
        Part::Redacted { .. } | Part::Refusal(_) => None,
    }
}

/// Why it stops, and what it took.
fn end(body: &mut Value, choice: &Answer, answer: &Written<'_, Gemini>) {
    body["candidates"][0]["finishReason"] = reason(choice, answer).into();
    if answer.faults.has(Marker::NoUsage) {
        return;
    }
    let usage = answer.usage;
    body["usageMetadata"] = json!({
        "promptTokenCount": usage.all_input(),
        "candidatesTokenCount": usage.output - usage.thinking,
        "totalTokenCount": usage.all_input() + usage.output,
        "promptTokensDetails": [{ "modality": "TEXT", "tokenCount": usage.all_input() }],
    });
    if usage.thinking > 0 {
        body["usageMetadata"]["thoughtsTokenCount"] = usage.thinking.into();
    }
}

fn reason(choice: &Answer, answer: &Written<'_, Gemini>) -> &'static str {
    match choice.stop {
        Stop::Length => "MAX_TOKENS",
        Stop::Refused | Stop::Filtered => "SAFETY",
        Stop::Calls if answer.faults.has(Marker::BadArguments) => "MALFORMED_FUNCTION_CALL",
        Stop::Calls | Stop::End | Stop::Paused | Stop::Sequence(_) => "STOP",
    }
}
