//! Whole lives: accepted, handed over, polled once, the picture copied, settled.

use std::time::{Duration, Instant};

use crate::arguments::Arguments;
use crate::gateway::{BenchGateway, pause, request};
use crate::image_provider::Jobs;
use crate::load;
use crate::report::{self, line};

/// Submits, and waits until every picture is copied.
pub(crate) async fn measure(arguments: &Arguments) {
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
