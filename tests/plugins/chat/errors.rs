//! A provider's errors: the obstacle of each, and the message a client reads.

use std::fmt::Display;

use gatehouse_sdk::{Obstacle, Protocol};
use serde_json::{Value, json};

use crate::chat::{MODEL, UPSTREAM, answer};

const BOTH: [Protocol; 2] = [Protocol::Chat, Protocol::Messages];
const NEUTRAL: &str = "No available upstream, please retry later";

pub(crate) fn openai(kind: &str, code: Value, message: &str) -> Value {
    json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
}

pub(crate) fn anthropic(kind: &str, message: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"})
}

fn becomes(status: u16, body: &dyn Display, obstacle: Obstacle, message: &str) {
    for protocol in BOTH {
        let rejection = answer(protocol, status, &body.to_string()).expect_err("a rejection");
        assert_eq!((rejection.obstacle, rejection.message.as_str()), (obstacle, message), "{status} {body}");
    }
}

#[test]
fn keeps_messages_about_the_request() {
    let long = "prompt is too long: 208904 tokens > 200000 maximum";
    let told = format!("This model's maximum context length is exceeded: {long}");
    becomes(400, &anthropic("invalid_request_error", long), Obstacle::TooLong, &told);
    becomes(
        400,
        &openai("invalid_request_error", json!("context_length_exceeded"), "no"),
        Obstacle::TooLong,
        "This model's maximum context length is exceeded: no",
    );
    let own = "Requested token count exceeds the model's maximum context length of 4096 tokens.";
    becomes(400, &openai("BadRequestError", json!(400), own), Obstacle::TooLong, own);
    becomes(
        403,
        &json!({"code": "forbidden", "error": "Content violates usage guidelines."}),
        Obstacle::Invalid,
        "Content violates usage guidelines.",
    );
    let named = json!({"detail": [{"loc": ["body", "temperature"], "msg": "Field required"}]});
    becomes(422, &named, Obstacle::Invalid, "temperature: Field required");
    becomes(422, &json!({"detail": "`tools`: bad"}), Obstacle::Invalid, "`tools`: bad");
    becomes(
        400,
        &json!({"object": "error", "message": "bad", "type": "BadRequestError", "code": 400}),
        Obstacle::Invalid,
        "bad",
    );
    becomes(
        400,
        &json!([{"error": {"code": 400, "message": "bad", "status": "INVALID_ARGUMENT"}}]),
        Obstacle::Invalid,
        "bad",
    );
    becomes(413, &anthropic("request_too_large", "32 MB"), Obstacle::TooLarge, "32 MB");
    becomes(404, &anthropic("not_found_error", "no file file_1"), Obstacle::NotFound, "no file file_1");
}

/// Without it a client reads whatever a server behind the gateway writes, of its operator too.
#[test]
fn hides_words_that_nothing_says_to_be_about_the_request() {
    let refused = |status: u16| format!("the provider refuses the request (HTTP {status})");
    for (status, body) in [
        (400, json!({"error": "pool 7 is misconfigured"})),
        (400, openai("x", Value::Null, "pool 7 is misconfigured")),
        (400, json!({"error": {"code": "InternalThing", "message": "max_tokens: pool 7"}})),
        (409, anthropic("conflict_error", "pool 7 is busy")),
        (422, json!({"detail": "pool 7"})),
        // About the request by its type, and yet of the operator alone.
        (
            400,
            openai(
                "invalid_request_error",
                Value::Null,
                "Your account 2100000001 has no plan, see https://console.example/plans",
            ),
        ),
    ] {
        becomes(status, &body, Obstacle::Invalid, &refused(status));
    }
    let busy = "the provider takes no more requests for now";
    becomes(429, &anthropic("rate_limit_error", "org-abc: 50 a minute"), Obstacle::RateLimited, busy);
    let endpoint = json!({"error": {"code": "InvalidEndpoint.ClosedEndpoint", "type": "BadRequest", "message": "ep-2024 of 2100000001 is closed"}});
    becomes(400, &endpoint, Obstacle::Upstream, "the provider does not serve this model at present");
    let mixed =
        "`top_k`: expected 1 to 40. Contact your account manager at https://console.example to change it.";
    becomes(
        400,
        &openai("invalid_request_error", Value::Null, mixed),
        Obstacle::Invalid,
        "`top_k`: expected 1 to 40.",
    );
    // A server between has the words of the one behind it.
    let raw = openai("invalid_request_error", Value::Null, "`top_k`: too large").to_string();
    let between = json!({"error": {"code": 400, "message": "Provider returned error", "metadata": {"raw": raw, "provider_name": "P"}}});
    becomes(400, &between, Obstacle::Invalid, "`top_k`: too large");
    let overdue = "The account is overdue, please top up";
    for code in ["Arrearage", "AccountOverdueError", "InvalidSubscription"] {
        becomes(400, &json!({"error": {"code": code, "message": overdue}}), Obstacle::Account, NEUTRAL);
    }
    becomes(429, &openai("requests", Value::Null, "Your free trial is over"), Obstacle::Account, NEUTRAL);
}

