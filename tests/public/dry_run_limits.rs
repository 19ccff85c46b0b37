//! A dry run of a key with limits: it passes where the real request would, and takes nothing.

use std::time::Duration;

use gatehouse_harness::{Response, run, with};
use serde_json::{Value, json};

use crate::public::Scene;

const IMAGES: &str = "/v1/images/generations";
const CHAT: &str = "/v1/chat/completions";

fn kite() -> Value {
    json!({"model": "ctx-pro", "prompt": "a kite"})
}

fn hello() -> Value {
    json!({"model": "over-chat", "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}]})
}

fn dry(body: &Value) -> Value {
    with(body.clone(), json!({"dry_run": true}))
}

/// What a client sees of a refusal for a limit, besides the moment and the request's id.
fn limited(answer: &Response) -> (u16, String) {
    let seconds: u64 = answer.header("retry-after").parse().expect("whole seconds");
    assert!((1..=60).contains(&seconds), "{seconds}");
    let message = answer.message();
    (answer.status, message.split(", and ").next().unwrap_or_default().to_owned())
}

#[test]
fn requests_and_tokens_a_minute_are_asked_and_not_taken() {
    run(async {
        let scene = Scene::start(Duration::ZERO).await;
        let key = scene.gateway.make_key("acme", &["--unlimited", "--rpm", "2", "--tpm", "1000"]).await;
        for _ in 0..4 {
            for (path, body) in [(IMAGES, kite()), (CHAT, hello())] {
                let answer = key.post(path, &dry(&body)).await;
                assert_eq!(answer.status, 200, "{path}: {}", answer.text());
                assert_eq!(answer.header("x-ratelimit-remaining-requests"), "2", "{path}");
            }
        }
        let kept = scene.kept().await;
        // One real request of each endpoint is all that the key may make.
        assert_eq!(key.post(IMAGES, &kite()).await.header("x-ratelimit-remaining-requests"), "1");
        let real = key.post(CHAT, &hello()).await;
        assert_eq!((real.status, real.header("x-ratelimit-remaining-requests")), (200, "0"));
        assert_ne!(scene.kept().await, kept, "a real request leaves something");
        for (path, body) in [(IMAGES, kite()), (CHAT, hello())] {
            let (asked, refused) = (key.post(path, &dry(&body)).await, key.post(path, &body).await);
            assert_eq!(limited(&asked), limited(&refused), "{path}");
            assert_eq!(limited(&asked).0, 429, "{path}");
        }
        // Tokens alone: more than the whole limit count as the whole.
        let key = scene.gateway.make_key("acme", &["--unlimited", "--tpm", "60"]).await;
        for _ in 0..2 {
            let answer = key.post(CHAT, &dry(&hello())).await;
            assert_eq!((answer.status, answer.header("x-ratelimit-remaining-tokens")), (200, "60"));
        }
    });
}

#[test]
fn tasks_at_a_time_are_asked_and_none_is_opened() {
    run(async {
        let scene = Scene::start(Duration::ZERO).await;
        let key = scene.gateway.make_key("acme", &["--unlimited", "--concurrency", "1"]).await;
        for _ in 0..3 {
            assert_eq!(key.post(IMAGES, &dry(&kite())).await.status, 200);
        }
        let endless = json!({"model": "ctx-pro", "prompt": "[[never-ready]]"});
        assert_eq!(key.post(IMAGES, &endless).await.status, 200);
        for (path, body) in [(IMAGES, kite()), (CHAT, hello())] {
            let (asked, refused) = (key.post(path, &dry(&body)).await, key.post(path, &body).await);
            assert_eq!(limited(&asked), limited(&refused), "{path}");
            assert!(asked.message().contains("1 tasks and text requests at a time"), "{}", asked.text());
        }
    });
}
