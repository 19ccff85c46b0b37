//! Durable tasks: their submissions, with a large picture too, their whole lives, and reads of them under way; and what
//! the disk below them takes.

use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::arguments::Arguments;
use crate::gateway::{BenchGateway, pause, request};
use crate::image_provider::{Jobs, png_uri};
use crate::load;
use crate::report::{self, line, mebibytes, micros, millis};

/// Requests that warm everything up.
const WARM: usize = 500;
/// Far enough away that no task is polled while it is measured.
const NEVER: Duration = Duration::from_secs(3600);
/// Bytes of a large picture.
const PICTURE: usize = 20_000_000;

/// Submissions: over the socket, through key, plugin and store, to the receipt, and then to the provider. CPU covers all of
/// it, rate and latency end with the receipt.
pub(crate) async fn submitted(arguments: &Arguments) {
    let count = arguments.count(20_000);
    let sync = measure_disk();
    let gateway = BenchGateway::start(arguments, 64, Jobs::Endless, NEVER).await;
    gateway.submit(WARM, request()).await;
    gateway.provider.counts().submissions.reach(WARM).await;
    pause(Duration::from_millis(500)).await;

    let server = gateway.server_cpu();
    let (metrics, before, started) = (gateway.metrics().await, gateway.process().cpu(), Instant::now());
    let load = gateway.submit(count, request()).await;
    gateway.provider.counts().submissions.reach(WARM + count).await;
    let handed = started.elapsed();
    // The last replies are on their way to the store.
    pause(Duration::from_millis(500)).await;
    let cpu = gateway.process().cpu().since(&before);
    let server = gateway.server_cpu().saturating_sub(server);
    let after = gateway.metrics().await;
    let sync_after = measure_disk();

    report::load("submissions accepted", "receipt", &load);
    line("submissions handed to the provider", load::rate(count, handed));
    report::cpu("each submission, until handed over", &cpu, count);
    if arguments.server.is_some() {
        line("CPU of the database's server, each", micros(report::each(server, count)));
    }
    let commits = after.sum("gatehouse_store_commits_total") - metrics.sum("gatehouse_store_commits_total");
    line("commits", format!("{commits:.0} in {}", millis(handed)));
    for (when, sync) in [("before", sync), ("after", sync_after)] {
        line(&format!("fdatasync of 4 KiB {when}, p50 and p99"), both(sync.median, sync.p99));
    }
}

fn both(median: Duration, p99: Duration) -> String {
    format!("{} {}", millis(median), millis(p99))
}

/// What the disk below the gateway's data takes to keep a page: the figure every durable request is read beside. Half of the
/// tries were faster than the median, 99 of 100 than the other.
struct DiskSync {
    median: Duration,
    p99: Duration,
}

/// Writes 4 KiB and calls fdatasync, over and over, in the place temporary folders are made in.
fn measure_disk() -> DiskSync {
    const TRIES: usize = 200;
    let folder = tempfile::tempdir().expect("a folder");
    let mut file = File::create(folder.path().join("pages")).expect("a file");
    file.write_all(&vec![1; 4096 * TRIES]).and_then(|()| file.sync_all()).expect("a written file");
    file.rewind().expect("a file");
    let mut spans: Vec<Duration> = (0..TRIES)
        .map(|_| {
            let started = Instant::now();
            file.write_all(&[2; 4096]).and_then(|()| file.sync_data()).expect("a page kept");
            started.elapsed()
        })
        .collect();
    spans.sort_unstable();
    DiskSync { median: spans[TRIES / 2], p99: spans[TRIES * 99 / 100] }
}

/// The same with a picture of 20 MB inside each request, cut out at the edge, kept as a blob, and written into the call again:
/// until the provider has read each whole.
pub(crate) async fn with_picture(arguments: &Arguments) {
    let count = arguments.count(40);
    let gateway = BenchGateway::start(arguments, 2, Jobs::Endless, NEVER).await;
    let body = json!({ "model": "ctx-pro", "prompt": "the same at night", "image_urls": [png_uri(PICTURE)] });
    let body = body.to_string();
    gateway.submit(10, request()).await;
    gateway.provider.counts().submissions.reach(10).await;
    let idle = gateway.process().resident();

    let (before, started) = (gateway.process().cpu(), Instant::now());
    let load = gateway.submit(count, body).await;
    gateway.provider.counts().submissions.reach(10 + count).await;
    let took = started.elapsed();
    let cpu = gateway.process().cpu().since(&before);
    report::load("requests accepted", "receipt", &load);
    line("requests handed to the provider", load::rate(count, took));
    report::cpu("each request, until handed over", &cpu, count);
    line("memory when idle", mebibytes(idle));
    line("memory at most, above idle", mebibytes(gateway.process().peak().saturating_sub(idle)));
}

/// Whole lives: accepted, handed over, polled once, the picture copied, settled.
pub(crate) async fn whole_lives(arguments: &Arguments) {
    let count = arguments.count(5000);
    let gateway = BenchGateway::start(arguments, 64, Jobs::Instant, Duration::from_millis(10)).await;
    let warm = 200;
    gateway.submit(warm, request()).await;
    gateway.provider.counts().pictures.reach(warm).await;
    pause(Duration::from_millis(500)).await;

    let (before, started) = (gateway.process().cpu(), Instant::now());
    let load = gateway.submit(count, request()).await;
    gateway.provider.counts().pictures.reach(warm + count).await;
    let took = started.elapsed();
    // The last pictures are on their way to the store.
    pause(Duration::from_millis(500)).await;
    let cpu = gateway.process().cpu().since(&before);
    report::load("submissions accepted", "receipt", &load);
    line("tasks completed", load::rate(count, took));
    report::cpu("each task, from request to copy", &cpu, count);
}

/// Makes some tasks and reads them in turn, while they are under way.
pub(crate) async fn read(arguments: &Arguments) {
    let count = arguments.count(100_000);
    let gateway = BenchGateway::start(arguments, 64, Jobs::Endless, NEVER).await;
    let body = serde_json::from_str(&request()).expect("a literal request");
    let mut tasks = Vec::new();
    for _ in 0..200 {
        tasks.push(gateway.caller.post("/v1/images/generations", &body).await.task_id());
    }
    gateway.provider.counts().submissions.reach(tasks.len()).await;
    gateway.read(1000, tasks.clone()).await;
    pause(Duration::from_millis(500)).await;

    let before = gateway.process().cpu();
    let load = gateway.read(count, tasks).await;
    let cpu = gateway.process().cpu().since(&before);
    report::load("reads of a task", "answer", &load);
    report::cpu("each read", &cpu, count);
}
