//! The group's side of a shared call: a short wait for others, then one call for all of them.
//!
//! Whatever fails here fails no task: a member without an answer makes its own call, by its own rules.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{Context, Outage, Reply, UnixMs};
use gatehouse_runtime::{Fault, Version};
use gatehouse_upstream::retry_after;

use crate::shared::ShutdownState;
use crate::step::bulk::groups::{GroupKey, Member, MemberReply, OpenGroup, SPACING};
use crate::step::bulk::shared::BulkCalls;

/// How long the first call of a group waits for others.
const WINDOW: Duration = Duration::from_millis(100);
/// The longest `Retry-After` of a provider that counts.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(600);

/// Before when the provider wants no further call.
pub(in crate::step) fn not_before(reply: &Reply, now: UnixMs) -> Option<UnixMs> {
    let pause = retry_after(reply, now)?;
    Some(now.plus(pause.min(MAX_RETRY_AFTER)))
}

impl BulkCalls {
    /// Closes the group when its time comes, and answers its members.
    pub(super) async fn call_merged(self: Arc<Self>, mut group: OpenGroup, version: Arc<Version>) {
        let end = self.window(group.not_before);
        let members = group.close(end).await;
        if members.len() > 1 {
            group.rest(self.shared.now());
        }
        let (key, mut waiting) = (group.key.clone(), vec![members]);
        drop(group);
        while let Some(mut members) = waiting.pop() {
            let now = self.shared.now();
            members.retain(|member| !member.answer.is_closed() && member.deadline > now);
            if members.len() < 2 {
                continue;
            }
            match self.replies(&key, &version, &members).await {
                MergedReply::Each(replies, not_before) => answer(members, replies, not_before),
                MergedReply::TooLarge => {
                    waiting.push(members.split_off(members.len() / 2));
                    waiting.push(members);
                }
                MergedReply::None => {}
            }
        }
    }

    /// Ends with the window, and not before the key's rest is over. A shutdown waits for no others.
    async fn window(&self, not_before: Option<UnixMs>) {
        let mut shutdown = self.shared.shutdown.subscribe();
        // A clock that was set back must not make the rest longer.
        let rest = not_before.map_or(Duration::ZERO, |until| until.since(self.shared.now()).min(SPACING));
        tokio::select! {
            biased;
            _ = shutdown.wait_for(|state| *state >= ShutdownState::Draining) => {}
            () = self.shared.clock.pause(WINDOW.max(rest)) => {}
        }
    }

    /// The reply to each member's item.
    async fn replies(&self, key: &GroupKey, version: &Arc<Version>, members: &[Member]) -> MergedReply {
        let family = version.family();
        let items: Arc<[String]> = members.iter().map(|member| member.item.clone()).collect();
        // The last task that waits decides how long the call may take; the others leave in time.
        let Some(deadline) = members.iter().map(|member| member.deadline).max() else {
            return MergedReply::None;
        };
        let context = self.bulk_context(version, deadline);
        let merged = self.shared.plugins.merge(version, context, key.key.clone(), Arc::clone(&items)).await;
        let call = match merged {
            Ok(call) if call.provider == key.provider => call,
            Ok(call) => {
                let (expected, came) = (&key.provider, call.provider);
                tracing::error!(family, expected, came, "a merged call goes to another provider");
                return MergedReply::None;
            }
            Err(fault) => {
                tracing::error!(family, %fault, calls = items.len(), "calls of several tasks were not merged");
                return unmerged(&fault);
            }
        };
        // Each task has its permit at the account already.
        let Ok(permit) = self.shared.upstream.acquire_call(&key.provider, &key.account) else {
            return MergedReply::None;
        };
        let permit = if call.credentials { permit } else { permit.without_credentials() };
        // No file of any task is in a call for all of them.
        let blobs = self.shared.media.blobs_of(std::iter::empty());
        let reply = match permit.call(&call, &blobs, deadline).await {
            Ok(reply) => reply,
            Err(Outage::TooLarge) => return MergedReply::TooLarge,
            Err(_) => return MergedReply::None,
        };
        drop(permit);
        let not_before = not_before(&reply, self.shared.now());
        let context = self.bulk_context(version, deadline);
        match self.shared.plugins.split(version, context, key.key.clone(), items, reply).await {
            Ok(replies) => MergedReply::Each(replies, not_before),
            Err(fault) => {
                tracing::error!(family, %fault, "the reply to several tasks was not split");
                unmerged(&fault)
            }
        }
    }

    /// A context that belongs to no task.
    fn bulk_context(&self, version: &Version, deadline: UnixMs) -> Context {
        let now = self.shared.now();
        Context {
            now,
            seed: 0,
            task: None,
            accepted_at: now,
            deadline,
            customer: String::new(),
            settings: self.shared.plugins.settings(version.family()),
        }
    }
}

/// What a merged call brought.
enum MergedReply {
    /// The reply to each item, and when the provider wants the next call.
    Each(Vec<Option<Reply>>, Option<UnixMs>),
    /// More than fits into one: half as many at once may.
    TooLarge,
    /// Nothing; each task makes its own call.
    None,
}

fn unmerged(fault: &Fault) -> MergedReply {
    match fault {
        Fault::InputTooLarge { .. } | Fault::InputTooComplex { .. } | Fault::RequestTooLong { .. } => {
            MergedReply::TooLarge
        }
        _ => MergedReply::None,
    }
}

fn answer(members: Vec<Member>, replies: Vec<Option<Reply>>, not_before: Option<UnixMs>) {
    for (member, reply) in members.into_iter().zip(replies) {
        if let Some(reply) = reply {
            // A task whose time was over has left.
            drop(member.answer.send(MemberReply { reply, not_before }));
        }
    }
}
