//! However a provider's stream is cut into writes and lines, a response has the same words, the same order of events and the
//! same price.

use gatehouse_harness::run;
use serde_json::{Value, json};

use crate::text::responses::{BOTH, create, events, model, words};
use crate::text::scene::Scene;

const CUTS: [&str; 5] = ["", "[[bytes]]", "[[one-write]]", "[[crlf]]", "[[comments]]"];

#[test]
fn every_split_of_a_providers_stream_gives_the_same_response() {
    run(async {
        let scene = Scene::start("").await;
        for provider in BOTH {
            let mut all: Vec<(String, Vec<Value>, Value, i64)> = Vec::new();
            for cut in CUTS {
                let before = scene.spent().await;
                let input = format!("{cut}[[words:9]]the keeper of the lighthouse counts ships at dawn");
                let body = json!({"model": model(provider), "input": input, "stream": true, "max_output_tokens": 500});
                let (status, text) = create(&scene, &body).await;
                assert_eq!(status, 200, "{cut}: {text}");
                let told = events(&text);
                let response = told.last().expect("events")["response"].clone();
                let deltas = told.iter().filter(|event| event["type"] == "response.output_text.delta");
                let joined: String = deltas.filter_map(|event| event["delta"].as_str()).collect();
                assert_eq!(joined, words(&response), "{cut}");
                // The provider cuts its text into deltas by the bytes of the request; their order is what counts.
                let mut kinds: Vec<Value> = told.iter().map(|event| event["type"].clone()).collect();
                kinds.dedup();
                all.push((joined, kinds, response["usage"].clone(), scene.spent().await - before));
            }
            assert!(all[0].3 > 0 && all.iter().all(|one| *one == all[0]), "{provider:?}: {all:?}");
        }
        scene.gateway.expect_sound_ledger().await;
    });
}
