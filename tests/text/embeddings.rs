//! `POST /v1/embeddings`: what arrives and what it costs, errors by field, keys, quotas, failing providers, and the list of
//! models.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatehouse_harness::{Caller, message_of, run, with};
use serde_json::{Value, json};

use crate::text::scene::{Scene, Wire};

const PATH: &str = "/v1/embeddings";
const MODELS: &str = "[models.vectors]\nkind = \"embedding\"\nprovider = \"chat\"\nprotocol = \"chat\"\n\
    upstream = \"embed-sim\"\naliases = [\"vectors-alias\"]\nprices = { input = \"2\" }\n\n\
    [models.vectors-float]\nkind = \"embedding\"\nprovider = \"chat\"\nprotocol = \"chat\"\nupstream = \"embed-sim\"\n\
    prices = { input = \"2\" }\nrules = { encoding_format = \"float\" }\n\n";

/// A request of that caller with `fields` over a good one; the status and the body.
async fn ask_as(caller: &Caller, fields: Value) -> (u16, Value) {
    let body = with(json!({ "model": "vectors", "input": "a red kite", "dimensions": 8 }), fields);
    let answer = caller.post(PATH, &body).await;
    (answer.status, answer.json())
}

async fn ask(scene: &Scene, fields: Value) -> (u16, Value) {
    ask_as(&scene.caller, fields).await
}

async fn good(scene: &Scene, fields: Value) -> Value {
    let (status, body) = ask(scene, fields).await;
    assert_eq!(status, 200, "{body}");
    body
}

fn vectors(body: &Value) -> Vec<Vec<f32>> {
    let data = body["data"].as_array().expect("data");
    data.iter()
        .map(|item| match &item["embedding"] {
            Value::String(text) => {
                let bytes = STANDARD.decode(text).expect("base64");
                bytes.as_chunks::<4>().0.iter().map(|part| f32::from_le_bytes(*part)).collect()
            }
            numbers => serde_json::from_value(numbers.clone()).expect("numbers"),
        })
        .collect()
}

#[test]
fn every_form_of_input_and_both_encodings_cost_their_tokens() {
    run(async {
        let scene = Scene::start(MODELS).await;
        for (input, count, tokens) in [
            (json!("a red kite"), 1, 3),
            (json!(["a red kite", "the lighthouse", "\u{706f}\u{53f0}"]), 3, 6),
            (json!([11, 12, 13, 14]), 1, 4),
            (json!([[11, 12], [13]]), 2, 3),
            // Texts that look like files and like names of files.
            (json!(format!("data:image/png;base64,{}", "iVBORw0KGgo".repeat(1000))), 1, 1),
            (json!("blob:01jd8zk5xq3v9r7t2m4n6p8s0w"), 1, 1),
        ] {
            let mut found = Vec::new();
            for model in ["vectors", "vectors-alias", "vectors-float"] {
                for encoding in ["float", "base64"] {
                    let before = scene.spent().await;
                    let asked = json!({ "model": model, "input": input, "encoding_format": encoding });
                    let body = good(&scene, asked).await;
                    assert_eq!(body["usage"], json!({ "prompt_tokens": tokens, "total_tokens": tokens }));
                    assert_eq!(body["model"], if model == "vectors-float" { model } else { "vectors" });
                    let form = &body["data"][0]["embedding"];
                    assert_eq!(form.is_string(), encoding == "base64", "{model}: {form}");
                    assert_eq!(scene.spent().await - before, 2 * tokens, "{model} {input}");
                    found.push(vectors(&body));
                    let sent = scene.record(Wire::Chat).requests.pop().expect("a request");
                    assert_eq!(sent.path, PATH);
                    let sent: Value = serde_json::from_slice(&sent.body.expect("a body")).expect("JSON");
                    assert_eq!(sent["input"], input, "byte for byte what the client wrote");
                }
            }
            assert_eq!((found[0].len(), found[0][0].len()), (count, 8));
            assert!(found.iter().all(|vectors| *vectors == found[0]), "{input}");
        }
        // Full length, of a user.
        let body =
            good(&scene, json!({ "dimensions": null, "user": "ada", "input": ["[[other-encoding]] kite"] }))
                .await;
        assert_eq!(vectors(&body)[0].len(), 1536);
        assert!(body["data"][0]["embedding"].is_array(), "in the encoding that was asked for");
        scene.gateway.expect_sound_ledger().await;
    });
}

