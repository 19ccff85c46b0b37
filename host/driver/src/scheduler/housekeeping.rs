//! Housekeeping: expired idempotency rows, holds and responses, old deliveries and history, expired media links, unused blobs.
//!
//! Nothing here is on a request's path, and every sweep is bounded.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use gatehouse_model::UnixMs;
use gatehouse_store::StoreError;
use gatehouse_tasks::{Command, ExpiredRow, LedgerMark};

use crate::state::DriverState;

/// Between two sweeps.
const INTERVAL: Duration = Duration::from_secs(60);
/// Rows of one kind that are forgotten in one sweep: few enough that other commands do not wait for the writer.
const BATCH: usize = 1_000;
/// Commands that wait for the same commit.
const AT_ONCE: usize = 32;
/// The heads of the ledger are marked once in this many sweeps, beginning with the first.
const SWEEPS_PER_MARK: u64 = 60;
/// Media are swept once in this many sweeps.
const SWEEPS_PER_MEDIA_SWEEP: u64 = 15;

impl DriverState {
    /// Whether a hold that the wall clock calls expired is one of a text that has ended. Right after the clock was set forward
    /// it may be one of a text that has just begun: what that costs could not be taken any more.
    pub(crate) fn holds_have_expired(&self, now: UnixMs) -> bool {
        let longest = u64::try_from(self.max_duration(true).as_millis()).unwrap_or(u64::MAX);
        self.clock.skipped(UnixMs(now.0.saturating_sub(longest))).is_zero()
    }

    pub(crate) async fn run_housekeeping(self: Arc<Self>) {
        let (mut sweeps, mut marked) = (0_u64, LedgerMark::default());
        loop {
            self.clock.pause(INTERVAL).await;
            sweeps += 1;
            let now = self.now();
            match self.forget(now).await {
                // What was not forgotten now is forgotten later; on a full disk the media sweep below is what helps.
                Ok(()) | Err(StoreError::Busy | StoreError::NoRoom) => {}
                Err(error) => {
                    tracing::error!(%error, "housekeeping stopped");
                    return;
                }
            }
            if sweeps % SWEEPS_PER_MARK == 1 {
                self.mark_ledger(&mut marked).await;
            }
            if sweeps.is_multiple_of(SWEEPS_PER_MEDIA_SWEEP)
                && let Err(error) = self.media.sweep().await
            {
                tracing::warn!(%error, "media sweep failed, will be tried again");
            }
        }
    }
    /// Rows whose time is over are read first, and then forgotten customer by customer. Old history is dropped.
    async fn forget(&self, now: UnixMs) -> Result<(), StoreError> {
        let mut rows = self.store.expired(now, BATCH).await?;
        if !self.holds_have_expired(now) {
            rows.retain(|(_, row)| !matches!(row, ExpiredRow::Hold(_)));
        }
        let forgotten = Command::forget_each(rows, now).map(|command| self.store.execute(command));
        let mut forgotten = stream::iter(forgotten).buffered(AT_ONCE);
        while let Some(outcome) = forgotten.next().await {
            if let Err(rejection) = outcome? {
                tracing::error!(?rejection, "the store rejected a housekeeping command");
            }
        }
        self.store.drop_history(now.day().saturating_sub(self.config.history_days)).await.map(drop)
    }

    /// Writes the heads of all chains into the audit record and the log, unless nothing has come to the ledger since.
    async fn mark_ledger(&self, last: &mut LedgerMark) {
        let marked = match self.store.ledger_mark().await {
            Ok(mark) if mark == *last => return,
            Ok(mark) => self.store.post(Command::MarkLedger { mark, at: self.now() }).map(|()| mark),
            Err(error) => Err(error),
        };
        match marked {
            Ok(mark) => {
                tracing::info!(%mark, "the heads of the ledger's chains");
                *last = mark;
            }
            Err(error) => tracing::warn!(%error, "the ledger was not marked, will be tried again"),
        }
    }
}
