//! Errors of servers for a conversation that is too long, each in the form that its server has, whole and in the middle of a stream: the
//! client reads the words on which it shortens the conversation, whatever status the server has. And errors that are like it.

use gatehouse_sdk::Obstacle;
use serde_json::{Value, json};

use super::client::Client;
use super::recorded::Provider;
use super::{Found, check_all};

fn wrong(client: Client, found: &Found) -> Option<String> {
    let words = if client == Client::Messages { "prompt is too long" } else { "" };
    let is_told = found.as_ref().is_err_and(|failure| {
        failure.obstacle == Obstacle::TooLong && failure.message.to_ascii_lowercase().contains(words)
    });
    (!is_told).then(|| format!("{found:?}"))
}

/// A chunk that comes before an error.
fn begun() -> String {
    json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hel"}, "finish_reason": null}]})
    .to_string()
}

/// Without it a client that would shorten its conversation fails for ever instead.
#[test]
fn every_servers_error_is_known_wherever_it_stands() {
    let mut faults = Vec::new();
    let of_status_400 = [
        // llama.cpp.
        json!({"error": {"code": 400, "message": "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it",
            "type": "exceed_context_size_error", "n_prompt_tokens": 5000, "n_ctx": 4096}}),
        // vLLM, SGLang.
        json!({"object": "error", "message": "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8990 in the messages, 10 in the completion).",
            "type": "BadRequestError", "param": null, "code": 400}),
        json!({"object": "error", "message": "The input (9000 tokens) is longer than the model's context length (8192 tokens).", "type": "BadRequestError", "param": null, "code": 400}),
        // LiteLLM.
        json!({"error": {"message": "litellm.ContextWindowExceededError: litellm.BadRequestError: AnthropicException - prompt is too long: 210000 tokens > 200000 maximum",
            "type": null, "param": null, "code": "400"}}),
        // Ollama.
        json!({"error": {"message": "input length exceeds the context length", "type": "invalid_request_error", "param": null, "code": null}}),
        json!({"error": "prompt too long; exceeded max context length by 12 tokens"}),
        // Mistral, Cohere.
        json!({"object": "error", "message": "Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
            "type": "invalid_request_prompt", "param": null, "code": "3051"}),
        json!({"message": "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000. Try using a shorter prompt.", "id": "x"}),
        // Bedrock.
        json!({"message": "Input is too long for requested model."}),
        json!({"__type": "ValidationException", "message": "The model returned the following errors: Input tokens exceeded: 12000"}),
        // Groq, Fireworks, DeepSeek, DashScope.
        json!({"error": {"message": "Please reduce the length of the messages or completion.", "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"}}),
        json!({"error": {"object": "error", "type": "invalid_request_error", "code": "invalid_request_error", "message": "The prompt is too long: 9000, model maximum context length: 8191"}}),
        json!({"error": {"code": "invalid_parameter_error", "param": null, "message": "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]",
            "type": "invalid_request_error"}, "request_id": "r"}),
        // Moonshot, Z.ai, xAI.
        json!({"error": {"message": "Invalid request: Your request exceeded model token limit: 262144", "type": "invalid_request_error"}}),
        json!({"error": {"code": "1261", "message": "Prompt \u{8d85}\u{957f}"}}),
        json!({"error": {"code": "1261", "message": "no"}}),
        json!({"code": "Client specified an invalid argument", "error": "This model's maximum prompt length is 131072 but the request contains 537812 tokens."}),
        // OpenRouter in front of one.
        json!({"error": {"message": "Provider returned error", "code": 400, "metadata": {"provider_name": "X",
            "raw": "{\"error\":{\"message\":\"prompt is too long: 210000 tokens > 200000 maximum\",\"type\":\"invalid_request_error\"}}"}}}),
    ];
    let of_others = [
        // llama.cpp of older days.
        (
            500,
            json!({"error": {"code": 500, "message": "Context size has been exceeded.", "type": "server_error"}}),
        ),
        // TGI, Together.
        (
            422,
            json!({"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 20 `max_new_tokens`", "error_type": "validation"}),
        ),
        // MiniMax.
        (
            200,
            json!({"base_resp": {"status_code": 2013, "status_msg": "invalid params, context window exceeds limit"}}),
        ),
    ];
    for (status, error) in of_status_400.map(|error| (400, error)).into_iter().chain(of_others) {
        let error = error.to_string();
        let amid = [begun(), error.clone(), "[DONE]".to_owned()];
        let asks = |client: Client| {
            [
                ("whole", client.refused(Provider::Chat, status, &error)),
                ("first", client.stream(Provider::Chat, &amid[1..])),
                ("amid", client.stream(Provider::Chat, &amid)),
            ]
        };
        check_all(&mut faults, &error, asks, wrong);
    }
    for (status, kind, message) in [
        (
            400,
            "INVALID_ARGUMENT",
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        ),
        (
            400,
            "INVALID_ARGUMENT",
            "Unable to submit request because the input token count is 1060000 but model only supports up to 1048576.",
        ),
        (400, "INVALID_ARGUMENT", "The input context is too long."),
        (500, "INTERNAL", "The input context is too long."),
    ] {
        let error = json!({"error": {"code": status, "message": message, "status": kind}}).to_string();
        let begun =
            json!({"candidates": [{"content": {"parts": [{"text": "Hel"}]}}], "responseId": "r"}).to_string();
        // Amid a stream the host has nobody put the dialect's words in those of a text family.
        let amid = Client::Messages.stream(Provider::Google, &[begun, error.clone()]);
        faults.extend(wrong(Client::Messages, &amid));
        let asks = |client: Client| {
            let first = client.stream(Provider::Google, std::slice::from_ref(&error));
            [("whole", client.refused(Provider::Google, status, &error)), ("first", first)]
        };
        check_all(&mut faults, &error, asks, |_, found| {
            let is_told = found.as_ref().is_err_and(|failure| failure.obstacle == Obstacle::TooLong);
            (!is_told).then(|| format!("{found:?}"))
        });
    }
    super::none(&faults);
}

