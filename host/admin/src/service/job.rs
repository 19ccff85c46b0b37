//! Work that takes long and is looked at meanwhile: one run at a time, which goes on whether anybody looks or not. Its end is
//! kept until the next one begins.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gatehouse_model::Clock;
use tokio::sync::watch;

use crate::api::error::OperationError;

/// A look waits so long for the end, so that a client that looks again and again does not hurry.
const LOOK: Duration = Duration::from_millis(500);

/// The runs of one kind.
pub(crate) struct Jobs<T, P>(Mutex<Option<Arc<Run<T, P>>>>);

impl<T, P> Default for Jobs<T, P> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

struct Run<T, P> {
    number: u64,
    progress: Arc<P>,
    outcome: watch::Sender<Option<Result<T, OperationError>>>,
}

/// How far a run is.
pub(crate) struct Look<T, P> {
    pub(crate) number: u64,
    pub(crate) progress: Arc<P>,
    /// `None` while it goes on.
    pub(crate) end: Option<T>,
}

impl<T: Clone + Send + Sync + 'static, P: Default + Send + Sync + 'static> Jobs<T, P> {
    /// Begins a run of `work`, on a blocking thread; false while another one goes on.
    pub(crate) fn begin(&self, work: impl FnOnce(&P) -> Result<T, OperationError> + Send + 'static) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref().is_some_and(|run| run.outcome.borrow().is_none()) {
            return false;
        }
        let number = last.as_ref().map_or(1, |run| run.number + 1);
        let run = Arc::new(Run { number, progress: Arc::default(), outcome: watch::Sender::new(None) });
        let begun = Arc::clone(&run);
        tokio::spawn(async move {
            let progress = Arc::clone(&begun.progress);
            let outcome = on_blocking_thread(move || work(&progress)).await.and_then(|outcome| outcome);
            begun.outcome.send_replace(Some(outcome));
        });
        *last = Some(run);
        true
    }

    /// How far the run `wanted` is; without a number the last one. Waits a moment for its end.
    pub(crate) async fn look(
        &self,
        clock: &dyn Clock,
        wanted: Option<u64>,
    ) -> Result<Look<T, P>, OperationError> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(run) = last.filter(|run| wanted.is_none_or(|wanted| wanted == run.number)) else {
            let wanted = wanted.map_or_else(String::new, |wanted| format!(" {wanted}"));
            return Err(OperationError::NotFound(format!(
                "there is no run{wanted}, or another one began since"
            )));
        };
        let mut outcome = run.outcome.subscribe();
        tokio::select! {
            biased;
            // The sender is in `run`.
            _ = outcome.wait_for(Option::is_some) => {}
            () = clock.pause(LOOK) => {}
        }
        let end = outcome.borrow().clone().transpose()?;
        Ok(Look { number: run.number, progress: Arc::clone(&run.progress), end })
    }
}

/// Runs long work on a blocking thread, away from the async workers.
pub(super) async fn on_blocking_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, OperationError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| OperationError::Failed(format!("the operation was cut short: {error}")))
}
