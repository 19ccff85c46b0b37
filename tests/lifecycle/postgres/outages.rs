//! The database stops in the middle, fails over, or is cut off: nothing that was acknowledged is lost, nothing is done twice, new work
//! is refused with the moment to come again, streams go on, and no process ends.
//!
//! Three stops; `GATEHOUSE_OUTAGES` asks for more, `GATEHOUSE_SEED` for a run like another.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use gatehouse_fault_injection::{ConnectionCut, PostgresServer, Relay};
use gatehouse_harness::{Caller, Gateway, run, send, until};
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use super::{IMAGES, PRICE, at};
use crate::lifecycle::{request, sandbox, setting, setup, submits};
use crate::text::scene::{Scene, Wire, request as text};

/// Submissions a second, each repeated until it is acknowledged.
const RATE: u32 = 200;
/// Clients at the same time.
const CLIENTS: usize = 200;

/// Clients that repeat what was not acknowledged.
#[derive(Default)]
pub(super) struct Load {
    /// Task by prompt.
    pub(super) receipts: Mutex<BTreeMap<String, String>>,
    next: AtomicUsize,
    pub(super) refused: AtomicUsize,
    pub(super) ended: AtomicBool,
}

impl Load {
    pub(super) fn len(&self) -> usize {
        self.receipts.lock().expect("no panic").len()
    }
}

pub(super) async fn client(load: Arc<Load>, caller: Caller) {
    while !load.ended.load(Ordering::SeqCst) {
        submit(&load, &caller).await;
    }
}

/// One more submission, until it is acknowledged.
async fn submit(load: &Load, caller: &Caller) {
    let prompt = format!("prompt-{}", load.next.fetch_add(1, Ordering::SeqCst));
    loop {
        let answer = caller.post_with(&[("idempotency-key", &prompt)], IMAGES, &request(&prompt)).await;
        if answer.status == 200 {
            load.receipts.lock().expect("no panic").insert(prompt, answer.task_id());
            break;
        }
        assert_eq!(answer.status, 503, "{}", answer.text());
        assert!(answer.header("retry-after").parse::<u32>().is_ok(), "{}", answer.text());
        load.refused.fetch_add(1, Ordering::SeqCst);
        gatehouse_harness::pause().await;
    }
}

/// New submissions all the time: those whose batch was sent when the database stopped wait for it, so that other clients have to come.
async fn submissions(load: Arc<Load>, caller: Caller) {
    let (mut clients, mut moments) = (JoinSet::new(), tokio::time::interval(Duration::from_secs(1) / RATE));
    moments.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while !load.ended.load(Ordering::SeqCst) {
        moments.tick().await;
        while let Some(ended) = clients.try_join_next() {
            ended.expect("no panic");
        }
        if clients.len() < CLIENTS {
            let (load, caller) = (Arc::clone(&load), caller.clone());
            clients.spawn(async move { submit(&load, &caller).await });
        }
    }
    while let Some(ended) = clients.join_next().await {
        ended.expect("no panic");
    }
}

#[test]
fn stops_of_the_database_lose_nothing_and_do_nothing_twice() {
    run(async {
        let (outages, seed) = (setting("GATEHOUSE_OUTAGES", 3), setting("GATEHOUSE_SEED", 20_261));
        let mut random = fastrand::Rng::with_seed(seed as u64);
        let server = PostgresServer::start();
        let url = server.database();
        let sandbox = sandbox(Duration::from_millis(30)).await;
        let gateway = Gateway::start(setup(&sandbox).with(&at(&url))).await;
        let caller = gateway.open_account("acme", "10000000").await;
        let (load, pid) = (Arc::<Load>::default(), gateway.pid());
        let clients = tokio::spawn(submissions(Arc::clone(&load), caller.clone()));
        let (mut longest, mut at_work, mut in_work) = (Duration::ZERO, Duration::ZERO, 0);
        for _ in 0..outages {
            let (before, working) = (load.len(), Instant::now());
            let wanted = before + random.usize(1..60);
            until("receipts come", async || load.len() >= wanted).await;
            at_work += working.elapsed();
            in_work += load.len() - before;
            let refused = load.refused.load(Ordering::SeqCst);
            let begun = Instant::now();
            tokio::task::block_in_place(|| server.stop_immediately());
            until("new work is refused", async || load.refused.load(Ordering::SeqCst) > refused).await;
            longest = longest.max(begun.elapsed());
            until("it is not ready", async || {
                send(gateway.admin(), "GET", "/readyz", &[], "").await.status == 503
            })
            .await;
            tokio::task::block_in_place(|| server.start_again());
            let receipts = load.len();
            until("work goes on", async || load.len() > receipts).await;
        }
        load.ended.store(true, Ordering::SeqCst);
        clients.await.expect("no panic");
        assert_eq!(gateway.pid(), pid);
        let receipts = load.receipts.lock().expect("no panic").clone();
        let account = gateway.settled_account(&caller, "acme").await;
        let (mut spent, mut failed) = (0, 0);
        for (prompt, id) in &receipts {
            let task = caller.task(id).await;
            assert!(task["status"] == "completed" || task["status"] == "failed", "{prompt}: {task}");
            failed += usize::from(task["status"] == "failed");
            spent += if task["status"] == "completed" { PRICE } else { 0 };
        }
        let twice: Vec<_> = submits(&sandbox).into_iter().filter(|(_, count)| *count > 1).collect();
        assert!(twice.is_empty(), "called twice: {twice:?}");
        assert_eq!(
            (account["spent"].as_i64(), account["reserved"].as_i64()),
            (Some(spent), Some(0)),
            "{account}"
        );
        gateway.expect_sound_ledger().await;
        println!(
            "{outages} stops: {} receipts, {failed} of them of tasks that failed; {in_work} in {at_work:.1?} between stops; {} refusals, the \
             first one at most {longest:.0?} after the stop began; imbalance 0",
            receipts.len(),
            load.refused.load(Ordering::SeqCst)
        );
    });
}

