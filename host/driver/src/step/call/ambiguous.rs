//! Calls whose outcome nobody knows: those a crash left without a reply, and those whose connection was lost.
//!
//! After a crash the call's own policy decides, with an audit record. Where the operator of the gateway wants to be asked, a
//! call that may not be repeated waits for a ruling (`reconcile`), at most until its task's deadline: the task stays as its
//! client saw it, its money stays held, and no provider is asked.

use gatehouse_model::{Call, Event, Outage, Phase, Replay, UnixMs, metric};
use gatehouse_tasks::{AfterCrash, Ending, after_crash, lost_answer};

use crate::step::call::phase::Calls;
use crate::step::run_context::{RunContext, StepOutcome, StepResult};

impl Calls {
    /// Resolves a `Sent` record without a reply: the process stopped in between.
    pub(in crate::step) async fn resolve_ambiguous(
        &self,
        run: &mut RunContext,
        call: Call,
        at: UnixMs,
    ) -> StepResult {
        let verdict = after_crash(&call, self.shared.upstream.asks_when_ambiguous(&call.provider));
        if verdict == AfterCrash::Ask {
            return self.ask(run, call, at, None).await;
        }
        let audit = self.note_ambiguous(run, &call, at, None, verdict);
        match verdict {
            AfterCrash::Refund => self.commits.finish(run, Ending::failed(lost_answer()), Some(audit)).await,
            AfterCrash::Ask | AfterCrash::Resend => {
                run.task.sent_again |= call.replay == Replay::Token;
                run.task.phase = Phase::Call(call);
                let instead = self.commits.commit(run, Some(audit)).await?;
                Ok(instead.unwrap_or(StepOutcome::Continue))
            }
        }
    }

    /// Keeps the task until an operator says what became of the call, or its time is over.
    pub(in crate::step) async fn ask(
        &self,
        run: &mut RunContext,
        call: Call,
        at: UnixMs,
        outage: Option<Outage>,
    ) -> StepResult {
        let audit = self.note_ambiguous(run, &call, at, outage, AfterCrash::Ask);
        run.task.phase = Phase::Ambiguous { call, at, outage };
        if let Some(outcome) = self.commits.commit(run, Some(audit)).await? {
            return Ok(outcome);
        }
        Ok(self.await_ruling(run))
    }

    /// The task is due again when its time is over, or after a ruling.
    pub(in crate::step) fn await_ruling(&self, run: &RunContext) -> StepOutcome {
        self.live.note_ambiguous(run.task.id, true);
        StepOutcome::Until(self.shared.deadline(&run.task))
    }

    /// Counts the call and writes it into the log of steps; its line for the audit record.
    fn note_ambiguous(
        &self,
        run: &mut RunContext,
        call: &Call,
        at: UnixMs,
        outage: Option<Outage>,
        verdict: AfterCrash,
    ) -> String {
        metrics::counter!(metric::AMBIGUOUS, "policy" => verdict.as_str()).increment(1);
        let borrowed =
            call.affinity.as_ref().and_then(|wanted| self.shared.upstream.account_of(&call.provider, wanted));
        let assigned = run.task.assignment.as_ref().map(|assigned| assigned.account.as_str());
        let audit = format!(
            "ambiguous {} to {} begun at {at} (account {}, {}): {}",
            call.method,
            call.provider,
            borrowed.as_deref().or(assigned).unwrap_or("none"),
            outage.map_or("the gateway stopped", Outage::as_str),
            verdict.as_str(),
        );
        tracing::warn!(task = %run.task.id, audit, "call outcome unknown");
        if outage.is_none() {
            // Who reads the log sees what may have left; its own line was lost with the process.
            let account = borrowed.as_deref().or(assigned).unwrap_or_default();
            run.log.exchange(at..at, account, call, &Event::Timer);
        }
        run.log.decision(self.shared.now(), &audit);
        audit
    }
}
