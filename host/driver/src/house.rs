//! Housekeeping: expired idempotency rows and holds, old history, ended media links, forgotten blobs.
//!
//! Slow and patient: nothing here is on a request's path, and every sweep is bounded.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_tasks::Command;

use crate::driver::Inner;

const ROUND: Duration = Duration::from_secs(60);
/// Idempotency rows dropped in one command, so that the writer is never held up.
const BATCH: usize = 1_000;
/// Media are swept once in this many rounds.
const MEDIA_ROUNDS: u64 = 15;

impl Inner {
    pub(crate) async fn keep_house(self: Arc<Self>) {
        let mut round = 0_u64;
        loop {
            self.clock.pause(ROUND).await;
            round += 1;
            let now = self.now();
            let before_day = now.day().saturating_sub(self.config.history_days);
            for command in [
                Command::Sweep { now, limit: BATCH },
                Command::SweepHolds { now, limit: BATCH },
                Command::DropHistory { before_day },
            ] {
                match self.store.execute(command).await {
                    Ok(Ok(_)) => {}
                    Ok(Err(rejection)) => tracing::error!(?rejection, "housekeeping refused"),
                    Err(error) => {
                        tracing::error!(%error, "housekeeping stopped");
                        return;
                    }
                }
            }
            if round.is_multiple_of(MEDIA_ROUNDS)
                && let Err(error) = self.media.sweep().await
            {
                tracing::warn!(%error, "media sweep failed, will be tried again");
            }
        }
    }
}
