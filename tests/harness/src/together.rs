//! Checks that only read what they share: one scene for all of them, instead of one for each.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;

use futures_util::FutureExt as _;

use crate::environment::variable;
use crate::wait::run;

/// With `1` every check has a scene of its own: it fails there too, or another check disturbed it.
const ALONE: &str = "GATEHOUSE_TEST_ALONE";

/// What a check does with the scene.
pub type CheckBody<S> = for<'a> fn(&'a S) -> Pin<Box<dyn Future<Output = ()> + 'a>>;

/// A check's name, and what it does.
pub type Check<S> = (&'static str, CheckBody<S>);

/// Functions `async fn(&Scene)` as a list of checks, by their names.
#[macro_export]
macro_rules! checks {
    ($($check:path),+ $(,)?) => {
        &[$((stringify!($check), |scene| Box::pin($check(scene)))),+]
    };
}

/// Runs checks one after the other on one scene, which `start` makes. A failed check does not keep the others from running; the
/// test then fails and names it, below what it printed itself.
pub fn run_together<S>(start: impl AsyncFn() -> S, checks: &[Check<S>]) {
    let is_alone = variable(ALONE).is_some_and(|value| value == "1");
    let failed = run(async {
        let (mut failed, mut scene) = (Vec::new(), start().await);
        for (at, (name, body)) in checks.iter().enumerate() {
            if is_alone && at > 0 {
                scene = start().await;
            }
            if AssertUnwindSafe(body(&scene)).catch_unwind().await.is_err() {
                failed.push(*name);
            }
        }
        failed
    });
    assert!(failed.is_empty(), "failed: {}", failed.join(", "));
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    async fn good(count: &AtomicUsize) {
        count.fetch_add(1, Ordering::Relaxed);
    }

    async fn bad(_: &AtomicUsize) {
        panic!("on purpose");
    }

    #[test]
    fn every_check_runs_and_each_failed_one_is_named() {
        static SEEN: AtomicUsize = AtomicUsize::new(0);
        async fn last(count: &AtomicUsize) {
            SEEN.store(count.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        run_together(async || AtomicUsize::new(0), checks![good, good]);
        let failed = std::panic::catch_unwind(|| {
            run_together(async || AtomicUsize::new(0), checks![good, bad, good, last]);
        });
        let said = failed.expect_err("a check failed");
        assert_eq!(said.downcast_ref::<String>().map(String::as_str), Some("failed: bad"));
        let alone = variable(ALONE).is_some_and(|value| value == "1");
        assert_eq!(SEEN.load(Ordering::Relaxed), if alone { 0 } else { 2 });
    }
}
