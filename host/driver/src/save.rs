//! The media phases of a step: facts for a plugin, and copies of its results.
//!
//! Both are harmless to repeat, so neither is journalled; `Save` itself is durable, so results a provider
//! has already handed over survive a restart. A task completes only after every copy is on disk
//! (invariant I15).

use std::time::Duration;

use futures_util::future::try_join_all;
use gatehouse_media::Probed;
use gatehouse_model::{Credits, Event, Media, Outcome, Phase, Probe, Product, Task};
use gatehouse_store::StoreError;
use gatehouse_tasks::Ending;

use crate::driver::Inner;
use crate::step::{Turn, Visit};

/// Tries to copy one product before the plugin is told that it is lost.
const COPY_TRIES: u32 = 3;
/// How long a step waits when the media store fails; the disk may be full for a while.
const STORE_PAUSE: Duration = Duration::from_secs(5);

impl Inner {
    pub(crate) async fn probe(&self, visit: &mut Visit, probes: Vec<Probe>) -> Result<Turn, StoreError> {
        visit.permit = None;
        let owner = self.media.blobs_of(visit.task.blobs.iter().copied());
        let looks = try_join_all(probes.iter().map(|probe| self.media.probe(probe, &owner)));
        let looks = tokio::select! {
            biased;
            looks = looks => looks,
            () = self.clock.pause_until(visit.task.deadline) => return self.time_out(visit).await,
        };
        let looks = match looks {
            Ok(looks) => looks,
            Err(error) => {
                tracing::error!(task = %visit.task.id, %error, "media could not be looked at, will be tried again");
                return Ok(Turn::Until(self.now().plus(STORE_PAUSE)));
            }
        };
        let mut findings = Vec::with_capacity(looks.len());
        for Probed { finding, kept } in looks {
            findings.push(finding);
            visit.task.blobs.extend(kept);
        }
        visit.task.phase = Phase::Run(Event::Probed(findings));
        Ok(Turn::On)
    }

    pub(crate) async fn save(&self, visit: &mut Visit, outcome: Outcome) -> Result<Turn, StoreError> {
        // Before anything is copied: what is copied for a task that then fails belongs to nobody.
        let Some(cost) = cost(&visit.task, &outcome) else {
            tracing::error!(task = %visit.task.id, settle = ?outcome.settle, "a plugin asked to bill more than was held");
            return self.fail_internally(visit, "the model's plugin billed more than was agreed").await;
        };
        visit.permit = None;
        let mut media = Vec::with_capacity(outcome.products.len());
        for product in &outcome.products {
            let copy = tokio::select! {
                biased;
                copy = self.copy(visit, product) => copy,
                () = self.clock.pause_until(visit.task.deadline) => return self.time_out(visit).await,
            };
            match copy {
                Ok(copied) => media.push(copied),
                Err(reason) => {
                    tracing::warn!(task = %visit.task.id, reason, "a result could not be copied");
                    visit.task.phase = Phase::Run(Event::Lost { source: product.source.clone(), reason });
                    return self.commit(visit, None).await.map(|turn| turn.unwrap_or(Turn::On));
                }
            }
        }
        let ending = Ending::Completed { public: outcome.public, private: outcome.private, media, cost };
        self.finish(visit, ending, None).await
    }

    async fn copy(&self, visit: &Visit, product: &Product) -> Result<Media, String> {
        let blobs = self.media.blobs_of(visit.task.blobs.iter().copied());
        let provider = visit.task.assignment.as_ref().map_or("", |seat| seat.provider.as_str());
        let mut tries = 1;
        loop {
            match self.media.save(product, provider, &blobs).await {
                Ok(media) => return Ok(media),
                Err(error) if error.is_passing() && tries < COPY_TRIES => {
                    self.clock.pause(Duration::from_millis(500 << tries)).await;
                    tries += 1;
                }
                Err(error) => return Err(error.to_string()),
            }
        }
    }
}

/// The units of the outcome at the price frozen in the hold; `None` when that is more than was held.
fn cost(task: &Task, outcome: &Outcome) -> Option<Credits> {
    match &outcome.settle {
        None => Some(task.held),
        Some(charge) => task.unit_price.checked_times(charge.quantity).filter(|cost| *cost <= task.held),
    }
}
