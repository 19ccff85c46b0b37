//! Streams: frames as Google sends them, events as a Messages client reads them.

use gatehouse_sdk::{Obstacle, Sse, TextFailure};
use generatecontent::GenerateContent;
use serde_json::{Value, json};

use super::{both, prepared};

/// A frame, or words in the place of one.
fn frame(data: Value) -> Sse {
    Sse { event: None, data: data.as_str().map_or_else(|| data.to_string(), str::to_owned) }
}

fn candidate(parts: Value) -> Value {
    json!({"candidates": [{"content": {"parts": parts, "role": "model"}, "index": 0}],
        "usageMetadata": {"promptTokenCount": 11, "totalTokenCount": 11}, "modelVersion": "gemini-2.5-flash", "responseId": "r1"})
}

/// The last frame.
fn last(parts: Value, reason: &str) -> Value {
    let mut data = candidate(parts);
    data["candidates"][0]["finishReason"] = reason.into();
    data["usageMetadata"] = json!({"promptTokenCount": 11, "candidatesTokenCount": 5, "thoughtsTokenCount": 7, "totalTokenCount": 23});
    data
}

/// All events of a stream, read in one batch and in one a frame, which must be the same; and what ended it.
fn events(fields: Value, frames: Vec<Value>) -> (Vec<Value>, Option<TextFailure>) {
    let state = prepared(fields).state;
    let frames: Vec<Sse> = frames.into_iter().map(frame).collect();
    let read = |batches: &[Vec<Sse>]| {
        let (mut events, mut failed) = (vec![], None);
        for answer in both().read_stream::<GenerateContent>(&state, batches) {
            match answer {
                Ok(all) => events.extend(all.into_iter().map(|event| {
                    let data: Value = serde_json::from_str(&event.data).expect("JSON");
                    assert_eq!(event.event.as_deref(), data["type"].as_str());
                    data
                })),
                Err(failure) => failed = Some(failure),
            }
        }
        (events, failed)
    };
    let one_by_one: Vec<Vec<Sse>> = frames.iter().map(|frame| vec![frame.clone()]).collect();
    let found = read(&one_by_one);
    if found.1.is_none() {
        assert_eq!(read(&[frames]), found, "the grouping of frames does not matter");
    }
    found
}

