//! One customer fills the queue of a family whose plugin is slow: streams that have begun are never cut for it, whosever
//! they are, others' new requests are answered, and only the one that fills the queue is refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use gatehouse_harness::{Caller, PersistentClient, component, run_load, until};
use serde_json::json;
use tokio::task::JoinSet;

use crate::text::scene::{Scene, Wire, request};

/// Streams that are open before the crowd comes; each sixth is of the crowd's own customer.
const STREAMS: usize = 24;
const WORDS: usize = 60;
/// More requests at a time than wait in the queue of a family (1024) and run: some are always refused.
const CROWD: usize = 1024 + 32;
/// Keys of the customer that sends them, so that no key has too many requests open.
const KEYS: usize = 4;
/// Some 30 ms of processor time: the threads are never ahead of the crowd.
const SPIN: u64 = 10_000_000;
const REFUSED: &str = "gatehouse_plugin_queue_full_total";

const TABLES: &str = "[plugins.canary]\nwindow_s = 0\n\n\
    [plugins.limits_by_family.chat]\ncall_ms = 10000\n\n\
    [server.limits]\nconnections_per_ip = 5000\nconnections = 6000\nrequests_per_customer = 5000\n\n";

/// How the crowd's requests were answered.
#[derive(Default)]
struct Answers {
    served: AtomicUsize,
    refused: AtomicUsize,
}

/// Clients that each send a request as soon as the last one is answered, until they are dropped.
fn crowd(scene: &Scene, keys: &[Caller], answers: &Arc<Answers>) -> JoinSet<()> {
    let body = json!({"model": "over-chat", "messages": [], "spin": SPIN}).to_string();
    (0..CROWD)
        .map(|number| {
            let (body, bearer, answers) = (body.clone(), keys[number % KEYS].bearer(), Arc::clone(answers));
            let mut client = PersistentClient::new(scene.gateway.public);
            async move {
                let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
                loop {
                    let path = Wire::Chat.path();
                    let answer = client.send("POST", path, &headers, body.clone()).await.expect("an answer");
                    let count = match answer.status {
                        400 => &answers.served,
                        503 => &answers.refused,
                        _ => panic!("{answer:?}"),
                    };
                    count.fetch_add(1, Ordering::SeqCst);
                }
            }
        })
        .collect()
}

#[test]
fn a_full_queue_cuts_no_stream_and_refuses_only_who_fills_it() {
    run_load(async {
        let scene = Scene::start(TABLES).await;
        let file = scene.gateway.folder().join("slow.wasm");
        std::fs::write(&file, component("tests/fixtures/slow-text")).expect("a file");
        let file = file.display().to_string();
        scene.gateway.command(&["plugin", "install", &file, "--allow-removal"]).await;
        let other = scene.gateway.open_account("other", "1000").await;
        let mut keys = vec![scene.caller.clone()];
        while keys.len() < KEYS {
            keys.push(scene.gateway.make_key("main", &["--unlimited"]).await);
        }
        let text = format!("[[stall:2]] [[pace:5]] [[words:{WORDS}]] the keeper");
        let mut streams = Vec::new();
        for number in 0..STREAMS {
            let caller = if number % 6 == 0 { &scene.caller } else { &other };
            streams.push(scene.send_as(caller, Wire::Chat, &request(Wire::Chat, &text, true)).await);
        }
        scene.until_held(STREAMS).await;

        let answers = Arc::<Answers>::default();
        let mut crowd = crowd(&scene, &keys, &answers);
        until("the queue is full", async || scene.counter(REFUSED).await > 0).await;
        let before = answers.refused.load(Ordering::SeqCst);
        scene.sandbox.release();
        for _ in 0..3 {
            let new =
                scene.send_as(&other, Wire::Chat, &request(Wire::Chat, "[[words:9]] hello", false)).await;
            assert_eq!(new.end().await.whole_text().split(' ').count(), 9);
        }
        for stream in streams {
            let answer = stream.end().await;
            assert_eq!(answer.streamed_text().split(' ').count(), WORDS, "{answer:?}");
        }
        assert!(answers.refused.load(Ordering::SeqCst) > before, "the queue was full all the while");
        assert!(answers.served.load(Ordering::SeqCst) > 0, "its share is served");
        assert!(crowd.try_join_next().is_none(), "no client of the crowd had another answer");
        drop(crowd);
        for customer in ["main", "other"] {
            assert_ne!(scene.gateway.account_without_holds(customer).await["spent"], 0, "{customer}");
        }
        scene.gateway.expect_sound_ledger().await;
    });
}
