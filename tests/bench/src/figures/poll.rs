//! Reading a task that is under way.

use std::time::Duration;

use crate::arguments::Arguments;
use crate::gateway::{BenchGateway, pause, request};
use crate::image_provider::Jobs;
use crate::report;

/// Makes some tasks and reads them in turn.
pub(crate) async fn measure(arguments: &Arguments) {
    let count = arguments.count(100_000);
    let gateway = BenchGateway::start(arguments, 64, Jobs::Endless, Duration::from_secs(3600)).await;
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
