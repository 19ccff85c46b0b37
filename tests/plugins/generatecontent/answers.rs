//! Whole answers.

use gatehouse_sdk::Obstacle;
use serde_json::{Value, json};

use super::answer;

fn response(candidate: Value) -> String {
    json!({
        "candidates": [candidate],
        "usageMetadata": {"promptTokenCount": 11, "candidatesTokenCount": 5, "totalTokenCount": 23, "thoughtsTokenCount": 7,
            "cachedContentTokenCount": 4, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 11}]},
        "modelVersion": "gemini-2.5-flash",
        "responseId": "mAItaLmkHPPlz7IPvtfUqQ4",
    })
    .to_string()
}

fn parts(parts: Value, reason: &str) -> String {
    response(json!({"content": {"parts": parts, "role": "model"}, "finishReason": reason, "index": 0}))
}

#[test]
fn an_answer_is_a_message() {
    let found = answer(json!({}), 200, &parts(json!([{"text": "Rain, "}, {"text": "mostly."}]), "STOP"));
    let expected = json!({
        "id": "msg_mAItaLmkHPPlz7IPvtfUqQ4",
        "type": "message",
        "role": "assistant",
        "model": "gemini-2.5-flash",
        "content": [{"type": "text", "text": "Rain, mostly."}],
        "stop_reason": "end_turn",
        "stop_sequence": null,
        "usage": {"input_tokens": 7, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 4, "output_tokens": 12,
            "output_tokens_details": {"thinking_tokens": 7}},
    });
    assert_eq!(found, Ok(expected));
}

/// Without it the next request of a tool loop lacks what Google signed, or its results go to the wrong calls.
#[test]
fn thoughts_and_calls_keep_their_signatures_and_ids() {
    let body = parts(
        json!([
            {"text": "They want the weather.", "thought": true},
            {"functionCall": {"name": "weather", "args": {"city": "Oslo", "days": 1.0}}, "thoughtSignature": "CpMDAVSoXO4"},
            {"functionCall": {"id": "8f2b1a3c", "name": "weather", "args": {"city": "Bergen"}}},
        ]),
        "STOP",
    );
    let found = answer(json!({"thinking": {"type": "enabled", "budget_tokens": 1024}}), 200, &body)
        .expect("a message");
    let expected = json!([
        {"type": "thinking", "thinking": "They want the weather.", "signature": "google:c0:CpMDAVSoXO4"},
        {"type": "tool_use", "id": "toolu_made_0000000000000abc_0", "name": "weather", "input": {"city": "Oslo", "days": 1.0}},
        {"type": "tool_use", "id": "8f2b1a3c", "name": "weather", "input": {"city": "Bergen"}},
    ]);
    assert_eq!((&found["content"], &found["stop_reason"]), (&expected, &json!("tool_use")));
}

