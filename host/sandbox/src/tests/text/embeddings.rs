//! What the endpoint of embeddings takes, refuses and answers.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::tests::client::{JSON, Response, TestSandbox};
use crate::tests::text::wire::{BEARER, Wire, with};

const WIRE: Wire = Wire::Chat;

async fn ask(test: &TestSandbox, fields: Value) -> Response {
    let body = with(json!({ "model": "embed-sim", "input": "a red kite" }), &fields);
    test.post(WIRE, "/v1/embeddings", &[BEARER, JSON], body.to_string()).await
}

fn vector(reply: &Response, at: usize) -> Vec<f32> {
    let embedding = reply.json()["data"][at]["embedding"].clone();
    serde_json::from_value(embedding).unwrap_or_else(|error| panic!("{error}: {}", reply.text()))
}

fn nearness(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

#[tokio::test]
async fn similar_texts_have_near_vectors() {
    let test = TestSandbox::start().await;
    let texts = json!([
        "A red kite over the sea.",
        "the red kite, over a sea",
        "quarterly results of mining companies"
    ]);
    let reply = ask(&test, json!({ "input": texts })).await;
    let body = reply.json();
    assert_eq!((&body["object"], &body["model"]), (&json!("list"), &json!("embed-sim")));
    assert_eq!(body["usage"], json!({ "prompt_tokens": 17, "total_tokens": 17 }));
    let vectors: Vec<Vec<f32>> = (0..3).map(|at| vector(&reply, at)).collect();
    for (at, vector) in vectors.iter().enumerate() {
        assert_eq!(body["data"][at]["index"], json!(at));
        assert_eq!((vector.len(), &body["data"][at]["object"]), (1536, &json!("embedding")));
        assert!((nearness(vector, vector) - 1.0).abs() < 1e-4);
    }
    assert!(nearness(&vectors[0], &vectors[1]) > 0.9, "case and punctuation say nothing");
    assert!(nearness(&vectors[0], &vectors[2]) < 0.2);
    assert_eq!(test.last(WIRE).usage.map(|usage| (usage.input, usage.output)), Some((17, 0)));
}

#[tokio::test]
async fn lengths_encodings_and_tokens() {
    let test = TestSandbox::start().await;
    let short = ask(&test, json!({ "dimensions": 8 })).await;
    let floats = vector(&short, 0);
    assert_eq!(floats.len(), 8);
    // A part of the whole vector, again of unit length.
    let whole = vector(&ask(&test, json!({})).await, 0);
    assert!((nearness(&floats, &floats) - 1.0).abs() < 1e-4);
    assert!((floats[0] * whole[1] - floats[1] * whole[0]).abs() < 1e-5);
    let text = ask(&test, json!({ "dimensions": 8, "encoding_format": "base64" })).await;
    let bytes =
        STANDARD.decode(text.json()["data"][0]["embedding"].as_str().expect("a text")).expect("base64");
    let decoded: Vec<f32> = bytes.as_chunks::<4>().0.iter().map(|part| f32::from_le_bytes(*part)).collect();
    assert_eq!(decoded, floats);
    for (input, vectors, tokens) in
        [(json!([1, 2, 3]), 1, 3), (json!([[1, 2], [3]]), 2, 3), (json!(" "), 1, 1)]
    {
        let reply = ask(&test, json!({ "input": input, "dimensions": 8 })).await.json();
        assert_eq!(reply["data"].as_array().map(Vec::len), Some(vectors), "{reply}");
        assert_eq!(reply["usage"]["prompt_tokens"], json!(tokens));
    }
}

#[tokio::test]
async fn refusals_have_the_words_of_the_real_one() {
    let test = TestSandbox::start().await;
    let invalid = "'$.input' is invalid. Please check the API reference: https://platform.openai.com/docs/api-reference.";
    let long = vec!["word"; 8193].join(" ");
    let many = vec![vec!["word"; 8000].join(" "); 38];
    for (fields, status, message) in [
        (json!({ "model": null }), 400, "you must provide a model parameter"),
        (json!({ "model": "kite" }), 404, "The model `kite` does not exist or you do not have access to it."),
        (json!({ "model": "gpt-sim" }), 403, "You are not allowed to generate embeddings from this model"),
        (json!({ "input": null }), 400, "Missing required parameter: 'input'."),
        (json!({ "input": "" }), 400, invalid),
        (json!({ "input": [] }), 400, invalid),
        (json!({ "input": ["a", ""] }), 400, invalid),
        (json!({ "input": ["a", 1] }), 400, invalid),
        (json!({ "input": [1, "a"] }), 400, invalid),
        (json!({ "input": {} }), 400, invalid),
        (json!({ "input": vec!["a"; 2049] }), 400, "Invalid 'input': array too long."),
        (
            json!({ "input": long }),
            400,
            "This model's maximum context length is 8192 tokens, however you requested 8193 tokens",
        ),
        (json!({ "input": many }), 400, "Requested 304000 tokens, max 300000 tokens per request"),
        (json!({ "dimensions": 1537 }), 400, "Invalid value for 'dimensions' = 1537."),
        (json!({ "dimensions": 0 }), 400, "Invalid 'dimensions': integer below minimum value."),
        (
            json!({ "model": "embed-sim-old", "dimensions": 8 }),
            400,
            "This model does not support specifying dimensions.",
        ),
        (
            json!({ "encoding_format": "hex" }),
            400,
            "Invalid value: 'hex'. Supported values are: 'float' and 'base64'.",
        ),
        (json!({ "kite": 1 }), 400, "Unknown parameter: 'kite'."),
    ] {
        let reply = ask(&test, fields.clone()).await;
        let error = reply.json()["error"].clone();
        assert_eq!(reply.status, status, "{error}");
        assert!(error["message"].as_str().is_some_and(|said| said.starts_with(message)), "{error}");
    }
    let chat = json!({ "model": "embed-sim", "messages": [{ "role": "user", "content": "hi" }] });
    let reply = test.ask(WIRE, &chat).await;
    assert_eq!((reply.status, reply.json()["error"]["param"].clone()), (404, json!("model")));
}

#[tokio::test]
async fn faults_on_demand() {
    let test = TestSandbox::start().await;
    for (text, status) in [("[[429]] kite", 429), ("[[500]] kite", 500), ("[[402]] kite", 402)] {
        assert_eq!(ask(&test, json!({ "input": ["one", text] })).await.status, status, "{text}");
    }
    let reply = ask(&test, json!({ "input": "[[no-usage]] kite" })).await.json();
    assert!(reply.get("usage").is_none());
    let reply = ask(&test, json!({ "input": ["[[fewer-vectors]] kite", "sea"] })).await.json();
    assert_eq!(reply["data"].as_array().map(Vec::len), Some(1));
    let reply = ask(&test, json!({ "input": "[[other-encoding]] kite" })).await.json();
    assert!(reply["data"][0]["embedding"].is_string());
}
