//! Clients and operators: what they do, and what they may expect of each answer.

pub(crate) mod actions;
pub(crate) mod joins;
mod references;
pub(crate) mod rulings;
pub(crate) mod tasks;
pub(crate) mod texts;
pub(crate) mod webhooks;

use std::time::Duration;

use gatehouse_driver::SubmitError;
use gatehouse_store::StoreError;

use crate::clock::VirtualClock;

/// Asks again while the engine of the store is away, as a client does that gets a 503.
async fn until_reached<T, E, F: Future<Output = Result<T, E>>>(
    ask: impl Fn() -> F,
    is_away: impl Fn(&E) -> bool,
) -> Result<T, E> {
    loop {
        match ask().await {
            Err(error) if is_away(&error) => VirtualClock::pause(Duration::from_millis(700)).await,
            outcome => return outcome,
        }
    }
}

fn is_away(error: &SubmitError) -> bool {
    matches!(error, SubmitError::Store(StoreError::Unavailable))
}
