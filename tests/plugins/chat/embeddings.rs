//! The surface of embeddings: requests and answers, natively and as the component.

use std::collections::BTreeSet;

use chat::{Chat, EMBEDDINGS};
use gatehouse_sdk::{
    Answered, Body, Call, Family as _, Obstacle, Payload, Prepared, Protocol, Refusal, TextFailure,
    TextRequest, Usage,
};
use serde_json::{Value, json};

use crate::chat::{MODEL, UPSTREAM, both, reply, written_to};

/// Three numbers, in both encodings.
const FLOATS: &str = "[0.5,-1.0,0.1]";
const BASE64: &str = r#""AAAAPwAAgL/NzMw9""#;

fn written(rules: Value, body: &str) -> TextRequest {
    written_to(EMBEDDINGS, Protocol::Chat, rules, &body)
}

/// A request with `fields` over a good one.
fn asked(rules: Value, fields: &Value) -> TextRequest {
    let body = crate::over(json!({"model": MODEL, "input": "a kite"}), fields.clone());
    written(rules, &body.to_string())
}

fn prepared(rules: Value, fields: &Value) -> Prepared<Vec<u8>> {
    crate::chat::prepared(asked(rules, fields))
}

fn refused(fields: &Value) -> (String, String) {
    crate::chat::refusal(asked(json!({}), fields))
}

fn text_of(call: &Call) -> String {
    match &call.body {
        Payload::Raw(raw) => match &raw.data {
            Body::Inline(bytes) if raw.mime == "application/json" => {
                String::from_utf8(bytes.clone()).expect("JSON")
            }
            _ => panic!("{raw:?}"),
        },
        other => panic!("{other:?}"),
    }
}

fn answered(fields: &Value, status: u16, body: &str) -> Result<Answered, TextFailure> {
    both().answer::<Chat>(&prepared(json!({}), fields).state, &reply(status, body))
}

#[test]
fn a_request_keeps_its_bytes_but_for_the_model() {
    let body = r#"{"input": ["a \u006bite", " "], "model":"lm-alias","encoding_format":"base64","x_new":[1.50],"user":null,"dimensions": 8}"#;
    let unknown = both().prepare::<Chat>(&written(json!({}), body));
    assert!(matches!(unknown, Err(Refusal::Invalid { field: Some(field), .. }) if field == "x_new"));
    let prepared = both().prepare::<Chat>(&written(json!({"pass": ["x_new"]}), body)).expect("accepted");
    assert_eq!(
        text_of(&prepared.call),
        r#"{"input":["a \u006bite", " "],"model":"provider-sonnet-1","x_new":[1.50],"dimensions":8,"encoding_format":"base64"}"#
    );
    assert_eq!(prepared.call.provider, "p");
    assert_eq!((prepared.streaming, prepared.pictures, prepared.max_output_tokens), (false, 0, 0));
    assert_eq!(prepared.input_bytes, 7 + 6);
}

