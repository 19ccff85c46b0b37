//! Google's errors: who is to blame, and which field is wrong.

use gatehouse_sdk::Obstacle;
use serde_json::{Value, json};

use super::answer;

fn error(code: u16, status: &str, message: &str, details: Value) -> (u16, String) {
    let error = json!({"code": code, "message": message, "status": status, "details": details});
    (code, json!({"error": error}).to_string())
}

/// Without it an operator's wrong key is the client's mistake, or a client is told to wait for what never changes.
#[test]
fn each_error_has_its_cause() {
    let key = json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"}]);
    let retry = json!([{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}]);
    for ((status, body), obstacle) in [
        (
            error(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", key),
            Obstacle::Account,
        ),
        (
            error(400, "FAILED_PRECONDITION", "User location is not supported for the API use.", json!([])),
            Obstacle::Account,
        ),
        (
            error(401, "UNAUTHENTICATED", "Request had invalid authentication credentials.", json!([])),
            Obstacle::Account,
        ),
        (
            error(403, "PERMISSION_DENIED", "Your API key was reported as leaked.", json!([])),
            Obstacle::Account,
        ),
        (
            error(
                400,
                "INVALID_ARGUMENT",
                "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
                json!([]),
            ),
            Obstacle::TooLong,
        ),
        (
            error(
                400,
                "INVALID_ARGUMENT",
                "Request payload size exceeds the limit: 20971520 bytes.",
                json!([]),
            ),
            Obstacle::TooLarge,
        ),
        (error(400, "INVALID_ARGUMENT", "Unable to process input image.", json!([])), Obstacle::Invalid),
        (
            error(404, "NOT_FOUND", "models/gemini-0 is not found for API version v1beta.", json!([])),
            Obstacle::Upstream,
        ),
        (
            error(
                429,
                "RESOURCE_EXHAUSTED",
                "You exceeded your current quota, please check your plan and billing details.",
                retry,
            ),
            Obstacle::RateLimited,
        ),
        (error(500, "INTERNAL", "An internal error has occurred.", json!([])), Obstacle::Upstream),
        (
            error(503, "UNAVAILABLE", "The model is overloaded. Please try again later.", json!([])),
            Obstacle::Upstream,
        ),
        (error(504, "DEADLINE_EXCEEDED", "The request timed out.", json!([])), Obstacle::Upstream),
        ((502, "<html>Bad Gateway</html>".to_owned()), Obstacle::Upstream),
        ((413, "too large".to_owned()), Obstacle::TooLarge),
        ((403, String::new()), Obstacle::Account),
    ] {
        let failure = answer(json!({}), status, &body).expect_err("a failure");
        assert_eq!(failure.obstacle, obstacle, "{body}");
        assert!(obstacle != Obstacle::Account || !failure.message.contains("key"), "{}", failure.message);
    }
    for (delay, expected) in [("34s", Some(34_000)), ("1.5s", Some(2_000)), ("0.0s", Some(0)), ("soon", None)]
    {
        let details = json!([{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}]);
        let (status, body) = error(429, "RESOURCE_EXHAUSTED", "no", details);
        let failure = answer(json!({}), status, &body).expect_err("a failure");
        assert_eq!(failure.retry_after_ms, expected, "{delay}");
    }
    // A stream that was not begun is refused in an array.
    let (status, body) = error(429, "RESOURCE_EXHAUSTED", "no", json!([]));
    let failure = answer(json!({"stream": true}), status, &format!("[{body}]")).expect_err("a failure");
    assert_eq!(failure.obstacle, Obstacle::RateLimited);
}

#[test]
fn an_error_names_the_field_of_the_messages_request() {
    let violation = |field: &str| json!([{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [{"field": field, "description": "no"}]}]);
    // The first message says nothing and is not sent.
    let fields = json!({"messages": [{"role": "user", "content": ""}, {"role": "user", "content": "hi"}]});
    for (message, details, field, words) in [
        (
            "Invalid value at 'contents[0].parts[0]'",
            violation("contents[0].parts[0]"),
            Some("messages.1"),
            "'messages.1'",
        ),
        (
            "* GenerateContentRequest.contents[0].parts[1].inline_data.mime_type: unknown",
            json!([]),
            Some("messages.1"),
            "messages.1: unknown",
        ),
        (
            "* GenerateContentRequest.generation_config.max_output_tokens: too many",
            json!([]),
            Some("max_tokens"),
            "max_tokens: too many",
        ),
        (
            "* GenerateContentRequest.tools[0].function_declarations[2].name: Invalid function name.",
            json!([]),
            Some("tools.2"),
            "tools.2: Invalid",
        ),
        (
            "Invalid JSON payload received. Unknown name \"foo\" at 'generation_config.thinking_config'",
            json!([]),
            Some("thinking"),
            "at 'thinking'",
        ),
        ("Unable to process input image.", json!([]), None, "Unable to process input image."),
        ("The tools are too many.", json!([]), None, "The tools are too many."),
    ] {
        let (status, body) = error(400, "INVALID_ARGUMENT", message, details);
        let failure = answer(fields.clone(), status, &body).expect_err("a failure");
        assert_eq!(failure.field.as_deref(), field, "{message}");
        assert!(failure.message.contains(words), "{}", failure.message);
    }
}
