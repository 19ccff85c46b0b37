//! Counts the work that a shutdown waits for: what the next start can repeat, and calls that it may not repeat.
//!
//! Each piece of work holds a guard, so work that panics is counted down as well.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gatehouse_model::Clock;
use tokio::sync::Notify;

/// The counters. A text request is in both.
#[derive(Debug, Default)]
pub(crate) struct InProgress {
    /// Steps and text requests.
    work: AtomicU64,
    /// Calls that may not be repeated.
    calls: AtomicU64,
    ended: Notify,
}

/// One piece of work, until it is dropped.
#[derive(Debug)]
pub(crate) struct InProgressGuard {
    counters: Arc<InProgress>,
    is_work: bool,
    is_call: bool,
}

impl InProgress {
    pub(crate) fn begin_step(self: &Arc<Self>) -> InProgressGuard {
        self.begin(true, false)
    }

    /// A call that may not be repeated.
    pub(crate) fn begin_call(self: &Arc<Self>) -> InProgressGuard {
        self.begin(false, true)
    }

    pub(crate) fn begin_text(self: &Arc<Self>) -> InProgressGuard {
        self.begin(true, true)
    }

    fn begin(self: &Arc<Self>, is_work: bool, is_call: bool) -> InProgressGuard {
        self.work.fetch_add(is_work.into(), Ordering::SeqCst);
        self.calls.fetch_add(is_call.into(), Ordering::SeqCst);
        InProgressGuard { counters: Arc::clone(self), is_work, is_call }
    }

    /// Waits up to `work` for all work to end, then up to `calls` more for the calls. Gives the number of calls
    /// that are left.
    pub(crate) async fn wait(&self, clock: &dyn Clock, work: Duration, calls: Duration) -> u64 {
        if self.is_zero_within(&self.work, clock, work).await
            || self.is_zero_within(&self.calls, clock, calls).await
        {
            return 0;
        }
        self.calls.load(Ordering::SeqCst)
    }

    async fn is_zero_within(&self, count: &AtomicU64, clock: &dyn Clock, grace: Duration) -> bool {
        let mut deadline = clock.pause(grace);
        while count.load(Ordering::SeqCst) > 0 {
            tokio::select! {
                biased;
                () = self.ended.notified() => {}
                () = &mut deadline => return count.load(Ordering::SeqCst) == 0,
            }
        }
        true
    }
}

impl Drop for InProgressGuard {
    fn drop(&mut self) {
        self.counters.calls.fetch_sub(self.is_call.into(), Ordering::SeqCst);
        self.counters.work.fetch_sub(self.is_work.into(), Ordering::SeqCst);
        self.counters.ended.notify_one();
    }
}
