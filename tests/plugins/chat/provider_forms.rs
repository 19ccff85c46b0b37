//! Providers that write their answers in forms of their own, for chat clients and for those of responses, and histories that a
//! messages provider would refuse.

use gatehouse_sdk::{Obstacle, Protocol};
use serde_json::{Value, json};

use crate::chat::{
    answer, asked, both, data, named, prepared, relayed, reply, sent, state, streamed, streaming,
};

pub(super) fn whole(message: Value, reason: &str) -> Value {
    json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m",
           "choices": [{"index": 0, "message": message, "finish_reason": reason}]})
}

pub(super) fn read(protocol: Protocol, body: &Value) -> Value {
    let answered = answer(protocol, 200, &body.to_string()).expect("an answer");
    serde_json::from_str(&answered.body).expect("JSON")
}

/// Without it arrays and objects are handed on where every client expects a text.
#[test]
fn texts_and_arguments_are_texts() {
    let parts = json!([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "Hello"}]);
    let call = json!({"id": "a", "type": "function", "function": {"name": "f", "arguments": {"p": 0}}});
    let got = read(
        Protocol::Chat,
        &whole(json!({"role": "assistant", "content": parts, "tool_calls": [call]}), "tool_calls"),
    );
    let message = &got["choices"][0]["message"];
    assert_eq!((&message["content"], &message["reasoning_content"]), (&json!("Hello"), &json!("hm")));
    assert_eq!(message["tool_calls"][0]["function"]["arguments"], "{\"p\":0}");
    let events = data(&[
        r#"{"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"}]}}]}"#,
        r#"{"id":"c","choices":[{"index":0,"delta":{"content":[{"type":"text","text":"Hello"}]}}]}"#,
        r#"{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":{"p":0}}}]}}]}"#,
        r#"{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\"p\":1}"}}]}}]}"#,
        r#"{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
        "[DONE]",
    ]);
    for size in [1, 6] {
        let deltas = relayed(&streaming(Protocol::Chat, false), &events, size).deltas();
        let joined = |name: &str| deltas.iter().filter_map(|delta| delta[name].as_str()).collect::<String>();
        assert_eq!((joined("content"), joined("reasoning_content")), ("Hello".to_owned(), "hm".to_owned()));
        let calls: Vec<&Value> = deltas.iter().filter_map(|delta| delta["tool_calls"].get(0)).collect();
        let shown: Vec<_> =
            calls.iter().map(|it| (it["index"].as_u64(), it["function"]["arguments"].as_str())).collect();
        assert_eq!(shown, [(Some(0), Some("{\"p\":0}")), (Some(1), Some("{\"p\":1}"))]);
        assert!(calls[0]["id"] != calls[1]["id"] && calls[1]["function"]["name"] == "f", "{calls:?}");
    }
}

