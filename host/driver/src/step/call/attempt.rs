//! An attempt: a call that is about to leave through an account, its bytes, and its durable reply. Never asks for a permit.

use gatehouse_model::{AccountAssignment, BlobId, Body, Call, Event, Phase, Replay, Reply, UnixMs};
use gatehouse_store::StoreError;
use gatehouse_tasks::asks_after_outage;
use gatehouse_upstream::{AccountPermit, CallPermit};

use crate::in_progress::InProgressGuard;
use crate::state::DriverState;
use crate::step::run_context::{AnsweredCall, RunContext, StepOutcome};

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

impl DriverState {
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
        let at = self.now();
        if is_journalled {
            run.task.phase = Phase::Sent { call: call.clone(), at };
        }
        let in_progress = is_journalled.then(|| self.in_progress.begin_call());
        Attempt { call, permit, at, borrowed, _in_progress: in_progress }
    }

    /// Makes the call of an attempt; its reply is durable before a plugin sees it, if the attempt is.
    pub(in crate::step) async fn make(
        &self,
        run: &mut RunContext,
        attempt: Attempt,
    ) -> Result<StepOutcome, StoreError> {
        let Attempt { call, permit, at, borrowed, _in_progress } = attempt;
        // The network has its own limits (permits, timeouts); the step permit is free meanwhile.
        run.step_permit = None;
        let began = self.now();
        if let Some(place) = run.log.place() {
            permit.trace_with(place);
        }
        let event = self.send(&permit, &call, run, borrowed).await;
        run.log.exchange((began, self.now()), permit.account(), &call, &event);
        if let Event::Outage(outage) = event
            && asks_after_outage(&call, outage, self.upstream.asks_when_ambiguous(&call.provider))
        {
            return self.ask(run, call, (at, Some(outage))).await;
        }
        let is_journalled = call.replay != Replay::Safe;
        if let Event::Reply(reply) = &event {
            run.not_before = self.not_before(reply);
            let account = permit.account().to_owned();
            run.answered = Some(AnsweredCall { call, account, status: reply.status });
        }
        run.task.phase = Phase::Run(event);
        if is_journalled {
            return self.commit_then(run, StepOutcome::Continue).await;
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
        let deadline = self.deadline(&run.task);
        let task = &mut run.task;
        let blobs = self.media.blobs_of(task.blobs.iter().copied()).waiting_until(deadline);
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
}

/// The blob of a reply's body; from now on it is the task's.
fn reply_blob(reply: &Reply) -> Option<BlobId> {
    match &reply.body {
        Body::Blob(name) => name.strip_prefix("blob:")?.parse().ok(),
        Body::Inline(_) => None,
    }
}
