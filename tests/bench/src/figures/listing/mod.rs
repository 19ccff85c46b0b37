//! Lists over a long history: a customer's tasks, every list of the admin API and every page of the console, and what the
//! reads of clients wait meanwhile.

mod console;
mod fill;
mod operators;
mod table;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::arguments::Arguments;
use crate::gateway::{BenchGateway, request};
use crate::image_provider::Jobs;
use crate::report::{line, mebibytes, millis};

/// Finished tasks for each live one.
const FINISHED_PER_LIVE: usize = 10;
/// Reads of live tasks, with and without listings.
const READS: usize = 20_000;
/// Reads of one round beside the lists.
const ROUND: usize = 2_000;
/// No task ends by its time limit meanwhile.
const CONFIGURATION: &str = "[tasks]\ntime_limit_s = 86400\n\n";

/// Writes the history into the store of a stopped gateway, and reads every list of it.
pub(crate) async fn measure(arguments: &Arguments) {
    let count = arguments.count(200_000);
    let pace = Duration::from_secs(86_400);
    let mut gateway = BenchGateway::with(arguments, 16, Jobs::Endless, pace, CONFIGURATION).await;
    let body = serde_json::from_str(&request()).expect("a literal request");
    let first = gateway.caller.post("/v1/images/generations", &body).await.task_id();
    let hook = ["webhook", "create", "https://hooks.example.com/hook", "--account", "bench", "--json"];
    gateway.harness.command(&hook).await;
    assert_eq!(gateway.harness.terminate().await, Some(0), "a clean end");
    let wanted = fill::Wanted { finished: count, live: count / FINISHED_PER_LIVE };
    let (path, started) = (gateway.harness.folder().join("data/core.redb"), Instant::now());
    let mut live = fill::fill(&path, &wanted).await;
    live.push(first);
    line("finished tasks", wanted.finished);
    line("live tasks", wanted.live + 1);
    line("written in", format!("{:.0} s", started.elapsed().as_secs_f64()));
    line("size of the store", mebibytes(std::fs::metadata(&path).expect("a file").len()));
    gateway.harness.restart().await;
    line("memory after the start", mebibytes(gateway.process().resident()));

    let alone = gateway.read(READS, live.clone()).await;
    line("read of a task alone, p50", millis(alone.quantile(0.5)));
    line("read of a task alone, p99", millis(alone.quantile(0.99)));
    of_customer(&gateway).await;
    let over = AtomicBool::new(false);
    let ((), ()) = tokio::join!(beside(&gateway, &live, &over), async {
        operators::measure(&gateway).await;
        console::measure(&gateway).await;
        over.store(true, Ordering::Relaxed);
    });
    line("memory at the end", mebibytes(gateway.process().resident()));
}

/// All pages of a customer's list with a filter that matches nothing.
async fn of_customer(gateway: &BenchGateway) {
    let caller = gateway.caller.at(gateway.harness.public);
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
    line("customer's list, pages until the end", pages);
    line("customer's list, slowest page", millis(slowest));
    line("customer's list, all pages", millis(started.elapsed()));
}

/// Clients that read live tasks until the lists are over.
async fn beside(gateway: &BenchGateway, live: &[String], over: &AtomicBool) {
    let (mut middles, mut tails) = (Vec::new(), Vec::new());
    while !over.load(Ordering::Relaxed) {
        let load = gateway.read(ROUND, live.to_vec()).await;
        middles.push(load.quantile(0.5));
        tails.push(load.quantile(0.99));
    }
    middles.sort_unstable();
    tails.sort_unstable();
    line("reads beside the lists", middles.len() * ROUND);
    line("read beside the lists, p50 of a middle round", millis(middles[middles.len() / 2]));
    line("read beside the lists, p99 of a middle round", millis(tails[tails.len() / 2]));
    line("read beside the lists, p99 of the worst round", millis(tails[tails.len() - 1]));
}
