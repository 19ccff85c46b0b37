//! The call phase: a permit of an account, the durable attempt, the bytes, the durable reply.
//!
//! A `safe` call is not journalled: after a crash the plugin asks for it again. Any other call leaves a
//! `Sent` record before its bytes leave, and its reply is on disk before a plugin sees it. A `Sent` record
//! without a reply is ambiguous (`ambiguous`).

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_media::{ExtractError, NewBlob};
use gatehouse_model::{Body, Call, Event, Json, Outage, Phase, Reading, Replay, Reply, Status, Task, UnixMs};
use gatehouse_store::StoreError;
use gatehouse_upstream::{Claimant, NoPermit, Permits, Wanted};

use crate::live::AnsweredCall;
use crate::live::live_tasks::LiveTasks;
use crate::shared::{Shared, ShutdownState};
use crate::step::bulk::shared::{BulkCalls, SharedAnswer};
use crate::step::call::attempt::{OfCall, as_called};
use crate::step::commit::Commits;
use crate::step::run_context::{RunContext, StepOutcome};

/// How long a step waits after the media store failed; the disk may be full for a while.
pub(in crate::step) const STORE_PAUSE: Duration = Duration::from_secs(5);
/// A task that waits for a permit looks by itself after this long, in case nothing wakes it.
const QUEUED_PAUSE: Duration = Duration::from_secs(30);
/// Makes the calls of tasks.
pub(crate) struct Calls {
    pub(crate) shared: Arc<Shared>,
    pub(crate) live: Arc<LiveTasks>,
    pub(crate) commits: Arc<Commits>,
    /// Calls of several tasks at once.
    pub(crate) bulk: Arc<BulkCalls>,
}

impl Calls {
    pub(in crate::step) async fn call(
        &self,
        run: &mut RunContext,
        call: Call,
    ) -> Result<StepOutcome, StoreError> {
        let began = self.shared.now();
        match self.bulk.call_with_others(run, &call).await {
            SharedAnswer::Reply { reply, not_before } => {
                let account = self.shared.upstream.account_of(&call.provider, &reply.affinity);
                let status = reply.status;
                let event = self.as_read(reply, &call, &mut run.task).await;
                run.log.exchange((began, self.shared.now()), "", &call, &event);
                run.not_before = not_before;
                run.answered = account.map(|account| AnsweredCall { call, account, status });
                run.task.phase = Phase::Run(event);
                return Ok(StepOutcome::Continue);
            }
            SharedAnswer::TimeIsOver => return Ok(StepOutcome::Until(self.shared.deadline(&run.task))),
            SharedAnswer::Alone => {}
        }
        let is_journalled = call.replay != Replay::Safe;
        if is_journalled && self.shared.has_reached(ShutdownState::Draining) {
            // A call that must not be cut short does not begin: it is durable, and the next process makes it.
            return self.queue(run, call, self.shared.now()).await;
        }
        let (permit, borrowed) = match self.permit(run, &call).await {
            Ok(permits) => permits,
            Err(NoPermit::Unknown) => return self.refuse(run, &call).await,
            Err(NoPermit::Until(due)) => return self.queue(run, call, due).await,
            Err(NoPermit::Busy) => return self.queue(run, call, self.shared.now().plus(QUEUED_PAUSE)).await,
        };
        let attempt = self.begin_attempt(run, call, (permit, borrowed));
        if is_journalled && let Some(outcome) = self.commits.commit(run, None).await? {
            return Ok(outcome);
        }
        self.make(run, attempt).await
    }

    /// The permission to send now. The task takes its permit at the account with its first call and keeps it
    /// until it ends: a provider counts jobs in flight, not connections. A call with an affinity to another account
    /// borrows a permit there for its own time. Without a permit the task has a position in the queue for one.
    async fn permit(&self, run: &mut RunContext, call: &Call) -> Result<OfCall, NoPermit> {
        let declared = self.shared.plugins.version(&run.task.digest).await;
        if !declared.is_ok_and(|version| version.about().providers.contains(&call.provider)) {
            return Err(NoPermit::Unknown);
        }
        let wanted = match &call.affinity {
            None => None,
            Some(affinity) => {
                Some(self.shared.upstream.account_of(&call.provider, affinity).ok_or(NoPermit::Unknown)?)
            }
        };
        let held = run.account_permit.as_ref().filter(|held| held.provider() == call.provider);
        if let Some(held) = held
            && wanted.as_ref().is_none_or(|wanted| wanted == held.account())
        {
            let permit = self.shared.upstream.acquire_call(&call.provider, held.account())?;
            return Ok((as_called(permit, call), None));
        }
        let refused = self.live.refused(run.task.id, &call.provider);
        let assigned = run.task.assignment.as_ref().filter(|assigned| assigned.provider == call.provider);
        let assigned = assigned.map(|assigned| assigned.account.as_str());
        // The account that refused the task is not its own any more.
        let assigned = assigned.filter(|account| !refused.iter().any(|refused| refused == account));
        let wanted = wanted.as_deref();
        let account = wanted.or(assigned);
        let granted = self.live.take_granted(run.task.id).filter(|(granted, _)| {
            granted.provider() == call.provider && account.is_none_or(|account| account == granted.account())
        });
        let (account, permit) = match granted {
            Some(permits) => permits,
            None => self.acquire_or_wait(&run.task, &call.provider, account, refused)?,
        };
        if assigned.is_some() && wanted.is_some_and(|wanted| assigned != Some(wanted)) {
            return Ok((as_called(permit, call), Some(account)));
        }
        let account = Arc::new(account);
        self.live.keep_account_permit(run.task.id, Arc::clone(&account));
        run.account_permit = Some(account);
        Ok((as_called(permit, call), None))
    }

