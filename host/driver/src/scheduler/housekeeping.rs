//! Housekeeping: expired idempotency rows, holds and responses, old deliveries and history, expired media links, unused blobs.
//!
//! Nothing here is on a request's path, and every sweep is bounded.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::UnixMs;
use gatehouse_store::StoreError;
use gatehouse_tasks::{Command, WebhookChange};

use crate::state::DriverState;

/// Between two sweeps.
const INTERVAL: Duration = Duration::from_secs(60);
/// Rows deleted by one command: few enough that other commands do not wait for the writer.
const BATCH: usize = 1_000;
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
        let mut sweeps = 0_u64;
        loop {
            self.clock.pause(INTERVAL).await;
            sweeps += 1;
            let now = self.now();
            let before_day = now.day().saturating_sub(self.config.history_days);
            let sweeps_holds =
                self.holds_have_expired(now).then_some(Command::SweepHolds { now, limit: BATCH });
            for command in [
                Command::Sweep { now, limit: BATCH },
                Command::SweepResponses { now, limit: BATCH },
                Command::Webhook { change: Box::new(WebhookChange::Sweep { limit: BATCH }), at: now },
                Command::DropHistory { before_day },
            ]
            .into_iter()
            .chain(sweeps_holds)
            {
                match self.store.execute(command).await {
                    Ok(Ok(_)) => {}
                    Ok(Err(rejection)) => {
                        tracing::error!(?rejection, "the store rejected a housekeeping command");
                    }
                    // What was not swept now is swept later; on a full disk the media sweep below is what helps.
                    Err(StoreError::Busy | StoreError::NoRoom) => {}
                    Err(error) => {
                        tracing::error!(%error, "housekeeping stopped");
                        return;
                    }
                }
            }
            if sweeps.is_multiple_of(SWEEPS_PER_MEDIA_SWEEP)
                && let Err(error) = self.media.sweep().await
            {
                tracing::warn!(%error, "media sweep failed, will be tried again");
            }
        }
    }
}
