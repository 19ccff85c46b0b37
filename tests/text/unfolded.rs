//! A provider that answers a request for a stream with one body: its client reads the stream it asked for, at the
//! same price.

use gatehouse_harness::run;
use serde_json::Value;

use crate::scene::{CROSSINGS, Said, Scene, Wire, asked};

/// Every event's type, deltas of one block counted once; of chunks, what they are for.
fn kinds(said: &Said, client: Wire) -> Vec<String> {
    let kind = |event: &Value| match client {
        Wire::Messages => event["type"].as_str().expect("a type").to_owned(),
        Wire::Chat => event["choices"][0]["finish_reason"].as_str().unwrap_or("delta").to_owned(),
    };
    let mut kinds: Vec<String> = said.events().iter().map(kind).collect();
    kinds.dedup();
    kinds
}

#[test]
fn one_body_is_read_as_the_stream_that_was_asked_for() {
    run(async {
        let scene = Scene::start("").await;
        for (client, provider) in CROSSINGS {
            let mut bills = Vec::new();
            let mut texts = Vec::new();
            let mut shapes = Vec::new();
            // The marker is not part of what tokens are counted of, nor of what is answered.
            for (mark, streaming) in [("", true), ("[[json-for-stream]]", true), ("", false)] {
                let before = scene.spent().await;
                let text = format!("{mark}[[words:9]]the keeper of the lighthouse counts ships");
                let said = scene.send(client, &asked(provider, &text, streaming)).await.end().await;
                if streaming {
                    shapes.push(kinds(&said, client));
                    texts.push(said.streamed_text());
                } else {
                    texts.push(said.whole_text());
                }
                bills.push(scene.spent().await - before);
            }
            assert!(bills[0] > 0 && bills.iter().all(|bill| *bill == bills[0]), "{bills:?}");
            assert_eq!(texts[0].split(' ').count(), 9, "{texts:?}");
            assert!(texts.iter().all(|text| *text == texts[0]), "{texts:?}");
            assert_eq!(shapes[0], shapes[1], "{client:?} over {provider:?}");
        }
        scene.house.expect_sound_ledger().await;
    });
}

/// Errors are what they were: of the provider, inside a good status too, and the other way round.
#[test]
fn what_is_no_answer_stays_an_error() {
    run(async {
        let scene = Scene::start("").await;
        for (client, provider) in CROSSINGS {
            for (text, streaming) in [("[[error-200]] hello", true), ("[[stream-for-json]] hello", false)] {
                let said = scene.send(client, &asked(provider, text, streaming)).await.end().await;
                assert_eq!(said.status, 502, "{text}: {said:?}");
            }
        }
        assert_eq!(scene.spent().await, 0);
        scene.house.expect_sound_ledger().await;
    });
}
