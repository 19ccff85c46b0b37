//! The media phases: facts for a plugin, and copies of its results.
//!
//! Both are harmless to repeat, so neither is journalled. `Save` itself is durable, so a restart does not lose
//! results that a provider has handed over. A task completes only after every copy is on disk (invariant I15).

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;
use gatehouse_media::ResultSources;
use gatehouse_model::{
    Action, Event, FailedOutcome, InterimView, Line, Media, Outcome, Phase, Probe, Product, Task,
};
use gatehouse_store::StoreError;
use gatehouse_tasks::{Ending, ResultRecord};

use crate::shared::Shared;
use crate::step::commit::Commits;
use crate::step::kept_files::{FileKeeper, STORE_PAUSE};
use crate::step::plugin::{PluginSteps, cost, show};
use crate::step::run_context::{RunContext, StepOutcome, StepResult};
use crate::step::time_out::TimeOuts;
use crate::waiting_files::Waits;

/// Tries to copy one product; then the plugin gets the event `Lost`.
const COPY_TRIES: u32 = 3;

/// Looks at media for plugins, and copies results.
pub(crate) struct Copies {
    pub(crate) shared: Arc<Shared>,
    pub(crate) commits: Arc<Commits>,
    pub(crate) plugin_steps: Arc<PluginSteps>,
    pub(crate) time_outs: Arc<TimeOuts>,
    pub(crate) files: Arc<FileKeeper>,
}

impl Copies {
    pub(super) async fn probe(&self, run: &mut RunContext, probes: Vec<Probe>) -> StepResult {
        run.step_permit = None;
        let began = self.shared.now();
        let owner = self.shared.media.blobs_of(run.task.blobs.iter().copied()).of(&run.task.customer);
        let found = try_join_all(probes.iter().map(|probe| self.shared.media.probe(probe, &owner)));
        let found = tokio::select! {
            biased;
            found = found => Some(found),
            () = self.shared.clock.pause_until(self.shared.deadline(&run.task)) => None,
        };
        // Also where a probe failed or the time is over: the run deletes at its end what no commit has made the task's.
        run.task.blobs.extend(owner.kept());
        let found = match found {
            Some(Ok(found)) => found,
            Some(Err(error)) => {
                tracing::error!(task = %run.task.id, %error, "the media store failed during a probe, will be tried again");
                return Ok(StepOutcome::Until(self.shared.now().plus(STORE_PAUSE)));
            }
            None => return self.time_outs.time_out(run).await,
        };
        run.log.probe(began..self.shared.now(), found.len());
        run.task.phase = Phase::Run(Event::Probed(found));
        Ok(StepOutcome::Continue)
    }

    pub(super) async fn save(&self, run: &mut RunContext, outcome: Outcome) -> StepResult {
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
        self.commits.finish(run, Ending::Completed { result, claims: outcome.claims, cost }, audit).await
    }

    /// Shows a view whose products are copied; then the step goes on.
    pub(super) async fn publish(&self, run: &mut RunContext, view: InterimView, next: Action) -> StepResult {
        let media = match self.copy_all(run, &view.products).await? {
            Ok(media) => media,
            Err(instead) => return Ok(instead),
        };
        show(&mut run.task, view, media);
        self.plugin_steps.act_after_view(run, next).await
    }

    /// Fails the task once the products of its result are copied.
    pub(super) async fn save_failed(&self, run: &mut RunContext, ending: FailedOutcome) -> StepResult {
        match self.copy_all(run, &ending.products).await? {
            Ok(media) => self.commits.fail(run, ending, media).await,
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
        let blobs = self.shared.media.blobs_of(run.task.blobs.iter().copied());
        let mut sources = ResultSources::new(products, blobs);
        let copied = self.copy_each(run, products, &mut sources).await;
        self.shared.media.drop_sources(sources).await;
        copied
    }

    async fn copy_each(
        &self,
        run: &mut RunContext,
        products: &[Product],
        sources: &mut ResultSources,
    ) -> Result<Result<Vec<Media>, StepOutcome>, StoreError> {
        let (mut media, began) = (Vec::with_capacity(products.len()), self.shared.now());
        let deadline = self.shared.deadline(&run.task);
        for product in products {
            // Out of the copy, so that the wait ends however that does: the task may go on after each of them.
            let mut waits = None;
            let copy = tokio::select! {
                biased;
                copy = self.copy(run, product, sources, &mut waits) => Some(copy),
                () = self.shared.clock.pause_until(deadline) => None,
            };
            self.files.end_wait(waits, &run.task, &mut run.account_permit);
            match copy {
                None => return self.time_outs.time_out(run).await.map(Err),
                Some(Ok(copied)) => media.push(copied),
                Some(Err(reason)) => {
                    tracing::warn!(task = %run.task.id, reason, "a result could not be copied");
                    run.task.phase = Phase::Run(Event::Lost { source: product.source.clone(), reason });
                    return self.commits.commit_then(run, StepOutcome::Continue).await.map(Err);
                }
            }
        }
        if !media.is_empty() {
            run.log.copy(began..self.shared.now(), &media);
        }
        Ok(Ok(media))
    }

    /// Copies one product. Where the copy has to wait for the media store, `waits` says so; the caller ends that.
    async fn copy(
        &self,
        run: &mut RunContext,
        product: &Product,
        sources: &mut ResultSources,
        waits: &mut Option<Waits>,
    ) -> Result<Media, String> {
        let provider =
            run.task.assignment.as_ref().map_or("", |assigned| assigned.provider.as_str()).to_owned();
        let mut tries = 1;
        loop {
            match self.shared.media.save_one_of(sources, product, &provider).await {
                Ok(media) => return Ok(media),
                // The result is safe at its provider as long as its link works; the deadline ends the wait.
                Err(error) if error.is_store_outage() => {
                    if waits.is_none() {
                        tracing::warn!(task = %run.task.id, %error, "the copy of a result waits for the media store");
                        *waits = Some(self.files.begin_wait(0, &run.task, &mut run.account_permit));
                    }
                    self.shared.clock.pause(STORE_PAUSE).await;
                }
                Err(error) if error.is_passing() && tries < COPY_TRIES => {
                    self.shared.clock.pause(Duration::from_millis(500 << tries)).await;
                    tries += 1;
                }
                Err(error) => return Err(error.to_string()),
            }
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