#[test]
fn every_form_of_input_is_counted() {
    for (input, bytes, vectors) in [
        (json!("a kite"), 6, 1),
        (json!("\u{e9}"), 2, 1),
        (json!(["a", "kite"]), 5, 2),
        (json!([1, 2, 3]), 12, 1),
        (json!([[1, 2], [3]]), 12, 2),
        // The name of a file of a request is a text here.
        (json!("blob:0123456789abcdefghjkmnpqrs"), 31, 1),
    ] {
        let prepared = prepared(json!({}), &json!({"input": input}));
        assert_eq!(prepared.input_bytes, bytes, "{input}");
        let sent: Value = serde_json::from_str(&text_of(&prepared.call)).expect("JSON");
        assert_eq!(sent, json!({"input": input, "model": UPSTREAM}));
        let vector = r#"{"object":"embedding","index":0,"embedding":[0.5]}"#;
        for given in 1..=3 {
            let body = format!(r#"{{"data":[{}]}}"#, vec![vector; given].join(","));
            let found = both().answer::<Chat>(&prepared.state, &reply(200, &body));
            assert_eq!(found.is_ok(), given == vectors, "{input}: {given}");
        }
    }
}

#[test]
fn a_wrong_field_is_named() {
    let forms = "expected a text, an array of texts, an array of tokens, or an array of such arrays";
    for (fields, field, expected) in [
        (json!({"model": null}), "model", "expected a string"),
        (json!({"model": 7}), "model", "expected a string, got 7"),
        (json!({"input": null}), "input", forms),
        (json!({"input": {"text": "x"}}), "input", forms),
        (json!({"input": 7}), "input", forms),
        (json!({"input": ""}), "input", "a string that is not empty"),
        (json!({"input": []}), "input", "at least one text or token"),
        (json!({"input": ["a", ""]}), "input[1]", "a string that is not empty"),
        (json!({"input": ["a", 7]}), "input[1]", "expected a string, got 7"),
        (json!({"input": [1, "a"]}), "input[1]", "expected an integer"),
        (json!({"input": [1, -1]}), "input[1]", "from 0 to"),
        (json!({"input": [[1], []]}), "input[1]", "at least one token"),
        (json!({"input": [[1], 2]}), "input[1]", "an array of tokens"),
        (json!({"input": [[1, 2.5]]}), "input[0][1]", "expected an integer"),
        (json!({"encoding_format": "hex"}), "encoding_format", "`float` or `base64`"),
        (json!({"dimensions": 0}), "dimensions", "from 1 to"),
        (json!({"dimensions": "8"}), "dimensions", "expected an integer"),
        (json!({"user": 7}), "user", "expected a string"),
    ] {
        let (named, message) = refused(&fields);
        assert_eq!(named, field, "{message}");
        assert!(message.contains(expected), "{fields}: {message}");
    }
    let twice = written(json!({}), r#"{"model":"m","input":"a","input":"b"}"#);
    assert!(
        matches!(both().prepare::<Chat>(&twice), Err(Refusal::Invalid { field: Some(field), .. }) if field == "input")
    );
    let list = written(json!({}), "[]");
    assert!(matches!(both().prepare::<Chat>(&list), Err(Refusal::Invalid { field: None, .. })));
}

/// Every published field is checked, and what is published as required is.
#[test]
fn every_published_field_is_checked() {
    let surface =
        Chat::about().surfaces.into_iter().find(|surface| surface.name == EMBEDDINGS).expect("published");
    let schema = surface.parsed_schema();
    let fields: BTreeSet<&str> =
        schema["properties"].as_object().expect("properties").keys().map(String::as_str).collect();
    assert_eq!(fields, BTreeSet::from(["dimensions", "encoding_format", "input", "model", "user"]));
    for field in fields {
        assert_eq!(refused(&json!({field: {"x": 1}})).0, field);
    }
    assert_eq!(schema["required"], json!(["model", "input"]));
}

#[test]
fn an_answer_keeps_its_bytes_but_for_the_model() {
    let given = format!(
        r#"{{"object":"list","data":[{{"object":"embedding","index":0,"embedding":{FLOATS},"x":1.50}}],"model":"{UPSTREAM}","usage":{{"prompt_tokens":3,"total_tokens":3}},"x_new":[1.50]}}"#
    );
    let answered = answered(&json!({}), 200, &given).expect("an answer");
    assert_eq!(answered.body, given.replace(UPSTREAM, MODEL));
    assert_eq!(answered.usage, Some(Usage { input: 3, ..Usage::default() }));
    assert_eq!(answered.output_bytes, 0);
    // A server that leaves out what every client expects, and counts nothing.
    let bare = format!(r#"{{"data":[{{"embedding":{FLOATS}}}],"usage":{{"prompt_tokens":0}}}}"#);
    let answered = self::answered(&json!({}), 200, &bare).expect("an answer");
    let body: Value = serde_json::from_str(&answered.body).expect("JSON");
    assert_eq!((&body["object"], &body["model"]), (&json!("list"), &json!(MODEL)));
    assert_eq!(answered.usage, None);
    let total = format!(r#"{{"data":[{{"embedding":{FLOATS}}}],"usage":{{"total_tokens":5}}}}"#);
    let usage = self::answered(&json!({}), 200, &total).expect("an answer").usage;
    assert_eq!(usage.map(|usage| usage.input), Some(5));
}

#[test]
fn vectors_come_in_the_encoding_that_was_asked_for() {
    for (fields, expected) in [
        (json!({}), FLOATS),
        (json!({"encoding_format": "float"}), FLOATS),
        (json!({"encoding_format": "base64"}), BASE64),
    ] {
        for given in [FLOATS, BASE64] {
            let body = format!(r#"{{"data":[{{"index":0,"embedding":{given},"object":"embedding"}}]}}"#);
            let answered = answered(&fields, 200, &body).expect("an answer");
            let item = format!(r#"{{"index":0,"embedding":{expected},"object":"embedding"}}"#);
            assert!(answered.body.contains(&item), "{fields} {given}: {}", answered.body);
        }
    }
}

#[test]
fn an_operator_may_fix_the_encoding_of_a_provider() {
    let rules = json!({"encoding_format": "float"});
    for encoding in ["float", "base64"] {
        let prepared = prepared(rules.clone(), &json!({"encoding_format": encoding}));
        let sent: Value = serde_json::from_str(&text_of(&prepared.call)).expect("JSON");
        assert_eq!(sent["encoding_format"], "float");
        let body = format!(r#"{{"data":[{{"embedding":{FLOATS}}}]}}"#);
        let answered = both().answer::<Chat>(&prepared.state, &reply(200, &body)).expect("an answer");
        assert!(answered.body.contains(if encoding == "float" { FLOATS } else { BASE64 }));
    }
}

#[test]
fn an_answer_that_makes_no_sense_is_the_providers_failure() {
    for body in [
        "",
        "[]",
        "{}",
        r#"{"data":{}}"#,
        r#"{"data":[]}"#,
        r#"{"data":[7]}"#,
        r#"{"data":[{"embedding":null}]}"#,
        r#"{"data":[{"embedding":{}}]}"#,
        r#"{"data":[{"embedding":"AAAA"}]}"#,
    ] {
        let failure = answered(&json!({}), 200, body).expect_err("a failure");
        assert_eq!(failure.obstacle, Obstacle::Upstream, "{body}: {}", failure.message);
    }
    let hidden = json!({"error": {"message": "Incorrect API key provided: sk-abcdefgh.", "type": "x", "code": "invalid_api_key"}});
    for (status, body, obstacle, message) in [
        (401, hidden.to_string(), Obstacle::Account, "No available upstream, please retry later"),
        (200, hidden.to_string(), Obstacle::Account, "No available upstream, please retry later"),
        (
            400,
            json!({"error": {"message": format!("{UPSTREAM}: too long"), "type": "invalid_request_error"}})
                .to_string(),
            Obstacle::Invalid,
            "lm-sonnet: too long",
        ),
        (429, "{}".to_owned(), Obstacle::RateLimited, "the provider takes no more requests for now"),
        (503, "<html>".to_owned(), Obstacle::Upstream, "the provider failed (HTTP 503)"),
    ] {
        let failure = answered(&json!({}), status, &body).expect_err("a failure");
        assert_eq!((failure.obstacle, failure.message.as_str()), (obstacle, message), "{status} {body}");
    }
}

/// Without it the vectors of a server with other names for its counts are charged by a guess, and their client cannot read them.
#[test]
fn what_was_read_is_paid_and_shown_in_every_spelling() {
    for members in [
        json!({"usage": {"prompt_tokens": 8, "total_tokens": 8}}),
        json!({"usage": {"prompt_tokens": 0, "total_tokens": 8}}),
        json!({"usage": {"prompt_tokens": "8", "total_tokens": 8.0}}),
        json!({"usage": {"prompt_tokens": 6, "completion_tokens": 2}}),
        json!({"usage": {"input_tokens": 8}}),
        json!({"usage": {"promptTokens": 8}}),
        json!({"meta": {"billed_units": {"input_tokens": 8}}}),
        json!({"usageMetadata": {"promptTokenCount": 8}}),
    ] {
        let body = json!({"object": "list", "data": [{"object": "embedding", "index": 0, "embedding": [0.5]}], "model": "m"});
        let body = crate::over(body, members.clone());
        let found = answered(&json!({}), 200, &body.to_string()).expect("an answer");
        assert_eq!(found.usage, Some(Usage { input: 8, ..Usage::default() }), "{members}");
        let shown: Value = serde_json::from_str(&found.body).expect("JSON");
        assert_eq!(
            (&shown["usage"]["prompt_tokens"], &shown["usage"]["total_tokens"]),
            (&json!(8), &json!(8)),
            "{members}"
        );
    }
}
