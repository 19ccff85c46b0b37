//! How one call runs: engine, threads and their fair queue, a fresh instance, and the rules for its answer.
//!
//! Knows nothing of deployment: which version runs a call is decided above.

pub(crate) mod answer_rules;
pub(crate) mod engine;
pub(crate) mod instance;
pub(crate) mod limits;
pub(crate) mod queue;
pub(crate) mod single_flight;
pub(crate) mod threads;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks it even after a panic elsewhere, which leaves nothing half changed that is worth stopping for.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
