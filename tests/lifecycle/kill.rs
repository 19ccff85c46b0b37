//! SIGKILL in the middle of submissions.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use gatehouse_tests::{House, run};
use serde_json::Value;
use tokio::sync::{Notify, Semaphore};

use crate::{request, sandbox, setup, submits};

const SUBMISSIONS: usize = 200;
/// Kills, each after this many receipts of a fresh round.
const KILLS: [usize; 3] = [5, 60, 140];

#[test]
fn every_receipt_handed_out_reaches_an_end() {
    run(async {
        let sandbox = sandbox(Duration::from_millis(30)).await;
        let mut house = House::start(setup(&sandbox)).await;
        let caller = house.open_account("acme", "1000000").await;
        let mut receipts: BTreeMap<String, String> = BTreeMap::new();
        for (round, after) in KILLS.into_iter().enumerate() {
            let handed_out = Arc::new(AtomicUsize::new(0));
            let enough = Arc::new(Notify::new());
            let places = Arc::new(Semaphore::new(16));
            let submissions: Vec<_> = (0..SUBMISSIONS)
                .map(|n| {
                    let (caller, handed_out, enough, places) = (
                        caller.at(house.public),
                        Arc::clone(&handed_out),
                        Arc::clone(&enough),
                        Arc::clone(&places),
                    );
                    tokio::spawn(async move {
                        let _place = places.acquire().await;
                        let prompt = format!("kite {round}-{n}");
                        let answer =
                            caller.try_post("/v1/images/generations", &request(&prompt)).await.ok()?;
                        let task = answer.json()["data"][0]["task_id"].as_str()?.to_owned();
                        if handed_out.fetch_add(1, Ordering::SeqCst) + 1 == after {
                            enough.notify_one();
                        }
                        Some((task, prompt))
                    })
                })
                .collect();
            enough.notified().await;
            house.kill().await;
            for submission in submissions {
                receipts.extend(submission.await.expect("no panic"));
            }
            house.restart().await;
        }
        assert!(receipts.len() >= KILLS.iter().sum(), "{} receipts", receipts.len());
        let caller = caller.at(house.public);
        let (mut completed, mut failed) = (0_i64, 0_i64);
        for task in receipts.keys() {
            let task = end_of(&caller, task).await;
            match task["status"].as_str() {
                Some("completed") => completed += 1,
                _ => {
                    failed += 1;
                    assert_eq!(task["cost"], 0.0, "{task}");
                }
            }
        }
        let twice: Vec<_> = submits(&sandbox).into_iter().filter(|(_, count)| *count > 1).collect();
        assert!(twice.is_empty(), "asked twice: {twice:?}");
        house.expect_clean_books().await;
        // Tasks whose receipt was lost on the wire are durable too; all of them ended, so nothing is held.
        let account = house.settled_account(&caller, "acme").await;
        assert_eq!(account["reserved"], 0);
        assert!(
            account["spent"].as_i64() >= Some(completed * 4_000_000),
            "{account} {completed} completed, {failed} failed"
        );
    });
}

async fn end_of(caller: &gatehouse_tests::Caller, task: &str) -> Value {
    for _ in 0..3 {
        let answer = caller.send("GET", &format!("/v1/tasks/{task}"), &[("prefer", "wait=30")], "").await;
        assert_eq!(answer.status, 200, "an acknowledged task is readable: {}", answer.json());
        let task = answer.json()["data"].clone();
        if task["status"] == "completed" || task["status"] == "failed" {
            return task;
        }
    }
    panic!("task {task} does not end");
}
