//! Versions of the price book that were switched to and are to be written, and for whom.
//!
//! Prices are noted under the lock that switches them, so versions are in the order of the switches. They are written right
//! after it, away from every lock; what could not be written is tried again with the next change, and what a crash lost is
//! found by the next start, which notes the prices it begins with.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};

use gatehouse_driver::PriceList;
use gatehouse_model::UnixMs;
use gatehouse_store::{Store, StoreError};
use gatehouse_tasks::{Command, OperatorRecord, PriceVersion};

use crate::service::price_rows::rows;

/// Versions that wait to be written; while the disk is full the oldest beyond them go.
const MAX_WAITING: usize = 16;

/// Who changed prices, and by what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriceCause {
    /// A token, a session, the gateway itself.
    pub who: String,
    /// Such as "reload".
    pub what: String,
}

impl PriceCause {
    /// The present request's caller, or the gateway itself, by `what`.
    #[must_use]
    pub fn present(what: impl Into<String>) -> Self {
        Self { who: present(), what: what.into() }
    }
}

tokio::task_local! {
    // It travels with the task that serves a request, not with one that this starts.
    static PRESENT: String;
}

/// Does `work` for somebody of this name, whom histories of prices and deployments will name. It is boxed: an
/// operation is larger than what is worth moving about.
pub(crate) fn during<F: Future>(who: &str, work: F) -> impl Future<Output = F::Output> {
    PRESENT.scope(who.to_owned(), Box::pin(work))
}

/// Who it is done for at present: without a request, the gateway itself.
pub(crate) fn present() -> String {
    PRESENT.try_with(Clone::clone).unwrap_or_else(|_| "gateway".to_owned())
}

/// Versions that were switched to and are not written yet.
#[derive(Debug, Default)]
pub struct PriceHistory {
    waiting: Mutex<VecDeque<PriceVersion>>,
    /// Held while one writes: versions are written in the order of their switches.
    writing: tokio::sync::Mutex<()>,
}

impl PriceHistory {
    /// Notes prices that were switched to just now.
    pub fn note(&self, prices: PriceList, cause: &PriceCause, at: UnixMs) {
        let book = PriceVersion {
            number: 0,
            at,
            who: cause.who.clone(),
            cause: cause.what.clone(),
            digest: prices.version,
            prices: rows(prices),
            left_out: 0,
            lists_all: true,
            changed: 0,
        };
        let mut waiting = self.waiting();
        if waiting.len() == MAX_WAITING {
            tracing::error!("a version of the price book is lost: too many wait to be written");
            waiting.pop_front();
        }
        waiting.push_back(book);
    }

    /// Writes what waits. What fails waits on.
    pub(super) async fn write(&self, store: &Store) -> Result<(), StoreError> {
        let _one_at_a_time = self.writing.lock().await;
        loop {
            let Some(book) = self.waiting().front().cloned() else { return Ok(()) };
            let record = Box::new(OperatorRecord::PriceBook(book.clone()));
            if let Err(rejection) = store.execute(Command::KeepRecord { record }).await? {
                tracing::error!(%rejection, "a version of the price book was not kept");
            }
            let mut waiting = self.waiting();
            // It may have given way to newer ones meanwhile.
            if waiting.front() == Some(&book) {
                waiting.pop_front();
            }
        }
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<PriceVersion>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reload by an operator would otherwise stand in the history as the gateway's own.
    #[tokio::test]
    async fn an_operation_is_the_gateways_own_unless_somebody_asked() {
        assert_eq!(present(), "gateway");
        assert_eq!(during("someone", async { present() }).await, "someone");
        assert_eq!(present(), "gateway");
    }
}
