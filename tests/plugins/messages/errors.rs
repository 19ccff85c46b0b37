//! A provider's errors: the obstacle of each, and its message.

use gatehouse_sdk::{Obstacle, Protocol, Reply, Sse, TextFailure};
use messages::Messages;
use serde_json::{Value, json};

use crate::chat::errors::{anthropic, openai};
use crate::messages::{body, both, frames, play_in, prepare, rejected, state};

const PROTOCOLS: [Protocol; 2] = [Protocol::Messages, Protocol::Chat];
const ACCOUNT: &str = "No available upstream, please retry later";
const UNKNOWN: &str = "the provider does not serve this model at present";

#[test]
fn maps_every_error_to_its_obstacle() {
    let invalid = "invalid_request_error";
    let of_accounts = [
        (400, anthropic(invalid, "Your credit balance is too low to access the Anthropic API. Go to Plans.")),
        (401, anthropic("authentication_error", "invalid x-api-key")),
        (401, openai(invalid, json!("invalid_api_key"), "Incorrect API key: sk-12345678")),
        (402, anthropic("billing_error", "pay")),
        (403, json!("no")),
        (429, openai("insufficient_quota", json!("insufficient_quota"), "You exceeded your current quota")),
    ];
    let of_models = [
        (404, anthropic("not_found_error", "model: claude-9")),
        (404, openai(invalid, json!("model_not_found"), "The model `x` does not exist")),
        (400, openai(invalid, json!("model_not_found"), "no `x` here")),
        (404, json!({"detail": "Not Found"})),
    ];
    let table = [
        (
            400,
            anthropic(invalid, "prompt is too long: 208904 tokens > 200000 maximum"),
            Obstacle::TooLong,
            None,
        ),
        (
            400,
            openai(
                invalid,
                json!("context_length_exceeded"),
                "This model's maximum context length is 8192 tokens.",
            ),
            Obstacle::TooLong,
            Some("prompt is too long: This model's maximum context length is 8192 tokens."),
        ),
        (
            422,
            json!({"detail": "max_tokens is too large"}),
            Obstacle::Invalid,
            Some("max_tokens is too large"),
        ),
        (
            409,
            anthropic("conflict_error", "pool 7 is busy"),
            Obstacle::Invalid,
            Some("the provider refuses the request (HTTP 409)"),
        ),
        (
            429,
            anthropic("rate_limit_error", "slow down"),
            Obstacle::RateLimited,
            Some("the provider takes no more requests for now"),
        ),
        (429, json!(null), Obstacle::RateLimited, Some("the provider takes no more requests for now")),
        (404, anthropic("not_found_error", "file_id: f"), Obstacle::NotFound, Some("file_id: f")),
        (404, openai(invalid, json!(null), "no file f"), Obstacle::NotFound, Some("no file f")),
        // The provider's name of the model is the operator's.
        (
            400,
            openai(invalid, json!(null), "upstream-model takes no pictures"),
            Obstacle::Invalid,
            Some("lm-sonnet-4-6 takes no pictures"),
        ),
        (413, anthropic("request_too_large", "too big"), Obstacle::TooLarge, Some("too big")),
        (413, json!(null), Obstacle::TooLarge, Some("the request is too large for the provider")),
        (500, anthropic("api_error", "internal"), Obstacle::Upstream, Some("the provider failed (HTTP 500)")),
        (
            503,
            openai("server_error", json!(null), "busy"),
            Obstacle::Upstream,
            Some("the provider failed (HTTP 503)"),
        ),
        (
            529,
            anthropic("overloaded_error", "Overloaded"),
            Obstacle::Upstream,
            Some("the provider is overloaded (HTTP 529)"),
        ),
        (418, json!({"message": "tea"}), Obstacle::Upstream, Some("the provider failed (HTTP 418)")),
        (400, json!({"error": "`tools`: bad"}), Obstacle::Invalid, Some("`tools`: bad")),
        (
            400,
            json!({"object": "error", "message": "pool 7 is misconfigured"}),
            Obstacle::Invalid,
            Some("the provider refuses the request (HTTP 400)"),
        ),
    ];
    let of_accounts = of_accounts.map(|(status, got)| (status, got, Obstacle::Account, Some(ACCOUNT)));
    let of_models = of_models.map(|(status, got)| (status, got, Obstacle::Upstream, Some(UNKNOWN)));
    for (status, got, obstacle, words) in table.into_iter().chain(of_accounts).chain(of_models) {
        let own = got["error"]["message"].as_str().unwrap_or_default().to_owned();
        let expected = TextFailure::new(obstacle, words.map_or(own, str::to_owned));
        for protocol in PROTOCOLS {
            assert_eq!(rejected(protocol, status, &got), expected, "HTTP {status} {got}");
        }
    }
}

