//! Log probabilities of tokens: from a chat provider through both endpoints, whole and streamed; a messages provider has none.

use gatehouse_harness::{run, with};
use serde_json::{Value, json};

use crate::text::responses::{BOTH, create, events, model, whole, words};
use crate::text::scene::{Scene, Wire, request};

const INCLUDE: &str = "message.output_text.logprobs";

/// The text of a list's tokens, each with so many alternatives.
fn tokens(entries: &Value, alternatives: usize) -> String {
    let entries = entries.as_array().unwrap_or_else(|| panic!("a list, not {entries}"));
    let token = |entry: &Value| {
        let token = entry["token"].as_str().expect("a token");
        assert!(entry["logprob"].as_f64().is_some_and(|logprob| logprob < 0.0), "{entry}");
        assert_eq!(entry["bytes"], json!(token.as_bytes()), "{entry}");
        assert_eq!(entry["top_logprobs"].as_array().map(Vec::len), Some(alternatives), "{entry}");
        token.to_owned()
    };
    entries.iter().map(token).collect()
}

#[test]
fn a_chat_completion_has_what_its_provider_says() {
    run(async {
        let scene = Scene::start("").await;
        for provider in BOTH {
            for streaming in [false, true] {
                let mut body = request(provider, "the keeper of the lighthouse", streaming);
                body["logprobs"] = json!(true);
                body["top_logprobs"] = json!(2);
                let answer = scene.send(Wire::Chat, &body).await.end().await;
                let (member, choices): (&str, Vec<Value>) = match streaming {
                    true => {
                        ("delta", answer.events().iter().map(|chunk| chunk["choices"][0].clone()).collect())
                    }
                    false => {
                        let answer: Value = serde_json::from_str(&answer.body).expect("JSON");
                        ("message", vec![answer["choices"][0].clone()])
                    }
                };
                let texts = choices.iter().filter(|choice| choice[member]["content"] != "");
                let texts: Vec<&Value> =
                    texts.filter(|choice| choice[member]["content"].is_string()).collect();
                assert!(!texts.is_empty(), "{answer:?}");
                for choice in texts {
                    let logprobs = &choice["logprobs"];
                    if provider == Wire::Chat {
                        assert_eq!(choice[member]["content"], tokens(&logprobs["content"], 2), "{choice}");
                    } else {
                        assert_eq!(*logprobs, Value::Null, "{choice}");
                    }
                }
            }
        }
        scene.gateway.expect_sound_ledger().await;
    });
}

#[test]
fn a_response_has_them_in_its_events_and_its_parts() {
    run(async {
        let scene = Scene::start("").await;
        let asked = |streaming: bool| json!({"model": model(Wire::Chat), "input": "the keeper of the lighthouse", "include": [INCLUDE], "top_logprobs": 3, "stream": streaming});
        let response = whole(&scene, &asked(false)).await;
        let part = &response["output"][0]["content"][0];
        assert_eq!((tokens(&part["logprobs"], 3), &response["top_logprobs"]), (words(&response), &json!(3)));

        let (_, text) = create(&scene, &asked(true)).await;
        let told = events(&text);
        for delta in told.iter().filter(|event| event["type"] == "response.output_text.delta") {
            assert_eq!(delta["delta"], tokens(&delta["logprobs"], 3), "{delta}");
        }
        let streamed = &told.last().expect("events")["response"];
        let done = told.iter().find(|event| event["type"] == "response.output_text.done").expect("an end");
        assert_eq!(done["logprobs"], streamed["output"][0]["content"][0]["logprobs"]);
        assert_eq!(tokens(&done["logprobs"], 3), words(streamed));

        // What is kept has them; the provider is not sent them back.
        let since = scene.record(Wire::Chat).count;
        let next =
            json!({"model": model(Wire::Chat), "input": "and then?", "previous_response_id": streamed["id"]});
        assert_eq!(whole(&scene, &next).await["output"][0]["content"][0]["logprobs"], json!([]));
        let record = scene.record(Wire::Chat);
        let sent = record.requests.iter().find(|request| request.number >= since).expect("a request");
        let sent = String::from_utf8_lossy(sent.body.as_deref().expect("a body")).into_owned();
        assert!(sent.contains("lighthouse") && !sent.contains("logprob"), "{sent}");

        for (fields, param) in
            [(json!({"include": [INCLUDE]}), "include[0]"), (json!({"top_logprobs": 1}), "top_logprobs")]
        {
            let body = with(json!({"model": model(Wire::Messages), "input": "x"}), fields);
            let (status, text) = create(&scene, &body).await;
            let error: Value = serde_json::from_str(&text).expect("JSON");
            assert_eq!((status, &error["error"]["param"]), (400, &json!(param)), "{text}");
            assert!(text.contains("not available from this model"), "{text}");
        }
        scene.gateway.expect_sound_ledger().await;
    });
}