/// Without it a call is lost in an answer that looks complete, its client cannot answer it, or its arguments are no object.
#[test]
fn calls_are_read_in_every_form() {
    let text = r#"{"p":1}"#;
    let call = |call: Value| json!({"content": null, "tool_calls": [call]});
    let table = [
        (json!({"content": null, "function_call": {"name": "f", "arguments": text}}), "function_call"),
        (call(json!({"id": "a", "name": "f", "arguments": text})), "tool_calls"),
        (json!({"tool_calls": {"id": "a", "function": {"name": "f", "arguments": text}}}), "tool_calls"),
        (
            call(json!({"id": 7, "index": "0", "type": null, "function": {"name": "f", "arguments": text}})),
            "stop",
        ),
        (call(json!({"id": null, "function": {"name": "f", "arguments": {"p": 1}}})), "tool_use"),
        (
            call(json!({"id": "a", "function": {"name": "f", "arguments": json!(text).to_string()}})),
            "tool_calls",
        ),
    ];
    for (message, reason) in table {
        let got = read(Protocol::Chat, &whole(message.clone(), reason));
        let (choice, calls) = (&got["choices"][0], &got["choices"][0]["message"]["tool_calls"]);
        let function = json!({"name": "f", "arguments": text});
        assert_eq!(
            (&calls[0]["function"], &choice["finish_reason"]),
            (&function, &json!("tool_calls")),
            "{message}"
        );
        let has_id = calls[0]["id"].as_str().is_some_and(|id| !id.is_empty());
        assert!(
            has_id && calls[0]["type"] == "function" && choice["message"]["function_call"].is_null(),
            "{got}"
        );
        let chunk = json!({"id": "c", "choices": [{"index": 0, "delta": message, "finish_reason": null}]})
            .to_string();
        let end =
            json!({"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}).to_string();
        let deltas = streamed(Protocol::Chat, &data(&[&chunk[..], &end, "[DONE]"])).deltas();
        assert_eq!(deltas[0]["tool_calls"][0]["function"], function, "{message}");
        assert_eq!(deltas.last().expect("an end")["finish"], "tool_calls", "{message}");
    }
    let unnamed = whole(call(json!({"id": "a", "function": {"arguments": text}})), "tool_calls");
    assert!(answer(Protocol::Chat, 200, &unnamed.to_string()).is_err(), "nobody could make this call");
    let functions = json!({"functions": [{"name": "f"}], "function_call": "auto"});
    let older =
        whole(json!({"content": null, "function_call": {"name": "f", "arguments": text}}), "function_call");
    let answered = both()
        .answer::<chat::Chat>(&state(Protocol::Chat, functions), &reply(200, &older.to_string()))
        .expect("an answer");
    assert!(answered.body.contains("\"function_call\":{"), "it was asked for: {}", answered.body);
}

/// Without it a client fails to parse a call, or calls a tool with arguments that were cut.
#[test]
fn arguments_are_read_however_they_are_written() {
    let call = |arguments: &str| json!({"id": "a", "type": "function", "function": {"name": "f", "arguments": arguments}});
    let argued = |written: &str, reason: &str| {
        let got =
            read(Protocol::Chat, &whole(json!({"content": null, "tool_calls": [call(written)]}), reason));
        got["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"].clone()
    };
    for written in ["```\n{\"p\": 1}\n```", "{'p': 1}", "{\"p\": 1,}", "{\"p\": 1}]"] {
        assert_eq!(argued(written, "tool_calls"), "{\"p\": 1}", "{written}");
        assert_eq!(argued(written, "length"), *written, "it may have been cut there");
    }
    assert_eq!(argued("{\"p\": \"rm", "tool_calls"), "{\"p\": \"rm", "nothing is made up");
    let piece = |text: &str| {
        let call = json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": text}});
        json!({"id": "c", "choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}).to_string()
    };
    let pieces = ["{\"p\"", "{\"p\": \"{", "{\"p\": \"{}\"", "{\"p\": \"{}\"}", "{\"p\": \"{}\"}"].map(piece);
    let end = r#"{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#;
    let lines: Vec<&str> = pieces.iter().map(String::as_str).chain([end, "[DONE]"]).collect();
    let deltas = relayed(&streaming(Protocol::Chat, false), &data(&lines), 2).deltas();
    let calls = deltas.iter().filter_map(|delta| delta["tool_calls"].get(0));
    let joined: String = calls.filter_map(|call| call["function"]["arguments"].as_str()).collect();
    assert_eq!(joined, "{\"p\": \"{}\"}");
}

/// Without it a client whose types are strict refuses the answer for a member that nobody reads.
#[test]
fn what_each_answer_has_is_there_and_of_its_type() {
    for odd in [
        json!({"id": null, "object": null, "created": null}),
        json!({"created": "1", "id": {}}),
        json!({"created": 1.5}),
    ] {
        let with = |mut given: Value| {
            odd.as_object().expect("members").iter().for_each(|(name, value)| given[name] = value.clone());
            given
        };
        let is_whole =
            |got: &Value| got["id"].is_string() && got["object"].is_string() && got["created"].is_u64();
        let got = read(Protocol::Chat, &with(whole(json!({"role": "assistant", "content": "a"}), "stop")));
        assert!(is_whole(&got), "{got}");
        let chunk = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": {"role": "assistant", "content": "a"}, "finish_reason": "stop"}]});
        let events = data(&[&with(chunk).to_string()[..], "[DONE]"]);
        let heard = streamed(Protocol::Chat, &events);
        assert!(is_whole(&heard.chunks()[0]), "{odd} {:?}", heard.chunks());
    }
}

/// Without it an answer is a success without its text, or fails for one number that its server could not write.
#[test]
fn no_text_is_lost_for_the_form_of_its_part_or_of_a_number() {
    let parts = json!([{"type": "text", "text": {"value": "Hello", "annotations": []}}]);
    let got = read(Protocol::Chat, &whole(json!({"role": "assistant", "content": parts}), "stop"));
    assert_eq!(got["choices"][0]["message"]["content"], "Hello");
    for content in [
        json!({"type": "text", "text": "Hello"}),
        json!(["Hello"]),
        json!([{"type": "output_text", "text": "Hello"}]),
        json!([{"text": "Hello"}]),
        json!([{"type": "text", "text": ["Hello"]}]),
    ] {
        let message = json!({"type": "message", "model": "m", "content": content, "stop_reason": "end_turn"});
        let got = read(Protocol::Messages, &message);
        assert_eq!(got["choices"][0]["message"]["content"], "Hello", "{content}");
    }
    let odd = r#"{"choices":[{"message":{"content":"NaN"},"logprobs":{"content":[{"token":"a","logprob":-Infinity}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":NaN,"completion_tokens":3}}"#;
    let answered = answer(Protocol::Chat, 200, odd).expect("an answer");
    let got: Value = serde_json::from_str(&answered.body).expect("JSON");
    assert_eq!(
        (&got["choices"][0]["message"]["content"], answered.usage.map(|usage| usage.output)),
        (&json!("NaN"), Some(3))
    );
    let events = data(&[
        r#"{"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":"NaN"},"logprobs":{"content":[{"token":"a","logprob":-Infinity}]}}]}"#,
        r#"{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":Infinity,"completion_tokens":3}}"#,
        "[DONE]",
    ]);
    let heard = streamed(Protocol::Chat, &events);
    assert_eq!(
        (heard.deltas()[0]["content"].as_str(), heard.usage.map(|usage| usage.output)),
        (Some("NaN"), Some(3))
    );
}

/// Without it clients show what a model thinks as its answer.
#[test]
fn thinking_in_a_text_is_thinking() {
    let got = read(
        Protocol::Chat,
        &whole(json!({"role": "assistant", "content": "<think>\nhm</think>\n\nHello"}), "stop"),
    );
    let message = &got["choices"][0]["message"];
    assert_eq!((&message["content"], &message["reasoning_content"]), (&json!("Hello"), &json!("\nhm")));
    let events = data(&[
        r#"{"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
        r#"{"id":"c","choices":[{"index":0,"delta":{"content":"<thi"}}]}"#,
        r#"{"id":"c","choices":[{"index":0,"delta":{"content":"nk>hm</th"}}]}"#,
        r#"{"id":"c","choices":[{"index":0,"delta":{"content":"ink>\nHel"}}]}"#,
        r#"{"id":"c","choices":[{"index":0,"delta":{"content":"lo"}}]}"#,
        r#"{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
        "[DONE]",
    ]);
    for size in [1, 7] {
        let deltas = relayed(&streaming(Protocol::Chat, false), &events, size).deltas();
        let joined = |name: &str| deltas.iter().filter_map(|delta| delta[name].as_str()).collect::<String>();
        assert_eq!((joined("content"), joined("reasoning_content")), ("Hello".to_owned(), "hm".to_owned()));
    }
    let call =
        json!({"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let calling = json!({"role": "assistant", "content": "<think>hm</think>Hello", "tool_calls": [call]});
    let message = &read(Protocol::Chat, &whole(calling.clone(), "tool_calls"))["choices"][0]["message"];
    let chunk =
        json!({"id": "c", "choices": [{"index": 0, "delta": calling, "finish_reason": null}]}).to_string();
    let end = r#"{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#;
    let deltas = streamed(Protocol::Chat, &data(&[&chunk[..], end, "[DONE]"])).deltas();
    for said in [message, &deltas[0]] {
        let texts = (&said["content"], &said["reasoning_content"]);
        assert_eq!(texts, (&json!("Hello"), &json!("hm")), "{said}");
        assert_eq!(said["tool_calls"][0]["function"]["name"], "f", "{said}");
    }
}

/// Without it an answer of 200 that is an error hides what it is about, and asks for the same account again.
#[test]
fn an_error_in_place_of_an_answer_is_read() {
    let stream = streaming(Protocol::Chat, false);
    for (body, obstacle) in [
        (r#"{"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}"#, Obstacle::Account),
        (
            r#"{"choices":null,"base_resp":{"status_code":1002,"status_msg":"rate limit"}}"#,
            Obstacle::RateLimited,
        ),
        (
            r#"{"base_resp":{"status_code":1039,"status_msg":"context window exceeds limit"}}"#,
            Obstacle::TooLong,
        ),
        (r#"{"code":"InvalidApiKey","message":"Invalid API-key provided."}"#, Obstacle::Account),
        (r#"{"message":"Too many requests, please wait before trying again."}"#, Obstacle::RateLimited),
        (r#"{"code":500,"msg":"404 NOT_FOUND","success":false}"#, Obstacle::Upstream),
    ] {
        let failure = answer(Protocol::Chat, 200, body).expect_err("an error");
        assert_eq!(failure.obstacle, obstacle, "{body}");
        let stopped = relayed(&stream, &data(&[body]), 1).stopped;
        assert_eq!(stopped.map(|failure| failure.obstacle), Some(obstacle), "{body}");
    }
    for none in ["\"\"", "{}", "false", "null"] {
        let body = format!(r#"{{"error":{none},"choices":[{{"message":{{"content":"a"}}}}]}}"#);
        assert!(answer(Protocol::Chat, 200, &body).is_ok(), "{body}");
    }
}

/// Without it an agent waits for a call that is not there, a whole answer ends as an error, and counts are missing.
#[test]
fn an_end_is_what_the_answer_shows() {
    let text = json!({"role": "assistant", "content": "a"});
    assert_eq!(
        read(Protocol::Chat, &whole(text.clone(), "tool_calls"))["choices"][0]["finish_reason"],
        "stop"
    );
    let message = json!({"type": "message", "model": "m", "content": [{"type": "text", "text": "a"}], "stop_reason": "tool_use"});
    assert_eq!(read(Protocol::Messages, &message)["choices"][0]["finish_reason"], "stop");
    let last = |lines: &[&str]| {
        let deltas = streamed(Protocol::Chat, &data(lines)).deltas();
        deltas.last().expect("an end")["finish"].clone()
    };
    let said = r#"{"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":"a"}}]}"#;
    let wrong = r#"{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#;
    assert_eq!(last(&[said, wrong, "[DONE]"]), "stop");
    assert_eq!(last(&[said, "[DONE]"]), "stop");
    assert!(streamed(Protocol::Chat, &data(&[said])).stopped.is_some(), "a broken stream has not ended");
    let events = named(&[
        json!({"type": "message_start", "message": {"id": "msg_1", "usage": {"input_tokens": 1, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "a"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_stop"}),
    ]);
    let deltas = streamed(Protocol::Messages, &events).deltas();
    assert_eq!(deltas.last().expect("an end")["finish"], "stop");

    let mut counted = whole(text, "stop");
    counted["usage"] = json!({"prompt_tokens": 7, "total_tokens": 9});
    assert_eq!(
        read(Protocol::Chat, &counted)["usage"],
        json!({"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9})
    );
    let fields = json!({"stream": true, "stream_options": {"include_usage": true}});
    let events = data(&[
        said,
        r#"{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
        r#"{"id":"c","choices":[],"usage":{"prompt_tokens":7}}"#,
        "[DONE]",
    ]);
    let chunks = relayed(&state(Protocol::Chat, fields), &events, 1).chunks();
    assert_eq!(
        chunks.last().expect("counts")["usage"],
        json!({"prompt_tokens": 7, "completion_tokens": 0, "total_tokens": 7})
    );
}

/// Without it one answer that was cut makes every further turn a 400.
#[test]
fn a_history_of_any_calls_is_one_that_a_messages_provider_takes() {
    let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "y"});
    let messages = json!([
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": " ", "tool_calls": [call("functions.f:0", "a.b", r#"{"a": "b"#), call("functions.f_0", "f", "[1]")]},
        result("functions.f:0"), result("functions.f_0"),
        {"role": "user", "content": [{"type": "text", "text": " "}, {"type": "text", "text": "z"}]},
    ]);
    let tools = json!([{"type": "function", "function": {"name": "a.b"}}]);
    let fields = json!({"messages": messages, "tools": tools});
    let got = sent(Protocol::Messages, json!({}), fields.clone());
    let blocks = got["messages"][1]["content"].as_array().expect("blocks");
    assert_eq!(blocks.len(), 2, "a blank text is left out: {blocks:?}");
    assert_eq!(
        (&blocks[0]["input"], &blocks[1]["input"]),
        (&json!({"a": "b"}), &json!({"arguments": "[1]"}))
    );
    let results = got["messages"][2]["content"].as_array().expect("blocks");
    assert_eq!(
        (&blocks[0]["id"], &blocks[1]["id"]),
        (&results[0]["tool_use_id"], &results[1]["tool_use_id"])
    );
    assert_ne!(blocks[0]["id"], blocks[1]["id"]);
    assert_eq!(results.len(), 3, "{results:?}");
    let name = got["tools"][0]["name"].as_str().expect("a name");
    assert!(blocks[0]["name"] == name && !name.contains('.'), "{name}");
    let state = prepared(asked(Protocol::Messages, json!({}), fields)).state;
    let message = json!({"type": "message", "model": "m", "content": [{"type": "tool_use", "id": "t", "name": name, "input": {}}], "stop_reason": "tool_use"});
    let answered = both().answer::<chat::Chat>(&state, &reply(200, &message.to_string())).expect("an answer");
    assert!(answered.body.contains(r#""name":"a.b""#), "{}", answered.body);
}

/// Without it a conversation is refused on every further turn, for what its client, or the model, once left out.
#[test]
fn a_history_that_lacks_something_goes_on() {
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let called = |calls: Value| json!({"role": "assistant", "content": null, "tool_calls": calls});
    let result = |id: &str, text: &str| json!({"role": "tool", "tool_call_id": id, "content": text});
    let user = |text: &str| json!({"role": "user", "content": text});
    let given = |id: &str, text: &str| json!({"type": "tool_result", "tool_use_id": id, "content": text});
    let said = |text: &str| json!({"type": "text", "text": text});
    for (follows, expected) in [
        (vec![called(json!([call("a")])), user("y")], vec![given("a", "(no result)"), said("y")]),
        (vec![called(json!([call("a")])), user("y"), result("a", "r")], vec![given("a", "r"), said("y")]),
        (
            vec![called(json!([call("a")])), result("a", "r"), result("a", "s")],
            vec![given("a", "r"), said("Result of an earlier tool call: s")],
        ),
        (
            vec![called(json!([call("a"), call("a")])), result("a", "r"), result("a", "s")],
            vec![given("a", "r"), given("a_2", "s")],
        ),
        (
            vec![called(json!([call("a")])), result("a", "r"), called(json!([call("a")])), result("a", "s")],
            vec![given("a_2", "s")],
        ),
        (
            vec![
                called(json!([call("a"), call("b")])),
                result("b", "s"),
                json!({"role": "assistant", "content": "z"}),
                user("y"),
            ],
            vec![said("y")],
        ),
    ] {
        let messages = [vec![user("x")], follows].concat();
        let got = sent(Protocol::Messages, json!({}), json!({"messages": messages}));
        let last = got["messages"].as_array().and_then(|all| all.last().cloned()).expect("a message");
        assert_eq!(last, json!({"role": "user", "content": expected}), "{messages:?}");
    }
    let lost = sent(Protocol::Messages, json!({}), json!({"messages": [user("x"), result("a", "r")]}));
    assert_eq!(lost["messages"][0]["content"], json!([said("x"), said("Result of an earlier tool call: r")]));
    // Silent messages are left out, and arguments that are an object are in the form that every chat provider takes.
    let messages = json!([
        user("x"), {"role": "assistant", "content": null, "refusal": null, "annotations": []}, {"role": "assistant", "content": [], "tool_calls": []},
        called(json!([{"id": "a", "function": {"name": "f", "arguments": {"p": 1}}}])), {"role": "tool", "tool_call_id": "a", "content": null},
    ]);
    let got = sent(Protocol::Chat, json!({}), json!({"messages": messages}));
    let function = json!({"name": "f", "arguments": "{\"p\":1}"});
    let expected = json!([
        user("x"), called(json!([{"id": "a", "type": "function", "function": function}])),
        {"role": "tool", "tool_call_id": "a", "content": ""},
    ]);
    assert_eq!(got["messages"], expected);
}

/// Without it a provider refuses what other servers take: a picture by its address alone or in the result of a tool, a stop
/// that says nothing, another word for a choice, a user by an address.
#[test]
fn fields_are_written_as_the_provider_takes_them() {
    let png = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUg==";
    let call = json!({"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let messages = json!([
        {"role": "user", "content": [{"type": "image_url", "image_url": png}]},
        {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": [{"type": "image_url", "image_url": {"url": png}}]},
    ]);
    let tools = json!([{"type": "function", "function": {"name": "f"}}]);
    let fields = json!({"messages": messages, "tools": tools, "tool_choice": "any", "stop": ["", " "], "user": "a@b.example"});
    let got = sent(Protocol::Messages, json!({}), fields.clone());
    let source = json!({"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgoAAAANSUhEUg=="});
    assert_eq!(got["messages"][0]["content"][0]["source"], source);
    assert_eq!(got["messages"][2]["content"][0]["content"][0]["source"], source);
    assert_eq!(got["tool_choice"]["type"], "any");
    assert!(got["stop_sequences"].is_null() && got["metadata"].is_null(), "{got}");
    let got = sent(Protocol::Chat, json!({}), fields);
    assert_eq!(got["messages"][0]["content"][0]["image_url"], json!({"url": png}));
    assert_eq!((&got["tool_choice"], &got["user"]), (&json!("required"), &json!("a@b.example")));
    assert!(sent(Protocol::Chat, json!({}), json!({"stop": []}))["stop"].is_null());
}

/// Without it a prefilled text comes twice, or is a 400, for clients of this protocol.
#[test]
fn a_final_message_of_the_model_is_gone_on_from() {
    let fields = json!({"stream": true, "messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "{\"a\": "}]});
    let got = sent(Protocol::Messages, json!({}), fields.clone());
    let last = &got["messages"][0]["content"];
    assert_eq!(
        (got["messages"].as_array().map(Vec::len), last.as_array().map(Vec::len)),
        (Some(1), Some(2)),
        "{got}"
    );
    assert!(
        last[1]["text"].as_str().is_some_and(|told| told.contains("Begin your reply with exactly this text"))
    );
    let native = sent(Protocol::Messages, json!({"prefill": "native"}), fields.clone());
    assert_eq!(native["messages"][1]["content"], json!([{"type": "text", "text": "{\"a\":"}]));
    let state = prepared(asked(Protocol::Messages, json!({}), fields)).state;
    let message = json!({"type": "message", "model": "m", "content": [{"type": "text", "text": "{\"a\": 1}"}], "stop_reason": "end_turn"});
    let answered = both().answer::<chat::Chat>(&state, &reply(200, &message.to_string())).expect("an answer");
    assert!(answered.body.contains(r#""content":"1}""#), "{}", answered.body);
    let events = named(&[
        json!({"type": "message_start", "message": {"id": "msg_1"}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "{\"a\""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": ": 1}"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
        json!({"type": "message_stop"}),
    ]);
    let text: String =
        relayed(&state, &events, 2).deltas().iter().filter_map(|it| it["content"].as_str()).collect();
    assert_eq!(text, "1}");
}

/// Without it a strict client fails at a server's own word for the end of an answer, and one that was broken off is a success.
#[test]
fn an_end_is_told_in_the_words_of_the_protocol() {
    let text = || json!({"role": "assistant", "content": "a"});
    for (reason, expected) in [
        ("eos", Some("stop")),
        ("STOP", Some("stop")),
        ("MAX_TOKENS", Some("length")),
        ("model_length", Some("length")),
        ("SAFETY", Some("content_filter")),
        ("sensitive", Some("content_filter")),
        ("insufficient_system_resource", None),
        ("network_error", None),
        ("error", None),
        ("function_call_filter: MALFORMED_FUNCTION_CALL", None),
    ] {
        let answered = answer(Protocol::Chat, 200, &whole(text(), reason).to_string());
        let lines = [
            r#"{"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":"a"}}]}"#.to_owned(),
            json!({"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}).to_string(),
            "[DONE]".to_owned(),
        ];
        let heard = streamed(Protocol::Chat, &data(&lines));
        match expected {
            Some(expected) => {
                let body: Value = serde_json::from_str(&answered.expect("an answer").body).expect("JSON");
                assert_eq!(body["choices"][0]["finish_reason"], expected, "{reason}");
                assert_eq!(heard.chunks().last().expect("a chunk")["choices"][0]["finish_reason"], expected);
            }
            None => {
                assert_eq!(answered.expect_err("a failure").obstacle, Obstacle::Upstream, "{reason}");
                assert_eq!(heard.stopped.map(|it| it.obstacle), Some(Obstacle::Upstream), "{reason}");
            }
        }
    }
}

/// A server between tells the failure of the one behind it in the choice.
#[test]
fn a_failure_in_a_choice_is_no_empty_answer() {
    let error = json!({"code": 502, "message": "Upstream error", "metadata": {"provider_name": "P"}});
    let mut body = whole(json!({"role": "assistant", "content": ""}), "stop");
    body["choices"][0]["error"] = error.clone();
    assert_eq!(
        answer(Protocol::Chat, 200, &body.to_string()).expect_err("a failure").obstacle,
        Obstacle::Upstream
    );
    let chunk = json!({"id": "c", "choices": [{"index": 0, "delta": {"content": ""}, "error": error, "finish_reason": "stop"}]});
    let heard = streamed(Protocol::Chat, &data(&[&chunk.to_string()[..], "[DONE]"]));
    assert_eq!(heard.stopped.map(|it| it.obstacle), Some(Obstacle::Upstream));
}

/// Without it clients that parse arguments fail at a call that has none.
#[test]
fn a_call_without_arguments_has_the_empty_object() {
    let call = |arguments: Value| json!({"id": "a", "type": "function", "function": {"name": "f", "arguments": arguments}});
    for arguments in [json!(""), json!(" "), Value::Null, json!({})] {
        let message = json!({"role": "assistant", "content": null, "tool_calls": [call(arguments.clone())]});
        let got = read(Protocol::Chat, &whole(message, "tool_calls"));
        assert_eq!(
            got["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"], "{}",
            "{arguments}"
        );
        let begun = json!({"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": arguments}});
        let end = |delta: Value, reason: Value| json!({"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
        // Some servers call the end of a call a stop, or give no reason.
        for last in [
            end(json!({}), json!("tool_calls")),
            end(json!({"content": ""}), json!("tool_calls")),
            end(json!({}), json!("stop")),
            end(json!({"content": ""}), json!("stop")),
            end(json!({"content": ""}), Value::Null),
        ] {
            let lines = [
                json!({"id": "c", "choices": [{"index": 0, "delta": {"role": "assistant", "tool_calls": [begun]}}]}).to_string(),
                last.to_string(),
                "[DONE]".to_owned(),
            ];
            let deltas = streamed(Protocol::Chat, &data(&lines)).deltas();
            let delta = |it: &Value| it.get("finish").map_or_else(|| it.clone(), |_| it["delta"].clone());
            let deltas: Vec<Value> = deltas.iter().map(delta).collect();
            let calls = deltas.iter().filter_map(|delta| delta["tool_calls"].get(0));
            let joined: String = calls.filter_map(|call| call["function"]["arguments"].as_str()).collect();
            assert_eq!(joined.trim(), "{}", "{arguments}, {last}");
        }
    }
}
