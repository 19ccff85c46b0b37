//! Streams of slow providers: after a while the client has the head and keep-alives, and behind them other accounts are
//! still tried.

use gatehouse_harness::{run, until};
use serde_json::json;

use crate::text::scene::{CROSSINGS, Scene, Wire, request};

const EARLY: &str = "[text]\nhead_s = 1\n\n";
const COMMENT: &str = ": ping\n\n";

/// The statuses a provider answered with, from the first of these requests on.
fn statuses(scene: &Scene, wire: Wire, since: u64) -> Vec<Option<u16>> {
    let record = scene.record(wire);
    record.requests.iter().filter(|it| it.number >= since).map(|it| it.status).collect()
}

#[test]
fn keep_alives_come_before_a_slow_providers_first_event() {
    run(async {
        let scene = Scene::start(EARLY).await;
        for (client, provider) in CROSSINGS {
            let quick =
                scene.send(client, &request(provider, "[[words:9]] the keeper", true)).await.end().await;
            let before = scene.spent().await;
            let text = "[[slow-start]] [[words:9]] the keeper";
            let mut stream = scene.send(client, &request(provider, text, true)).await;
            stream.until(COMMENT).await;
            let head = stream.text();
            assert!(head.starts_with("HTTP/1.1 200") && head.contains("text/event-stream"), "{head}");
            scene.release(1).await;
            let answer = stream.end().await;
            assert_eq!(answer.streamed_text().split(' ').count(), 9, "{answer:?}");
            // On a slow machine the quick one is slow, too.
            let [answered, beginning] = [&answer, &quick].map(|it| it.body.trim_start_matches(COMMENT));
            assert!(answered.starts_with(beginning.get(..5).expect("a beginning")), "{answer:?}");
            assert!(scene.spent().await > before, "{client:?} over {provider:?}");
        }
        scene.gateway.expect_sound_ledger().await;
    });
}

/// Comment lines are no events: they keep the connection to the provider alive, and the client's head does not wait for more.
#[test]
fn a_provider_that_sends_only_comments_at_first_is_waited_for() {
    run(async {
        let scene = Scene::start(EARLY).await;
        for (client, provider) in CROSSINGS {
            let before = scene.spent().await;
            scene.send(client, &request(provider, "[[words:9]] the keeper", true)).await.end().await;
            let bill = scene.spent().await - before;
            let text = "[[keep-alives]][[words:9]] the keeper";
            let mut stream = scene.send(client, &request(provider, text, true)).await;
            stream.until(COMMENT).await;
            let head = stream.text();
            assert!(head.starts_with("HTTP/1.1 200") && !head.contains("data: "), "{head}");
            // The provider's comments go on behind the client's head, and the client has its own.
            let sent = || scene.record(provider).requests.last().expect("a request").sent;
            let so_far = sent();
            until("more comments have come", async || sent() > so_far).await;
            scene.release(1).await;
            let answer = stream.end().await;
            assert_eq!(answer.streamed_text().split(' ').count(), 9, "{client:?} over {provider:?}");
            assert!(!answer.body.contains("keep-alive"), "{answer:?}");
            assert_eq!(scene.spent().await - before, 2 * bill, "{client:?} over {provider:?}");
        }
        scene.gateway.expect_sound_ledger().await;
    });
}

#[test]
fn another_account_is_tried_behind_the_head() {
    run(async {
        for (client, provider) in CROSSINGS {
            // A failed account is paused for a while, so each pair of protocols has a gateway of its own.
            let scene = Scene::start(EARLY).await;
            let text = "[[slow-start]] [[503:1]] [[words:9]] the keeper";
            let mut stream = scene.send(client, &request(provider, text, true)).await;
            stream.until(COMMENT).await;
            scene.release(1).await;
            until("the other account is called", async || scene.record(provider).count == 2).await;
            scene.release(1).await;
            let answer = stream.end().await;
            assert_eq!(answer.streamed_text().split(' ').count(), 9, "{answer:?}");
            assert_eq!(statuses(&scene, provider, 0), [Some(503), Some(200)]);
            assert!(scene.spent().await > 0);
            scene.gateway.expect_sound_ledger().await;
        }
    });
}

#[test]
fn a_failure_behind_the_head_is_an_error_event_and_free() {
    run(async {
        for (client, provider) in CROSSINGS {
            let scene = Scene::start(EARLY).await;
            let mut stream =
                scene.send(client, &request(provider, "[[slow-start]] [[503]] hello", true)).await;
            stream.until(COMMENT).await;
            scene.release(1).await;
            until("the other account is called", async || scene.record(provider).count == 2).await;
            scene.release(1).await;
            let answer = stream.end().await;
            assert_eq!(answer.status, 200);
            let events = answer.events();
            assert_eq!(events.len(), 1, "{answer:?}");
            let code = if client == Wire::Chat { json!(502) } else { json!("upstream_error") };
            assert_eq!(events[0]["error"]["code"], code, "{answer:?}");
            assert_eq!(answer.body.contains("event: error\n"), client == Wire::Messages, "{answer:?}");
            assert!(!answer.body.contains("[DONE]"), "{answer:?}");
            assert_eq!(statuses(&scene, provider, 0), [Some(503), Some(503)]);
            assert_eq!(scene.spent().await, 0, "{client:?} over {provider:?}");
            scene.gateway.expect_sound_ledger().await;
        }
    });
}

#[test]
fn a_failure_before_the_head_is_an_http_error() {
    run(async {
        let scene = Scene::start("").await;
        for client in [Wire::Chat, Wire::Messages] {
            let answer = scene.send(client, &request(client, "[[400]] hello", true)).await.end().await;
            assert_eq!(answer.status, 400, "{answer:?}");
        }
        assert_eq!(scene.spent().await, 0);
    });
}

#[test]
fn a_whole_answer_has_no_keep_alives() {
    run(async {
        let scene = Scene::start(EARLY).await;
        for (client, provider) in CROSSINGS {
            let text = "[[slow-start]] [[words:9]] the keeper";
            let whole = scene.send(client, &request(provider, text, false)).await;
            // A stream beside it has its head already, so the whole answer has waited as long.
            let mut stream = scene.send(client, &request(provider, text, true)).await;
            stream.until(COMMENT).await;
            scene.release(2).await;
            let answer = whole.end().await;
            assert_eq!((answer.status, answer.whole_text().split(' ').count()), (200, 9), "{answer:?}");
            stream.end().await.streamed_text();
        }
        scene.gateway.expect_sound_ledger().await;
    });
}

#[test]
fn a_client_that_disconnects_before_the_first_event_keeps_no_hold() {
    run(async {
        let scene = Scene::start(EARLY).await;
        for (client, provider) in CROSSINGS {
            let spent = scene.spent().await;
            let mut stream = scene.send(client, &request(provider, "[[slow-start]] the keeper", true)).await;
            stream.until(COMMENT).await;
            let before = scene.record(provider).count;
            scene.until_held(1).await;
            drop(stream);
            until("the provider is let go", async || scene.record(provider).held == 0).await;
            // Its provider has read it.
            assert!(scene.spent().await > spent, "{client:?} over {provider:?}");
            assert_eq!(scene.record(provider).count, before, "it is called once");
        }
        scene.gateway.expect_sound_ledger().await;
    });
}
