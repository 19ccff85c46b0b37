//! Chat providers that write their answers in forms of their own: texts in parts, arguments as objects, calls without ids,
//! reasons that do not fit. The client reads the same message whatever the form, whole and streamed.

use gatehouse_sdk::{Obstacle, Protocol, Reply, Sse};
use messages::Messages;
use serde_json::{Value, json};

use crate::messages::{
    answered, body, both, ended, frames, play, play_in, play_until, prepare, rejected, sent, state,
};

/// What a stream of `deltas` adds up to: its blocks, and its end.
fn streamed(thinking: bool, chunks: &[Value]) -> (Vec<Value>, Value) {
    let events = ended(chunks);
    let played = play(&state(Protocol::Chat, thinking), &events);
    assert!(played.last, "{played:?}");
    let mut blocks: Vec<Value> = vec![];
    let mut end = Value::Null;
    for event in played.events() {
        match event["type"].as_str() {
            Some("content_block_start") => blocks.push(event["content_block"].clone()),
            Some("content_block_delta") => {
                let block = blocks.last_mut().expect("a block is open");
                let (member, piece) = match event["delta"]["type"].as_str() {
                    Some("text_delta") => ("text", &event["delta"]["text"]),
                    Some("thinking_delta") => ("thinking", &event["delta"]["thinking"]),
                    _ => ("json", &event["delta"]["partial_json"]),
                };
                let joined = format!(
                    "{}{}",
                    block[member].as_str().unwrap_or_default(),
                    piece.as_str().unwrap_or_default()
                );
                block[member] = json!(joined);
            }
            Some("message_delta") => end = event["delta"].clone(),
            _ => {}
        }
    }
    (blocks, end)
}

fn chunk(delta: Value, reason: Value) -> Value {
    json!({"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
}

fn whole(message: Value, reason: &str) -> Value {
    json!({"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": reason}]})
}