#[test]
fn a_state_of_an_earlier_version_reads() {
    let mut state: Value = serde_json::from_slice(&state(Protocol::Chat, false)).unwrap();
    state.as_object_mut().unwrap().remove("upstream").expect("it is there now");
    let body = openai("invalid_request_error", json!(null), "bad").to_string();
    let answer = both().answer::<Messages>(state.to_string().as_bytes(), &Reply::raw(400, body.as_str()));
    assert_eq!(answer, Err(TextFailure::new(Obstacle::Invalid, "bad")));
}

#[test]
fn html_pages_and_empty_bodies_are_provider_failures() {
    for body in ["<html><body>502 key=sk-1</body></html>", "", "oops", "\u{0}"] {
        for status in [400, 502, 200] {
            for protocol in PROTOCOLS {
                let answer = both().answer::<Messages>(&state(protocol, false), &Reply::raw(status, body));
                let rejection = answer.expect_err("no answer");
                assert_eq!(rejection.obstacle, Obstacle::Upstream, "{status} {body:?}");
                assert!(!rejection.message.contains('<'), "{rejection:?}");
            }
        }
    }
    let page = json!({"error": {"message": "<html>sorry</html>", "type": "invalid_request_error"}});
    assert_eq!(rejected(Protocol::Chat, 400, &page).obstacle, Obstacle::Upstream);
}

#[test]
fn redacts_account_names() {
    let invalid = "invalid_request_error";
    let words = "no file of org-AbCdEfGh12 (key sk-proj-12345678), org-wide.";
    let got = rejected(Protocol::Chat, 400, &openai(invalid, json!(null), words));
    assert_eq!(got, TextFailure::new(Obstacle::Invalid, "no file of *** (key ***), org-wide."));
    let long = rejected(Protocol::Chat, 400, &openai(invalid, json!(null), &"word ".repeat(1000)));
    assert!(long.message.len() <= 2_003 && long.message.ends_with("..."), "{}", long.message.len());
}

#[test]
fn reads_an_error_inside_an_answer_of_200() {
    let table = [
        (anthropic("overloaded_error", "Overloaded"), Obstacle::Upstream),
        (anthropic("invalid_request_error", "bad"), Obstacle::Invalid),
        (anthropic("authentication_error", "bad"), Obstacle::Account),
        (anthropic("rate_limit_error", "bad"), Obstacle::RateLimited),
        (anthropic("api_error", "bad"), Obstacle::Upstream),
        (openai("server_error", json!(null), "bad"), Obstacle::Upstream),
        (openai("insufficient_quota", json!(null), "bad"), Obstacle::Account),
        (openai("x", json!(429), "bad"), Obstacle::RateLimited),
        (openai("x", json!(70_000), "bad"), Obstacle::Upstream),
        (json!({"error": "bad"}), Obstacle::Upstream),
    ];
    for (got, obstacle) in table {
        for protocol in PROTOCOLS {
            assert_eq!(rejected(protocol, 200, &got).obstacle, obstacle, "{got}");
            // A name of the server's own takes nothing from it.
            let named = |name: &str| Sse { event: Some(name.to_owned()), data: got.to_string() };
            for event in [frames(std::slice::from_ref(&got)).remove(0), named("error"), named("chunk")] {
                let stream = play_in(&state(protocol, false), &[event], &[]);
                assert_eq!(stream.expect_err("an error").obstacle, obstacle, "{got}");
            }
        }
    }
}

