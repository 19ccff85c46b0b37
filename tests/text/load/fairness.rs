//! Two customers at one provider: one takes every permit it can get, and the other is answered all the same.

use gatehouse_harness::{Caller, run_load, until};

use crate::text::scene::{Scene, Wire, request};

/// More than the permits of both accounts.
const STREAMS: usize = 140;

async fn ask(caller: &Caller, text: &str) -> u16 {
    let body = request(Wire::Chat, text, false);
    caller.post_with(&[("x-response-format", "bare")], Wire::Chat.path(), &body).await.status
}

/// Streams of one customer hold all it can get for as long as they like.
#[test]
fn slow_streams_of_one_customer_leave_permits_to_others() {
    run_load(async {
        let scene = Scene::start("[text]\npermit_wait_s = 1\n\n").await;
        let other = scene.gateway.open_account("other", "1000").await;
        let mut streams = Vec::new();
        for _ in 0..STREAMS {
            streams
                .push(scene.send(Wire::Chat, &request(Wire::Chat, "[[stall:2]] one two three", true)).await);
        }
        until("its streams are held up", async || scene.record(Wire::Chat).held >= 112).await;
        for _ in 0..3 {
            assert_eq!(ask(&other, "hello").await, 200);
        }
        assert_eq!(ask(&scene.caller, "hello").await, 503, "the one that fills it is told so");
        assert_eq!(scene.record(Wire::Chat).held, 112);
        scene.sandbox.release();
        let mut answered = 0;
        for stream in streams {
            answered += usize::from(stream.end().await.status == 200);
        }
        assert_eq!(answered, 112);
        scene.gateway.expect_sound_ledger().await;
    });
}

/// Streams whose client has left may be read on for their bill, but are no longer in the way.
#[test]
fn abandoned_streams_are_in_nobodys_way() {
    run_load(async {
        let scene = Scene::start(
            "[providers.chat]\nreserve = 0\ndrain_cancelled = true\n\n[text]\ndrain_s = 3600\n\n",
        )
        .await;
        let other = scene.gateway.open_account("other", "1000").await;
        let mut streams = Vec::new();
        for _ in 0..128 {
            streams
                .push(scene.send(Wire::Chat, &request(Wire::Chat, "[[stall:2]] one two three", true)).await);
        }
        until("its streams are held up", async || scene.record(Wire::Chat).held == 128).await;
        drop(streams);
        for _ in 0..20 {
            assert_eq!(ask(&other, "hello").await, 200);
        }
        scene.sandbox.release();
        assert!(scene.spent().await > 0, "the streams are paid for");
        assert_ne!(scene.gateway.account_without_holds("other").await["spent"], 0);
        scene.gateway.expect_sound_ledger().await;
    });
}

/// A customer who opens as many streams as it can leaves some to others, and is refused before its provider is asked.
#[test]
fn open_streams_of_one_customer_leave_some_to_others() {
    run_load(async {
        let scene = Scene::start("[plugins]\nstreams = 10\n\n").await;
        let other = scene.gateway.open_account("other", "1000").await;
        let stalled = request(Wire::Chat, "[[stall:2]] one two three", true);
        let mut streams = Vec::new();
        for opened in 1..=7 {
            streams.push(scene.send(Wire::Chat, &stalled).await);
            until("it is held up", async || scene.record(Wire::Chat).held == opened).await;
        }
        let eighth = scene.send(Wire::Chat, &stalled).await.end().await;
        assert_eq!(eighth.status, 503, "{eighth:?}");
        let mut asked = stalled.clone();
        asked["dry_run"] = true.into();
        let priced = scene.send(Wire::Chat, &asked).await.end().await;
        assert_eq!(priced.status, 200, "to ask for a price opens no stream: {priced:?}");
        let body = request(Wire::Chat, "hello", true);
        let answer = other.post_with(&[("x-response-format", "bare")], Wire::Chat.path(), &body).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(scene.record(Wire::Chat).held, 7, "the provider was not asked for the eighth");
        scene.sandbox.release();
        for stream in streams {
            assert_eq!(stream.end().await.status, 200);
        }
        scene.gateway.expect_sound_ledger().await;
    });
}
