//! A provider that answers a streaming request with one body: the client receives a stream all the same, at the same
//! price.

use gatehouse_harness::run;
use serde_json::Value;

use crate::text::scene::{Answer, CROSSINGS, Scene, Wire, request};

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
            for (mark, streaming) in [("", true), ("[[json-for-stream]]", true), ("", false)] {
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
            assert!(bills[0] > 0 && bills.iter().all(|bill| *bill == bills[0]), "{bills:?}");
            assert_eq!(texts[0].split(' ').count(), 9, "{texts:?}");
            assert!(texts.iter().all(|text| *text == texts[0]), "{texts:?}");
            assert_eq!(shapes[0], shapes[1], "{client:?} over {provider:?}");
        }
        scene.gateway.expect_sound_ledger().await;
    });
}

/// An error inside a good status stays an error of the provider, and so does a stream for a whole request.
#[test]
fn an_error_with_a_good_status_stays_an_error() {
    run(async {
        let scene = Scene::start("").await;
        for (client, provider) in CROSSINGS {
            for (text, streaming) in [("[[error-200]] hello", true), ("[[stream-for-json]] hello", false)] {
                let answer = scene.send(client, &request(provider, text, streaming)).await.end().await;
                assert_eq!(answer.status, 502, "{text}: {answer:?}");
            }
        }
        assert_eq!(scene.spent().await, 0);
        scene.gateway.expect_sound_ledger().await;
    });
}
