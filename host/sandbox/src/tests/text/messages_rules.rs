//! What the Messages API refuses, and in which words.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::tests::client::{JSON, TestSandbox};
use crate::tests::text::wire::{BEARER, VERSION, Wire, X_KEY, question, turns, user, with};

const WIRE: Wire = Wire::Messages;
const PATH: &str = "/v1/messages";
const NEWER: (&str, &str) = ("anthropic-version", "2026-10-21");
const OPUS_4_5: &str = "claude-opus-4-5-20251101";

fn base() -> Value {
    question(WIRE, "hi", false)
}

fn tool(tag: &str, name: &str) -> Value {
    json!({ "type": tag, "name": name })
}

fn custom(name: &str) -> Value {
    json!({ "name": name, "input_schema": { "type": "object" } })
}

fn image(mime: &str, data: &str) -> Value {
    user(json!([{ "type": "image", "source": { "type": "base64", "media_type": mime, "data": data } }]))
}

fn document() -> Value {
    json!({ "type": "document", "source": { "type": "text", "media_type": "text/plain", "data": "x" } })
}

/// Every change to a good body, and how the refusal begins.
#[rustfmt::skip]
fn table() -> Vec<(Value, &'static str)> {
    let gif = STANDARD.encode(b"GIF89a\x01\x00\x01\x00\x00\x00\x00;");
    let wide = STANDARD.encode(b"GIF89a\x41\x1f\x01\x00\x00\x00\x00;");
    let call = |id: &str| json!({ "type": "tool_use", "id": id, "name": "f", "input": {} });
    let result = |id: &str| json!({ "type": "tool_result", "tool_use_id": id, "content": "ok" });
    let hi = || json!("hi");
    let text = || json!({ "type": "text", "text": "hi" });
    let cached = json!({ "type": "text", "text": "x", "cache_control": { "type": "ephemeral" } });
    vec![
        (json!({ "model": null }), "model: Field required"),
        (json!({ "messages": null }), "messages: Field required"),
        (json!({ "max_tokens": null }), "max_tokens: Field required"),
        (json!({ "model": 5 }), "model: Input should be a valid string"),
        (json!({ "kite": 1 }), "kite: Extra inputs are not permitted"),
        (json!({ "max_tokens": -1 }), "max_tokens: Input should be greater than or equal to 0"),
        (json!({ "max_tokens": 1.5 }), "max_tokens: Input should be a valid integer"),
        (json!({ "max_tokens": "9" }), "max_tokens: Input should be a valid integer"),
        (json!({ "max_tokens": 0, "stream": true }), "max_tokens: Input should be greater than or equal to 1"),
        (json!({ "model": OPUS_4_5, "max_tokens": 65_537 }),
         "max_tokens: 65537 > 64000, which is the maximum allowed number of output tokens for claude-opus-4-5-20251101"),
        (json!({ "max_tokens": 128_001 }), "max_tokens: 128001 > 128000, which"),
        (json!({ "stream": "yes" }), "stream: Input should be a valid boolean"),
        (json!({ "messages": "hi" }), "messages: Input should be a valid list"),
        (json!({ "messages": [] }), "messages: at least one message is required"),
        (json!({ "messages": [5] }), "messages.0: Input should be a valid dictionary"),
        (json!({ "messages": vec![0; 100_001] }), "messages: List should have at most 100000 items"),
        (turns(&[("robot", hi())]), "messages.0.role: Input should be 'user' or 'assistant'"),
        (turns(&[("system", hi())]),
         "messages: Unexpected role \"system\". The Messages API accepts a top-level `system`"),
        (turns(&[("user", hi()), ("system", hi())]), "messages: Unexpected role \"system\""),
        (turns(&[("assistant", hi()), ("user", hi())]), "messages: first message must use the \"user\" role"),
        (json!({ "messages": [{ "role": "user" }] }), "messages.0.content: Field required"),
        (json!({ "messages": [{ "role": "user", "content": "x", "name": "n" }] }),
         "messages.0.name: Extra inputs are not permitted"),
        (user(json!(5)), "messages.0.content: Input should be a valid string or list"),
        (user(json!("")), "messages.0: user messages must have non-empty content"),
        (user(json!([])), "messages.0: user messages must have non-empty content"),
        (turns(&[("user", hi()), ("assistant", json!("")), ("user", hi())]),
         "messages.1: all messages must have non-empty content except"),
        (user(json!([{ "type": "kite" }])),
         "messages.0.content.0: Input tag 'kite' found using 'type' does not match any of the expected tags: 'document', 'image', "),
        (user(json!([{ "text": "x" }])), "messages.0.content.0: Unable to extract tag using discriminator 'type'"),
        (user(json!([{ "type": "text" }])), "messages.0.content.0.text.text: Field required"),
        (user(json!([{ "type": "text", "text": "" }])), "messages: text content blocks must be non-empty"),
        (user(json!([{ "type": "text", "text": " \n" }])), "messages: text content blocks must contain non-whitespace text"),
        (user(json!([{ "type": "text", "text": "x", "x": 1 }])),
         "messages.0.content.0.text.x: Extra inputs are not permitted"),
        (user(json!([call("a")])), "messages.0.content.0: `tool_use` blocks can only be in `assistant` messages"),
        (turns(&[("user", hi()), ("assistant", json!([result("a")])), ("user", hi())]),
         "messages.1.content.0: `tool_result` blocks can only be in `user` messages"),
        (user(json!([{ "type": "image" }])), "messages.0.content.0.image.source: Field required"),
        (image("image/bmp", &gif),
         "messages.0.content.0.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"),
        (image("image/png", &gif),
         "messages.0.content.0.image.source.base64.data: Image does not match the provided media type image/png"),
        (image("image/png", "@@"), "messages.0.content.0.image.source.base64: invalid base64 data"),
        (image("image/png", "aGVsbG8="), "Could not process image"),
        (image("image/gif", &wide),
         "messages.0.content.0.image.source.base64.data: At least one of the image dimensions exceed"),
        (user(json!([{ "type": "image", "source": { "type": "url", "url": "ftp://x" } }])),
         "messages.0.content.0.image.source.url.url: Only HTTPS URLs are supported."),
        (user(json!([{ "type": "image", "source": { "type": "url", "url": "https://nohost.invalid/x.png" } }])),
         "Unable to download the file. Please verify the URL and try again."),
        (user(json!([{ "type": "document", "source": { "type": "url", "url": "http://10.0.0.1/x.pdf" } }])),
         "Unable to download the file. Please verify the URL and try again."),
        (user(json!([{ "type": "document", "source": { "type": "base64", "media_type": "application/pdf", "data": "AAAA" } }])),
         "messages.0.content.0.document.source.base64.data: The PDF specified was not valid."),
        (user(json!([{ "type": "text", "text": "x", "cache_control": { "type": "forever" } }])),
         "messages.0.content.0.text.cache_control: Input tag 'forever' found"),
        (user(json!([{ "type": "text", "text": "x", "cache_control": { "type": "ephemeral", "ttl": "2h" } }])),
         "messages.0.content.0.text.cache_control.ephemeral.ttl: Input should be '5m' or '1h'"),
        (user(json!([cached, cached, cached, cached, cached])),
         "A maximum of 4 blocks with cache_control may be provided. Found 5."),
        (turns(&[("user", hi()), ("assistant", json!([call("a"), call("b")])), ("user", json!([result("a")]))]),
         "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: b. Each"),
        (turns(&[("user", hi()), ("assistant", json!([call("a")])), ("user", json!([text(), result("a")]))]),
         "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a. Each"),
        (turns(&[("user", hi()), ("assistant", json!([call("a")]))]),
         "messages.1: `tool_use` ids were found without"),
        (turns(&[("user", json!([result("z")]))]),
         "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: z. Each"),
        (turns(&[("user", hi()), ("assistant", json!([call("a"), call("a")])), ("user", json!([result("a")]))]),
         "messages.1.content.1: `tool_use` ids must be unique"),
        (turns(&[("user", hi()), ("assistant", json!([call("a")])), ("user", json!([result("a"), result("a")]))]),
         "messages.2.content.1: each tool_use must have a single result."),
        (turns(&[("user", hi()), ("assistant", json!([call("no spaces")])), ("user", hi())]),
         "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"),
        (json!({ "temperature": 1.1 }), "temperature: Input should be less than or equal to 1"),
        (json!({ "temperature": -0.1 }), "temperature: Input should be greater than or equal to 0"),
        (json!({ "temperature": 0.5, "top_p": 0.5 }),
         "`temperature` and `top_p` cannot both be specified for this model. Please use only one."),
        (json!({ "model": "claude-opus-4-7", "temperature": 1 }), "`temperature` is deprecated for this model"),
        (json!({ "model": "claude-opus-4-8", "top_p": 0.5 }), "`top_p` is deprecated for this model"),
        (json!({ "model": "claude-opus-4-8", "top_k": 5 }), "`top_k` is deprecated for this model"),
        (json!({ "model": "claude-opus-4-7", "max_tokens": 9000, "thinking": { "type": "enabled", "budget_tokens": 2000 } }),
         "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior."),
        (json!({ "model": OPUS_4_5, "thinking": { "type": "adaptive" } }),
         "adaptive thinking is not supported on this model"),
        (json!({ "thinking": { "type": "maybe" } }),
         "thinking: Input tag 'maybe' found using 'type' does not match any of the expected tags: 'adaptive', 'disabled', 'enabled'"),
        (json!({ "thinking": { "type": "enabled" } }), "thinking.enabled.budget_tokens: Field required"),
        (json!({ "thinking": { "type": "enabled", "budget_tokens": 1023 } }),
         "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"),
        (json!({ "max_tokens": 2000, "thinking": { "type": "enabled", "budget_tokens": 2000 } }),
         "`max_tokens` must be greater than `thinking.budget_tokens`."),
        (json!({ "thinking": { "type": "adaptive", "budget_tokens": 2000 } }),
         "thinking.adaptive.budget_tokens: Extra inputs are not permitted"),
        (json!({ "temperature": 0.5, "thinking": { "type": "adaptive" } }),
         "`temperature` may only be set to 1 when thinking is enabled"),
        (json!({ "top_p": 0.5, "thinking": { "type": "adaptive" } }),
         "`top_p` must be greater than or equal to 0.95 or unset"),
        (json!({ "top_k": 5, "thinking": { "type": "adaptive" } }), "`top_k` must be unset when thinking is enabled"),
        (turns(&[("user", hi()), ("assistant", hi())]),
         "This model does not support assistant message prefill. The conversation must end with a user message."),
        (with(turns(&[("user", hi()), ("assistant", json!("so "))]), &json!({ "model": OPUS_4_5 })),
         "messages: final assistant content cannot end with trailing whitespace"),
        (json!({ "stop_sequences": [" "] }), "stop_sequences: each stop sequence must contain non-whitespace"),
        (json!({ "metadata": { "user": "x" } }), "metadata.user: Extra inputs are not permitted"),
        (json!({ "service_tier": "gold" }), "service_tier: Input should be 'auto' or 'standard_only'"),
        (json!({ "output_config": { "effort": "most" } }),
         "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'"),
        (json!({ "output_config": { "format": { "type": "json" } } }),
         "output_config.format: Input tag 'json' found"),
        (json!({ "system": [{ "type": "text", "text": "" }] }), "system: text content blocks must be non-empty"),
        (json!({ "system": [{ "type": "text", "text": " " }] }), "system: text content blocks must contain non-whitespace text"),
        (json!({ "system": 5 }), "system: Input should be a valid string or list"),
        (json!({ "context_management": { "edits": [] } }), "context_management: Extra inputs are not permitted"),
        (json!({ "tools": [tool("kite_2025", "kite")] }),
         "tools.0: Input tag 'kite_2025' found using 'type' does not match any of the expected tags: 'bash_20250124', 'custom', "),
        (json!({ "tools": [tool("bash_20241022", "bash")] }),
         "tools.0: Input tag 'bash_20241022' found using 'type' does not match"),
        (json!({ "tools": [tool("computer_20251124", "computer")] }),
         "tools.0: Input tag 'computer_20251124' found using 'type' does not match"),
        (json!({ "tools": [tool("bash_20250124", "shell")] }), "tools.0.bash_20250124.name: Input should be 'bash'"),
        (json!({ "tools": [custom("f"), custom("f")] }), "tools: Tool names must be unique."),
        (json!({ "tools": [custom("no spaces")] }),
         "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"),
        (json!({ "tools": [{ "name": "f" }] }), "tools.0.custom.input_schema: Field required"),
        (json!({ "tools": [{ "name": "f", "input_schema": {} }] }),
         "tools.0.custom.input_schema.type: Field required"),
        (json!({ "tools": [{ "name": "f", "input_schema": { "type": "string" } }] }),
         "tools.0.custom.input_schema.type: Input should be 'object'"),
        (json!({ "tool_choice": { "type": "auto" } }),
         "tool_choice: tool_choice may only be specified while providing tools."),
        (json!({ "tools": [custom("f")], "tool_choice": { "type": "tool", "name": "g" } }),
         "Tool 'g' not found in provided tools"),
        (json!({ "tools": [custom("f")], "tool_choice": { "type": "tool" } }),
         "tool_choice.tool.name: Field required"),
        (json!({ "tools": [custom("f")], "tool_choice": { "type": "must" } }), "tool_choice: Input tag 'must' found"),
        (json!({ "tools": [custom("f")], "tool_choice": { "type": "any" }, "thinking": { "type": "adaptive" } }),
         "Thinking may not be enabled when tool_choice forces tool use."),
        (with(user(json!("a ".repeat(200_001))), &json!({ "model": OPUS_4_5 })),
         "prompt is too long: 200001 tokens > 200000 maximum"),
    ]
}

