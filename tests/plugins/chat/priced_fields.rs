//! Fields that cost more than their tokens, or that nobody knows: a client chooses them, and the operator would pay.

use chat::RESPONSES;
use gatehouse_sdk::{Facts, MediaKind, Protocol};
use serde_json::{Value, json};

use crate::chat::{asked, prepared, refusal, sent, written, written_to};

fn passing(fields: &[&str]) -> Value {
    json!({"pass": fields})
}

/// Without it a client takes searches, sounds and other models at the operator's cost.
#[test]
fn what_has_a_price_of_its_own_is_refused_unless_it_is_passed() {
    for (field, value) in [
        ("web_search_options", json!({"search_context_size": "high"})),
        ("audio", json!({"voice": "alloy", "format": "wav"})),
        ("modalities", json!(["text", "audio"])),
        ("models", json!(["expensive"])),
        ("plugins", json!([{"id": "web"}])),
        ("provider", json!({"order": ["dear"]})),
        ("search_parameters", json!({"mode": "on"})),
        ("enable_search", json!(true)),
        ("best_of", json!(20)),
        ("documents", json!([{"text": "long"}])),
        ("x_new", json!(1)),
    ] {
        let (named, said) = refusal(asked(Protocol::Chat, json!({}), json!({field: value})));
        assert_eq!(named, field);
        assert!(said.contains("expected nothing, this model does not take the field, got"), "{said}");
        let sent = sent(Protocol::Chat, passing(&[field]), json!({field: value}));
        assert_eq!(sent[field], value);
    }
    for (field, value) in
        [("modalities", json!(["text"])), ("store", json!(false)), ("top_k", json!(5)), ("seed", json!(1))]
    {
        assert_eq!(sent(Protocol::Chat, json!({}), json!({field: value}))[field], value);
    }
    assert_eq!(sent(Protocol::Chat, json!({}), json!({"models": null})).get("models"), None);
    // A list of the operator's replaces the default one.
    refusal(asked(Protocol::Chat, passing(&["min_p"]), json!({"top_k": 5})));
}

/// Without it a request for priority is served at twice the price and charged once.
#[test]
fn hints_are_left_out_unless_they_are_passed() {
    for (field, value) in [
        ("service_tier", json!("priority")),
        ("service_tier", json!("auto")),
        ("store", json!(true)),
        ("metadata", json!({"Model": "free words"})),
    ] {
        assert_eq!(sent(Protocol::Chat, json!({}), json!({field: value})).get(field), None);
        assert_eq!(sent(Protocol::Chat, passing(&[field]), json!({field: value}))[field], value);
    }
    let sent = |rules: Value| {
        let body = json!({"model": "m", "input": "hi", "service_tier": "priority"});
        let prepared = prepared(written_to(RESPONSES, Protocol::Chat, rules, &body));
        prepared.call.json_body().get("service_tier").cloned()
    };
    assert_eq!((sent(json!({})), sent(passing(&["service_tier"]))), (None, Some(json!("priority"))));
}

