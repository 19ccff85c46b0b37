//! Whole lives: accepted, handed over, polled once, the picture copied, settled.

use std::time::{Duration, Instant};

use crate::arguments::Arguments;
use crate::house::{Stand, request, watch};
use crate::load;
use crate::provider::Jobs;
use crate::report::{self, line, millis};

/// Submits, and waits until every picture is copied.
pub(crate) async fn measure(arguments: &Arguments) {
    let count = arguments.count(5000);
    let stand = Stand::start(arguments, 64, Jobs::Instant, Duration::from_millis(10)).await;
    let warm = 200;
    stand.submit(warm, request()).await;
    stand.provider.wait_until(|asked| asked.pictures >= warm).await;
    watch(Duration::from_millis(500)).await;

    let (before, started) = (stand.process().cpu(), Instant::now());
    let load = stand.submit(count, request()).await;
    stand.provider.wait_until(|asked| asked.pictures >= warm + count).await;
    let took = started.elapsed();
    // The last pictures are on their way to the store.
    watch(Duration::from_millis(500)).await;
    let cpu = stand.process().cpu().since(&before);
    line("submissions accepted", load.rate());
    line("tasks completed", load::rate(count, took));
    line("receipt p50", millis(load.quantile(0.5)));
    line("receipt p99", millis(load.quantile(0.99)));
    report::cpu("each task, from request to copy", &cpu, count);
}