/// Without it a client shortens its conversation again and again for a limit that has nothing to do with it.
#[test]
fn errors_about_other_limits_are_no_reason_to_shorten_a_conversation() {
    let mut faults = Vec::new();
    for (status, message, code) in [
        (
            400,
            "max_tokens is too large: 100000. This model supports at most 16384 completion tokens.",
            "invalid_value",
        ),
        (
            400,
            "'max_tokens' or 'max_completion_tokens' is too large: 100000. This model's maximum context length is 8192 tokens and your request has 10 input tokens (100000 > 8192 - 10).",
            "invalid_value",
        ),
        (
            400,
            "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for x",
            "invalid_request_error",
        ),
        (400, "Range of max_tokens should be [1, 8192]", "invalid_parameter_error"),
        (
            413,
            "Request too large for model x on tokens per minute (TPM): Limit 6000, Requested 9000, please reduce your message size and try again.",
            "rate_limit_exceeded",
        ),
        (
            429,
            "Rate limit reached for x on tokens per min (TPM): Limit 10000, Used 9000, Requested 5000.",
            "rate_limit_exceeded",
        ),
        (429, "Too many tokens, please wait before trying again.", "ThrottlingException"),
        (413, "The file is too large: it exceeds the maximum size of 512 MB", "request_too_large"),
        (
            400,
            "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes",
            "invalid_request_error",
        ),
        (400, "A maximum of 100 PDF pages may be provided.", "invalid_request_error"),
        (
            400,
            "Invalid 'tools': array too long. Expected an array with maximum length 128, but got 200 instead.",
            "array_above_max_length",
        ),
    ] {
        let error =
            json!({"error": {"message": message, "type": "invalid_request_error", "code": code}}).to_string();
        let amid = [begun(), error.clone(), "[DONE]".to_owned()];
        let asks = |client: Client| {
            let amid = client.stream(Provider::Chat, &amid);
            [("whole", client.refused(Provider::Chat, status, &error)), ("amid", amid)]
        };
        check_all(&mut faults, &error, asks, |_, found| {
            let is_other = found.as_ref().is_err_and(|failure| failure.obstacle != Obstacle::TooLong);
            (!is_other).then(|| format!("{found:?}"))
        });
    }
    super::none(&faults);
}

/// What a client's gateway answers where the provider has any status: the body is the same.
#[test]
fn an_error_needs_no_status_to_be_known() {
    let error: Value = json!({"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum", "type": "invalid_request_error"}});
    for status in [400, 413, 422, 500, 503] {
        let failure =
            Client::Messages.refused(Provider::Chat, status, &error.to_string()).expect_err("a failure");
        assert_eq!(failure.obstacle, Obstacle::TooLong, "{status}");
    }
}
