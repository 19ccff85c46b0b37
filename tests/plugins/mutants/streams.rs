//! Streams as servers write them that keep to no document: pieces under other names, ends in other words, several values in one event,
//! and answers in the other protocol than the one they were asked in. Whatever comes, each client has the text and the call.

use gatehouse_sdk::Obstacle;
use serde_json::{Value, json};

use super::client::Client;
use super::recorded::{COUNTS, Provider, WORDS};
use super::{Found, check_all};

const CITY: &str = r#"{"city":"Bergen"}"#;

/// What a client has of it.
#[derive(Clone, Copy)]
enum Has {
    Text(&'static str),
    /// A call of the tool, with its arguments.
    Call,
    Failure,
    /// The text, or the failure: no success without it.
    NoLess(&'static str),
}

fn wrong(found: &Found, has: Has) -> Option<String> {
    let is_right = match (found, has) {
        (Ok(heard), Has::Text(text)) => heard.text == text && heard.calls.is_empty(),
        (Ok(heard), Has::Call) => {
            heard.calls.len() == 1
                && heard.calls[0].0 == "find_harbour"
                && serde_json::from_str::<Value>(&heard.calls[0].1).ok() == serde_json::from_str(CITY).ok()
        }
        (Ok(heard), Has::NoLess(text)) => heard.text == text,
        (Err(failure), Has::Failure | Has::NoLess(_)) => {
            matches!(failure.obstacle, Obstacle::Upstream | Obstacle::RateLimited | Obstacle::Account)
        }
        _ => false,
    };
    (!is_right).then(|| format!("{found:?}"))
}

fn chunk(delta: Value, reason: Value) -> String {
    json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
    .to_string()
}

/// A chunk with text.
fn says(text: &str) -> String {
    chunk(json!({"content": text}), Value::Null)
}

fn ends(reason: &str) -> String {
    chunk(json!({}), json!(reason))
}

/// Without it a client reads half an answer as a whole one, or an answer fails that is all there.
#[test]
fn a_chat_providers_odd_stream_is_read_or_fails() {
    let done = || "[DONE]".to_owned();
    let called = |function: Value| chunk(json!({"function_call": function}), Value::Null);
    let tool = |call: Value| chunk(json!({"tool_calls": [call]}), Value::Null);
    let two = format!("{}{}", says("Hel"), says("lo"));
    let lines = format!("{}\n{}", says("Hel"), says("lo"));
    let mut faults = Vec::new();
    for (data, has) in [
        // Pieces that stand in messages, in an envelope and with a word for no reason.
        (
            [("Hel", "null"), ("lo", "stop")].map(|(text, reason)| {
                json!({"output": {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": reason}]}}).to_string()
            }).to_vec(),
            Has::Text("Hello"),
        ),
        (
            ["Hel", "lo"].map(|text| json!({"choices": [{"index": 0, "delta": null, "message": {"content": text}}]}).to_string())
                .into_iter().chain([ends("stop")]).collect(),
            Has::Text("Hello"),
        ),
        // A role alone, nothing, and nulls.
        (vec![chunk(json!({"role": "assistant"}), Value::Null), says("Hello"), ends("stop")], Has::Text("Hello")),
        (vec![chunk(Value::Null, Value::Null), says("Hello"), ends("stop"), done()], Has::Text("Hello")),
        (vec![json!({"id": "c", "choices": null}).to_string(), says("Hello"), ends("stop")], Has::Text("Hello")),
        (vec!["{}".into(), says("Hello"), r#"{"type":"ping"}"#.into(), ends("stop"), done()], Has::Text("Hello")),
        // Ends in other words and places.
        (vec![says("Hello"), ends("STOP"), done()], Has::Text("Hello")),
        (vec![says("Hello"), ends("Stop"), "\"[DONE]\"".into()], Has::Text("Hello")),
        (vec![says("Hel"), chunk(json!({"content": "lo"}), json!("eos")), done()], Has::Text("Hello")),
        (vec![chunk(json!({"content": "Hel"}), json!("")), says("lo"), ends("stop")], Has::Text("Hello")),
        (vec![says("Hello"), ends("MAX_TOKENS")], Has::Text("Hello")),
        (vec![says("Hello"), ends("content_filter"), done()], Has::Text("Hello")),
        // Several values in one event, and other words behind one.
        (vec![two.clone(), ends("stop"), done()], Has::Text("Hello")),
        (vec![lines, ends("stop"), done()], Has::Text("Hello")),
        (vec![format!("{two}{}", ends("stop")), done()], Has::Text("Hello")),
        (vec![format!("{}[DONE]", says("Hello"))], Has::Text("Hello")),
        (vec![format!("{}\0", says("Hello")), ends("stop"), done()], Has::Text("Hello")),
        (vec![format!("{}}}", says("Hello")), ends("stop"), done()], Has::Text("Hello")),
        (vec![says("Hel"), format!(r#"{}{{"error":{{"message":"busy"}}}}"#, says("lo")), done()], Has::Failure),
        // Thinking under other names.
        (vec![chunk(json!({"reasoning": "hm"}), Value::Null), says("Hello"), ends("stop")], Has::Text("Hello")),
        (vec![chunk(json!({"thinking": "hm", "content": ""}), Value::Null), says("Hello"), ends("stop")], Has::Text("Hello")),
        (
            vec![chunk(json!({"reasoning_details": [{"type": "reasoning.text", "text": "hm"}]}), Value::Null), says("Hello"), ends("stop")],
            Has::Text("Hello"),
        ),
        (vec![chunk(json!({"thoughts": "hm", "content": null}), Value::Null), says("Hello"), ends("stop")], Has::Text("Hello")),
        // Text in other places.
        (vec![json!({"choices": [{"text": "Hello", "index": 0, "finish_reason": null}]}).to_string(), ends("stop")], Has::Text("Hello")),
        (vec![json!({"choices": [{"index": "0", "delta": {"content": "Hello"}}]}).to_string(), ends("stop")], Has::Text("Hello")),
        (vec![json!({"choices": [{"index": null, "delta": {"content": "Hello"}}]}).to_string(), ends("stop")], Has::Text("Hello")),
        (
            vec![json!({"choices": [{"message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}]}).to_string(), done()],
            Has::Text("Hello"),
        ),
        (vec![chunk(json!({"content": [{"type": "text", "text": "Hello"}]}), json!("stop")), done()], Has::Text("Hello")),
        (vec![json!({"choices": [{"index": 0, "delta": "Hello"}]}).to_string(), ends("stop")], Has::Text("Hello")),
        (
            vec![json!({"choices": [{"index": 0, "message": "Hello", "finish_reason": "stop"}]}).to_string(), done()],
            Has::Text("Hello"),
        ),
        (vec![chunk(json!([{"content": "Hello"}]), Value::Null), ends("stop")], Has::NoLess("Hello")),
        (vec![chunk(json!({"content": 5}), Value::Null), ends("stop")], Has::NoLess("5")),
        (vec![chunk(json!({"content": {"value": "Hello"}}), Value::Null), ends("stop")], Has::NoLess("Hello")),
        (vec![json!({"choices": {"0": {"delta": {"content": "Hello"}}}}).to_string(), ends("stop")], Has::NoLess("Hello")),
        (vec![json!({"choices": ["Hello"]}).to_string(), ends("stop")], Has::NoLess("Hello")),
        (vec![json!({"delta": {"content": "Hello"}}).to_string(), ends("stop")], Has::NoLess("Hello")),
        (vec![json!({"content": "Hello"}).to_string(), ends("stop")], Has::NoLess("Hello")),
        (vec![json!({"output_text": "Hello"}).to_string(), ends("stop"), done()], Has::NoLess("Hello")),
        (vec![json!({"result": {"choices": [{"delta": {"content": "Hello"}}]}}).to_string(), ends("stop")], Has::NoLess("Hello")),
        // Calls of the older kind, whole and in pieces, and flat ones.
        (vec![called(json!({"name": "find_harbour", "arguments": CITY})), ends("function_call"), done()], Has::Call),
        (
            vec![called(json!({"name": "find_harbour", "arguments": ""})), called(json!({"arguments": "{\"city\":"})),
                called(json!({"arguments": "\"Bergen\"}"})), ends("function_call")],
            Has::Call,
        ),
        (vec![tool(json!({"index": "0", "id": "a", "function": {"name": "find_harbour", "arguments": CITY}})), ends("TOOL_CALLS")], Has::Call),
        (vec![tool(json!({"id": "a", "name": "find_harbour", "arguments": CITY})), ends("stop"), done()], Has::Call),
        (
            vec![tool(json!({"index": 0, "id": "a", "function": {"name": "find_harbour", "arguments": null}})),
                tool(json!({"index": 0, "id": null, "function": {"name": null, "arguments": CITY}})), ends("tool_calls")],
            Has::Call,
        ),
        (
            vec![tool(json!({"index": 0, "id": "a", "type": "function", "function": {"name": "find_harbour"}})),
                tool(json!({"index": 0, "function": {"arguments": {"city": "Bergen"}}})), ends("tool_calls")],
            Has::Call,
        ),
        // Failures in the place of a piece.
        (vec![says("Hel"), r#"{"choices":[],"error":{"message":"busy"}}"#.into(), done()], Has::Failure),
        (vec![says("Hel"), r#"{"choices":null,"error":"busy"}"#.into(), done()], Has::Failure),
        (vec![says("Hel"), r#"{"code":429,"message":"busy"}"#.into(), done()], Has::Failure),
        (vec![says("Hel"), r#"{"detail":"busy"}"#.into(), done()], Has::Failure),
        (vec![says("Hel"), r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#.into(), done()], Has::Failure),
        (vec![says("Hel"), r#"{"error_msg":"busy","error_code":336003}"#.into(), done()], Has::Failure),
        (vec![done()], Has::Failure),
        (vec![], Has::Failure),
    ] {
        let asks = |client: Client| [("stream", client.stream(Provider::Chat, &data))];
        check_all(&mut faults, &format_args!("{data:?}"), asks, |_, found| wrong(found, has));
    }
    super::none(&faults);
}

/// The same of a provider of messages.
#[test]
fn a_messages_providers_odd_stream_is_read_or_fails() {
    let begins = || {
        json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
            "content": [], "stop_reason": null, "usage": {"input_tokens": 1, "output_tokens": 0}}})
        .to_string()
    };
    let block =
        |block: Value| json!({"type": "content_block_start", "index": 0, "content_block": block}).to_string();
    let adds = |delta: Value| json!({"type": "content_block_delta", "index": 0, "delta": delta}).to_string();
    let text = |text: &str| adds(json!({"type": "text_delta", "text": text}));
    let starts = || block(json!({"type": "text", "text": ""}));
    let calls = || block(json!({"type": "tool_use", "id": "t", "name": "find_harbour", "input": {}}));
    let stops = || json!({"type": "content_block_stop", "index": 0}).to_string();
    let over = |delta: Value| {
        json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 2}}).to_string()
    };
    let ends = |reason: &str| over(json!({"stop_reason": reason}));
    let last = || json!({"type": "message_stop"}).to_string();
    let mut faults = Vec::new();
    for (data, has) in [
        (vec![begins(), starts(), text("Hello"), stops(), ends("END_TURN"), last()], Has::Text("Hello")),
        (
            vec![begins(), starts(), text("Hello"), stops(), over(json!({"finish_reason": "stop"})), last()],
            Has::Text("Hello"),
        ),
        (
            vec![
                begins(),
                calls(),
                adds(json!({"type": "input_json_delta", "partial_json": CITY})),
                stops(),
                over(json!({"stop_reason": null, "finish_reason": "tool_calls"})),
                last(),
            ],
            Has::Call,
        ),
        (
            vec![
                begins(),
                starts(),
                format!("{}{}", text("Hel"), text("lo")),
                stops(),
                ends("end_turn"),
                last(),
            ],
            Has::Text("Hello"),
        ),
        (
            vec![
                begins(),
                starts(),
                format!("{}\n{}", text("Hel"), text("lo")),
                stops(),
                format!("{}{}", ends("end_turn"), last()),
            ],
            Has::Text("Hello"),
        ),
        (
            vec![begins(), starts(), adds(json!({"text": "Hello"})), stops(), ends("stop"), last()],
            Has::Text("Hello"),
        ),
        (
            vec![
                begins(),
                starts(),
                text("Hel"),
                r#"{"type":"ping"}"#.into(),
                text("lo"),
                stops(),
                ends("end_turn"),
                last(),
                "[DONE]".into(),
            ],
            Has::Text("Hello"),
        ),
        (
            vec![begins(), starts(), text("Hello"), stops(), ends("end_turn"), "[DONE]".into()],
            Has::Text("Hello"),
        ),
        (
            vec![
                begins(),
                block(json!({"type": "text", "text": "Hel"})),
                text("lo"),
                stops(),
                ends("end_turn"),
                last(),
            ],
            Has::Text("Hello"),
        ),
        (
            vec![begins(), starts(), text("Hel"), r#"{"error":{"message":"busy"}}"#.into(), last()],
            Has::Failure,
        ),
        (vec![begins(), starts(), text("Hel"), r#"{"error":"busy"}"#.into(), last()], Has::Failure),
        (vec![begins(), starts(), text("Hel"), r#"{"detail":"busy"}"#.into(), last()], Has::Failure),
        (
            vec![
                begins(),
                starts(),
                text("Hel"),
                r#"{"object":"error","message":"busy","code":503}"#.into(),
                last(),
            ],
            Has::Failure,
        ),
        (
            vec![begins(), starts(), adds(json!("Hello")), stops(), ends("end_turn"), last()],
            Has::NoLess("Hello"),
        ),
        (
            vec![
                begins(),
                starts(),
                adds(json!({"type": "text_delta", "value": "Hello"})),
                stops(),
                ends("end_turn"),
                last(),
            ],
            Has::NoLess("Hello"),
        ),
        (
            vec![
                begins(),
                starts(),
                adds(json!({"type": "text_delta", "text": {"value": "Hello"}})),
                stops(),
                ends("end_turn"),
                last(),
            ],
            Has::NoLess("Hello"),
        ),
        (vec![begins(), block(json!("Hello")), stops(), ends("end_turn"), last()], Has::NoLess("Hello")),
        (
            vec![
                begins(),
                starts(),
                adds(json!({"type": "text_delta", "text": ["Hel", "lo"]})),
                stops(),
                ends("end_turn"),
                last(),
            ],
            Has::NoLess("Hello"),
        ),
        (vec![begins(), text("Hello"), ends("end_turn"), last()], Has::NoLess("Hello")),
        (
            vec![
                begins(),
                block(json!({"type": "text", "content": "Hello"})),
                stops(),
                ends("end_turn"),
                last(),
            ],
            Has::NoLess("Hello"),
        ),
        (vec![begins(), starts(), text("Hel")], Has::Failure),
        (vec![], Has::Failure),
    ] {
        let asks = |client: Client| [("stream", client.stream(Provider::Messages, &data))];
        check_all(&mut faults, &format_args!("{data:?}"), asks, |_, found| wrong(found, has));
    }
    super::none(&faults);
}

/// Without it what the model wrote is lost where a server between speaks the other protocol, in a success that costs nothing.
#[test]
fn an_answer_in_the_other_protocol_is_read() {
    let mut faults = Vec::new();
    for (asked, speaks) in [(Provider::Chat, Provider::Messages), (Provider::Messages, Provider::Chat)] {
        let (whole, data) = (speaks.whole().to_string(), speaks.data(&speaks.events()));
        let asks = |client: Client| {
            [
                ("whole", client.whole(asked, &whole)),
                ("stream", client.stream(asked, &data)),
                ("one event", client.stream(asked, std::slice::from_ref(&whole))),
            ]
        };
        check_all(&mut faults, &format_args!("{asked:?} as {speaks:?}"), asks, |_, found| {
            let is_right = found.as_ref().is_ok_and(|heard| {
                let said = format!("{} {:?}", heard.text, heard.calls);
                let told = heard.usage.map(|usage| (usage.input, usage.output));
                WORDS.iter().all(|word| said.contains(word)) && told == Some(COUNTS)
            });
            (!is_right).then(|| format!("{found:?}"))
        });
    }
    super::none(&faults);
}

/// Without it a good answer fails for what stands behind it, or one that failed looks good.
#[test]
fn what_stands_around_a_whole_answer_is_left_out_unless_it_says_that_it_failed() {
    let mut faults = Vec::new();
    for provider in [Provider::Chat, Provider::Messages] {
        let body = provider.whole().to_string();
        for (given, is_good) in [
            (format!("{body}}}"), true),
            (format!("{body}\0\0"), true),
            (format!("{body}\n<!-- served by x -->"), true),
            (format!("{body}\n[DONE]"), true),
            (format!("{body}{{\"error\":{{\"message\":\"busy\"}}}}"), false),
        ] {
            let asks = |client: Client| [("whole", client.whole(provider, &given))];
            check_all(&mut faults, &given, asks, |_, found| {
                let is_right = match found {
                    Ok(heard) => is_good && heard.text.contains(WORDS[0]) && heard.calls.len() == 1,
                    Err(_) => !is_good,
                };
                (!is_right).then(|| format!("{found:?}"))
            });
        }
        for (status, body) in [
            (204, ""),
            (200, "  "),
            (307, "<a href=\"https://console.example.com\">moved</a>"),
            (304, ""),
            (202, "{}"),
        ] {
            let asks = |client: Client| [("whole", client.refused(provider, status, body))];
            check_all(&mut faults, &format_args!("{status} {body}"), asks, |_, found| {
                let is_right = found.as_ref().is_err_and(|failure| {
                    failure.obstacle == Obstacle::Upstream && !failure.message.contains("console")
                });
                (!is_right).then(|| format!("{found:?}"))
            });
        }
    }
    super::none(&faults);
}

/// Without it a client is told to shorten a conversation that was not too long, or that its request is too large, and no other
/// account is asked.
#[test]
fn a_limit_within_a_time_is_one_under_any_status() {
    let mut faults = Vec::new();
    let error = |message: &str, kind: &str, code: Value| json!({"error": {"message": message, "type": kind, "code": code}});
    for (status, error) in [
        (
            413,
            error(
                "Request too large for model `x` in organization `org_01` service tier `on_demand` on tokens per minute (TPM): Limit 6000, \
                 Requested 9104, please reduce your message size and try again.",
                "tokens",
                json!("rate_limit_exceeded"),
            ),
        ),
        (
            413,
            error(
                "Request too large for x on tokens per min (TPM): Limit 30000, Requested 40000.",
                "tokens",
                Value::Null,
            ),
        ),
        (
            400,
            error(
                "Too many requests. Please wait before trying again.",
                "invalid_request_error",
                Value::Null,
            ),
        ),
        (400, json!({"__type": "ThrottlingException", "message": "Rate exceeded"})),
        (
            400,
            json!({"code": "Throttling.RateQuota", "message": "Requests rate limit exceeded, please try again later."}),
        ),
        (403, error("Rate limit exceeded", "", json!("rateLimitExceeded"))),
        (503, error("busy", "rate_limit_error", Value::Null)),
        (422, json!({"error": "Rate limit exceeded: 60 requests per minute"})),
    ] {
        let body = error.to_string();
        for provider in [Provider::Chat, Provider::Messages] {
            let asks = |client: Client| {
                let stream = client.stream(provider, std::slice::from_ref(&body));
                [("whole", client.refused(provider, status, &body)), ("stream", stream)]
            };
            check_all(&mut faults, &format_args!("{provider:?} {status} {error}"), asks, |_, found| {
                let is_right = found.as_ref().is_err_and(|it| it.obstacle == Obstacle::RateLimited);
                (!is_right).then(|| format!("{found:?}"))
            });
        }
    }
    super::none(&faults);
}

/// Keeps the harness honest: no client reads a text that nobody wrote.
#[test]
fn a_stream_without_text_says_nothing() {
    let found = Client::Chat.stream(
        Provider::Chat,
        &[chunk(json!({"role": "assistant"}), Value::Null), ends("stop"), "[DONE]".into()],
    );
    assert_eq!(found.expect("an answer").text, "");
}
