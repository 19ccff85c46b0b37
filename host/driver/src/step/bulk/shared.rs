//! A task's side of a shared call: it joins a group and waits for its own reply, without a step permit.

use std::sync::Arc;

use gatehouse_model::{Call, Reading, Replay, Reply, UnixMs};
use gatehouse_runtime::Version;
use tokio::sync::oneshot;

use crate::shared::Shared;
use crate::step::bulk::groups::{CallGroups, GroupKey, Member, MemberReply};
use crate::step::run_context::RunContext;

/// What became of a shared call.
pub(in crate::step) enum SharedAnswer {
    /// The reply, as if the task's own call had been answered.
    Reply {
        reply: Reply,
        /// The provider wants no further call before this moment.
        not_before: Option<UnixMs>,
    },
    /// The task makes the call by itself.
    Alone,
    /// The task's deadline came first.
    TimeIsOver,
}

/// Makes calls of several tasks at once.
pub(crate) struct BulkCalls {
    pub(crate) shared: Arc<Shared>,
    /// Calls that wait for others.
    pub(crate) groups: CallGroups,
}

impl BulkCalls {
    /// Makes a call together with the same calls of other tasks, if it may be and others come in time.
    pub(in crate::step) async fn call_with_others(
        self: &Arc<Self>,
        run: &mut RunContext,
        call: &Call,
    ) -> SharedAnswer {
        let Some((version, key, item)) = self.group_of(run, call).await else { return SharedAnswer::Alone };
        let (answer, answered) = oneshot::channel();
        let deadline = self.shared.deadline(&run.task);
        // Others may take their steps meanwhile; those that this call waits for must.
        run.step_permit = None;
        if let Some(opened) = self.groups.join(&key, Member { item, deadline, answer }) {
            tokio::spawn(Arc::clone(self).call_merged(opened, version));
        }
        tokio::select! {
            biased;
            answer = answered => match answer {
                Ok(MemberReply { reply, not_before }) => SharedAnswer::Reply { reply, not_before },
                Err(_) => SharedAnswer::Alone,
            },
            () = self.shared.clock.pause_until(deadline) => SharedAnswer::TimeIsOver,
        }
    }

    /// The group that a call may join: it is safe and says so, its version can merge calls, and the task already has a
    /// permit at the account that it goes to.
    async fn group_of(&self, run: &RunContext, call: &Call) -> Option<(Arc<Version>, GroupKey, String)> {
        let shared = call.shared.as_ref()?;
        // A saved reply belongs to one task.
        if call.replay != Replay::Safe || call.reading == Reading::Saved {
            return None;
        }
        let held = run.account_permit.as_ref().filter(|held| held.provider() == call.provider)?;
        if let Some(affinity) = &call.affinity
            && self.shared.upstream.account_of(&call.provider, affinity).as_deref() != Some(held.account())
        {
            return None;
        }
        let version = self.shared.plugins.version(&run.task.digest).await.ok()?;
        if !version.about().offers.bulk {
            return None;
        }
        let key = GroupKey {
            digest: version.digest(),
            provider: call.provider.clone(),
            account: held.account().to_owned(),
            key: shared.key.clone(),
        };
        Some((version, key, shared.item.clone()))
    }
}
