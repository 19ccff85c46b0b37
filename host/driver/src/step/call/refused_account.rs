//! An account that a family finds refused, by what an answer says: it is passed over for some minutes, the operator is told,
//! and a call that has made nothing is made at the next account.
//!
//! Which accounts have refused a task is known to this process only; after a restart each may be asked once more.

use gatehouse_model::{Action, Blame, Call, Replay, Step};

use crate::state::DriverState;
use crate::step::run_context::{AnsweredCall, RunContext};

/// Statuses by which the account was told already, when the answer came.
const TOLD: [u16; 2] = [401, 402];

/// Whether the step ends its task because an account was refused.
fn blames_account(step: &Step) -> bool {
    matches!(&step.next, Action::Fail(ending) if ending.failure.blame == Blame::Account)
}

impl DriverState {
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
            self.upstream.report_refused(provider, &account);
        }
        // A safe call asks for what was made at this account, and one with an affinity needs that account. A call that stops a
        // job is of no use where the job is not.
        if call.replay == Replay::Safe || call.affinity.is_some() || run.task.stop_asked {
            return None;
        }
        let refused = self.live.note_refused(run.task.id, &call.provider, &account);
        if !self.upstream.has_account_besides(&call.provider, &refused) {
            return None;
        }
        run.account_permit = None;
        self.live.drop_account_permit(run.task.id);
        let text = format!("the account {account} of {} is refused: another is asked", call.provider);
        run.log.decision(self.now(), &text);
        Some(call)
    }
}
