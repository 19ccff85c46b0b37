//! The stream of a kept response once more: the same events under the same numbers, from any of them on, and only for the
//! customer that made it.

use gatehouse_harness::{run, until};
use serde_json::{Value, json};

use crate::text::left::DRAINED;
use crate::text::responses::{BOTH, ask, create, events, model, whole, words};
use crate::text::scene::{Scene, Wire};

fn path(response: &Value) -> String {
    format!("/v1/responses/{}", response["id"].as_str().expect("an id"))
}

/// The events of a kept response after `query`.
async fn replayed(scene: &Scene, path: &str, query: &str) -> Vec<Value> {
    let (status, text) = ask(&scene.caller, "GET", &format!("{path}?stream=true{query}"), "").await;
    assert_eq!(status, 200, "{path} {query}: {text}");
    text.split("\n\n")
        .filter_map(|frame| frame.split_once("\ndata: "))
        .map(|(name, data)| {
            let data: Value = serde_json::from_str(data).unwrap_or_else(|error| panic!("{data}: {error}"));
            assert_eq!(data["type"], name.trim_start_matches("event: "));
            data
        })
        .collect()
}

#[test]
fn a_stream_is_told_again_as_it_was() {
    run(async {
        let scene = Scene::start("").await;
        let tool = |name: &str| json!({"type": "function", "name": name, "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}});
        let tools = json!([tool("a"), tool("b"), {"type": "custom", "name": "patch"}]);
        for provider in BOTH {
            let mut asked = vec![
                json!({"input": "the keeper of the lighthouse counts ships"}),
                json!({"input": "[[tools:3]] look", "tools": tools}),
                json!({"input": "[[words:60]] long", "max_output_tokens": 16}),
                json!({"input": "[[cut-tool]] look", "tools": tools}),
            ];
            if provider == Wire::Chat {
                asked.extend([
                    json!({"input": "[[interleaved]] look", "tools": tools}),
                    json!({"input": "[[refusal]] look"}),
                    json!({"input": "a kite", "include": ["message.output_text.logprobs"], "top_logprobs": 2}),
                ]);
            }
            for mut body in asked {
                body["model"] = model(provider);
                body["stream"] = json!(true);
                let (status, text) = create(&scene, &body).await;
                assert_eq!(status, 200, "{body}: {text}");
                let told = events(&text);
                let path = path(&told.last().expect("events")["response"]);
                assert_eq!(replayed(&scene, &path, "").await, told, "{body}");
                for after in [0, 3, told.len() / 2, told.len() - 2, told.len() - 1] {
                    let rest = replayed(&scene, &path, &format!("&starting_after={after}")).await;
                    assert_eq!(rest, told[after + 1..], "{body} after {after}");
                }
                let beyond = format!("{path}?stream=true&starting_after={}", told.len());
                let (status, text) = ask(&scene.caller, "GET", &beyond, "").await;
                let error: Value = serde_json::from_str(&text).expect("JSON");
                assert_eq!((status, &error["error"]["param"]), (400, &json!("starting_after")), "{text}");
            }
        }
        scene.gateway.expect_sound_ledger().await;
    });
}

#[test]
fn a_client_that_lost_its_connection_goes_on_where_it_was() {
    run(async {
        let scene = Scene::start(DRAINED).await;
        for provider in BOTH {
            let body = json!({"model": model(provider), "input": "[[stall:3]][[words:40]] the keeper", "stream": true});
            let mut connection = scene.caller.begin(&[], "/v1/responses", &body).await;
            connection.until("response.output_text.delta").await;
            scene.until_held(1).await;
            let read = String::from_utf8_lossy(connection.ahead()).into_owned();
            drop(connection);
            scene.release(1).await;

            // Whole frames of those that came; a chunk of the transfer may have cut the last.
            let data = read.lines().filter_map(|line| line.strip_prefix("data: "));
            let told: Vec<Value> = data.filter_map(|data| serde_json::from_str(data).ok()).collect();
            let path = path(&told[0]["response"]);
            until("the response is kept", async || ask(&scene.caller, "GET", &path, "").await.0 == 200).await;
            let last = &told.last().expect("events")["sequence_number"];
            let rest = replayed(&scene, &path, &format!("&starting_after={last}")).await;
            assert_eq!(rest[0]["sequence_number"], json!(last.as_u64().expect("a number") + 1));
            let text: String = told.iter().chain(&rest).filter_map(|event| event["delta"].as_str()).collect();
            let response = &rest.last().expect("an end")["response"];
            assert_eq!((&response["status"], text), (&json!("completed"), words(response)), "{response}");
        }
        scene.gateway.expect_sound_ledger().await;
    });
}

#[test]
fn only_its_owner_reads_it_and_only_what_is_kept() {
    run(async {
        let scene = Scene::start("").await;
        let other = scene.gateway.open_account("other", "1000").await;
        let response = whole(&scene, &json!({"model": model(Wire::Chat), "input": "a kite"})).await;
        let path = path(&response);
        let told = replayed(&scene, &path, "").await;
        assert_eq!((&told[0]["type"], told.len()), (&json!("response.created"), 9));
        assert_eq!(told[8]["response"], response);
        // It was answered whole: no client has numbers of it.
        let (status, text) =
            ask(&scene.caller, "GET", &format!("{path}?stream=true&starting_after=2"), "").await;
        assert_eq!((status, text.contains("was answered whole")), (400, true), "{text}");

        let found = ask(&other, "GET", &format!("{path}?stream=true"), "").await;
        let never = ask(&other, "GET", "/v1/responses/resp_0?stream=true", "").await;
        let id = response["id"].as_str().expect("an id");
        assert_eq!((found.0, found.1.replace(id, "resp_0")), (404, never.1));
        ask(&scene.caller, "DELETE", &path, "").await;
        assert_eq!(ask(&scene.caller, "GET", &format!("{path}?stream=true"), "").await.0, 404);

        let body = json!({"model": model(Wire::Chat), "input": "a kite", "stream": true, "store": false});
        let (_, text) = create(&scene, &body).await;
        let unkept = &events(&text)[0]["response"];
        let path = format!("/v1/responses/{}?stream=true", unkept["id"].as_str().expect("an id"));
        assert_eq!(ask(&scene.caller, "GET", &path, "").await.0, 404);
    });
}
