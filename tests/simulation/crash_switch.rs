//! The crash switch: counts every operation that leaves the process (disk, network, object store), and crashes the
//! process at a chosen one. An operation after a crash reaches nothing.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// The switch of one system.
pub(crate) struct CrashSwitch {
    state: Mutex<State>,
    crashed: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    off: bool,
    /// Operations since the last start.
    operations: usize,
    /// The operation that does not happen.
    crash_at: Option<usize>,
    /// The operation the crash interrupted.
    interrupted: Option<&'static str>,
}

impl CrashSwitch {
    pub(crate) fn new() -> Self {
        Self { state: Mutex::default(), crashed: watch::Sender::new(false) }
    }

    /// A process starts, after a crash or for the first time. It crashes at operation `crash_at`, counted from here.
    pub(crate) fn restart(&self, crash_at: Option<usize>) {
        *self.lock() = State { crash_at, ..State::default() };
        self.crashed.send_replace(false);
    }

    /// Asks for permission to do an operation that is seen from outside. `false`: the process has crashed.
    pub(crate) fn allow(&self, operation: &'static str) -> bool {
        let mut state = self.lock();
        if state.off {
            return false;
        }
        if state.crash_at == Some(state.operations) {
            state.off = true;
            state.interrupted = Some(operation);
            drop(state);
            self.crashed.send_replace(true);
            return false;
        }
        state.operations += 1;
        true
    }

    /// Ends at a crash, or when the process is stopped by [`Self::stop`].
    pub(crate) async fn crashed(&self) {
        // The sender lives as long as `self`.
        let _ = self.crashed.subscribe().wait_for(|crashed| *crashed).await;
    }

    /// Ends the process without a crash: an invariant is broken.
    pub(crate) fn stop(&self) {
        self.lock().off = true;
        self.crashed.send_replace(true);
    }

    pub(crate) fn is_running(&self) -> bool {
        !self.lock().off
    }

    /// Operations since the last start.
    pub(crate) fn operations(&self) -> usize {
        self.lock().operations
    }

    /// The operation the crash interrupted.
    pub(crate) fn interrupted(&self) -> Option<&'static str> {
        self.lock().interrupted
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
