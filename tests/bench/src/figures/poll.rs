//! Reading a task that is under way.

use std::time::Duration;

use crate::arguments::Arguments;
use crate::house::{Stand, request, task_id, watch};
use crate::provider::Jobs;
use crate::report::{self, line, millis};

/// Makes some tasks and reads them in turn.
pub(crate) async fn measure(arguments: &Arguments) {
    let count = arguments.count(100_000);
    let stand = Stand::start(arguments, 64, Jobs::Endless, Duration::from_secs(3600)).await;
    let body = serde_json::from_str(&request()).expect("a literal request");
    let mut tasks = Vec::new();
    for _ in 0..200 {
        tasks.push(task_id(&stand.caller.post("/v1/images/generations", &body).await.json()));
    }
    stand.provider.wait_until(|asked| asked.submissions >= tasks.len()).await;
    stand.read(1000, tasks.clone()).await;
    watch(Duration::from_millis(500)).await;

    let before = stand.process().cpu();
    let load = stand.read(count, tasks).await;
    let cpu = stand.process().cpu().since(&before);
    line("reads of a task", load.rate());
    line("answer p50", millis(load.quantile(0.5)));
    line("answer p99", millis(load.quantile(0.99)));
    report::cpu("each read", &cpu, count);
}
