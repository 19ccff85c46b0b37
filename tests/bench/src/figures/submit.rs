//! Durable submissions: over the socket, through key, plugin and store, to the receipt, and then to the
//! provider. CPU covers all of it, rate and latency end with the receipt.

use std::time::{Duration, Instant};

use crate::arguments::Arguments;
use crate::disk;
use crate::gateway::{BenchGateway, pause, request};
use crate::image_provider::Jobs;
use crate::load;
use crate::report::{self, line, micros, millis};

/// Requests that warm everything up.
const WARM: usize = 500;
/// Far enough away that no task is polled while it is measured.
const NEVER: Duration = Duration::from_secs(3600);

/// Submits, and waits until the provider has every task.
pub(crate) async fn measure(arguments: &Arguments) {
    let count = arguments.count(20_000);
    let sync = disk::measure();
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
    let sync_after = disk::measure();

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