/// Without it a list of parts is a 502.
#[test]
fn a_text_in_parts_is_the_text_and_its_thinking_is_thinking() {
    let parts = json!([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "Hello"}]);
    let (message, ..) =
        answered(Protocol::Chat, true, &whole(json!({"role": "assistant", "content": parts}), "stop"));
    let expected =
        json!([{"type": "thinking", "thinking": "hm", "signature": ""}, {"type": "text", "text": "Hello"}]);
    assert_eq!(message["content"], expected);
    let (blocks, end) = streamed(
        true,
        &[
            chunk(
                json!({"role": "assistant", "content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}),
                Value::Null,
            ),
            chunk(json!({"content": [{"type": "text", "text": "He"}]}), Value::Null),
            chunk(json!({"content": "llo"}), Value::Null),
            chunk(json!({"content": ""}), json!("stop")),
        ],
    );
    assert_eq!((json!(blocks), &end["stop_reason"]), (expected, &json!("end_turn")));
}

/// Without it a tool runs without its arguments, or two calls become one that is no JSON.
#[test]
fn calls_keep_their_arguments_and_stay_apart() {
    let call = |name: &str, arguments: Value| json!({"index": 0, "type": "function", "function": {"name": name, "arguments": arguments}});
    let given = json!({"role": "assistant", "content": null, "tool_calls": [call("f", json!({"p": 0})), call("f", json!("{\"p\":1}"))]});
    let (message, ..) = answered(Protocol::Chat, false, &whole(given, "tool_calls"));
    let inputs: Vec<&Value> =
        message["content"].as_array().expect("blocks").iter().map(|block| &block["input"]).collect();
    assert_eq!(inputs, [&json!({"p": 0}), &json!({"p": 1})]);
    for second in ["f", "g"] {
        let (blocks, end) = streamed(
            false,
            &[
                chunk(json!({"tool_calls": [call("f", json!({"p": 0}))]}), Value::Null),
                chunk(json!({"tool_calls": [call(second, json!("{\"p\":"))]}), Value::Null),
                chunk(
                    json!({"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]}),
                    json!("tool_calls"),
                ),
            ],
        );
        let calls: Vec<(&str, &str)> = blocks
            .iter()
            .map(|it| (it["name"].as_str().unwrap_or_default(), it["json"].as_str().unwrap_or_default()))
            .collect();
        assert_eq!(calls, [("f", "{\"p\":0}"), (second, "{\"p\":1}")]);
        assert_ne!(blocks[0]["id"], blocks[1]["id"]);
        assert_eq!(end["stop_reason"], "tool_use");
    }
}

/// Without it a tool runs with `{{"a":{"a":1}`, or an answer fails for a comma. What was cut is no call that may be made.
#[test]
fn arguments_are_read_however_they_are_written() {
    let call = |arguments: &str| json!({"id": "a", "index": 0, "type": "function", "function": {"name": "f", "arguments": arguments}});
    for written in
        ["```json\n{\"p\": 1}\n```", "{'p': 1}", "{\"p\": 1,}", "{p: 1}", "{\"p\": 1}}", "\"{\\\"p\\\": 1}\""]
    {
        let given = whole(json!({"content": null, "tool_calls": [call(written)]}), "tool_calls");
        let (message, ..) = answered(Protocol::Chat, false, &given);
        assert_eq!(message["content"][0]["input"], json!({"p": 1}), "{written}");
        let block = json!([{"type": "tool_use", "id": "a", "name": "f", "input": written}]);
        let given = json!({"type": "message", "model": "m", "content": block, "stop_reason": "tool_use"});
        let (message, ..) = answered(Protocol::Messages, false, &given);
        assert_eq!(message["content"][0]["input"], json!({"p": 1}), "{written}");
    }
    for cut in ["{\"p\": \"rm", "{\"p\": 1", "{\"p\": 1, \"q\": "] {
        rejected(Protocol::Chat, 200, &whole(json!({"tool_calls": [call(cut)]}), "tool_calls"));
    }
    for pieces in [
        &["{\"p\"", "{\"p\": {\"q", "{\"p\": {\"q\": 1}", "{\"p\": {\"q\": 1}}", "{\"p\": {\"q\": 1}}"][..],
        &["{", "{\"p\": {\"q\": 1}}"],
        &["", "{\"p\": ", "{\"q\": 1}", "}"],
        &["{'p': {\"q\": 1,}}"],
        &["```json\n{\"p\": ", "{\"q\": 1}}\n``", "`"],
    ] {
        let first = chunk(json!({"tool_calls": [call("")]}), Value::Null);
        let piece = |text: &&str| {
            chunk(json!({"tool_calls": [{"index": 0, "function": {"arguments": text}}]}), Value::Null)
        };
        let all: Vec<Value> = std::iter::once(first)
            .chain(pieces.iter().map(piece))
            .chain([chunk(json!({}), json!("tool_calls"))])
            .collect();
        let (blocks, _) = streamed(false, &all);
        assert_eq!(blocks.len(), 1, "{pieces:?}");
        assert_eq!(blocks[0]["json"].as_str().map(str::trim_end), Some("{\"p\": {\"q\": 1}}"), "{pieces:?}");
        if pieces[0].starts_with('`') {
            continue;
        }
        let delta = |text: &&str| json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": text}});
        let mut all = vec![
            json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": {"input_tokens": 1}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "a", "name": "f", "input": {}}}),
        ];
        all.extend(pieces.iter().map(delta));
        all.extend([
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 1}}),
            json!({"type": "message_stop"}),
        ]);
        let read = play(&state(Protocol::Messages, false), &frames(&all)).events();
        let joined: String =
            read.iter().filter_map(|event| event["delta"]["partial_json"].as_str()).collect();
        assert_eq!(joined, "{\"p\": {\"q\": 1}}", "{pieces:?}");
    }
}

/// Without it clients show what a model thinks as its answer, and a client that goes on at a messages provider is refused on
/// every turn for thinking that nobody signed.
#[test]
fn thinking_in_a_text_is_thinking_and_unsigned_thinking_stays_here() {
    let (message, ..) =
        answered(Protocol::Chat, true, &whole(json!({"content": "<think>hm</think>Hello"}), "stop"));
    let expected =
        json!([{"type": "thinking", "thinking": "hm", "signature": ""}, {"type": "text", "text": "Hello"}]);
    assert_eq!(message["content"], expected);
    let (blocks, _) = streamed(
        true,
        &[
            chunk(json!({"content": "<think>h"}), Value::Null),
            chunk(json!({"content": "m</think>Hello"}), json!("stop")),
        ],
    );
    assert_eq!(json!(blocks), expected);
    let call =
        json!({"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let calling = json!({"content": "<think>hm</think>Hello", "tool_calls": [call]});
    let (message, ..) = answered(Protocol::Chat, true, &whole(calling.clone(), "tool_calls"));
    let (blocks, _) = streamed(true, &[chunk(calling, json!("tool_calls"))]);
    for blocks in [&message["content"], &json!(blocks)] {
        let expected = (&expected[0], &expected[1], &json!("f"));
        assert_eq!((&blocks[0], &blocks[1], &blocks[2]["name"]), expected, "{blocks}");
    }
    let history = |content: Value| json!({"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": content}, {"role": "user", "content": "y"}]});
    let sent = sent(history(expected), Protocol::Messages, json!({}));
    assert_eq!(sent["messages"][1]["content"], json!([{"type": "text", "text": "Hello"}]));
}