/// Without it a call is lost in an answer that looks complete, or the answer fails for the form of a count, and is paid twice.
#[test]
fn an_answer_is_read_in_the_forms_of_servers_between() {
    let snake = json!({"candidates": [{"content": {"parts": [{"function_call": {"name": "f", "args": {"p": 1}}}]}, "finish_reason": "STOP"}],
        "usage_metadata": {"prompt_token_count": 5, "candidates_token_count": 3}});
    let quoted = json!({"candidates": [{"content": {"parts": [{"functionCall": {"name": "f", "args": "{\"p\":1}"}}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": "5", "candidatesTokenCount": 3.0, "thoughtsTokenCount": -1}});
    let odd = r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"p":1}}}]},"finishReason":"STOP","avgLogprobs":-Infinity}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":3,"thoughtsTokenCount":NaN}}"#;
    let both = r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"p":1}},"function_call":{"name":"f","args":{"p":1}}}]},"finishReason":"STOP","finish_reason":"STOP"}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":3},"usage_metadata":{}}"#;
    let typed = r#"{"candidates":[{"content":{"parts":[{"functionCall":{"id":7,"name":"f","args":{"p":1}},"thought":"false"}]},"finishReason":"STOP","finishReason":"STOP"}],"promptFeedback":"none","usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":3},"responseId":12}"#;
    let bodies = [
        snake.to_string(),
        quoted.to_string(),
        odd.to_owned(),
        both.to_owned(),
        typed.to_owned(),
        format!("\u{feff}{snake}"),
    ];
    for body in bodies {
        let found = answer(json!({}), 200, &body).unwrap_or_else(|failure| panic!("{body}: {failure:?}"));
        let call = &found["content"][0];
        assert_eq!((&call["input"], &found["stop_reason"]), (&json!({"p": 1}), &json!("tool_use")), "{body}");
        let usage = &found["usage"];
        assert_eq!((&usage["input_tokens"], &usage["output_tokens"]), (&json!(5), &json!(3)), "{body}");
    }
    let error = |message: &str| {
        json!([{"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}]).to_string()
    };
    let said = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).";
    for status in [200, 400] {
        let failure = answer(json!({}), status, &error(said)).expect_err("a list of errors");
        assert_eq!(failure.obstacle, Obstacle::TooLong, "{status}: {failure:?}");
    }
}

#[test]
fn an_answer_that_was_stopped_says_so() {
    let text = json!([{"text": "Once"}]);
    for (body, stop, blocks) in [
        (parts(text.clone(), "MAX_TOKENS"), "max_tokens", 1),
        (parts(text, "SAFETY"), "refusal", 1),
        // A model may spend all its tokens on its thoughts.
        (response(json!({"content": {"role": "model"}, "finishReason": "MAX_TOKENS"})), "max_tokens", 0),
        (response(json!({"finishReason": "PROHIBITED_CONTENT"})), "refusal", 0),
        (
            json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 9}}).to_string(),
            "refusal",
            0,
        ),
    ] {
        let found = answer(json!({}), 200, &body).expect("a message");
        assert_eq!(found["stop_reason"], stop, "{body}");
        assert_eq!(found["content"].as_array().map(Vec::len), Some(blocks), "{body}");
    }
}

#[test]
fn what_is_no_answer_is_the_providers_failure() {
    for body in [
        parts(json!([]), "MALFORMED_FUNCTION_CALL"),
        json!({"usageMetadata": {}}).to_string(),
        "<html>".to_owned(),
        json!({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}})
            .to_string(),
    ] {
        let failure = answer(json!({}), 200, &body).expect_err("a failure");
        assert_eq!(failure.obstacle, Obstacle::Upstream, "{body}");
    }
}

/// Without it an answer that is a picture is an empty success, which its client pays; or code that the model ran is lost.
#[test]
fn what_is_no_text_is_told_or_fails_the_answer() {
    let picture = json!({"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}});
    let file = json!({"file_data": {"mime_type": "audio/wav", "file_uri": "https://generativelanguage.googleapis.com/v1beta/files/a"}});
    for (given, kind) in [
        (json!([picture]), "image/png"),
        (json!([{"text": "Here it is."}, picture]), "image/png"),
        (json!([file]), "audio/wav"),
    ] {
        let failure = answer(json!({}), 200, &parts(given.clone(), "STOP")).expect_err("a failure");
        assert_eq!(failure.obstacle, Obstacle::Upstream, "{given}");
        assert!(failure.message.contains(kind), "{failure:?}");
    }
    let mut thought = picture;
    thought["thought"] = json!(true);
    for (given, expected) in [
        (json!([thought, {"text": "Hi"}]), "Hi"),
        (json!([{"inlineData": {"mimeType": "image/png", "data": ""}}, {"text": "Hi"}]), "Hi"),
        (
            json!([{"executableCode": {"language": "PYTHON", "code": "print(1)"}}, {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}}, {"text": "One."}]),
            "\n```python\nprint(1)\n```\n\n```\n1\n```\nOne.",
        ),
    ] {
        let found = answer(json!({}), 200, &parts(given.clone(), "STOP")).expect("a message");
        assert_eq!(found["content"], json!([{"type": "text", "text": expected}]), "{given}");
    }
}
