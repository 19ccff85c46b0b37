//! The media phases: facts for a plugin, and copies of its results.
//!
//! Both are harmless to repeat, so neither is journalled. `Save` itself is durable, so a restart does not lose
//! results that a provider has handed over. A task completes only after every copy is on disk (invariant I15).

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;
use gatehouse_media::{NewBlob, Probed, ResultSources};
use gatehouse_model::{
    Action, Credits, Event, FailedOutcome, InterimView, Line, Media, Outcome, Phase, Probe, Product, Task,
};
use gatehouse_store::StoreError;
use gatehouse_tasks::{Ending, ResultRecord};

use crate::state::DriverState;
use crate::step::plugin::show;
use crate::step::run_context::{HeldPermit, RunContext, StepOutcome};
use crate::waiting_files::Waits;

/// Tries to copy one product; then the plugin gets the event `Lost`.
const COPY_TRIES: u32 = 3;
/// How long a step waits after the media store failed; the disk may be full for a while.
pub(super) const STORE_PAUSE: Duration = Duration::from_secs(5);

impl DriverState {
    pub(super) async fn probe(
        &self,
        run: &mut RunContext,
        probes: Vec<Probe>,
    ) -> Result<StepOutcome, StoreError> {
        run.step_permit = None;
        let began = self.now();
        let owner = self.media.blobs_of(run.task.blobs.iter().copied()).of(&run.task.customer);
        let found = try_join_all(probes.iter().map(|probe| self.media.probe(probe, &owner)));
        let found = tokio::select! {
            biased;
            found = found => found,
            () = self.clock.pause_until(self.deadline(&run.task)) => return self.time_out(run).await,
        };
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                tracing::error!(task = %run.task.id, %error, "the media store failed during a probe, will be tried again");
                return Ok(StepOutcome::Until(self.now().plus(STORE_PAUSE)));
            }
        };
        run.log.probe((began, self.now()), found.len());
        let mut findings = Vec::with_capacity(found.len());
        for Probed { finding, kept } in found {
            findings.push(finding);
            run.task.blobs.extend(kept);
        }
        run.task.phase = Phase::Run(Event::Probed(findings));
        Ok(StepOutcome::Continue)
    }

    pub(super) async fn save(
        &self,
        run: &mut RunContext,
        outcome: Outcome,
    ) -> Result<StepOutcome, StoreError> {
        let (cost, audit) = match cost(&run.task, &outcome) {
            Some(cost) => (cost, None),
            // The client agreed to the hold, and its result is there: the rest is the operator's loss.
            None => (run.task.held, Some(excess(&run.task, &outcome))),
        };
        let media = match self.copy_all(run, &outcome.products).await? {
            Ok(media) => media,
            Err(instead) => return Ok(instead),
        };
        let result = ResultRecord {
            public: outcome.public.as_bytes().to_vec(),
            private: outcome.private.as_bytes().to_vec(),
            media,
        };
        self.finish(run, Ending::Completed { result, claims: outcome.claims, cost }, audit).await
    }

    /// Shows a view whose products are copied; then the step goes on.
    pub(super) async fn publish(
        &self,
        run: &mut RunContext,
        view: InterimView,
        next: Action,
    ) -> Result<StepOutcome, StoreError> {
        let media = match self.copy_all(run, &view.products).await? {
            Ok(media) => media,
            Err(instead) => return Ok(instead),
        };
        show(&mut run.task, view, media);
        self.act_after_view(run, next).await
    }

    /// Fails the task once the products of its result are copied.
    pub(super) async fn save_failed(
        &self,
        run: &mut RunContext,
        ending: FailedOutcome,
    ) -> Result<StepOutcome, StoreError> {
        match self.copy_all(run, &ending.products).await? {
            Ok(media) => self.fail(run, ending, media).await,
            Err(instead) => Ok(instead),
        }
    }

    /// Copies products; what follows instead when one is lost, or the task's time is over.
    async fn copy_all(
        &self,
        run: &mut RunContext,
        products: &[Product],
    ) -> Result<Result<Vec<Media>, StepOutcome>, StoreError> {
        run.step_permit = None;
        let blobs = self.media.blobs_of(run.task.blobs.iter().copied());
        let mut sources = ResultSources::new(products, blobs);
        let copied = self.copy_each(run, products, &mut sources).await;
        self.media.drop_sources(sources).await;
        copied
    }

    async fn copy_each(
        &self,
        run: &mut RunContext,
        products: &[Product],
        sources: &mut ResultSources,
    ) -> Result<Result<Vec<Media>, StepOutcome>, StoreError> {
        let (mut media, began) = (Vec::with_capacity(products.len()), self.now());
        let deadline = self.deadline(&run.task);
        for product in products {
            let copy = tokio::select! {
                biased;
                copy = self.copy(run, product, sources) => copy,
                () = self.clock.pause_until(deadline) => return self.time_out(run).await.map(Err),
            };
            match copy {
                Ok(copied) => media.push(copied),
                Err(reason) => {
                    tracing::warn!(task = %run.task.id, reason, "a result could not be copied");
                    run.task.phase = Phase::Run(Event::Lost { source: product.source.clone(), reason });
                    return self.commit_then(run, StepOutcome::Continue).await.map(Err);
                }
            }
        }
        if !media.is_empty() {
            run.log.copy((began, self.now()), &media);
        }
        Ok(Ok(media))
    }

    async fn copy(
        &self,
        run: &mut RunContext,
        product: &Product,
        sources: &mut ResultSources,
    ) -> Result<Media, String> {
        let provider =
            run.task.assignment.as_ref().map_or("", |assigned| assigned.provider.as_str()).to_owned();
        let (mut tries, mut waits) = (1, None);
        loop {
            match self.media.save_one_of(sources, product, &provider).await {
                Ok(media) => {
                    self.end_wait(waits, &run.task, &mut run.account_permit);
                    return Ok(media);
                }
                // The result is safe at its provider as long as its link works; the deadline ends the wait.
                Err(error) if error.is_store_outage() => {
                    if waits.is_none() {
                        tracing::warn!(task = %run.task.id, %error, "the copy of a result waits for the media store");
                        waits = Some(self.begin_wait(0, &run.task, &mut run.account_permit));
                    }
                    self.clock.pause(STORE_PAUSE).await;
                }
                Err(error) if error.is_passing() && tries < COPY_TRIES => {
                    self.clock.pause(Duration::from_millis(500 << tries)).await;
                    tries += 1;
                }
                Err(error) => return Err(error.to_string()),
            }
        }
    }
}

