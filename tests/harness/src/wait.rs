//! Running a test, and waiting until a condition holds. No test waits for a fixed span.

use std::future::Future;
use std::time::{Duration, Instant};

/// How long a condition may take to become true before the test fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a test on a multi-threaded runtime of its own.
pub fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(test)
}

/// Waits until `condition` holds; fails the test after a minute.
pub async fn until(what: &str, condition: impl AsyncFn() -> bool) {
    let start = Instant::now();
    while !condition().await {
        assert!(start.elapsed() < PATIENCE, "still not so: {what}");
        tokio::task::yield_now().await;
    }
}