fn delta(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

#[test]
fn a_stream_is_that_of_a_messages_provider() {
    let thinking = json!({"thinking": {"type": "adaptive"}});
    let (found, failed) = events(
        thinking,
        vec![
            candidate(json!([{"text": "Hm", "thought": true}])),
            candidate(json!([{"text": "m.", "thought": true}])),
            candidate(json!([{"text": "Look"}])),
            candidate(json!([{"text": "ing."}])),
            candidate(
                json!([{"functionCall": {"name": "f", "args": {"a": 1}}, "thoughtSignature": "S1"}, {"functionCall": {"id": "g", "name": "f", "args": {}}}]),
            ),
            last(json!([{"text": ""}]), "STOP"),
        ],
    );
    assert_eq!(failed, None);
    let counts = |input: u64, output: u64| json!({"input_tokens": input, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": output});
    let mut end = counts(11, 12);
    end["output_tokens_details"] = json!({"thinking_tokens": 7});
    let message = json!({"id": "msg_r1", "type": "message", "role": "assistant", "model": "gemini-2.5-flash", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": counts(11, 0)});
    let thought = json!({"type": "thinking", "thinking": "", "signature": ""});
    let start = |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let stop = |index: u64| json!({"type": "content_block_stop", "index": index});
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "f", "input": {}});
    let expected = vec![
        json!({"type": "message_start", "message": message}),
        start(0, thought.clone()),
        delta(0, json!({"type": "thinking_delta", "thinking": "Hm"})),
        delta(0, json!({"type": "thinking_delta", "thinking": "m."})),
        stop(0),
        start(1, json!({"type": "text", "text": ""})),
        delta(1, json!({"type": "text_delta", "text": "Look"})),
        delta(1, json!({"type": "text_delta", "text": "ing."})),
        stop(1),
        start(2, thought),
        delta(2, json!({"type": "signature_delta", "signature": "google:c0:S1"})),
        stop(2),
        start(3, call("toolu_made_0000000000000abc_0")),
        delta(3, json!({"type": "input_json_delta", "partial_json": "{\"a\":1}"})),
        stop(3),
        start(4, call("g")),
        delta(4, json!({"type": "input_json_delta", "partial_json": "{}"})),
        stop(4),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": null}, "usage": end}),
        json!({"type": "message_stop"}),
    ];
    assert_eq!(found, expected);
}

/// Without it a client takes half an answer for a whole one, or reads none where Google said why.
#[test]
fn a_stream_ends_as_its_last_frame_says() {
    let text = || candidate(json!([{"text": "Once"}]));
    for (frames, stop) in [
        (vec![text(), last(json!([{"text": " upon"}]), "MAX_TOKENS")], Some("max_tokens")),
        // Older models say in every frame that they stopped.
        (
            vec![last(json!([{"text": "Once"}]), "STOP"), last(json!([{"text": " upon"}]), "STOP")],
            Some("end_turn"),
        ),
        (vec![text(), last(json!([]), "SAFETY")], Some("refusal")),
        (
            vec![
                json!({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 3}}),
            ],
            Some("refusal"),
        ),
        (vec![text()], None),
    ] {
        let (found, failed) = events(json!({}), frames);
        let end = found
            .iter()
            .rev()
            .nth(1)
            .filter(|_| found.last().is_some_and(|last| last["type"] == "message_stop"));
        assert_eq!(
            (end.and_then(|end| end["delta"]["stop_reason"].as_str()), failed),
            (stop, None),
            "{found:?}"
        );
    }
    let (_, failed) = events(json!({}), vec![text(), last(json!([]), "MALFORMED_FUNCTION_CALL")]);
    assert_eq!(failed.map(|failure| failure.obstacle), Some(Obstacle::Upstream));
}

#[test]
fn an_error_in_a_stream_ends_it() {
    let error = json!({"error": {"code": 429, "message": "Resource has been exhausted (e.g. check quota).", "status": "RESOURCE_EXHAUSTED"}});
    let (_, failed) = events(json!({}), vec![candidate(json!([{"text": "Once"}])), error]);
    assert_eq!(failed.map(|failure| failure.obstacle), Some(Obstacle::RateLimited));
    let (_, failed) = events(json!({}), vec![json!([1])]);
    assert_eq!(failed.map(|failure| failure.obstacle), Some(Obstacle::Upstream));
}

/// Without it a picture is an empty success, and one name in two spellings ends a stream that was good.
#[test]
fn frames_are_read_in_every_form_and_none_is_lost() {
    let picture = json!([{"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}]);
    let (_, failed) = events(json!({}), vec![candidate(json!([{"text": "Here"}])), last(picture, "STOP")]);
    assert!(failed.is_some_and(|it| it.obstacle == Obstacle::Upstream && it.message.contains("image/png")));
    let mut twice = last(json!([{"text": "Hi"}]), "STOP");
    twice["candidates"][0]["finish_reason"] = json!("STOP");
    let (found, failed) = events(json!({}), vec![twice]);
    assert_eq!(failed, None);
    assert!(found.contains(&delta(0, json!({"type": "text_delta", "text": "Hi"}))), "{found:?}");
}

/// Without it half an answer of a model that gives a reason in every frame looks whole.
#[test]
fn unknown_words_behind_frames_that_all_have_a_reason_are_no_end() {
    let text = |text: &str| json!([{"text": text}]);
    let each = [last(text("Hel"), "STOP"), last(text("lo"), "STOP")];
    let usual = [candidate(text("Hel")), last(text("lo"), "STOP")];
    for (frames, words, is_whole) in [
        (&each, "nothing is left", false),
        (&each, "[PING]", true),
        (&each, "keep-alive", true),
        (&usual, "good bye", true),
    ] {
        let ends = |frames: Vec<Value>| {
            let (events, failed) = events(json!({}), frames);
            failed.is_none() && events.last().is_some_and(|event| event["type"] == "message_stop")
        };
        let before = vec![frames[0].clone(), json!(words), frames[1].clone()];
        assert!(ends(before), "{words}: the answer went on");
        let behind = vec![frames[0].clone(), frames[1].clone(), json!(words)];
        assert_eq!(ends(behind.clone()), is_whole, "{words}");
        let listed = json!(behind).to_string();
        assert_eq!(super::answer(json!({}), 200, &listed).is_ok(), is_whole, "{words}");
    }
}
