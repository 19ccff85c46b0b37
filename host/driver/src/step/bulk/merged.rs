//! The group's side of a shared call: a short wait for others, then one call for all of them.
//!
//! Whatever fails here fails no task: a member without an answer makes its own call, by its own rules.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{Context, Reply, UnixMs};
use gatehouse_runtime::Version;

use crate::state::{DriverState, ShutdownState};
use crate::step::bulk::groups::{GroupKey, Member, MemberReply, OpenGroup};

/// How long the first call of a group waits for others.
const WINDOW: Duration = Duration::from_millis(100);

impl DriverState {
    /// Closes the group when its time comes, and answers its members.
    pub(super) async fn call_merged(self: Arc<Self>, group: OpenGroup, version: Arc<Version>) {
        let key = group.key().clone();
        let mut members = group.close(self.window()).await;
        let now = self.now();
        members.retain(|member| !member.answer.is_closed() && member.deadline > now);
        if members.len() < 2 {
            return;
        }
        let Some((replies, not_before)) = self.replies(&key, &version, &members).await else { return };
        for (member, reply) in members.into_iter().zip(replies) {
            if let Some(reply) = reply {
                // A task whose time was over has left.
                drop(member.answer.send(MemberReply { reply, not_before }));
            }
        }
    }

    /// Ends with the window. A shutdown waits for no others.
    async fn window(&self) {
        let mut shutdown = self.shutdown.subscribe();
        tokio::select! {
            biased;
            _ = shutdown.wait_for(|state| *state >= ShutdownState::Draining) => {}
            () = self.clock.pause(WINDOW) => {}
        }
    }

    /// The reply to each member's item, and when the provider wants the next call; `None` when there is no such call.
    async fn replies(
        &self,
        key: &GroupKey,
        version: &Arc<Version>,
        members: &[Member],
    ) -> Option<(Vec<Option<Reply>>, Option<UnixMs>)> {
        let family = version.family();
        let items: Arc<[String]> = members.iter().map(|member| member.item.clone()).collect();
        // The last task that waits decides how long the call may take; the others leave in time.
        let deadline = members.iter().map(|member| member.deadline).max()?;
        let context = self.bulk_context(version, deadline);
        let merged = self.plugins.merge(version, context, key.key.clone(), Arc::clone(&items)).await;
        let call = match merged {
            Ok(call) if call.provider == key.provider => call,
            Ok(call) => {
                let (expected, came) = (&key.provider, call.provider);
                tracing::error!(family, expected, came, "a merged call goes to another provider");
                return None;
            }
            Err(fault) => {
                tracing::error!(family, %fault, calls = items.len(), "calls of several tasks were not merged");
                return None;
            }
        };
        // Each task has its permit at the account already.
        let permit = self.upstream.acquire_call(&key.provider, &key.account).ok()?;
        let permit = if call.credentials { permit } else { permit.without_credentials() };
        // No file of any task is in a call for all of them.
        let blobs = self.media.blobs_of(std::iter::empty());
        let reply = self.upstream.call(&permit, &call, &blobs, deadline).await.ok()?;
        drop(permit);
        let not_before = self.not_before(&reply);
        let context = self.bulk_context(version, deadline);
        match self.plugins.split(version, context, key.key.clone(), items, reply).await {
            Ok(replies) => Some((replies, not_before)),
            Err(fault) => {
                tracing::error!(family, %fault, "the reply to several tasks was not split");
                None
            }
        }
    }

    /// A context that belongs to no task.
    fn bulk_context(&self, version: &Version, deadline: UnixMs) -> Context {
        let now = self.now();
        Context {
            now,
            seed: 0,
            task: None,
            accepted_at: now,
            deadline,
            customer: String::new(),
            settings: self.plugins.settings(version.family()),
        }
    }
}
