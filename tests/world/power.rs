//! The switch of the house: counts everything that reaches the world outside (the disk, the wire, the object
//! store), and cuts the power at a chosen one of them. What comes after a cut reaches nothing.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// One house's power.
pub(crate) struct Power {
    state: Mutex<State>,
    gone: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    off: bool,
    /// Operations since the power came back.
    done: usize,
    /// The operation that does not happen any more.
    cut_at: Option<usize>,
    /// What was interrupted.
    cut: Option<&'static str>,
}

impl Power {
    pub(crate) fn new() -> Self {
        Self { state: Mutex::default(), gone: watch::Sender::new(false) }
    }

    /// A life begins after a cut, or the first one; the power goes at operation `cut_at`, counted from here.
    pub(crate) fn restore(&self, cut_at: Option<usize>) {
        *self.lock() = State { cut_at, ..State::default() };
        self.gone.send_replace(false);
    }

    /// Asks for leave to do something that can be seen from outside. `false`: there is no power any more.
    pub(crate) fn step(&self, what: &'static str) -> bool {
        let mut state = self.lock();
        if state.off {
            return false;
        }
        if state.cut_at == Some(state.done) {
            state.off = true;
            state.cut = Some(what);
            drop(state);
            self.gone.send_replace(true);
            return false;
        }
        state.done += 1;
        true
    }

    /// Ends when somebody says that this life is over, or the power went.
    pub(crate) async fn gone(&self) {
        // The sender lives as long as `self`.
        let _ = self.gone.subscribe().wait_for(|gone| *gone).await;
    }

    /// Ends the life without a cut: something was found that must not be.
    pub(crate) fn stop(&self) {
        self.lock().off = true;
        self.gone.send_replace(true);
    }

    pub(crate) fn is_on(&self) -> bool {
        !self.lock().off
    }

    /// Operations since the power came back.
    pub(crate) fn done(&self) -> usize {
        self.lock().done
    }

    /// What the cut interrupted.
    pub(crate) fn cut(&self) -> Option<&'static str> {
        self.lock().cut
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
