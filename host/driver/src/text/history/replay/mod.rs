//! The stream of a kept response once more: `GET /v1/responses/{id}?stream=true`.
//!
//! ```text
//! while it streams: events -> Outline, a few bytes for each -> kept with the response
//! later:            response + outline -> the same events, under the same numbers
//! ```
//! So a client that lost its connection goes on at the event where it was. A response that was answered whole has no outline:
//! its stream tells each text at once. Knows the items of a response only as far as their texts; never stores an event.

mod items;
mod outline;
mod rebuild;

pub(in crate::text) use outline::Outline;

use gatehouse_model::Sse;

use crate::errors::SubmitError;

/// The events after the one of that number, or all of them.
///
/// # Errors
/// There is no such event, or the response was not streamed; the kept row is damaged.
pub(super) fn events_after(
    response: &str,
    outline: &[u8],
    after: Option<u64>,
) -> Result<Vec<Sse>, SubmitError> {
    let wrong =
        |expected: String| SubmitError::wrong_field("starting_after", format_args!("expected {expected}"));
    if after.is_some() && outline.is_empty() {
        return Err(wrong(
            "nothing, this response was answered whole and its events have no earlier numbers".to_owned(),
        ));
    }
    let damaged = || SubmitError::Internal("a kept response and the outline of its stream differ".to_owned());
    let output = items::read(response).ok_or_else(damaged)?;
    let steps = match outline.is_empty() {
        true => items::steps(&output),
        false => outline::decode(outline).ok_or_else(damaged)?,
    };
    let mut events = rebuild::events(response, output, &steps).ok_or_else(damaged)?;
    let Some(after) = after else { return Ok(events) };
    match usize::try_from(after).ok().filter(|after| *after < events.len()) {
        Some(after) => Ok(events.split_off(after + 1)),
        None => {
            Err(wrong(format!("a number below {}, the stream had so many events; got {after}", events.len())))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn with(object: &Value, more: &Value) -> Value {
        let mut object = object.clone();
        object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        object
    }

    fn event(kind: &str, number: usize, members: &Value) -> Sse {
        let data = with(&json!({"type": kind, "sequence_number": number}), members);
        Sse { event: Some(kind.to_owned()), data: data.to_string() }
    }

    fn values(events: &[Sse]) -> Vec<Value> {
        events.iter().map(|event| serde_json::from_str(&event.data).unwrap()).collect()
    }

    /// A response with thinking, a text with log probabilities and two calls, and its stream.
    fn streamed() -> (String, Vec<Sse>) {
        let entry = |token: &str| json!({"token": token, "logprob": -0.5, "bytes": [], "top_logprobs": []});
        let part = |text: &str, logprobs: Value| json!({"type": "output_text", "text": text, "annotations": [], "logprobs": logprobs});
        let all = json!([entry("h\u{e9}"), entry("y"), entry("!")]);
        let thought = json!({"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "a\nb"}], "encrypted_content": "e"});
        let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part("h\u{e9}y", all.clone())]});
        let call = json!({"id": "fc_1", "type": "function_call", "status": "completed", "call_id": "c1", "name": "f", "arguments": "{\"a\":1}"});
        let custom = json!({"id": "ctc_1", "type": "custom_tool_call", "status": "completed", "call_id": "c2", "name": "p", "input": "x"});
        let cut = json!({"id": "fc_2", "type": "function_call", "status": "incomplete", "call_id": "c3", "name": "f", "arguments": "{\"a"});
        let object = |status: &str, at: Value, details: Value, output: Value, usage: Value| {
            json!({
                "id": "resp_1", "object": "response", "status": status, "completed_at": at,
                "incomplete_details": details, "output": output, "usage": usage, "model": "m",
            })
        };
        let began = object("in_progress", Value::Null, Value::Null, json!([]), Value::Null);
        let output = json!([thought, message, call, custom, cut]);
        let details = json!({"reason": "max_output_tokens"});
        let end = object("incomplete", Value::Null, details, output, json!({"total_tokens": 3}));
        let of = |id: &str, at: usize, more: Value| with(&json!({"item_id": id, "output_index": at}), &more);
        let new_call = |item: &Value, member: &str| with(item, &json!({member: "", "status": "in_progress"}));
        let new_thought = json!({"id": "rs_1", "type": "reasoning", "summary": []});
        let new_message = with(&message, &json!({"content": [], "status": "in_progress"}));
        let summary = |more: Value| of("rs_1", 0, with(&json!({"summary_index": 0}), &more));
        let text = |more: Value| of("msg_1", 1, with(&json!({"content_index": 0}), &more));
        let mut told = vec![
            ("response.created", json!({"response": began})),
            ("response.in_progress", json!({"response": began})),
            ("response.output_item.added", json!({"output_index": 0, "item": new_thought})),
            (
                "response.reasoning_summary_part.added",
                summary(json!({"part": {"type": "summary_text", "text": ""}})),
            ),
            ("response.reasoning_summary_text.delta", summary(json!({"delta": "a"}))),
            ("response.reasoning_summary_text.delta", summary(json!({"delta": "\nb"}))),
            ("response.reasoning_summary_text.done", summary(json!({"text": "a\nb"}))),
            ("response.reasoning_summary_part.done", summary(json!({"part": thought["summary"][0]}))),
            ("response.output_item.done", json!({"output_index": 0, "item": thought})),
            ("response.output_item.added", json!({"output_index": 1, "item": new_message})),
            ("response.content_part.added", text(json!({"part": part("", json!([]))}))),
            ("response.output_text.delta", text(json!({"delta": "h\u{e9}", "logprobs": [all[0]]}))),
            ("response.output_text.delta", text(json!({"delta": "y", "logprobs": [all[1]]}))),
            ("response.output_text.done", text(json!({"text": "h\u{e9}y", "logprobs": all}))),
            ("response.content_part.done", text(json!({"part": message["content"][0]}))),
            ("response.output_item.done", json!({"output_index": 1, "item": message})),
        ];
        let arguments =
            |at: usize, delta: &str| of(["fc_1", "ctc_1", "fc_2"][at - 2], at, json!({"delta": delta}));
        // Two calls take turns.
        told.extend([
            ("response.output_item.added", json!({"output_index": 2, "item": new_call(&call, "arguments")})),
            ("response.output_item.added", json!({"output_index": 3, "item": new_call(&custom, "input")})),
            ("response.function_call_arguments.delta", arguments(2, "{\"a\"")),
            ("response.output_item.added", json!({"output_index": 4, "item": new_call(&cut, "arguments")})),
            ("response.function_call_arguments.delta", arguments(4, "{\"a")),
            ("response.function_call_arguments.delta", arguments(2, ":1}")),
            ("response.function_call_arguments.done", of("fc_1", 2, json!({"arguments": "{\"a\":1}"}))),
            ("response.output_item.done", json!({"output_index": 2, "item": call})),
            ("response.custom_tool_call_input.delta", arguments(3, "x")),
            ("response.custom_tool_call_input.done", of("ctc_1", 3, json!({"input": "x"}))),
            ("response.output_item.done", json!({"output_index": 3, "item": custom})),
            ("response.incomplete", json!({"response": end})),
        ]);
        let events = told.iter().enumerate().map(|(number, (kind, members))| event(kind, number, members));
        (end.to_string(), events.collect())
    }

    #[test]
    fn a_stream_is_told_again_event_by_event() {
        let (response, events) = streamed();
        let mut outline = Outline::default();
        for batch in events.chunks(3) {
            outline.add(batch);
        }
        let outline = outline.into_bytes();
        assert!(outline.len() < 4 * events.len(), "{} bytes for {} events", outline.len(), events.len());
        let again = events_after(&response, &outline, None).unwrap();
        assert_eq!(values(&again), values(&events));
        assert!(again.iter().zip(&events).all(|(again, event)| again.event == event.event));
        for after in 0..events.len() {
            let rest = events_after(&response, &outline, Some(after as u64)).unwrap();
            assert_eq!(values(&rest), values(&events[after + 1..]), "after {after}");
        }
        let error = events_after(&response, &outline, Some(events.len() as u64)).unwrap_err();
        assert!(error.to_string().contains("a number below 28"), "{error}");
    }

    #[test]
    fn a_response_that_was_answered_whole_tells_each_text_at_once() {
        let (response, streamed) = streamed();
        let events = values(&events_after(&response, &[], None).unwrap());
        for (number, event) in events.iter().enumerate() {
            assert_eq!(event["sequence_number"], number);
        }
        let deltas: Vec<&str> = events.iter().filter_map(|event| event["delta"].as_str()).collect();
        assert_eq!(deltas, ["a\nb", "h\u{e9}y", "{\"a\":1}", "x", "{\"a"]);
        let first = |events: &[Value]| events[..3].to_vec();
        assert_eq!(first(&events), first(&values(&streamed)));
        let of_end = |events: &[Value]| events.last().unwrap()["response"].clone();
        assert_eq!(of_end(&events), of_end(&values(&streamed)));
        let done = events.iter().filter(|event| event["type"] == "response.output_item.done").count();
        assert_eq!(done, 4, "a call that was cut is never done");
        let error = events_after(&response, &[], Some(0)).unwrap_err();
        assert!(error.to_string().contains("was answered whole"), "{error}");
    }

    #[test]
    fn what_does_not_fit_together_is_an_error() {
        let (response, events) = streamed();
        let mut outline = Outline::default();
        outline.add(&events);
        let outline = outline.into_bytes();
        assert!(events_after(&response.replace("h\u{e9}y", "h"), &outline, None).is_err());
        for length in 1..outline.len() {
            // A part of it ends within an event, or is a shorter stream; it never panics.
            let _ = events_after(&response, &outline[..length], None);
        }
        assert!(events_after("{}", &outline, None).is_err());
        // An event of a later plugin: the stream is not kept.
        let mut unknown = Outline::default();
        unknown.add(&events[..2]);
        unknown.add(&[event("response.new", 2, &json!({}))]);
        unknown.add(&events[2..]);
        assert_eq!(unknown.into_bytes(), Vec::<u8>::new());
    }
}