impl DriverState {
    /// Keeps files of a reply. The call is made and perhaps paid, so an outage of the store is waited for until the task's
    /// deadline.
    pub(super) async fn keep_for(
        &self,
        task: &Task,
        blobs: &[NewBlob],
        held: &mut HeldPermit,
    ) -> Result<(), gatehouse_media::Error> {
        let mut waits = None;
        let kept = loop {
            let error = match self.media.keep_for(&task.customer, blobs).await {
                Ok(()) => break Ok(()),
                Err(error) => error,
            };
            if error.outage().is_none() || self.now() >= self.deadline(task) {
                break Err(error);
            }
            if waits.is_none() {
                tracing::warn!(task = %task.id, %error, "the files of a reply wait for the media store");
                let bytes = blobs.iter().map(|blob| blob.bytes.len() as u64).sum();
                waits = Some(self.begin_wait(bytes, task, held));
            }
            self.clock.pause(STORE_PAUSE).await;
        };
        self.end_wait(waits, task, held);
        kept
    }

    /// Begins a wait for the media store with so many bytes in memory. What is within the bounds of all that waits gives the
    /// permit of the task's account back: its provider has answered.
    fn begin_wait(&self, bytes: u64, task: &Task, held: &mut HeldPermit) -> Waits {
        let waits = self.waiting_files.enter(bytes);
        if waits.fits() {
            *held = None;
            self.live.drop_account_permit(task.id);
        }
        waits
    }

    /// The task has its permit again, even above the account's limit: its job may still be in flight there.
    fn end_wait(&self, waits: Option<Waits>, task: &Task, held: &mut HeldPermit) {
        let (Some(true), Some(assigned)) = (waits.map(|waits| waits.fits()), &task.assignment) else {
            return;
        };
        let permit = self.upstream.resume(&assigned.provider, &assigned.account, &task.customer);
        if let Some(permit) = permit.map(Arc::new) {
            self.live.keep_account_permit(task.id, Arc::clone(&permit));
            *held = Some(permit);
        }
    }
}

/// What a plugin asked for beyond the hold, for the audit record.
fn excess(task: &Task, outcome: &Outcome) -> String {
    let asked: Vec<String> = outcome.settle.iter().flat_map(|settle| &settle.0).map(asked_line).collect();
    format!(
        "its plugin asked to bill {}, which is more than the {} that were held, or has no price there: the hold is billed",
        asked.join(" and "),
        task.held
    )
}

fn asked_line(line: &Line) -> String {
    format!("{} units of {}", line.quantity, line.keys.first().map_or("nothing", String::as_str))
}

/// The charge or what the outcome settles for, at the prices frozen at submit, and what requests that joined have added; `None`
/// when that is more than was held.
pub(super) fn cost(task: &Task, outcome: &Outcome) -> Option<Credits> {
    let terms = task.terms();
    let own = outcome.settle.as_ref().map_or_else(|| terms.cost(), |settle| terms.settled(settle))?;
    own.checked_add(task.joined_held).filter(|cost| *cost <= task.held)
}