#[tokio::test]
async fn refuses_invalid_bodies() {
    let test = TestSandbox::start().await;
    for (change, start) in table() {
        let reply = test.ask(WIRE, &with(base(), &change)).await;
        let shown = change.to_string().chars().take(300).collect::<String>();
        let body = reply.json();
        assert_eq!(reply.status, 400, "{shown}: {body}");
        assert_eq!(
            (&body["type"], &body["error"]["type"]),
            (&json!("error"), &json!("invalid_request_error"))
        );
        let message = reply.message();
        assert!(message.starts_with(start), "{shown}\n  says {message}\n  not  {start}");
        assert_eq!(body["request_id"].as_str(), Some(reply.header("request-id")));
        assert_eq!(reply.header("x-should-retry"), "false");
        assert_eq!(test.last(WIRE).usage, None, "nothing is billed");
    }
}

#[tokio::test]
async fn accepts_valid_bodies() {
    let test = TestSandbox::start().await;
    for change in [
        json!({ "temperature": 0.5, "top_k": 3 }),
        json!({ "top_p": 0.5 }),
        with(turns(&[("user", json!("hi")), ("assistant", json!(""))]), &json!({ "model": OPUS_4_5 })),
        with(
            turns(&[("user", json!("hi")), ("system", json!("be brief"))]),
            &json!({ "model": "claude-opus-4-8" }),
        ),
        json!({ "system": "be brief", "metadata": { "user_id": "u" }, "service_tier": "auto", "speed": "fast" }),
        json!({ "max_tokens": 2000, "temperature": 1, "thinking": { "type": "enabled", "budget_tokens": 1999 } }),
        json!({ "thinking": { "type": "disabled" }, "temperature": 0 }),
        turns(&[("user", json!("one")), ("user", json!("two"))]),
        user(json!([document()])),
        user(
            json!([{ "type": "image", "source": { "type": "url", "url": "https://pictures.example/kite.png" } }]),
        ),
        json!({ "max_tokens": 0 }),
    ] {
        let reply = test.ask(WIRE, &with(base(), &change)).await;
        assert_eq!(reply.status, 200, "{change}: {}", reply.text());
    }
}