/// A client that reads would be cut off, or what it read would not be paid.
#[test]
fn a_stream_goes_on_without_the_database_and_is_paid_afterwards() {
    run(async {
        let server = PostgresServer::start();
        let scene = Scene::start(&at(&server.database())).await;
        let before = scene.spent().await;
        let mut stream =
            scene.send(Wire::Messages, &text(Wire::Messages, "[[stall:5]] [[words:40]] ships", true)).await;
        stream.until("content_block_delta").await;
        scene.until_held(1).await;
        tokio::task::block_in_place(|| server.stop_immediately());
        let refused = async || {
            let answer = scene.caller.post("/v1/messages", &text(Wire::Messages, "hello", false)).await;
            (answer.status == 503).then(|| answer.header("retry-after").to_owned())
        };
        let again = gatehouse_harness::until_some("new texts are refused", refused).await;
        assert!(again.parse::<u32>().is_ok(), "{again}");
        scene.sandbox.release();
        let answer = stream.end().await;
        assert!(answer.body.contains("message_stop"), "{}", answer.body);
        tokio::task::block_in_place(|| server.start_again());
        until("the stream is paid", async || scene.spent().await > before).await;
        scene.gateway.expect_sound_ledger().await;
    });
}

/// A proxy that ends idle connections, or a failover that is over in a moment, would cost the next client of each gateway a refusal.
#[test]
fn what_comes_right_after_a_session_ended_is_answered() {
    run(async {
        let server = PostgresServer::shared();
        let url = server.database();
        let scene = Scene::start(&at(&url)).await;
        for number in 0..4 {
            for streaming in [false, true] {
                tokio::task::block_in_place(|| server.end_sessions(&url));
                let words = format!("[[words:2]] ships {number}");
                let answer =
                    scene.caller.post("/v1/messages", &text(Wire::Messages, &words, streaming)).await;
                assert_eq!(answer.status, 200, "{number} {streaming}: {}", answer.text());
            }
        }
        assert!(scene.spent().await > 0);
        scene.gateway.expect_sound_ledger().await;
    });
}

/// What was committed would be written twice, or what was not would be taken for written.
#[test]
fn a_commit_whose_answer_is_lost_counts_once() {
    run(async {
        let server = PostgresServer::start();
        let relay = Relay::to(server.address());
        let url = relay.url(&server.database(), server.address());
        let sandbox = sandbox(Duration::ZERO).await;
        let gateway = Gateway::start(setup(&sandbox).with(&at(&url))).await;
        let caller = gateway.open_account("acme", "1000").await;
        let cuts = [ConnectionCut::Request(b"commit"), ConnectionCut::Answer(b"COMMIT")];
        for (number, cut) in cuts.into_iter().cycle().take(4).enumerate() {
            relay.cut_at(cut);
            let prompt = format!("cut-{number}");
            let taken = async || {
                let answer =
                    caller.post_with(&[("idempotency-key", &prompt)], IMAGES, &request(&prompt)).await;
                (answer.status == 200).then(|| answer.task_id())
            };
            let task = gatehouse_harness::until_some("the task is taken", taken).await;
            assert_eq!(caller.end_of(&task).await["status"], "completed");
        }
        assert_eq!(relay.cuts(), 4);
        assert!(submits(&sandbox).values().all(|count| *count == 1), "{:?}", submits(&sandbox));
        let account: Value = gateway.settled_account(&caller, "acme").await;
        assert_eq!(account["spent"].as_i64(), Some(4 * PRICE), "{account}");
        gateway.expect_sound_ledger().await;
    });
}