/// Without it a server that does not tell cases apart reads another model, cap or text than the one that was priced.
#[test]
fn a_known_name_in_another_case_is_refused() {
    let message = r#"{"role":"user","content":"hi"}"#;
    for (body, path, known) in [
        (format!(r#"{{"model":"m","Model":"expensive","messages":[{message}]}}"#), "Model", "model"),
        (format!(r#"{{"model":"m","MAX_TOKENS":9000,"messages":[{message}]}}"#), "MAX_TOKENS", "max_tokens"),
        (
            format!("{{\"model\":\"m\",\"me\u{17f}sages\":[],\"messages\":[{message}]}}"),
            "me\u{17f}sages",
            "messages",
        ),
        (
            r#"{"model":"m","messages":[{"role":"user","content":"hi","Content":"long"}]}"#.to_owned(),
            "messages[0].Content",
            "content",
        ),
        (
            r#"{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a","Text":"b"}]}]}"#
                .to_owned(),
            "messages[0].content[0].Text",
            "text",
        ),
        (
            format!(
                r#"{{"model":"m","messages":[{message}],"stream":true,"stream_options":{{"Include_Usage":false}}}}"#
            ),
            "stream_options.Include_Usage",
            "include_usage",
        ),
    ] {
        for protocol in [Protocol::Chat, Protocol::Messages] {
            let (field, said) = refusal(written(protocol, json!({}), &body));
            assert_eq!(field, path);
            let name = path.rsplit('.').next().unwrap();
            assert_eq!(said, format!("`{path}`: expected the name `{known}`, got `{name}`"));
        }
    }
    // Names of the client's own may be written as it likes.
    let schema = json!({"type": "object", "properties": {"Name": {"type": "string"}}, "Title": "x"});
    let tools = json!([{"type": "function", "function": {"name": "f", "parameters": schema}}]);
    sent(Protocol::Chat, json!({}), json!({"tools": tools, "metadata": {"User": "x"}}));
}

/// Without it the hold does not cover what the model reads and writes, least of all a text that looks like a file, which the host
/// has cut out.
#[test]
fn everything_the_model_reads_is_counted() {
    const BLOB: &str = "blob:blob_01ARZ3NDEKTSV4RRFFQ69G5FAV";
    let facts = Facts { blob: Some(BLOB.into()), ..Facts::new(MediaKind::Other, "text/plain", 750) };
    counted(&"x".repeat(1000), None);
    counted(BLOB, Some(&facts));
}

/// A text of a thousand bytes counts wherever it stands.
fn counted(text: &str, cut: Option<&Facts>) {
    let asked = |fields: Value| {
        let mut request = asked(Protocol::Chat, json!({}), fields);
        request.blobs.extend(cut.cloned());
        prepared(request)
    };
    let plain = asked(json!({})).input_bytes;
    let schema =
        |described: Value| json!({"response_format": {"type": "json_schema", "json_schema": described}});
    for fields in [
        json!({"functions": [{"name": "f", "description": text}]}),
        json!({"tools": [{"type": "function", "function": {"name": "f", "description": text}}]}),
        schema(json!({"name": "n", "description": text})),
        schema(json!({"name": "n", "schema": {"title": text}})),
        json!({"chat_template_kwargs": {"a": text}}),
        json!({"messages": [{"role": "user", "content": "hi", "name": text}]}),
        json!({"messages": [{"role": "user", "content": "hi", "documents": [text]}]}),
        json!({"messages": [{"role": "assistant", "content": "hi", "refusal": text}]}),
        json!({"messages": [{"role": "assistant", "function_call": {"name": "f", "arguments": text}}]}),
        json!({"messages": [{"role": "assistant", "content": "hi", "reasoning_content": text}]}),
    ] {
        assert!(asked(fields.clone()).input_bytes - plain >= 998, "{fields}");
    }
    let predicted = json!({"max_tokens": 10, "prediction": {"type": "content", "content": text}});
    assert!(asked(predicted).max_output_tokens > 1010);
    let format = json!({"type": "json_schema", "name": "n", "schema": {}, "description": text});
    let body = json!({"model": "m", "input": "hi", "text": {"format": format}});
    let mut request = written_to(RESPONSES, Protocol::Chat, json!({}), &body);
    request.blobs.extend(cut.cloned());
    assert!(prepared(request).input_bytes > 1000);
}

/// Without it a client hears a sound of another customer of the same account.
#[test]
fn a_sound_of_an_earlier_answer_is_named_only_where_sounds_are_passed() {
    let fields = json!({"messages": [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "audio": {"id": "audio_1"}},
        {"role": "user", "content": "again"},
    ]});
    let (field, _) = refusal(asked(Protocol::Chat, json!({}), fields.clone()));
    assert_eq!(field, "messages[1].audio");
    sent(Protocol::Chat, passing(&["audio"]), fields);
}