/// Without it a client is blamed for the operator's key, money or table, or does not learn what it could change.
#[test]
fn the_words_of_many_servers_mean_what_they_say() {
    let model = "the provider does not serve this model at present";
    let google =
        |status: &str, message: &str| json!([{"error": {"code": 400, "message": message, "status": status}}]);
    let said = |code: Value, message: &str| openai("invalid_request_error", code, message);
    for (status, body) in [
        (400, google("INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.")),
        (400, google("INVALID_ARGUMENT", "API key expired. Please renew the API key.")),
        (400, google("FAILED_PRECONDITION", "User location is not supported for the API use.")),
        (
            400,
            json!({"code": "Client specified an invalid argument", "error": "Incorrect API key provided: xa***."}),
        ),
        (400, anthropic("invalid_request_error", "This organization has been disabled.")),
        (400, said(json!("organization_restricted"), "Organization has been restricted.")),
        (400, said(json!("unsupported_value"), "Your organization must be verified to stream this model.")),
        (
            412,
            said(
                Value::Null,
                "Account acme is suspended, possibly due to reaching the monthly spending limit.",
            ),
        ),
        (400, json!({"code": 30001, "message": "Sorry, your account balance is insufficient"})),
        (400, json!({"error": {"code": "1113", "message": "no money"}})),
        (
            400,
            json!({"Response": {"Error": {"Code": "FailedOperation.ServiceStopArrears", "Message": "stopped"}}}),
        ),
        (
            429,
            openai(
                "",
                Value::Null,
                "You have exceeded your monthly included credits for Inference Providers.",
            ),
        ),
        (429, openai("exceeded_current_quota_error", Value::Null, "Your account org-abc is suspended")),
        (429, json!({"error": {"code": "1309", "message": "Your GLM Coding Plan package has expired"}})),
        (
            429,
            google("RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan. limit: 0"),
        ),
    ] {
        becomes(status, &body, Obstacle::Account, NEUTRAL);
    }
    for body in [
        json!({"error": {"code": "OperationNotSupported", "message": "The chatCompletion operation does not work."}}),
        json!({"message": "Invocation of model ID x with on-demand throughput isn't supported."}),
        json!({"object": "error", "message": "Invalid model: x", "type": "invalid_model", "code": "1500"}),
        said(json!("model_decommissioned"), "The model `x` has been decommissioned."),
        said(json!("invalid_request_error"), "Model Not Exist"),
        json!({"error": {"code": "1211", "message": "Unknown Model, please check the model code."}}),
        json!({"code": "Client specified an invalid argument", "error": "Model not found: x"}),
        json!({"error": {"message": format!("{UPSTREAM} is not a valid model ID"), "code": 400}}),
        json!({"code": 20012, "message": "Model does not exist. Please check it carefully.", "data": null}),
        json!({"error": "No models loaded. Please load a model in the developer page"}),
    ] {
        becomes(400, &body, Obstacle::Upstream, model);
    }
    for (status, body, obstacle, message) in [
        (
            429,
            google(
                "RESOURCE_EXHAUSTED",
                "You exceeded your current quota, please check your plan. limit: 5. Please retry in 30s",
            ),
            Obstacle::RateLimited,
            "the provider takes no more requests for now",
        ),
        (
            404,
            json!({"error": {"message": "No endpoints found that support image input", "code": 404}}),
            Obstacle::Invalid,
            "this model does not take pictures",
        ),
        (
            500,
            json!({"error": {"code": 500, "message": "image input is not supported", "type": "server_error"}}),
            Obstacle::Invalid,
            "this model does not take pictures",
        ),
        (
            400,
            json!({"error": {"message": "registry.example/x does not support tools", "type": "api_error"}}),
            Obstacle::Invalid,
            "this model does not take tools",
        ),
        (
            451,
            openai("censorship_blocked", Value::Null, "The content is blocked."),
            Obstacle::Invalid,
            "the provider refuses what the request asks for",
        ),
        (
            422,
            json!({"object": "error", "message": {"detail": [{"loc": ["body", "messages"], "msg": "Field required"}]}, "type": "invalid_request_error"}),
            Obstacle::Invalid,
            "messages: Field required",
        ),
        (
            400,
            json!({"detail": {"error": "`seed` must be smaller"}}),
            Obstacle::Invalid,
            "`seed` must be smaller",
        ),
    ] {
        becomes(status, &body, obstacle, message);
    }
    let text =
        "Failed to deserialize the JSON body into the target type: messages[0]: unknown variant `image_url`";
    becomes(422, &text, Obstacle::Invalid, text);
    for protocol in BOTH {
        let failure = answer(protocol, 404, "404 page not found").expect_err("a failure");
        assert_eq!(failure.obstacle, Obstacle::Upstream, "the operator's address");
    }
}

