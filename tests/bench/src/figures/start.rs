//! A warm start: from the process's first moment to a request it answers as ready, on data it has seen.

use std::time::{Duration, Instant};

use gatehouse_harness::send;

use crate::arguments::Arguments;
use crate::gateway::{BenchGateway, pause};
use crate::image_provider::Jobs;
use crate::report::{line, mebibytes, millis};

/// Restarts it over and over.
pub(crate) async fn measure(arguments: &Arguments) {
    let count = arguments.count(20);
    let mut gateway = BenchGateway::start(arguments, 1, Jobs::Endless, Duration::from_secs(30)).await;
    let (mut ready, mut used, mut resident) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..count {
        let start = restarted(&mut gateway).await;
        ready.push(start.ready);
        used.push(start.used);
        pause(Duration::from_millis(500)).await;
        resident.push(gateway.process().resident());
    }
    ready.sort_unstable();
    used.sort_unstable();
    resident.sort_unstable();
    line("warm start to ready, median", millis(ready[count / 2]));
    line("warm start to ready, slowest", millis(ready[count - 1]));
    line("CPU until ready, median", millis(used[count / 2]));
    line("memory when idle, median", mebibytes(resident[count / 2]));
}

/// One warm start.
pub(super) struct Start {
    /// Until the gateway said that it is ready.
    pub(super) ready: Duration,
    /// Its processor time by then.
    pub(super) used: Duration,
}

/// Ends the gateway and starts it again on the same data.
pub(super) async fn restarted(gateway: &mut BenchGateway) -> Start {
    let code = gateway.harness.terminate().await;
    assert_eq!(code, Some(0), "a clean end");
    let started = Instant::now();
    gateway.harness.restart().await;
    let answer = send(gateway.harness.public, "GET", "/readyz", &[], "").await;
    assert_eq!(answer.status, 200, "ready");
    Start { ready: started.elapsed(), used: gateway.process().cpu().whole() }
}