#[test]
fn answers_of_another_shape_are_provider_failures() {
    let table = [
        (Protocol::Messages, json!({"type": "message", "content": 7, "model": "x"})),
        (Protocol::Messages, json!({"type": "message", "content": []})),
        (Protocol::Messages, json!({"content": [], "model": "x"})),
        (Protocol::Messages, json!([])),
        (Protocol::Chat, json!({})),
        (Protocol::Chat, json!({"choices": []})),
        (Protocol::Chat, json!({"choices": [{"finish_reason": "stop"}]})),
        (Protocol::Chat, json!({"choices": [{"message": 7}]})),
    ];
    for (protocol, got) in table {
        assert_eq!(
            rejected(protocol, 200, &got),
            TextFailure::upstream("the provider's answer does not read"),
            "{got}"
        );
    }
}

/// Without it a client reads of fields that its request does not have.
#[test]
fn a_messages_client_reads_its_own_fields() {
    let png = json!({"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgoAAAANSUhEUg=="});
    let text = |text: &str| json!({"type": "text", "text": text});
    let asked = body(json!({
        "system": "Be brief.", "stop_sequences": ["x"],
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "ok"}, {"type": "text", "text": "go on"}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "d", "name": "f", "input": {}}]},
            {"role": "user", "content": [
                text("look"),
                {"type": "tool_result", "tool_use_id": "d", "content": [text("so"), {"type": "image", "source": png}]},
                {"type": "document", "source": {"type": "content", "content": [text("one"), text("two")]}},
                {"type": "image", "source": png},
            ]},
        ],
    }));
    let prepared = prepare(&asked, Protocol::Chat, json!({})).expect("a good request");
    for (param, field) in [
        ("max_completion_tokens", "max_tokens"),
        ("messages[0].content", "system"),
        ("messages[1]", "messages.0"),
        ("messages[2].tool_calls[0].function.arguments", "messages.1"),
        ("messages[3].content", "messages.2.content.0"),
        ("messages[4].content", "messages.2"),
        ("messages[6].content", "messages.4.content.1"),
        ("messages[7].content[0].image_url.url", "messages.4.content.1.content.1"),
        ("messages[7].content[1].text", "messages.4.content.0"),
        ("messages[7].content[3].text", "messages.4.content.2.source.content.1"),
        ("messages[7].content[4].image_url.url", "messages.4.content.3"),
        ("messages[9]", "messages"),
        ("tools[0].function.parameters.type", "tools.0.input_schema.type"),
        ("tools[0].function.name", "tools.0.name"),
        ("stop", "stop_sequences"),
        ("response_format", "output_config.format"),
    ] {
        let error = json!({"error": {"type": "invalid_request_error", "param": param, "message": format!("Invalid '{param}': no.")}});
        let failure = both()
            .answer::<Messages>(&prepared.state, &Reply::raw(400, error.to_string()))
            .expect_err("an error");
        assert_eq!(
            (failure.field.as_deref(), failure.message),
            (Some(field), format!("Invalid '{field}': no.")),
            "{param}"
        );
    }
}

/// Without it a client looks for its mistake in another message: those that say nothing are not sent.
#[test]
fn a_messages_client_reads_its_own_numbers() {
    let asked = body(json!({"messages": [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": " "},
        {"role": "user", "content": "still there?"},
        {"role": "assistant", "content": [{"type": "text", "text": ""}, {"type": "text", "text": "yes"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": [
            {"type": "text", "text": " "}, {"type": "text", "text": "seen"}]}]},
    ], "system": [{"type": "text", "text": " "}, {"type": "text", "text": "be brief"}]}));
    let prepared = prepare(&asked, Protocol::Messages, json!({})).expect("a good request");
    for (said, told) in [
        ("messages.0.content: bad", "messages.0.content: bad"),
        ("messages.1.content.0.text: bad", "messages.2.content.0.text: bad"),
        ("messages.2.content.0.text: bad", "messages.3.content.1.text: bad"),
        ("messages.3: bad", "messages.4: bad"),
        ("messages.4.content.0.content.0.text: bad", "messages.5.content.0.content.1.text: bad"),
        ("system.0.text: bad", "system.1.text: bad"),
        ("max_tokens: bad", "max_tokens: bad"),
    ] {
        let error = anthropic("invalid_request_error", said).to_string();
        let failure =
            both().answer::<Messages>(&prepared.state, &Reply::raw(400, error)).expect_err("an error");
        assert_eq!((failure.field.as_deref(), failure.message.as_str()), (told.split(':').next(), told));
    }
}
