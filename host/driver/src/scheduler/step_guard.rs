//! Schedules a task again when its step panics.

use std::time::Duration;

use gatehouse_model::TaskId;

use crate::state::DriverState;

/// How long a task rests after a panic in its step.
const PANIC_PAUSE: Duration = Duration::from_secs(30);

/// A step that has begun; its task rests, if this is dropped without [`StepGuard::end`].
pub(crate) struct StepGuard<'a> {
    state: &'a DriverState,
    task: TaskId,
    has_ended: bool,
}

impl<'a> StepGuard<'a> {
    pub(crate) fn new(state: &'a DriverState, task: TaskId) -> Self {
        Self { state, task, has_ended: false }
    }

    /// The step has ended, and its task is scheduled again or forgotten.
    pub(crate) fn end(mut self) {
        self.has_ended = true;
    }
}

impl Drop for StepGuard<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            let now = self.state.now();
            self.state.live.rearm(self.task, now.plus(PANIC_PAUSE), now);
        }
    }
}
