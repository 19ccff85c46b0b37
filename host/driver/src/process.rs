//! Readiness and the end of the process: lame duck, drain, stop.
//!
//! A shutdown only goes forward. A task that is not finished is durable, and the next start goes on with it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gatehouse_model::{Boxed, Tracer};
use tokio::task::JoinHandle;

use crate::live::live_tasks::LiveTasks;
use crate::shared::{Shared, ShutdownState};

/// The process as its operator sees it: ready or not, and how far its end has come.
pub struct Process {
    pub(crate) shared: Arc<Shared>,
    pub(crate) live: Arc<LiveTasks>,
    /// The loops that run by themselves.
    pub(crate) background: Mutex<Vec<JoinHandle<()>>>,
}

impl Process {
    /// Has loops end with the process.
    pub(crate) fn keep_running(&self, background: Vec<JoinHandle<()>>) {
        *self.background.lock().unwrap_or_else(PoisonError::into_inner) = background;
    }

    /// What makes traces, if anything does.
    #[must_use]
    pub fn tracer(&self) -> Option<&Arc<Tracer>> {
        self.shared.tracer.as_ref()
    }

    /// Ready to take work: all families have started, the store can be reached and no shutdown has begun.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        !self.shared.has_reached(ShutdownState::LameDuck)
            && !self.shared.store.has_failed()
            && !self.shared.store.is_unavailable()
            && self.families_not_ready().is_empty()
    }

    /// The families that a start has not made ready yet. The others serve.
    #[must_use]
    pub fn families_not_ready(&self) -> Vec<String> {
        self.shared.plugins.families_not_ready()
    }

    /// Begins a shutdown: [`Process::is_ready`] answers no, and a wait for a task's end is answered with the
    /// present state. Work is still taken and done, for load balancers that have not noticed yet.
    pub fn enter_lame_duck(&self) {
        self.reach(ShutdownState::LameDuck);
    }

    /// Starts no further step. A running step may finish; what is still submitted is durable, and the next
    /// process does it.
    pub fn drain(&self) {
        self.reach(ShutdownState::Draining);
    }

    /// Refuses new work, waits for work in progress, and stops: up to `steps` for work that the next start can
    /// repeat, up to `calls` beyond that for calls that it may not repeat. The next start finds a call that is
    /// still in flight then as ambiguous.
    pub fn stop(&self, steps: Duration, calls: Duration) -> Boxed<'_, ()> {
        Box::pin(async move {
            self.reach(ShutdownState::Stopped);
            let calls = self.shared.in_progress.wait(&*self.shared.clock, steps, calls).await;
            if calls > 0 {
                tracing::warn!(calls, "calls cut short by shutdown");
            }
            let background =
                std::mem::take(&mut *self.background.lock().unwrap_or_else(PoisonError::into_inner));
            for task in background {
                task.abort();
            }
        })
    }

    /// Ends when the store has failed: the process must stop, and a restart recovers.
    pub async fn failed(&self) {
        let error = self.shared.store.failed().await;
        tracing::error!(%error, "the store has failed");
    }

    /// Goes forward to a state of the shutdown, never back.
    fn reach(&self, shutdown: ShutdownState) {
        self.shared.shutdown.send_if_modified(|now| {
            let is_later = *now < shutdown;
            *now = (*now).max(shutdown);
            is_later
        });
        self.live.changed.notify_one();
    }
}
