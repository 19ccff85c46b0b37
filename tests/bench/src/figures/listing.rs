//! Listing the tasks of a customer with a long history, and what the polls of others wait meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gatehouse_harness::TestSeed;
use gatehouse_model::{Phase, Status, Task, TaskId};
use gatehouse_store::{Config, Store};
use gatehouse_tasks::{Command, Ending, ResultRecord};
use tokio::task::JoinSet;

use crate::arguments::Arguments;
use crate::gateway::{BenchGateway, request};
use crate::image_provider::Jobs;
use crate::report::{line, millis};

/// Commands under way while the history is written.
const BATCH: usize = 1_000;
/// Reads of one live task, with and without listings.
const READS: usize = 20_000;

/// Writes the history into the store of a stopped gateway, then lists it with a filter that matches nothing.
pub(crate) async fn measure(arguments: &Arguments) {
    let count = arguments.count(200_000);
    let mut gateway = BenchGateway::start(arguments, 16, Jobs::Endless, Duration::from_secs(3600)).await;
    let body = serde_json::from_str(&request()).expect("a literal request");
    let live = gateway.caller.post("/v1/images/generations", &body).await.task_id();
    assert_eq!(gateway.harness.terminate().await, Some(0), "a clean end");
    fill(&gateway.harness.folder().join("data/core.redb"), count).await;
    gateway.harness.restart().await;
    let public = gateway.harness.public;
    let caller = gateway.caller.at(public);
    line("finished tasks of the customer", count);

    let alone = gateway.read(READS, vec![live.clone()]).await;
    let (mut after, mut pages, mut slowest, started) = (String::new(), 0, Duration::ZERO, Instant::now());
    loop {
        let began = Instant::now();
        let page =
            caller.send("GET", &format!("/v1/tasks?status=failed&limit=100{after}"), &[], "").await.json();
        slowest = slowest.max(began.elapsed());
        pages += 1;
        assert_eq!(page["data"].as_array().map(Vec::len), Some(0), "nothing matches");
        if page["has_more"] != true {
            break;
        }
        after = format!("&after={}", page["last_id"].as_str().expect("a cursor"));
    }
    line("pages until the end", pages);
    line("slowest page", millis(slowest));
    line("all pages", millis(started.elapsed()));

    let over = Arc::new(AtomicBool::new(false));
    let listing = tokio::spawn({
        let over = Arc::clone(&over);
        async move {
            let mut pages = 0_usize;
            while !over.load(Ordering::Relaxed) {
                caller.send("GET", "/v1/tasks?status=failed&limit=100", &[], "").await;
                pages += 1;
            }
            pages
        }
    });
    let beside = gateway.read(READS, vec![live]).await;
    over.store(true, Ordering::Relaxed);
    line("listings beside the reads", listing.await.expect("no panic"));
    line("read of a task alone, p50", millis(alone.quantile(0.5)));
    line("read of a task alone, p99", millis(alone.quantile(0.99)));
    line("read beside listings, p50", millis(beside.quantile(0.5)));
    line("read beside listings, p99", millis(beside.quantile(0.99)));
}

/// Adds `count` completed tasks, copies of the one live task, older than it and free.
async fn fill(path: &std::path::Path, count: usize) {
    let store = Store::open(path, &Config::default()).expect("the gateway has ended");
    let model: Task = store.live_tasks().next().expect("one live task").expect("readable");
    let seed = TestSeed::default();
    for first in (0..count).step_by(BATCH) {
        let mut writes = JoinSet::new();
        for number in first..(first + BATCH).min(count) {
            let at = gatehouse_model::UnixMs(model.created.0 - 1_000 - number as u64);
            let id = TaskId::new(at, &seed);
            let mut task = Task { id, created: at, revision: 0, status: Status::Submitted, ..model.clone() };
            task.charge.quantity = 0;
            task.held = gatehouse_model::Credits::ZERO;
            task.phase = Phase::Wait(model.deadline);
            let store = store.clone();
            writes.spawn(async move {
                let submit = Command::Submit { task: Box::new(task), idempotency: None };
                store.execute(submit).await.expect("a working store").expect("a new task");
                let (public, private, media) = (b"{}".to_vec(), b"{}".to_vec(), vec![]);
                let result = ResultRecord { public, private, media };
                let cost = gatehouse_model::Credits::ZERO;
                let ending = Ending::Completed { result, claims: vec![], cost };
                let finish = Command::Finish { id, revision: 0, ending, audit: None, at };
                store.execute(finish).await.expect("a working store").expect("a live task");
            });
        }
        writes.join_all().await;
    }
    store.close();
}