#[tokio::test]
async fn versioned_tools_need_their_beta_and_their_model() {
    let test = TestSandbox::start().await;
    let screen = |tag: &str| json!({ "type": tag, "name": "computer", "display_width_px": 800, "display_height_px": 600 });
    #[rustfmt::skip]
    let table = [
        ("claude-opus-4-6", screen("computer_20251124"), "computer-use-2025-11-24", 200, ""),
        ("claude-opus-4-6", screen("computer_20251124"), "other, computer-use-2025-11-24", 200, ""),
        ("claude-opus-4-8", screen("computer_20250124"), "computer-use-2025-01-24", 400,
         "'claude-opus-4-8' does not support tool types: computer_20250124. Did you mean one of bash_20250124, computer_20251124,"),
        (OPUS_4_5, tool("bash_20241022", "bash"), "computer-use-2024-10-22", 400,
         "'claude-opus-4-5-20251101' does not support tool types: bash_20241022."),
        (OPUS_4_5, tool("computer_20251124", "computer"), "computer-use-2025-11-24", 400,
         "tools.0.computer_20251124.display_width_px: Field required"),
        (OPUS_4_5, tool("text_editor_20250124", "str_replace_editor"), "", 200, ""),
    ];
    for (model, tool, beta, status, start) in table {
        let body = with(base(), &json!({ "model": model, "tools": [tool] })).to_string();
        let headers = [X_KEY, VERSION, JSON, ("anthropic-beta", beta)];
        let reply = test.post(WIRE, PATH, &headers, body).await;
        assert_eq!(reply.status, status, "{model} {tool}: {}", reply.text());
        assert!(reply.message().starts_with(start), "{}", reply.message());
    }
}

