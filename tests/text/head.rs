//! A stream whose provider is slow to answer: its client has the head and keep-alives after a while, and accounts
//! are tried behind them as before.

use gatehouse_harness::run;
use serde_json::json;

use crate::scene::{CROSSINGS, Scene, Wire, asked, until};

const EARLY: &str = "[text]\nhead_s = 1\ndrain_s = 1\n\n";
const COMMENT: &str = ": ping\n\n";

/// The statuses a provider answered with, from the first of these requests on.
fn statuses(scene: &Scene, wire: Wire, since: u64) -> Vec<Option<u16>> {
    let truth = scene.truth(wire);
    truth.requests.iter().filter(|it| it.number >= since).map(|it| it.status).collect()
}

#[test]
fn keep_alives_come_before_a_slow_providers_first_event() {
    run(async {
        let scene = Scene::start(EARLY).await;
        for (client, provider) in CROSSINGS {
            let quick =
                scene.send(client, &asked(provider, "[[words:9]] the keeper", true)).await.end().await;
            let before = scene.spent().await;
            let text = "[[slow-start]] [[words:9]] the keeper";
            let mut stream = scene.send(client, &asked(provider, text, true)).await;
            stream.until(COMMENT).await;
            let head = stream.text();
            assert!(head.starts_with("HTTP/1.1 200") && head.contains("text/event-stream"), "{head}");
            scene.release(1).await;
            let said = stream.end().await;
            assert_eq!(said.streamed_text().split(' ').count(), 9, "{said:?}");
            assert!(
                said.body.trim_start_matches(COMMENT).starts_with(quick.body.get(..5).expect("a beginning")),
                "{said:?}"
            );
            assert!(scene.spent().await > before, "{client:?} over {provider:?}");
        }
        scene.house.expect_sound_ledger().await;
    });
}

#[test]
fn another_account_is_tried_behind_the_head() {
    run(async {
        for (client, provider) in CROSSINGS {
            // An account that failed is left alone for a while: each crossing has a house of its own.
            let scene = Scene::start(EARLY).await;
            let text = "[[slow-start]] [[503:1]] [[words:9]] the keeper";
            let mut stream = scene.send(client, &asked(provider, text, true)).await;
            stream.until(COMMENT).await;
            scene.release(1).await;
            until("the other account is asked", async || scene.truth(provider).count == 2).await;
            scene.release(1).await;
            let said = stream.end().await;
            assert_eq!(said.streamed_text().split(' ').count(), 9, "{said:?}");
            assert_eq!(statuses(&scene, provider, 0), [Some(503), Some(200)]);
            assert!(scene.spent().await > 0);
            scene.house.expect_sound_ledger().await;
        }
    });
}

#[test]
fn a_failure_behind_the_head_is_an_error_event_and_free() {
    run(async {
        for (client, provider) in CROSSINGS {
            let scene = Scene::start(EARLY).await;
            let mut stream = scene.send(client, &asked(provider, "[[slow-start]] [[503]] hello", true)).await;
            stream.until(COMMENT).await;
            scene.release(1).await;
            until("the other account is asked", async || scene.truth(provider).count == 2).await;
            scene.release(1).await;
            let said = stream.end().await;
            assert_eq!(said.status, 200);
            let events = said.events();
            assert_eq!(events.len(), 1, "{said:?}");
            let code = if client == Wire::Chat { json!(502) } else { json!("upstream_error") };
            assert_eq!(events[0]["error"]["code"], code, "{said:?}");
            assert_eq!(said.body.contains("event: error\n"), client == Wire::Messages, "{said:?}");
            assert!(!said.body.contains("[DONE]"), "{said:?}");
            assert_eq!(statuses(&scene, provider, 0), [Some(503), Some(503)]);
            assert_eq!(scene.spent().await, 0, "{client:?} over {provider:?}");
            scene.house.expect_sound_ledger().await;
        }
    });
}

#[test]
fn what_fails_before_the_head_is_an_http_error() {
    run(async {
        let scene = Scene::start("").await;
        for client in [Wire::Chat, Wire::Messages] {
            let said = scene.send(client, &asked(client, "[[400]] hello", true)).await.end().await;
            assert_eq!(said.status, 400, "{said:?}");
        }
        assert_eq!(scene.spent().await, 0);
    });
}

#[test]
fn a_whole_answer_is_waited_for_in_silence() {
    run(async {
        let scene = Scene::start(EARLY).await;
        for (client, provider) in CROSSINGS {
            let text = "[[slow-start]] [[words:9]] the keeper";
            let whole = scene.send(client, &asked(provider, text, false)).await;
            // A stream beside it has its head: so long has the other one waited too.
            let mut stream = scene.send(client, &asked(provider, text, true)).await;
            stream.until(COMMENT).await;
            scene.release(2).await;
            let said = whole.end().await;
            assert_eq!((said.status, said.whole_text().split(' ').count()), (200, 9), "{said:?}");
            stream.end().await.streamed_text();
        }
        scene.house.expect_sound_ledger().await;
    });
}

#[test]
fn a_client_that_leaves_before_the_first_event_leaves_no_hold() {
    run(async {
        let scene = Scene::start(EARLY).await;
        for (client, provider) in CROSSINGS {
            let mut stream = scene.send(client, &asked(provider, "[[slow-start]] the keeper", true)).await;
            stream.until(COMMENT).await;
            let before = scene.truth(provider).count;
            drop(stream);
            scene.release(1).await;
            // What the provider goes on to count is paid for, as for any stream whose client has left.
            let spent = scene.spent().await;
            assert!(spent > 0, "{client:?} over {provider:?}");
            assert_eq!(scene.truth(provider).count, before, "it is asked once");
        }
        scene.house.expect_sound_ledger().await;
    });
}