    /// Permits now, or a position in the provider's queue; the task is woken once they are granted. Of that account, or of any
    /// that has not refused the task.
    fn acquire_or_wait(
        &self,
        task: &Task,
        provider: &str,
        account: Option<&str>,
        refused: Vec<String>,
    ) -> Result<Permits, NoPermit> {
        let id = task.id;
        if self.live.is_queued(id, provider, account) {
            return Err(NoPermit::Busy);
        }
        self.live.leave_queue(id);
        let claimant = Claimant { customer: task.customer.clone(), key: task.key.clone() };
        let (live, clock) = (Arc::downgrade(&self.live), Arc::clone(&self.shared.clock));
        let grant = move |permits| {
            if let Some(live) = live.upgrade() {
                live.grant(id, permits, clock.now());
            }
        };
        let wanted = account.map_or(Wanted::Any(refused), |account| Wanted::of(Some(account)));
        match self.shared.upstream.acquire_or_wait(provider, &claimant, wanted, grant) {
            Ok(permits) => Ok(permits),
            Err((_, Some(waiting))) => {
                if task.assignment.is_none() {
                    self.live.note_provider(&task.model, provider);
                }
                self.live.enter_queue(id, provider, account, waiting);
                // Whatever stands in the way, the queue is looked at once it ends.
                Err(NoPermit::Busy)
            }
            Err((none, None)) => Err(none),
        }
    }

    /// The plugin did not declare the provider, or the operator did not configure it: waiting does not help.
    async fn refuse(&self, run: &mut RunContext, call: &Call) -> Result<StepOutcome, StoreError> {
        tracing::error!(task = %run.task.id, provider = call.provider, "no such provider or account is configured");
        run.task.phase = Phase::Run(Event::Outage(Outage::Refused));
        self.commits.commit_then(run, StepOutcome::Continue).await
    }

    /// Waits for a permit: visible as `pending`, and durable, so that a restart goes on from here.
    async fn queue(&self, run: &mut RunContext, call: Call, due: UnixMs) -> Result<StepOutcome, StoreError> {
        run.task.status = run.task.status.max(Status::Pending);
        let due = due.min(self.shared.deadline(&run.task));
        run.log.wait(self.shared.now(), due, "permit");
        if call.replay == Replay::Safe {
            // The plugin asks for it again when the time comes; the durable phase still leads here.
            return Ok(StepOutcome::Until(due));
        }
        run.task.phase = Phase::Call(call);
        self.commits.commit_then(run, StepOutcome::Until(due)).await
    }

    /// The reply in the form that the call asks for.
    pub(in crate::step) async fn as_read(&self, reply: Reply, call: &Call, task: &mut Task) -> Event {
        if call.reading == Reading::Cut {
            self.cut_reply(reply, call, task).await
        } else {
            Event::Reply(reply)
        }
    }

    /// Takes the files out of a reply; they become blobs of the task. A reply that is not text stays as it is.
    async fn cut_reply(&self, reply: Reply, call: &Call, task: &mut Task) -> Event {
        let max = self.shared.upstream.max_reply(&call.provider).unwrap_or(0);
        let Body::Inline(bytes) = &reply.body else { return Event::Reply(reply) };
        let cut = match Json::try_from(bytes.clone()) {
            Ok(json) => self.shared.media.extract_results(json).await,
            Err(_) if bytes.len() as u64 <= max => return Event::Reply(reply),
            Err(_) => return Event::Outage(Outage::TooLarge),
        };
        let failed = |task: &Task, outage: Outage, reason: &dyn Display| {
            tracing::warn!(task = %task.id, provider = call.provider, %reason, "a reply could not be cut");
            Event::Outage(outage)
        };
        let cut = match cut {
            Ok(cut) if cut.json.len() as u64 <= max => cut,
            Ok(cut) => {
                let reason = format_args!("{} bytes remain, at most {max} may", cut.json.len());
                return failed(task, Outage::TooLarge, &reason);
            }
            Err(error @ ExtractError::Interrupted) => return failed(task, Outage::Broken, &error),
            Err(error) => return failed(task, Outage::TooLarge, &error),
        };
        if let Err(error) = self.keep_for(task, &cut.blobs).await {
            return failed(task, Outage::Broken, &error);
        }
        task.blobs.extend(cut.blobs.iter().map(|blob| blob.id));
        Event::Reply(Reply { body: Body::Inline(cut.json.into_bytes()), ..reply })
    }

    /// Keeps files of a reply. The call is made and perhaps paid, so an outage of the store is waited for until the task's
    /// deadline. The call's permit is held meanwhile: it bounds the bytes that wait in memory, and the calls that are paid
    /// although their files cannot be kept.
    async fn keep_for(&self, task: &Task, blobs: &[NewBlob]) -> Result<(), gatehouse_media::Error> {
        let mut waits = false;
        loop {
            let error = match self.shared.media.keep_for(&task.customer, blobs).await {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            if error.outage().is_none() || self.shared.now() >= self.shared.deadline(task) {
                return Err(error);
            }
            if !std::mem::replace(&mut waits, true) {
                tracing::warn!(task = %task.id, %error, "the files of a reply wait for the media store");
            }
            self.shared.clock.pause(STORE_PAUSE).await;
        }
    }
}
