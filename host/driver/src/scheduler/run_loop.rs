//! The scheduler loop: takes due tasks and starts their steps, as many at once as the configuration allows.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{TaskId, UnixMs, metric};

use crate::live::live_tasks::{LiveTasks, StepGuard};
use crate::shared::{Shared, ShutdownState};
use crate::step::run::Steps;

/// The loop sleeps no longer than this at a time: the wall clock may be set meanwhile, and time limits follow it.
const MAX_SLEEP: Duration = Duration::from_secs(5);

/// Starts due steps.
pub(crate) struct Scheduler {
    pub(crate) shared: Arc<Shared>,
    pub(crate) live: Arc<LiveTasks>,
    pub(crate) steps: Arc<Steps>,
}

impl Scheduler {
    pub(crate) async fn run_loop(self: Arc<Self>) {
        loop {
            let Ok(permit) = Arc::clone(&self.steps.permits).acquire_owned().await else { return };
            let (task, due) = self.next_due().await;
            metrics::histogram!(metric::LATENESS_SECONDS).record(self.shared.now().since(due).as_secs_f64());
            let in_progress = self.shared.in_progress.begin_step();
            let state = Arc::clone(&self);
            // Boxed: tokio moves a task's future several times.
            tokio::spawn(Box::pin(async move {
                // Dropped last, so that a shutdown finds the task scheduled again.
                let _in_progress = in_progress;
                let step = StepGuard::new(&state.live, &*state.shared.clock, task);
                state.steps.drive(task, permit).await;
                step.end();
            }));
        }
    }

    async fn next_due(&self) -> (TaskId, UnixMs) {
        loop {
            let draining = self.shared.has_reached(ShutdownState::Draining);
            if !draining && let Some(due) = self.live.take_due(self.shared.now()) {
                return due;
            }
            match self.live.next_due().filter(|_| !draining) {
                Some(due) => tokio::select! {
                    biased;
                    () = self.shared.clock.pause(due.since(self.shared.now()).min(MAX_SLEEP)) => {}
                    () = self.live.changed.notified() => {}
                },
                None => self.live.changed.notified().await,
            }
        }
    }
}
