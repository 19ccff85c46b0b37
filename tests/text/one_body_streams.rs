//! A provider that answers a streaming request with one body, or a whole one with a stream, or cuts its stream into any writes
//! and lines: the client receives what it asked for all the same, at the same price.

use gatehouse_harness::run;
use serde_json::{Value, json};

use crate::text::responses::{BOTH, create, events, model, words};
use crate::text::scene::{Answer, CROSSINGS, Scene, Wire, request};

/// How a stream is cut.
const CUTS: [&str; 5] = ["", "[[bytes]]", "[[one-write]]", "[[crlf]]", "[[comments]]"];

/// The type of every event, and of chunks their purpose; repeated ones counted once.
fn kinds(answer: &Answer, client: Wire) -> Vec<String> {
    let kind = |event: &Value| match client {
        Wire::Messages => event["type"].as_str().expect("a type").to_owned(),
        Wire::Chat => event["choices"][0]["finish_reason"].as_str().unwrap_or("delta").to_owned(),
    };
    let mut kinds: Vec<String> = answer.events().iter().map(kind).collect();
    kinds.dedup();
    kinds
}

#[test]
fn one_body_is_delivered_as_a_stream() {
    run(async {
        let scene = Scene::start("").await;
        for (client, provider) in CROSSINGS {
            let mut bills = Vec::new();
            let mut texts = Vec::new();
            let mut shapes = Vec::new();
            // The marker is neither counted nor answered.
            let ways =
                [("", true), ("[[json-for-stream]]", true), ("", false), ("[[stream-for-json]]", false)];
            for (mark, streaming) in ways {
                let before = scene.spent().await;
                let text = format!("{mark}[[words:9]]the keeper of the lighthouse counts ships");
                let answer = scene.send(client, &request(provider, &text, streaming)).await.end().await;
                if streaming {
                    shapes.push(kinds(&answer, client));
                    texts.push(answer.streamed_text());
                } else {
                    texts.push(answer.whole_text());
                }
                bills.push(scene.spent().await - before);
            }
            // A chat provider counts in a stream only where it was asked to: an answer without counts is estimated.
            let is_counted = provider == Wire::Messages;
            let counted = if is_counted { &bills[..] } else { &bills[..3] };
            assert!(bills.iter().all(|bill| *bill > 0), "{bills:?}");
            assert!(counted.iter().all(|bill| *bill == bills[0]), "{bills:?}");
            assert_eq!(texts[0].split(' ').count(), 9, "{texts:?}");
            assert!(texts.iter().all(|text| *text == texts[0]), "{texts:?}");
            assert_eq!(shapes[0], shapes[1], "{client:?} over {provider:?}");
        }
        scene.gateway.expect_sound_ledger().await;
    });
}

/// An error inside a good status stays an error of the provider.
#[test]
fn an_error_with_a_good_status_stays_an_error() {
    run(async {
        let scene = Scene::start("").await;
        for (client, provider) in CROSSINGS {
            let text = "[[error-200]] hello";
            let answer = scene.send(client, &request(provider, text, true)).await.end().await;
            assert_eq!(answer.status, 502, "{answer:?}");
        }
        assert_eq!(scene.spent().await, 0);
        scene.gateway.expect_sound_ledger().await;
    });
}

/// It has the same words, the same order of events and the same price.
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
