//! The call phase: a place at an account, the gate, the durable attempt, the bytes, the durable reply.
//!
//! A `safe` call is not journalled: after a crash the plugin asks for it again. Any other call leaves a
//! `Sent` record before its bytes do, and its reply is on disk before a plugin sees it; a `Sent` record
//! found without a reply is ambiguous and is resolved by the call's own policy, with an audit record.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{
    AccountAssignment, BlobId, Body, Call, Event, Outage, Phase, Replay, Reply, Status, Task, UnixMs, metric,
};
use gatehouse_store::StoreError;
use gatehouse_tasks::{AfterCrash, Ending, after_crash, lost_answer};
use gatehouse_upstream::{NoSlot, Slot};

use crate::driver::{Inner, Stage};
use crate::step::{Turn, Visit};

/// A parked task looks again by itself after this long, should nobody wake it.
const PARKED_PAUSE: Duration = Duration::from_secs(30);
/// What a provider's `Retry-After` may ask for at most.
const RETRY_AFTER_MAX: u64 = 600;

impl Inner {
    pub(crate) async fn call(&self, visit: &mut Visit, call: Call) -> Result<Turn, StoreError> {
        let journalled = call.replay != Replay::Safe;
        if journalled && self.has_reached(Stage::Draining) {
            // What must not be cut short is not begun either: it is written down and the next process makes it.
            return self.queue(visit, call, self.now()).await;
        }
        let slot = match self.place_or_park(visit, &call) {
            Ok(slot) => slot,
            Err(NoSlot::Unknown) => return self.refuse(visit, &call).await,
            Err(NoSlot::Until(due)) => return self.queue(visit, call, due).await,
            Err(NoSlot::Busy) => return self.queue(visit, call, self.now().plus(PARKED_PAUSE)).await,
        };
        let _calling = journalled.then(|| self.count_call());
        visit.task.assignment = Some(AccountAssignment {
            provider: slot.provider().to_owned(),
            account: slot.account().to_owned(),
        });
        if journalled {
            visit.task.phase = Phase::Sent { call: call.clone(), at: self.now() };
            if let Some(turn) = self.commit(visit, None).await? {
                return Ok(turn);
            }
        }
        // The network has its own limits (places, timeouts); do not hold one of the step permits meanwhile.
        visit.permit = None;
        let event = self.send(&slot, &call, &mut visit.task).await;
        if let Event::Reply(reply) = &event {
            visit.not_before = retry_after(reply, self.now());
        }
        visit.task.phase = Phase::Run(event);
        if journalled {
            return self.commit(visit, None).await.map(|turn| turn.unwrap_or(Turn::On));
        }
        Ok(Turn::On)
    }

    /// A place now, or one in the queue for it. Looks a second time from within the queue: a place freed
    /// between the first look and the parking has woken nobody.
    fn place_or_park(&self, visit: &mut Visit, call: &Call) -> Result<Slot, NoSlot> {
        match self.place(visit, call) {
            Err(NoSlot::Busy) => {
                self.live.park(&call.provider, visit.task.id);
                let again = self.place(visit, call);
                if again.is_ok() {
                    self.live.leave_queue(visit.task.id);
                }
                again
            }
            other => other,
        }
    }

    /// Leave to send now. The task's place at the account is taken with its first call and kept until it
    /// ends: a provider counts jobs in flight, not connections.
    fn place(&self, visit: &mut Visit, call: &Call) -> Result<Slot, NoSlot> {
        let declared = self.families.version(&visit.task.digest);
        if !declared.is_ok_and(|version| version.about().providers.contains(&call.provider)) {
            return Err(NoSlot::Unknown);
        }
        if let Some(place) = visit.place.as_ref().filter(|place| place.provider() == call.provider) {
            return self.upstream.acquire(&call.provider, place.account());
        }
        let pinned = visit.task.assignment.as_ref().filter(|seat| seat.provider == call.provider);
        let (place, slot) = self.upstream.enter(&call.provider, pinned.map(|seat| seat.account.as_str()))?;
        let place = Arc::new(place);
        self.live.keep_place(visit.task.id, Arc::clone(&place));
        visit.place = Some(place);
        Ok(slot)
    }

    /// A provider the plugin did not declare or the operator did not configure: waiting does not help.
    async fn refuse(&self, visit: &mut Visit, call: &Call) -> Result<Turn, StoreError> {
        tracing::error!(task = %visit.task.id, provider = call.provider, "no such provider or account is configured");
        visit.task.phase = Phase::Run(Event::Outage(Outage::Refused));
        self.commit(visit, None).await.map(|turn| turn.unwrap_or(Turn::On))
    }

    /// Waits for a place: visible as `pending`, and durable, so that a restart goes on from here.
    async fn queue(&self, visit: &mut Visit, call: Call, due: UnixMs) -> Result<Turn, StoreError> {
        visit.task.status = visit.task.status.max(Status::Pending);
        let due = due.min(visit.task.deadline);
        if call.replay == Replay::Safe {
            // Asked for again by the plugin when the time comes; the durable phase still leads here.
            return Ok(Turn::Until(due));
        }
        visit.task.phase = Phase::Call(call);
        self.commit(visit, None).await.map(|turn| turn.unwrap_or(Turn::Until(due)))
    }

    async fn send(&self, slot: &Slot, call: &Call, task: &mut Task) -> Event {
        let blobs = self.media.blobs_of(task.blobs.iter().copied());
        let outcome = self.upstream.call(slot, call, &blobs, task.deadline).await;
        match outcome {
            Ok(reply) => {
                task.blobs.extend(reply_blob(&reply));
                Event::Reply(reply)
            }
            Err(outage) => Event::Outage(outage),
        }
    }

    /// A `Sent` record without a reply: the process stopped in between.
    pub(crate) async fn resolve_ambiguous(
        &self,
        visit: &mut Visit,
        call: Call,
        at: UnixMs,
    ) -> Result<Turn, StoreError> {
        let verdict = after_crash(&call);
        metrics::counter!(metric::AMBIGUOUS, "policy" => verdict.as_str()).increment(1);
        let audit = format!(
            "ambiguous {} to {} begun at {at} (account {}): {}",
            call.method,
            call.provider,
            visit.task.assignment.as_ref().map_or("none", |seat| seat.account.as_str()),
            verdict.as_str(),
        );
        tracing::warn!(task = %visit.task.id, audit, "call outcome unknown after a restart");
        match verdict {
            AfterCrash::Resend => {
                visit.task.phase = Phase::Call(call);
                self.commit(visit, Some(audit)).await.map(|turn| turn.unwrap_or(Turn::On))
            }
            AfterCrash::Refund => self.finish(visit, Ending::Failed(lost_answer()), Some(audit)).await,
        }
    }
}

/// The blob a reply's body was kept as; it is the task's from now on.
fn reply_blob(reply: &Reply) -> Option<BlobId> {
    match &reply.body {
        Body::Blob(name) => name.strip_prefix("blob:")?.parse().ok(),
        Body::Inline(_) => None,
    }
}

/// The moment a reply's `Retry-After` (in seconds) names.
fn retry_after(reply: &Reply, now: UnixMs) -> Option<UnixMs> {
    let seconds: u64 = reply.header("retry-after")?.trim().parse().ok()?;
    Some(now.plus(Duration::from_secs(seconds.min(RETRY_AFTER_MAX))))
}