#[test]
fn hides_errors_of_the_operators_account() {
    let secret = "Incorrect API key provided: sk-abcdefghijkl. Your organization org-123456789.";
    for status in [401, 402, 403] {
        becomes(status, &openai("invalid_request_error", json!("x"), secret), Obstacle::Account, NEUTRAL);
        becomes(status, &anthropic("permission_error", secret), Obstacle::Account, NEUTRAL);
    }
    let credit = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.";
    becomes(400, &anthropic("invalid_request_error", credit), Obstacle::Account, NEUTRAL);
    let limit = "You have reached your specified API usage limits. You will regain access on 2026-12-01.";
    becomes(400, &anthropic("invalid_request_error", limit), Obstacle::Account, NEUTRAL);
    becomes(
        429,
        &openai("insufficient_quota", json!("insufficient_quota"), "You exceeded"),
        Obstacle::Account,
        NEUTRAL,
    );
    becomes(400, &openai("x", json!("invalid_api_key"), secret), Obstacle::Account, NEUTRAL);
    // What the operator's key may not use, though a word about pictures is in it.
    for (kind, code, said) in [
        (
            "invalid_request_error",
            json!("model_not_found"),
            "Project `proj_abc12345` does not have access to model `gpt-4-vision-preview`",
        ),
        ("invalid_request_error", Value::Null, "Project `proj_abc12345` may not use gpt-4-vision-preview"),
        ("x", Value::Null, "You have no access to image-2 models"),
        ("permission_error", Value::Null, "Vision is not enabled"),
        ("x", json!("AccessDenied.Model"), "no image model here"),
    ] {
        becomes(403, &openai(kind, code, said), Obstacle::Account, NEUTRAL);
    }
    for protocol in BOTH {
        let mut request = crate::chat::asked(protocol, json!({}), json!({}));
        request.route.upstream = "gpt-4-vision-preview".to_owned();
        let state = crate::chat::prepared(request).state;
        let said = openai("x", Value::Null, "GPT-4-vision-preview is not open to you").to_string();
        let rejection =
            crate::chat::both().answer::<chat::Chat>(&state, &crate::chat::reply(403, &said)).unwrap_err();
        assert_eq!((rejection.obstacle, rejection.message.as_str()), (Obstacle::Account, NEUTRAL));
    }
    becomes(403, &"<html>denied</html>", Obstacle::Account, NEUTRAL);
}

/// Without it a client that writes of a spent account is told that there is no upstream, and every account is tried for it.
#[test]
fn a_clients_words_are_no_failure_of_the_account() {
    for said in [
        "Invalid schema for function 'f': 'exceeded your current quota' is not of type 'object'",
        "messages.0.content: \"Your credit balance is too low\" has no role",
        "'You exceeded your current quota' is not valid under any of the given schemas",
        "tools.0.description: you have reached your specified API usage limits",
    ] {
        for protocol in BOTH {
            let body = openai("invalid_request_error", Value::Null, said).to_string();
            let rejection = answer(protocol, 400, &body).unwrap_err();
            assert_eq!(rejection.obstacle, Obstacle::Invalid, "{said}");
        }
    }
}

