//! Housekeeping: expired idempotency rows, holds and responses, old deliveries and history, expired media links, unused blobs.
//!
//! Nothing here is on a request's path, and every sweep is bounded.

use std::collections::HashMap;
use std::mem::discriminant;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt as _, stream};
use gatehouse_model::UnixMs;
use gatehouse_store::StoreError;
use gatehouse_tasks::{Applied, Command, ExpiredRow, ExpiredRows, LedgerMark, Rejection};

use crate::shared::Shared;

/// Between two sweeps.
const INTERVAL: Duration = Duration::from_secs(60);
/// Rows of one kind that are read at once.
const BATCH: usize = 1_000;
/// A sweep reads so often while a kind has more rows than it read: more come in a minute than a batch has. With a bound,
/// because the sweep of media and the mark of the ledger wait for its end.
const ROUNDS: usize = 60;
/// Commands that wait for the same commit.
const AT_ONCE: usize = 32;
/// The heads of the ledger are marked once in this many sweeps, beginning with the first.
const SWEEPS_PER_MARK: u64 = 60;
/// Media are swept once in this many sweeps.
const SWEEPS_PER_MEDIA_SWEEP: u64 = 15;

/// Sweeps what has expired.
pub(crate) struct Housekeeping {
    pub(crate) shared: Arc<Shared>,
}

impl Housekeeping {
    /// Whether a hold that the wall clock calls expired is one of a text that has ended. Right after the clock was set forward
    /// it may be one of a text that has just begun: what that costs could not be taken any more.
    pub(crate) fn holds_have_expired(&self, now: UnixMs) -> bool {
        let longest = u64::try_from(self.shared.max_duration(true).as_millis()).unwrap_or(u64::MAX);
        self.shared.clock.skipped(UnixMs(now.0.saturating_sub(longest))).is_zero()
    }

    pub(crate) async fn run(self) {
        let (mut sweeps, mut marked) = (0_u64, LedgerMark::default());
        loop {
            self.shared.clock.pause(INTERVAL).await;
            sweeps += 1;
            let now = self.shared.now();
            match self.sweep(now).await {
                Ok(()) => {}
                // What was not forgotten now is forgotten later; on a full disk the media sweep below is what helps.
                Err(error) if error.passes() => {}
                Err(error) => {
                    tracing::error!(%error, "housekeeping stopped");
                    return;
                }
            }
            if sweeps % SWEEPS_PER_MARK == 1 {
                self.mark_ledger(&mut marked).await;
            }
            if sweeps.is_multiple_of(SWEEPS_PER_MEDIA_SWEEP)
                && let Err(error) = self.shared.media.sweep().await
            {
                tracing::warn!(%error, "media sweep failed, will be tried again");
            }
        }
    }

    /// Forgets rows whose time is over, and drops old history, also where a busy store did not forget all.
    async fn sweep(&self, now: UnixMs) -> Result<(), StoreError> {
        let forgotten = self.forget(now).await;
        let before = now.day().saturating_sub(self.shared.config.history_days);
        let dropped = self.shared.store.drop_history(before).await.map(drop);
        forgotten.and(dropped)
    }

    /// Reads rows whose time is over and forgets them customer by customer, again as long as there are more and some go.
    async fn forget(&self, now: UnixMs) -> Result<(), StoreError> {
        for _ in 0..ROUNDS {
            let mut rows = self.shared.store.expired(now, BATCH).await?;
            if !self.holds_have_expired(now) {
                rows.retain(|(_, row)| !matches!(row, ExpiredRow::Hold(_)));
            }
            let has_more = has_full_kind(&rows);
            let forgotten = Command::forget_each(rows, now).map(|command| self.shared.store.execute(command));
            if count_forgotten(stream::iter(forgotten).buffered(AT_ONCE)).await? == 0 || !has_more {
                break;
            }
        }
        Ok(())
    }

    /// Writes the heads of all chains into the audit record and the log, unless nothing has come to the ledger since.
    async fn mark_ledger(&self, last: &mut LedgerMark) {
        let marked = match self.shared.store.ledger_mark().await {
            Ok(mark) if mark == *last => return,
            Ok(mark) => {
                self.shared.store.post(Command::MarkLedger { mark, at: self.shared.now() }).map(|()| mark)
            }
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

/// Whether there may be more rows of a kind than these.
fn has_full_kind(rows: &ExpiredRows) -> bool {
    let mut kinds = HashMap::new();
    rows.iter().for_each(|(_, row)| *kinds.entry(discriminant(row)).or_insert(0) += 1);
    kinds.into_values().any(|count: usize| count >= BATCH)
}

/// How many rows all of the commands forgot. A command that the store refused for a moment does not keep the others from it.
///
/// # Errors
/// That one was refused, or that the store is of no more use.
async fn count_forgotten(
    outcomes: impl Stream<Item = Result<Result<Applied, Rejection>, StoreError>>,
) -> Result<usize, StoreError> {
    let (mut count, mut refused, mut outcomes) = (0, None, pin!(outcomes));
    while let Some(outcome) = outcomes.next().await {
        match outcome {
            Ok(Ok(Applied::Forgotten(rows))) => count += rows,
            Ok(Ok(_)) => {}
            Ok(Err(rejection)) => tracing::error!(?rejection, "the store rejected a housekeeping command"),
            Err(error) if error.passes() => refused = Some(error),
            Err(error) => return Err(error),
        }
    }
    refused.map_or(Ok(count), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One customer's busy moment would leave the rows of all others until the next sweep.
    #[tokio::test]
    async fn a_refused_command_keeps_no_other_from_forgetting() {
        let failed = || StoreError::Failed { reason: "gone".into() };
        for (second, expected, asked) in [
            (Ok(Ok(Applied::Forgotten(2))), Ok(6), 3),
            (Err(StoreError::Busy), Err(StoreError::Busy), 3),
            (Err(StoreError::NoRoom), Err(StoreError::NoRoom), 3),
            (Err(StoreError::Unavailable), Err(StoreError::Unavailable), 3),
            (Err(failed()), Err(failed()), 2),
        ] {
            let mut polled = 0;
            let outcomes = [Ok(Ok(Applied::Forgotten(1))), second, Ok(Ok(Applied::Forgotten(3)))];
            let outcomes = stream::iter(outcomes).inspect(|_| polled += 1);
            assert_eq!(count_forgotten(outcomes).await, expected);
            assert_eq!(polled, asked);
        }
    }
}