#[test]
fn a_refusal_names_its_field_and_costs_nothing() {
    run(async {
        let scene = Scene::start(MODELS).await;
        let sent = scene.record(Wire::Chat).count;
        for (fields, status, param, words) in [
            (json!({ "input": "" }), 400, json!("input"), "a string that is not empty"),
            (json!({ "input": ["a", 7] }), 400, json!("input[1]"), "expected a string, got 7"),
            (json!({ "dimensions": "8" }), 400, json!("dimensions"), "expected an integer"),
            (json!({ "encoding_format": "hex" }), 400, json!("encoding_format"), "`float` or `base64`"),
            (json!({ "model": "over-chat" }), 400, json!("model"), "which is of kind text"),
            (json!({ "model": "kite" }), 404, json!("model"), "kite"),
        ] {
            let (found, body) = ask(&scene, fields.clone()).await;
            let error = &body["error"];
            assert_eq!((found, &error["param"]), (status, &param), "{fields}: {body}");
            assert!(error["message"].as_str().is_some_and(|said| said.contains(words)), "{body}");
        }
        // And the other way round.
        for path in ["/v1/chat/completions", "/v1/messages", "/v1/responses"] {
            let body = json!({
                "model": "vectors", "max_tokens": 100, "input": "hi", "messages": [{ "role": "user", "content": "hi" }],
            });
            let answer = scene.caller.post(path, &body).await;
            assert_eq!(answer.status, 400, "{path}");
            assert!(answer.json().to_string().contains("POST /v1/embeddings serves it"), "{path}");
        }
        assert_eq!(scene.record(Wire::Chat).count, sent, "nothing of it reached the provider");
        // What the provider refuses comes in its own words.
        let (status, body) = ask(&scene, json!({ "dimensions": 2000 })).await;
        assert_eq!(status, 400);
        assert!(message_of(&body).contains("'dimensions' = 2000"), "{body}");
        assert_eq!(scene.spent().await, 0);
        scene.gateway.expect_sound_ledger().await;
    });
}

#[test]
fn a_failing_provider_costs_nothing_and_shows_nothing() {
    run(async {
        let scene = Scene::start(MODELS).await;
        // The other account answers.
        good(&scene, json!({ "input": "[[429:1]] a kite" })).await;
        let paid = scene.spent().await;
        assert_eq!(paid, 2 * 3);
        // A gateway each: some of these pause its accounts.
        for (mark, status) in [
            ("400", 400),
            ("402", 502),
            ("502-html", 502),
            ("error-200", 502),
            ("fewer-vectors", 502),
            ("cut", 502),
        ] {
            let scene = Scene::start(MODELS).await;
            let (found, body) = ask(&scene, json!({ "input": [format!("[[{mark}]] kite"), "sea"] })).await;
            assert_eq!(found, status, "{mark}: {body}");
            assert!(body["error"]["message"].is_string(), "{mark}: {body}");
            assert!(!body.to_string().contains("embed-sim"), "{mark}: {body}");
            assert_eq!(scene.spent().await, 0, "{mark}");
            scene.gateway.expect_sound_ledger().await;
        }
        // Without a count it costs an estimate: four bytes a token.
        let before = scene.spent().await;
        let text = "[[no-usage]] the keeper of the lighthouse counts ships";
        assert!(good(&scene, json!({ "input": text })).await.get("usage").is_none());
        assert_eq!(scene.spent().await - before, 2 * (text.len() as i64 / 4));
        // More than one answer may be: the client chose that, and the provider is not asked again.
        let (before, sent) = (scene.spent().await, scene.record(Wire::Chat).count);
        let (status, body) = ask(&scene, json!({ "input": vec!["kite"; 400], "dimensions": 1536 })).await;
        assert_eq!(status, 413, "{body}");
        assert!(message_of(&body).contains("fewer inputs"), "{body}");
        assert_eq!((scene.spent().await, scene.record(Wire::Chat).count), (before, sent + 1));
        let fits = json!({ "input": vec!["kite"; 400], "dimensions": 1536, "encoding_format": "base64" });
        assert_eq!(vectors(&good(&scene, fits).await).len(), 400);
        scene.gateway.expect_sound_ledger().await;
    });
}

#[test]
fn keys_quotas_and_balances_hold_here_too() {
    run(async {
        let scene = Scene::start(MODELS).await;
        let only = scene.gateway.make_key("main", &["--unlimited", "--model", "vectors"]).await;
        assert_eq!(ask_as(&only, json!({})).await.0, 200);
        let without = scene.gateway.make_key("main", &["--unlimited", "--model", "over-chat"]).await;
        assert_eq!(ask_as(&without, json!({})).await.0, 403);
        let poor = scene.gateway.open_account("poor", "0.000001").await;
        let (status, body) = ask_as(&poor, json!({})).await;
        assert_eq!((status, &body["error"]["code"]), (402, &json!("insufficient_quota")), "{body}");

        let list = scene.caller.get("/v1/models").await.json();
        let kind = |id: &str| {
            let models = list["data"].as_array().expect("a list");
            models.iter().find(|model| model["id"] == id).map(|model| model["kind"].clone())
        };
        for (id, expected) in [
            ("vectors", "embedding"),
            ("vectors-alias", "embedding"),
            ("over-chat", "text"),
            ("over-messages", "text"),
        ] {
            assert_eq!(kind(id), Some(json!(expected)), "{id}");
        }
        let one = only.get("/v1/models/vectors").await.json();
        assert_eq!(one["kind"], "embedding");
        scene.gateway.expect_sound_ledger().await;
    });
}