#[test]
fn an_unknown_model_is_a_wrong_table() {
    let words = "the provider does not serve this model at present";
    for (status, body) in [
        (404, anthropic("not_found_error", &format!("model: {UPSTREAM}"))),
        (404, openai("invalid_request_error", json!("model_not_found"), "gone")),
        (400, openai("invalid_request_error", json!("model_not_found"), "gone")),
        (404, json!({"detail": "Not Found"})),
        // Azure.
        (404, json!({"error": {"code": "404", "message": "Resource not found"}})),
        (404, openai("invalid_request_error", Value::Null, "Invalid URL (POST /v1/x)")),
    ] {
        becomes(status, &body, Obstacle::Upstream, words);
    }
}

#[test]
fn hides_the_providers_own_failures() {
    for status in [500, 502, 503, 504, 529, 302, 408, 418] {
        let what = if status == 529 { "is overloaded" } else { "failed" };
        let failed = format!("the provider {what} (HTTP {status})");
        becomes(status, &anthropic("overloaded_error", "Overloaded"), Obstacle::Upstream, &failed);
        for body in ["", "<html><h1>502 Bad Gateway</h1></html>", "null", "[]", "{}"] {
            becomes(status, &body, Obstacle::Upstream, &failed);
        }
    }
    for (status, obstacle, message) in [
        (400, Obstacle::Upstream, "the provider failed (HTTP 400)"),
        (404, Obstacle::Upstream, "the provider failed (HTTP 404)"),
        (413, Obstacle::TooLarge, "the request is too large for the provider"),
        (429, Obstacle::RateLimited, "the provider takes no more requests for now"),
    ] {
        let rejection = answer(Protocol::Chat, status, "<html>no</html>").unwrap_err();
        assert_eq!((rejection.obstacle, rejection.message.as_str()), (obstacle, message));
    }
}

#[test]
fn reads_an_error_inside_an_answer_of_200() {
    for (body, obstacle) in [
        (openai("invalid_request_error", Value::Null, "bad"), Obstacle::Invalid),
        (openai("insufficient_quota", Value::Null, "bad"), Obstacle::Account),
        (openai("requests", json!("rate_limit_exceeded"), "bad"), Obstacle::RateLimited),
        (openai("server_error", Value::Null, "bad"), Obstacle::Upstream),
        (openai("x", json!(429), "bad"), Obstacle::RateLimited),
        (openai("x", json!("401"), "bad"), Obstacle::Account),
        (json!({"error": {"message": "bad", "code": 502}}), Obstacle::Upstream),
        (anthropic("overloaded_error", "bad"), Obstacle::Upstream),
        (anthropic("request_too_large", "bad"), Obstacle::TooLarge),
        (anthropic("authentication_error", "bad"), Obstacle::Account),
        (json!({"error": "bad"}), Obstacle::Upstream),
    ] {
        for protocol in BOTH {
            let rejection = answer(protocol, 200, &body.to_string()).unwrap_err();
            assert_eq!(rejection.obstacle, obstacle, "{body}");
            let kept = matches!(obstacle, Obstacle::Invalid | Obstacle::TooLarge);
            assert_eq!(rejection.message == "bad", kept, "{body}: {}", rejection.message);
        }
    }
}

#[test]
fn kept_messages_name_the_public_model_and_no_account() {
    let said = format!(
        "{UPSTREAM} takes no file of org-abc123def (sk-abcdefgh123) or e62c1e1e-0b4b-4c1c-9f3a-3a1f0c7d2b11."
    );
    let kept = format!("{MODEL} takes no file of *** (***) or");
    becomes(400, &openai("invalid_request_error", Value::Null, &said), Obstacle::Invalid, &kept);
    let long = openai("invalid_request_error", Value::Null, &"\u{e9}".repeat(5000));
    let rejection = answer(Protocol::Chat, 400, &long.to_string()).unwrap_err();
    assert_eq!(rejection.message.chars().count(), 2000);
}
