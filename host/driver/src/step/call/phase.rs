//! The call phase: a permit of an account, the durable attempt, the bytes, the durable reply.
//!
//! A `safe` call is not journalled: after a crash the plugin asks for it again. Any other call leaves a
//! `Sent` record before its bytes leave, and its reply is on disk before a plugin sees it. A `Sent` record
//! without a reply is ambiguous (`ambiguous`).

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_media::{ExtractError, NewBlob};
use gatehouse_model::{
    Body, Call, Event, Json, Outage, Phase, Reading, Replay, Reply, Status, Task, TaskId, UnixMs,
};
use gatehouse_upstream::{Claimant, NoPermit, Permits, Wanted};

use crate::live::AnsweredCall;
use crate::live::live_tasks::LiveTasks;
use crate::shared::{Shared, ShutdownState};
use crate::step::bulk::shared::{BulkCalls, SharedAnswer};
use crate::step::call::attempt::{OfCall, as_called};
use crate::step::commit::Commits;
use crate::step::kept_files::{FileKeeper, STORE_PAUSE};
use crate::step::run_context::{HeldPermit, RunContext, StepOutcome, StepResult};

/// A task that waits for a permit looks by itself after this long, in case nothing wakes it.
const QUEUED_PAUSE: Duration = Duration::from_secs(30);
/// What it waits for, in the log of its steps.
const PERMIT: &str = "permit";

/// Makes the calls of tasks.
pub(crate) struct Calls {
    pub(crate) shared: Arc<Shared>,
    pub(crate) live: Arc<LiveTasks>,
    pub(crate) commits: Arc<Commits>,
    /// Calls of several tasks at once.
    pub(crate) bulk: Arc<BulkCalls>,
    pub(crate) files: Arc<FileKeeper>,
}

impl Calls {
    pub(in crate::step) async fn call(&self, run: &mut RunContext, call: Call) -> StepResult {
        let began = self.shared.now();
        match self.bulk.call_with_others(run, &call).await {
            SharedAnswer::Reply { reply, not_before } => {
                let account = self.shared.upstream.account_of(&call.provider, &reply.affinity);
                let status = reply.status;
                let event = self.as_read(reply, &call, &mut run.task, &mut run.account_permit).await;
                run.log.exchange(began..self.shared.now(), "", &call, &event);
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
            return self.queue(run, call, self.shared.now(), PERMIT).await;
        }
        if !self.files.may_bring_files(&call) {
            // Others may use what it was granted; once there is room, it asks anew.
            self.live.leave_queue(run.task.id);
            drop(self.live.take_granted(run.task.id));
            return self.queue(run, call, self.shared.now().plus(STORE_PAUSE), "media store").await;
        }
        let (permit, borrowed) = match self.permit(run, &call).await {
            Ok(permits) => permits,
            Err(NoPermit::Unknown) => return self.refuse(run, &call).await,
            Err(NoPermit::Until(due)) => return self.queue(run, call, due, PERMIT).await,
            Err(NoPermit::Busy) => {
                return self.queue(run, call, self.shared.now().plus(QUEUED_PAUSE), PERMIT).await;
            }
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
    async fn refuse(&self, run: &mut RunContext, call: &Call) -> StepResult {
        tracing::error!(task = %run.task.id, provider = call.provider, "no such provider or account is configured");
        run.task.phase = Phase::Run(Event::Outage(Outage::Refused));
        self.commits.commit_then(run, StepOutcome::Continue).await
    }

    /// Waits until then, for a permit or for room for files: visible as `pending`, and durable, so that a restart goes on from
    /// here.
    async fn queue(&self, run: &mut RunContext, call: Call, due: UnixMs, reason: &str) -> StepResult {
        run.task.status = run.task.status.max(Status::Pending);
        let due = due.min(self.shared.deadline(&run.task));
        run.log.wait(self.shared.now(), due, reason);
        if call.replay == Replay::Safe {
            // The plugin asks for it again when the time comes; the durable phase still leads here.
            return Ok(StepOutcome::Until(due));
        }
        run.task.phase = Phase::Call(call);
        self.commits.commit_then(run, StepOutcome::Until(due)).await
    }

    /// The reply in the form that the call asks for; the files taken out of it are blobs of the task. While they wait for the
    /// media store, the task gives back what it has in `held`.
    pub(in crate::step) async fn as_read(
        &self,
        reply: Reply,
        call: &Call,
        task: &mut Task,
        held: &mut HeldPermit,
    ) -> Event {
        let (reply, files) = match self.cut(reply, call, task.id).await {
            Ok(cut) => cut,
            Err(outage) => return Event::Outage(outage),
        };
        if files.is_empty() {
            return Event::Reply(reply);
        }
        if let Err(error) = self.files.keep_for(task, &files, held).await {
            return Event::Outage(not_cut(task.id, call, Outage::Broken, &error));
        }
        task.blobs.extend(files.iter().map(|file| file.id));
        Event::Reply(reply)
    }

    /// Takes the files out of a reply, where the call asks for that; none of them is kept yet. A reply that is not text stays as
    /// it is.
    pub(in crate::step) async fn cut(
        &self,
        reply: Reply,
        call: &Call,
        task: TaskId,
    ) -> Result<(Reply, Vec<NewBlob>), Outage> {
        let max = self.shared.upstream.max_reply(&call.provider).unwrap_or(0);
        let (Reading::Cut, Body::Inline(bytes)) = (call.reading, &reply.body) else {
            return Ok((reply, Vec::new()));
        };
        let cut = match Json::try_from(bytes.clone()) {
            Ok(json) => self.shared.media.extract_results(json).await,
            Err(_) if bytes.len() as u64 <= max => return Ok((reply, Vec::new())),
            Err(_) => return Err(Outage::TooLarge),
        };
        match cut {
            Ok(cut) if cut.json.len() as u64 <= max => {
                Ok((Reply { body: Body::Inline(cut.json.into_bytes()), ..reply }, cut.blobs))
            }
            Ok(cut) => {
                let reason = format_args!("{} bytes remain, at most {max} may", cut.json.len());
                Err(not_cut(task, call, Outage::TooLarge, &reason))
            }
            Err(error @ ExtractError::Interrupted) => Err(not_cut(task, call, Outage::Broken, &error)),
            Err(error) => Err(not_cut(task, call, Outage::TooLarge, &error)),
        }
    }
}

/// Tells the log why a reply is an outage.
fn not_cut(task: TaskId, call: &Call, outage: Outage, reason: &dyn Display) -> Outage {
    tracing::warn!(%task, provider = call.provider, %reason, "a reply could not be cut");
    outage
}