#[tokio::test]
async fn headers_keys_and_routes() {
    let test = TestSandbox::start().await;
    let good = base().to_string();
    let key = |key: &'static str| [("x-api-key", key), VERSION, JSON].to_vec();
    let bearer = |key: &'static str| [("authorization", key), VERSION, JSON].to_vec();
    #[rustfmt::skip]
    let table = [
        ("/v1/messages?beta=true", key("sandbox-key"), 200, "", ""),
        (PATH, bearer("Bearer sandbox-key"), 200, "", ""),
        (PATH, vec![X_KEY, ("authorization", "Bearer other-key"), VERSION, JSON], 200, "", ""),
        (PATH, vec![("x-api-key", "other-key"), BEARER, VERSION, JSON], 401, "authentication_error",
         "invalid x-api-key"),
        (PATH, vec![VERSION, JSON], 401, "authentication_error", "x-api-key header is required"),
        (PATH, key("nobody-s-key"), 401, "authentication_error", "invalid x-api-key"),
        (PATH, bearer("Bearer nobody"), 401, "authentication_error", "Invalid bearer token"),
        (PATH, key("sandbox-key-401"), 401, "authentication_error", "invalid x-api-key"),
        (PATH, key("sandbox-key-403"), 403, "permission_error", "Your API key does not have permission"),
        (PATH, key("sandbox-key-429"), 429, "rate_limit_error", "This request would exceed"),
        (PATH, key("sandbox-key-529"), 529, "overloaded_error", "Overloaded"),
        (PATH, key("sandbox-key-broke"), 400, "invalid_request_error",
         "Your credit balance is too low to access the Anthropic API"),
        (PATH, vec![X_KEY, JSON], 400, "invalid_request_error", "anthropic-version: header is required"),
        (PATH, vec![X_KEY, ("anthropic-version", "2020-01-01"), JSON], 400, "invalid_request_error",
         "anthropic-version: \"2020-01-01\" is not a valid version"),
        (PATH, vec![X_KEY, VERSION, ("content-type", "text/plain")], 400, "invalid_request_error", "content-type: "),
        ("/v1/chat/completions", key("sandbox-key"), 404, "not_found_error", "Not found"),
    ];
    for (path, headers, status, kind, start) in table {
        let reply = test.post(WIRE, path, &headers, &good).await;
        let body = reply.json();
        assert_eq!(reply.status, status, "{path} {headers:?}: {body}");
        assert_eq!(body["error"]["type"].as_str().unwrap_or_default(), kind, "{headers:?}");
        assert!(reply.message().starts_with(start), "{body}");
        assert!(reply.header("request-id").starts_with("req_"));
    }
    let unknown = test.ask(WIRE, &with(base(), &json!({ "model": "claude-9" }))).await;
    assert_eq!((unknown.status, unknown.message().as_str()), (404, "model: claude-9"));
    let headers = [X_KEY, VERSION, JSON];
    let broken = test.post(WIRE, PATH, &headers, b"{\"model\":").await.message();
    assert!(broken.starts_with("The request body is not valid JSON: "), "{broken}");
    let large = test.post(WIRE, PATH, &headers, vec![b' '; (32 << 20) + 1]).await;
    assert_eq!((large.status, &large.json()["error"]["type"]), (413, &json!("request_too_large")));
    let got = test.send("GET", WIRE, PATH, &[X_KEY], "").await.try_read().await;
    assert_eq!(got.map(|reply| reply.status), Some(405));
}

#[tokio::test]
async fn the_newer_version_accepts_fewer_fields() {
    let test = TestSandbox::start().await;
    let cited = json!([{ "type": "text", "text": "x", "citations": [{ "type": "char_location" }] }]);
    #[rustfmt::skip]
    let table = [
        (json!({ "temperature": 1 }), "temperature: Extra inputs are not permitted"),
        (json!({ "top_k": 1 }), "top_k: Extra inputs are not permitted"),
        (user(cited), "messages.0.content.0.text.citations: Extra inputs are not permitted"),
        (turns(&[("user", json!("x")), ("assistant", json!([document()])), ("user", json!("x"))]),
         "messages.1.content.0: `document` blocks can only be in `user` messages"),
    ];
    for (change, message) in table {
        let body = with(base(), &change).to_string();
        let newer = test.post(WIRE, PATH, &[X_KEY, NEWER, JSON], &body).await;
        assert_eq!((newer.status, newer.message().as_str()), (400, message), "{change}");
        assert_eq!(test.post(WIRE, PATH, &[X_KEY, VERSION, JSON], &body).await.status, 200, "{change}");
    }
}
