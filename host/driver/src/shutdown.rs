//! Readiness and the end of the process: lame duck, drain, stop.
//!
//! A shutdown only goes forward. A task that is not finished is durable, and the next start goes on with it.

use std::time::Duration;

use gatehouse_model::Boxed;

use crate::driver::Driver;
use crate::state::{DriverState, ShutdownState};

impl Driver {
    /// Ready to take work: all families have started, the store can be reached and no shutdown has begun.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        !self.state.has_reached(ShutdownState::LameDuck)
            && !self.state.store.has_failed()
            && !self.state.store.is_unavailable()
            && self.families_not_ready().is_empty()
    }

    /// The families that a start has not made ready yet. The others serve.
    #[must_use]
    pub fn families_not_ready(&self) -> Vec<String> {
        self.state.plugins.families_not_ready()
    }

    /// Begins a shutdown: [`Driver::is_ready`] answers no, and a wait for a task's end is answered with the
    /// present state. Work is still taken and done, for load balancers that have not noticed yet.
    pub fn enter_lame_duck(&self) {
        self.state.reach(ShutdownState::LameDuck);
    }

    /// Starts no further step. A running step may finish; what is still submitted is durable, and the next
    /// process does it.
    pub fn drain(&self) {
        self.state.reach(ShutdownState::Draining);
    }

    /// Refuses new work, waits for work in progress, and stops: up to `steps` for work that the next start can
    /// repeat, up to `calls` beyond that for calls that it may not repeat. The next start finds a call that is
    /// still in flight then as ambiguous.
    pub fn stop(&self, steps: Duration, calls: Duration) -> Boxed<'_, ()> {
        Box::pin(async move {
            let state = &self.state;
            state.reach(ShutdownState::Stopped);
            let calls = state.in_progress.wait(&*state.clock, steps, calls).await;
            if calls > 0 {
                tracing::warn!(calls, "calls cut short by shutdown");
            }
            let background = std::mem::take(
                &mut *state.background.lock().unwrap_or_else(std::sync::PoisonError::into_inner),
            );
            for task in background {
                task.abort();
            }
        })
    }

    /// Ends when the store has failed: the process must stop, and a restart recovers.
    pub async fn failed(&self) {
        let error = self.state.store.failed().await;
        tracing::error!(%error, "the store has failed");
    }
}

impl DriverState {
    /// Goes forward to a state of the shutdown, never back.
    fn reach(&self, shutdown: ShutdownState) {
        self.shutdown.send_if_modified(|now| {
            let is_later = *now < shutdown;
            *now = (*now).max(shutdown);
            is_later
        });
        self.live.changed.notify_one();
    }
}