/// Without it a conversation that lacks a result, or has one twice, is refused by a chat provider on every further turn.
#[test]
fn each_call_of_a_history_has_its_result() {
    let user = |content: Value| json!({"role": "user", "content": content});
    let called = |ids: &[&str]| {
        let calls = ids.iter().map(|id| json!({"type": "tool_use", "id": id, "name": "f", "input": {}}));
        json!({"role": "assistant", "content": calls.collect::<Vec<_>>()})
    };
    let result = |id: &str, text: &str| json!({"type": "tool_result", "tool_use_id": id, "content": text});
    let tool = |id: &str, text: &str| json!({"role": "tool", "tool_call_id": id, "content": text});
    let lost = json!({"role": "user", "content": "Result of an earlier tool call: r"});
    for (given, expected) in [
        (vec![called(&["a"]), user(json!("y"))], vec![tool("a", "(no result)"), user(json!("y"))]),
        (
            vec![called(&["a"]), user(json!("y")), user(json!([result("a", "r")]))],
            vec![tool("a", "r"), user(json!("y"))],
        ),
        (
            vec![called(&["a"]), user(json!([result("a", "s"), result("a", "r")]))],
            vec![tool("a", "s"), lost.clone()],
        ),
        (
            vec![called(&["a", "a"]), user(json!([result("a", "r"), result("a", "s")]))],
            vec![tool("a", "r"), tool("a_2", "s")],
        ),
    ] {
        let messages = [vec![user(json!("x"))], given].concat();
        let got = sent(json!({"messages": messages}), Protocol::Chat, json!({}));
        assert_eq!(got["messages"].as_array().expect("messages")[2..], expected, "{messages:?}");
    }
    let orphan = json!({"messages": [user(json!("x")), user(json!([result("a", "r")]))]});
    assert_eq!(sent(orphan, Protocol::Chat, json!({}))["messages"][1], lost);
}

