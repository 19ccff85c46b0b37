//! An attempt: a call that is about to leave through an account, its bytes, and its durable reply. Never asks for a permit.
//!
//! An account that a family finds refused, by what the reply says, is passed over for some minutes: the operator is told, and a
//! call that has made nothing is made at the next account. Which accounts have refused a task is known to this process only;
//! after a restart each may be asked once more.

use gatehouse_model::{
    AccountAssignment, Action, Blame, BlobId, Body, Call, Event, Phase, Replay, Reply, Step, UnixMs,
};
use gatehouse_tasks::asks_after_outage;
use gatehouse_upstream::{AccountPermit, CallPermit};

use crate::in_progress::InProgressGuard;
use crate::live::AnsweredCall;
use crate::shared::until_it_may_begin;
use crate::step::bulk::merged::not_before;
use crate::step::call::phase::Calls;
use crate::step::run_context::{RunContext, StepOutcome, StepResult};

/// Statuses by which the account was told already, when the answer came.
const TOLD: [u16; 2] = [401, 402];

/// The permit of a call, and that of an account borrowed for it.
pub(in crate::step) type OfCall = (CallPermit, Option<AccountPermit>);

/// A call that is about to leave, and what it holds until its reply is kept.
pub(in crate::step) struct Attempt {
    call: Call,
    permit: CallPermit,
    at: UnixMs,
    borrowed: Option<AccountPermit>,
    /// A shutdown waits for a call that may not be repeated.
    _in_progress: Option<InProgressGuard>,
}

impl Attempt {
    /// The call does not leave after all: its account may take another one instead.
    pub(in crate::step) fn give_up(self) {
        drop(self.permit);
    }
}

/// With the account's credentials, or without.
pub(in crate::step) fn as_called(permit: CallPermit, call: &Call) -> CallPermit {
    if call.credentials { permit } else { permit.without_credentials() }
}

impl Calls {
    /// The run's next call, about to leave through that account. One that is journalled becomes the task's phase, and may leave
    /// once that is durable.
    pub(in crate::step) fn begin_attempt(
        &self,
        run: &mut RunContext,
        call: Call,
        (permit, borrowed): OfCall,
    ) -> Attempt {
        let is_journalled = call.replay != Replay::Safe;
        if borrowed.is_none() {
            // A call through another account leaves the task at its own.
            run.task.assignment = Some(AccountAssignment {
                provider: permit.provider().to_owned(),
                account: permit.account().to_owned(),
            });
        }
        let at = self.shared.now();
        if is_journalled {
            run.task.phase = Phase::Sent { call: call.clone(), at };
        }
        let in_progress = is_journalled.then(|| self.shared.in_progress.begin_call());
        Attempt { call, permit, at, borrowed, _in_progress: in_progress }
    }

    /// Makes the call of an attempt; its reply is durable before a plugin sees it, if the attempt is.
    pub(in crate::step) async fn make(&self, run: &mut RunContext, attempt: Attempt) -> StepResult {
        let Attempt { call, permit, at, borrowed, _in_progress } = attempt;
        // The network has its own limits (permits, timeouts); the step permit is free meanwhile.
        run.step_permit = None;
        // This process may have been stopped since the attempt became durable. While another one may be at work the call waits: it is
        // known not to have left, which nobody else could say of it.
        until_it_may_begin(&self.shared.store, &*self.shared.clock).await?;
        let began = self.shared.now();
        if let Some(place) = run.log.place() {
            permit.trace_with(place);
        }
        let event = self.send(&permit, &call, run, borrowed).await;
        run.log.exchange(began..self.shared.now(), permit.account(), &call, &event);
        if let Event::Outage(outage) = event
            && asks_after_outage(&call, outage, self.shared.upstream.asks_when_ambiguous(&call.provider))
        {
            return self.ask(run, call, at, Some(outage)).await;
        }
        let is_journalled = call.replay != Replay::Safe;
        if let Event::Reply(reply) = &event {
            run.not_before = not_before(reply, self.shared.now());
            let account = permit.account().to_owned();
            run.answered = Some(AnsweredCall { call, account, status: reply.status });
        }
        run.task.phase = Phase::Run(event);
        if is_journalled {
            return self.commits.commit_then(run, StepOutcome::Continue).await;
        }
        Ok(StepOutcome::Continue)
    }

    async fn send(
        &self,
        permit: &CallPermit,
        call: &Call,
        run: &mut RunContext,
        borrowed: Option<AccountPermit>,
    ) -> Event {
        let deadline = self.shared.deadline(&run.task);
        let task = &mut run.task;
        let blobs = self.shared.media.blobs_of(task.blobs.iter().copied()).waiting_until(deadline);
        let outcome = permit.call(call, &blobs, deadline).await;
        // Only the call needed it.
        drop(borrowed);
        match outcome {
            Ok(reply) => {
                task.blobs.extend(reply_blob(&reply));
                self.as_read(reply, call, task, &mut run.account_permit).await
            }
            Err(outage) => Event::Outage(outage),
        }
    }

    /// Hears from the step that follows `answered` whether its account was refused. The call to be made at another account
    /// instead of that step; none where the task is to take it.
    pub(in crate::step) fn heed_account(
        &self,
        run: &mut RunContext,
        step: &Step,
        answered: AnsweredCall,
    ) -> Option<Call> {
        let AnsweredCall { call, account, status } = answered;
        if !blames_account(step) || !call.credentials {
            return None;
        }
        if !TOLD.contains(&status) {
            let (task, provider) = (run.task.id, &call.provider);
            tracing::error!(%task, provider, account, status, "the provider refuses this account, as its answer says");
            self.shared.upstream.report_refused(provider, &account);
        }
        // A safe call asks for what was made at this account, and one with an affinity needs that account. A call that stops a
        // job is of no use where the job is not.
        if call.replay == Replay::Safe || call.affinity.is_some() || run.task.stop_asked {
            return None;
        }
        let refused = self.live.note_refused(run.task.id, &call.provider, &account);
        if !self.shared.upstream.has_account_besides(&call.provider, &refused) {
            return None;
        }
        run.account_permit = None;
        self.live.drop_account_permit(run.task.id);
        let text = format!("the account {account} of {} is refused: another is asked", call.provider);
        run.log.decision(self.shared.now(), &text);
        Some(call)
    }
}

/// Whether the step ends its task because an account was refused.
fn blames_account(step: &Step) -> bool {
    matches!(&step.next, Action::Fail(ending) if ending.failure.blame == Blame::Account)
}

/// The blob of a reply's body; from now on it is the task's.
fn reply_blob(reply: &Reply) -> Option<BlobId> {
    match &reply.body {
        Body::Blob(name) => name.strip_prefix("blob:")?.parse().ok(),
        Body::Inline(_) => None,
    }
}
