//! The end of a task whose time is over: it fails with a full refund, whatever its provider still does.
//!
//! A family that can stop its provider is asked for a call that does so. The call is made once, after the end, and no
//! crash repeats it: what the provider makes of the job is the operator's cost.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{AccountAssignment, Action, Call, Cause, Event, Phase, Task, UnixMs};
use gatehouse_runtime::StepRoute;
use gatehouse_store::StoreError;
use gatehouse_tasks::{Ending, timed_out};
use gatehouse_upstream::AccountPermit;

use crate::shared::Shared;
use crate::step::commit::Commits;
use crate::step::run_context::{RunContext, StepOutcome, StepResult};

/// Time for the call that stops a provider.
const STOP_TIME: Duration = Duration::from_secs(30);

/// Ends tasks whose time is over.
pub(crate) struct TimeOuts {
    pub(crate) shared: Arc<Shared>,
    pub(crate) commits: Arc<Commits>,
}

impl TimeOuts {
    /// The deadline of a task that seemed over, when a request that joined during the run has moved it.
    pub(super) async fn later_deadline(&self, run: &RunContext) -> Result<Option<UnixMs>, StoreError> {
        let stored = self.shared.store.task(run.task.id).await?;
        Ok(stored.filter(|stored| !self.shared.is_overdue(stored)).map(|stored| stored.deadline))
    }

    /// Fails the task. An audit record notes once that its provider may still go on. A task that got more time meanwhile
    /// starts its phase over.
    pub(super) async fn time_out(&self, run: &mut RunContext) -> StepResult {
        if self.later_deadline(run).await?.is_some() {
            return Ok(StepOutcome::Until(self.shared.now()));
        }
        let stop = self.call_that_stops(&run.durable).await;
        let audit = run.durable.assignment.as_ref().map(|AccountAssignment { provider, account }| {
            let told = if stop.is_some() { "is told to stop; " } else { "" };
            format!("out of time: {provider}/{account} {told}what it may still do is the operator's cost")
        });
        run.log.decision(self.shared.now(), audit.as_deref().unwrap_or("out of time"));
        let (task, account) = (run.durable.clone(), run.account_permit.clone());
        let outcome = self.commits.finish(run, Ending::failed(timed_out()), audit).await?;
        if let (StepOutcome::Ended, Some(call)) = (&outcome, stop) {
            self.stop_provider(task, call, account);
        }
        Ok(outcome)
    }

    /// The family's call that stops the provider, if the task waits for it.
    async fn call_that_stops(&self, task: &Task) -> Option<Call> {
        task.assignment.as_ref()?;
        if !matches!(task.phase, Phase::Wait(_)) {
            return None;
        }
        let route = self.shared.plugins.route(&task.family, &task.digest, task.state_version).await;
        let Ok(StepRoute::Run(version)) = route else { return None };
        let (context, event) = (self.shared.context(task, &version), Event::Cancel(Cause::Deadline));
        match self.shared.plugins.advance(&version, context, task.state.clone(), event).await.ok()?.next {
            Action::Call(call) => Some(call),
            _ => None,
        }
    }

    /// Makes the call beside the step, which has ended: clients hear of the end at once. `account` counts the job until
    /// its provider was told.
    fn stop_provider(&self, task: Task, call: Call, account: Option<Arc<AccountPermit>>) {
        let assigned = task.assignment.as_ref().filter(|assigned| assigned.provider == call.provider);
        let Some(assigned) = assigned else { return };
        let Ok(permit) = self.shared.upstream.acquire_call(&assigned.provider, &assigned.account) else {
            return;
        };
        let permit = if call.credentials { permit } else { permit.without_credentials() };
        let (blobs, until) = (self.shared.media.blobs_of([]), self.shared.now().plus(STOP_TIME));
        let in_progress = self.shared.in_progress.begin_call();
        tokio::spawn(async move {
            let outcome = permit.call(&call, &blobs, until).await;
            let status = outcome.as_ref().map_or(0, |reply| reply.status);
            tracing::info!(task = %task.id, provider = call.provider, status, "told the provider to stop");
            drop((account, in_progress));
        });
    }
}