/// Without it a whole stream fails for its last event, a tool runs without its input, or an error reads like an event.
#[test]
fn a_messages_providers_forms_are_read_too() {
    let begins = json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "content": [],
        "usage": {"input_tokens": 10, "output_tokens": 1}}});
    let call = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {"p": 1}}});
    let stop = json!({"type": "content_block_stop", "index": 0});
    let reason = json!({"type": "message_delta", "delta": {"stop_reason": "tool_calls"}, "usage": {"output_tokens": 5}});
    for (ends, output) in [
        (vec![reason.clone(), json!({"type": "message_stop"})], 5),
        (vec![reason, json!("[DONE]")], 5),
        (vec![json!({"type": "message_stop", "usage": {"output_tokens": 7}})], 7),
    ] {
        let all = [vec![begins.clone(), call.clone(), stop.clone()], ends].concat();
        let events: Vec<_> = all
            .iter()
            .map(|event| Sse {
                event: event["type"].as_str().map(str::to_owned),
                data: event.as_str().map_or_else(|| event.to_string(), str::to_owned),
            })
            .collect();
        let played = play(&state(Protocol::Messages, false), &events);
        let kinds = [
            "message_start",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop",
        ];
        let read = played.events();
        assert_eq!(read.iter().filter_map(|it| it["type"].as_str()).collect::<Vec<_>>(), kinds);
        assert_eq!(
            (&read[2]["delta"]["partial_json"], &read[4]["delta"]["stop_reason"]),
            (&json!("{\"p\":1}"), &json!("tool_use"))
        );
        assert_eq!(played.usage.map(|usage| (usage.input, usage.output)), Some((10, output)), "{all:?}");
    }
    let exception =
        [Sse { event: Some("exception".to_owned()), data: r#"{"message":"Too many tokens"}"#.to_owned() }];
    let failure = play_in(&state(Protocol::Messages, false), &exception, &[]).expect_err("an error");
    assert_eq!(failure.obstacle, Obstacle::RateLimited);
    let whole = json!({"content": "a", "model": "m", "stop_reason": "length"});
    let (message, ..) = answered(Protocol::Messages, false, &whole);
    assert_eq!(
        (&message["content"][0]["text"], &message["stop_reason"]),
        (&json!("a"), &json!("max_tokens"))
    );
}

/// Without it every client fails at an answer whose server leaves out its id or its counts, or writes them in its own form.
#[test]
fn the_id_and_the_counts_that_clients_read_are_there() {
    let text = json!([{"type": "text", "text": "a"}]);
    let message = json!({"type": "message", "role": "assistant", "model": "m", "content": text, "stop_reason": "end_turn"});
    let with = |name: &str, value: Value| {
        let mut message = message.clone();
        message[name] = value;
        message
    };
    for (given, counts) in [
        (message.clone(), None),
        (with("id", Value::Null), None),
        (with("id", json!(7)), None),
        (with("usage", Value::Null), None),
        (with("usage", json!({"input_tokens": -5, "output_tokens": -3})), None),
        (with("usage", json!({"input_tokens": "5", "output_tokens": "3"})), Some((5, 3))),
        (with("usage", json!({"prompt_tokens": 5, "completion_tokens": 3})), Some((5, 3))),
        (with("metadata", json!({"usage": {"input_tokens": 5, "output_tokens": 3}})), Some((5, 3))),
    ] {
        let (got, usage, _) = answered(Protocol::Messages, false, &given);
        assert_eq!(usage.map(|usage| (usage.input, usage.output)), counts, "{given}");
        let (input, output) = counts.unwrap_or_default();
        assert_eq!(
            (&got["usage"]["input_tokens"], &got["usage"]["output_tokens"]),
            (&json!(input), &json!(output)),
            "{given}"
        );
        assert!(got["id"].as_str().is_some_and(|id| id.starts_with("msg_")), "{got}");
    }
    let events = frames(&[
        json!({"type": "message_start", "message": {"type": "message", "role": "assistant", "model": "m", "content": []}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "a"}}),
        json!({"type": "content_block_stop", "index": 0, "usage": {"input_tokens": 5, "output_tokens": 3}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
        json!({"type": "message_stop"}),
    ]);
    let played = play(&state(Protocol::Messages, false), &events);
    let read = played.events();
    assert!(read[0]["message"]["id"].is_string() && read[0]["message"]["usage"]["output_tokens"].is_u64());
    assert_eq!(read[3]["usage"]["output_tokens"], 3);
    assert_eq!(played.usage.map(|usage| (usage.input, usage.output)), Some((5, 3)));
    let odd = r#"{"type":"message","model":"m","content":[{"type":"text","text":"NaN"}],"stop_reason":"end_turn","usage":{"input_tokens":NaN,"output_tokens":3}}"#;
    let answer = both()
        .answer::<Messages>(&state(Protocol::Messages, false), &Reply::raw(200, odd))
        .expect("an answer");
    assert!(answer.body.contains("\"text\":\"NaN\""), "{}", answer.body);
}

/// Without it a call is lost in an answer that looks complete, or the answer fails for the form of a member.
#[test]
fn calls_and_texts_are_read_in_every_form() {
    let function = json!({"name": "f", "arguments": "{\"p\":1}"});
    let quoted = json!({"name": "f", "arguments": json!("{\"p\":1}").to_string()});
    for (message, reason) in [
        (json!({"content": null, "function_call": function}), "function_call"),
        (json!({"tool_calls": [{"id": "a", "name": "f", "arguments": {"p": 1}}]}), "tool_calls"),
        (json!({"tool_calls": {"id": "a", "function": function}}), "tool_calls"),
        (
            json!({"content": false, "refusal": false, "tool_calls": [{"id": 7, "index": "0", "function": function}]}),
            "stop",
        ),
        (json!({"tool_calls": [{"id": "a", "index": 0, "function": quoted}]}), "tool_calls"),
    ] {
        let (got, ..) = answered(Protocol::Chat, false, &whole(message.clone(), reason));
        let block = got["content"].as_array().and_then(|blocks| blocks.last().cloned()).expect("a block");
        assert_eq!((&block["name"], &block["input"]), (&json!("f"), &json!({"p": 1})), "{message}");
        assert_eq!(got["stop_reason"], "tool_use", "{message}");
        let (blocks, end) =
            streamed(false, &[chunk(message.clone(), Value::Null), chunk(json!({}), json!(reason))]);
        let block = blocks.last().expect("a block");
        assert_eq!((&block["name"], &block["json"]), (&json!("f"), &json!("{\"p\":1}")), "{message}");
        assert_eq!(end["stop_reason"], "tool_use", "{message}");
    }
    let thought = json!({"reasoning_content": "", "reasoning": "hm", "content": 42});
    let (blocks, _) = streamed(true, &[chunk(thought, json!("stop"))]);
    assert_eq!(
        blocks,
        [
            json!({"type": "thinking", "thinking": "hm", "signature": ""}),
            json!({"type": "text", "text": "42"})
        ]
    );
    let mut events = frames(&[chunk(json!({"content": "a"}), Value::Null)]);
    events.push(Sse { event: Some("ping".to_owned()), data: "now".to_owned() });
    events.extend(frames(&[
        json!({"id": 7, "error": "", "choices": [{"index": "0", "delta": {}, "finish_reason": "stop"}]}),
    ]));
    assert!(play(&state(Protocol::Chat, false), &events).last, "such a chunk is one like the others");
}

/// Without it an agent waits for a call that is not there, and a whole answer ends as an error.
#[test]
fn an_end_is_what_the_answer_shows() {
    let text = json!({"role": "assistant", "content": "a"});
    assert_eq!(
        answered(Protocol::Chat, false, &whole(text.clone(), "tool_calls")).0["stop_reason"],
        "end_turn"
    );
    let (blocks, end) =
        streamed(false, &[chunk(text.clone(), Value::Null), chunk(json!({}), json!("tool_calls"))]);
    assert_eq!((blocks.len(), &end["stop_reason"]), (1, &json!("end_turn")));
    let (blocks, end) = streamed(false, &[chunk(text.clone(), Value::Null)]);
    assert_eq!(
        (&blocks[0]["text"], &end["stop_reason"]),
        (&json!("a"), &json!("end_turn")),
        "`[DONE]` is an end too"
    );

    let fields = body(json!({"stream": true, "stop_sequences": ["END", "Q:"]}));
    let prepared = prepare(&fields, Protocol::Chat, json!({})).expect("the request is good");
    for (member, value, reason, sequence) in [
        ("stop_reason", json!("END"), "stop_sequence", json!("END")),
        ("matched_stop", json!("Q:"), "stop_sequence", json!("Q:")),
        ("stop_reason", json!(2), "end_turn", Value::Null),
        ("matched_stop", json!("</s>"), "end_turn", Value::Null),
    ] {
        let mut given = whole(text.clone(), "stop");
        given["choices"][0][member] = value.clone();
        let answer = both().answer::<Messages>(&prepared.state, &Reply::new(200, &given)).expect("an answer");
        let message: Value = serde_json::from_str(&answer.body).expect("JSON");
        assert_eq!((&message["stop_reason"], &message["stop_sequence"]), (&json!(reason), &sequence));
        let mut last = chunk(json!({}), json!("stop"));
        last["choices"][0][member] = value;
        let events = ended(&[chunk(text.clone(), Value::Null), last]);
        let played = play(&prepared.state, &events);
        let end = played.events().into_iter().find(|event| event["type"] == "message_delta").expect("an end");
        assert_eq!(
            (&end["delta"]["stop_reason"], &end["delta"]["stop_sequence"]),
            (&json!(reason), &sequence)
        );
    }
}

#[test]
fn half_of_a_character_does_not_fail_an_answer() {
    let given = r#"{"id":"c","choices":[{"index":0,"message":{"content":"a\ud83d b","tool_calls":[{"id":"t","function":{"name":"f","arguments":"{\"p\":\"\\ud83d\"}"}}]},"finish_reason":"stop"}]}"#;
    let answer =
        both().answer::<Messages>(&state(Protocol::Chat, false), &Reply::raw(200, given)).expect("an answer");
    let message: Value = serde_json::from_str(&answer.body).expect("what a strict reader takes");
    assert_eq!(
        (&message["content"][0]["text"], &message["content"][1]["input"]["p"]),
        (&json!("a\u{fffd} b"), &json!("\u{fffd}"))
    );
    let given = r#"{"type":"message","model":"m","content":[{"type":"text","text":"a\ud83d b"}],"usage":{"input_tokens":1,"output_tokens":1}}"#;
    let answer = both()
        .answer::<Messages>(&state(Protocol::Messages, false), &Reply::raw(200, given))
        .expect("an answer");
    assert!(answer.body.contains(r"a\ufffd b"), "{}", answer.body);
}

/// Without it an answer that its server broke off is a success with half of its text, or with none.
#[test]
fn an_answer_that_was_broken_off_is_a_failure() {
    for reason in
        ["insufficient_system_resource", "network_error", "function_call_filter: MALFORMED_FUNCTION_CALL"]
    {
        let message = json!({"role": "assistant", "content": "a"});
        assert_eq!(
            rejected(Protocol::Chat, 200, &whole(message, reason)).obstacle,
            Obstacle::Upstream,
            "{reason}"
        );
        let events = ended(&[chunk(json!({"content": "a"}), Value::Null), chunk(json!({}), json!(reason))]);
        let failed = play_in(&state(Protocol::Chat, false), &events, &[]).expect_err("a failure");
        assert_eq!(failed.obstacle, Obstacle::Upstream, "{reason}");
    }
    let mut body = whole(json!({"role": "assistant", "content": ""}), "stop");
    body["choices"][0]["error"] = json!({"code": 502, "message": "Upstream error"});
    assert_eq!(rejected(Protocol::Chat, 200, &body).obstacle, Obstacle::Upstream);
    for (reason, expected) in [("MAX_TOKENS", "max_tokens"), ("SAFETY", "refusal"), ("eos", "end_turn")] {
        let (message, ..) =
            answered(Protocol::Chat, false, &whole(json!({"role": "assistant", "content": "a"}), reason));
        assert_eq!(message["stop_reason"], expected, "{reason}");
        let (_, end) =
            streamed(false, &[chunk(json!({"content": "a"}), Value::Null), chunk(json!({}), json!(reason))]);
        assert_eq!(end["stop_reason"], expected, "{reason}");
    }
}

/// Without it what a server held back, or failed to make, is an empty message that its client pays for.
#[test]
fn a_verdict_beside_an_answer_is_read() {
    let verdict = |code: u64| json!({"status_code": code, "status_msg": "m"});
    let with = |mut answer: Value, code: u64| {
        answer["base_resp"] = verdict(code);
        answer
    };
    let message = |content: Value| json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content, "stop_reason": "end_turn"});
    for (code, obstacle) in
        [(1002, Obstacle::RateLimited), (1008, Obstacle::Account), (1027, Obstacle::Invalid)]
    {
        for (protocol, empty) in [
            (Protocol::Chat, whole(json!({"role": "assistant", "content": ""}), "stop")),
            (Protocol::Messages, message(json!([]))),
        ] {
            let failure = rejected(protocol, 200, &with(empty, code));
            assert_eq!(failure.obstacle, obstacle, "{protocol:?} {code}");
        }
        let end = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}});
        let start = json!({"type": "message_start", "message": message(json!([]))});
        for (protocol, events) in [
            (Protocol::Chat, frames(&[with(chunk(json!({"content": ""}), json!("stop")), code)])),
            (Protocol::Messages, frames(&[start, with(end, code)])),
        ] {
            let (_, failure) = play_until(&state(protocol, false), &events, &[1]);
            assert_eq!(failure.map(|it| it.obstacle), Some(obstacle), "{protocol:?} {code}");
        }
    }
    let text = json!({"role": "assistant", "content": "Hello"});
    for (protocol, held) in [
        (Protocol::Chat, whole(text, "stop")),
        (Protocol::Messages, message(json!([{"type": "text", "text": "Hello"}]))),
    ] {
        let (message, ..) = answered(protocol, false, &with(held, 1027));
        assert_eq!(message["stop_reason"], "refusal", "{protocol:?}");
    }
    let chunks = [
        chunk(json!({"content": "Hello"}), Value::Null),
        with(chunk(json!({"content": ""}), json!("stop")), 1027),
    ];
    assert_eq!(streamed(false, &chunks).1["stop_reason"], "refusal");
}
