//! Running a test, and waiting until a condition holds. No test waits for a fixed span.

use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a condition may take to become true before the test fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Between two looks at a condition, longer each time.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(16);

/// Runs a test on a multi-threaded runtime of its own.
pub fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(test)
}

/// The same for a test that loads the machine, or compares how its customers are served: one at a time in a process. Two beside
/// each other would measure each other. Other tests go on meanwhile.
pub fn run_load<T>(test: impl Future<Output = T>) -> T {
    static TURN: Mutex<()> = Mutex::new(());
    // A load test that failed is no reason for the next one to fail.
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    run(test)
}

/// Waits until `condition` holds; fails the test after a minute.
pub async fn until(what: &str, condition: impl AsyncFn() -> bool) {
    until_some(what, async || condition().await.then_some(())).await;
}

/// Waits until `look` finds something; fails the test after a minute.
pub async fn until_some<T>(what: &str, look: impl AsyncFn() -> Option<T>) -> T {
    let (start, mut pause) = (Instant::now(), FIRST_PAUSE);
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "still not so: {what}");
        pass(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Between two looks of a loop of its own: what is waited for, and other tests, need the processor more.
pub async fn pause() {
    pass(LONGEST_PAUSE).await;
}

async fn pass(span: Duration) {
    let _ = tokio::time::timeout(span, std::future::pending::<()>()).await;
}
