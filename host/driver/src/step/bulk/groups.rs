//! The groups of shared calls that wait for others. Joins calls into groups and closes groups; never waits and never
//! makes a call.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gatehouse_model::{Digest, Reply, UnixMs};
use tokio::sync::oneshot;

/// Calls of one group. A larger one is closed, and the next call begins another.
pub(crate) const MAX_MEMBERS: usize = 5000;
/// Between the ends of two groups of one key: a provider that lists many tasks is asked once a second for an account.
pub(crate) const SPACING: Duration = Duration::from_secs(1);

/// What calls have in common that become one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct GroupKey {
    /// The version that merges and splits.
    pub(crate) digest: Digest,
    pub(crate) provider: String,
    pub(crate) account: String,
    /// The key of `shared`.
    pub(crate) key: String,
}

/// One task's call.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) item: String,
    /// The task's deadline.
    pub(crate) deadline: UnixMs,
    /// Dropped without an answer, the task makes its own call.
    pub(crate) answer: oneshot::Sender<MemberReply>,
}

/// The reply to one item.
#[derive(Debug)]
pub(crate) struct MemberReply {
    pub(crate) reply: Reply,
    /// The provider wants no further call before this moment.
    pub(crate) not_before: Option<UnixMs>,
}

/// Every open group.
#[derive(Default)]
pub(crate) struct CallGroups(Arc<Mutex<Groups>>);

#[derive(Default)]
struct Groups {
    open: HashMap<GroupKey, Group>,
    /// Before when the next group of a key does not end.
    resting: HashMap<GroupKey, UnixMs>,
    /// Groups so far.
    count: u64,
}

struct Group {
    number: u64,
    members: Vec<Member>,
    full: oneshot::Sender<Vec<Member>>,
}

impl CallGroups {
    /// Adds a call to the open group of its key. The first call opens the group, and its caller closes it.
    pub(crate) fn join(&self, key: &GroupKey, member: Member) -> Option<OpenGroup> {
        let mut groups = lock(&self.0);
        let Groups { open, resting, count } = &mut *groups;
        match open.entry(key.clone()) {
            Entry::Occupied(mut entry) => {
                entry.get_mut().members.push(member);
                if entry.get().members.len() >= MAX_MEMBERS {
                    let Group { members, full, .. } = entry.remove();
                    // Where nobody waits for them any more, each task makes its own call.
                    drop(full.send(members));
                }
                None
            }
            Entry::Vacant(entry) => {
                let (full, filled) = oneshot::channel();
                *count += 1;
                entry.insert(Group { number: *count, members: vec![member], full });
                let not_before = resting.get(key).copied();
                let groups = Arc::clone(&self.0);
                Some(OpenGroup { groups, key: key.clone(), number: *count, not_before, filled })
            }
        }
    }
}

/// The duty to close a group. Dropped, it lets each task make its own call.
pub(crate) struct OpenGroup {
    groups: Arc<Mutex<Groups>>,
    pub(crate) key: GroupKey,
    number: u64,
    /// Before when the group should not end, unless it is full.
    pub(crate) not_before: Option<UnixMs>,
    filled: oneshot::Receiver<Vec<Member>>,
}

impl OpenGroup {
    /// Its call is made at this moment, so the next group of the key ends later.
    pub(crate) fn rest(&self, now: UnixMs) {
        let resting = &mut lock(&self.groups).resting;
        resting.retain(|_, until| *until > now);
        resting.insert(self.key.clone(), now.plus(SPACING));
    }

    /// Closes the group once it is full or `end` comes, whichever is first.
    pub(crate) async fn close(&mut self, end: impl Future<Output = ()>) -> Vec<Member> {
        tokio::select! {
            biased;
            members = &mut self.filled => return members.unwrap_or_default(),
            () = end => {}
        }
        // It may have been filled in this very moment.
        self.take().or_else(|| self.filled.try_recv().ok()).unwrap_or_default()
    }

    /// The group's calls, if it is still open.
    fn take(&self) -> Option<Vec<Member>> {
        let mut groups = lock(&self.groups);
        let is_this = groups.open.get(&self.key).is_some_and(|group| group.number == self.number);
        if is_this { groups.open.remove(&self.key).map(|group| group.members) } else { None }
    }
}

impl Drop for OpenGroup {
    fn drop(&mut self) {
        drop(self.take());
    }
}

fn lock(groups: &Mutex<Groups>) -> MutexGuard<'_, Groups> {
    // Every change under the lock is complete before anything can panic.
    groups.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    fn key(name: &str) -> GroupKey {
        GroupKey {
            digest: Digest::of(b"version"),
            provider: "p".to_owned(),
            account: "main".to_owned(),
            key: name.to_owned(),
        }
    }

    fn member(item: usize) -> (Member, oneshot::Receiver<MemberReply>) {
        let (answer, answered) = oneshot::channel();
        (Member { item: item.to_string(), deadline: UnixMs(1), answer }, answered)
    }

    fn items(members: &[Member]) -> Vec<&str> {
        members.iter().map(|member| member.item.as_str()).collect()
    }

    #[tokio::test]
    async fn calls_of_one_key_are_one_group_in_order() {
        let groups = CallGroups::default();
        let mut first = groups.join(&key("a"), member(1).0).expect("opened");
        let mut other = groups.join(&key("b"), member(2).0).expect("another key");
        let elsewhere = GroupKey { account: "second".to_owned(), ..key("a") };
        let mut elsewhere = groups.join(&elsewhere, member(3).0).expect("another account");
        assert!(groups.join(&key("a"), member(4).0).is_none());
        assert_eq!(items(&first.close(ready(())).await), ["1", "4"]);
        assert_eq!(items(&other.close(ready(())).await), ["2"]);
        assert_eq!(items(&elsewhere.close(ready(())).await), ["3"]);
        assert!(groups.join(&key("a"), member(5).0).is_some(), "a closed group takes no more");
    }

    #[tokio::test]
    async fn a_full_group_waits_no_longer() {
        let groups = CallGroups::default();
        let mut first = groups.join(&key("a"), member(0).0).expect("opened");
        for item in 1..MAX_MEMBERS {
            assert!(groups.join(&key("a"), member(item).0).is_none());
        }
        let mut next = groups.join(&key("a"), member(MAX_MEMBERS).0).expect("another group");
        assert_eq!(first.close(pending()).await.len(), MAX_MEMBERS);
        assert_eq!(next.close(ready(())).await.len(), 1, "closing the first leaves the next alone");
    }

    #[test]
    fn groups_of_one_key_rest_between_their_calls() {
        let groups = CallGroups::default();
        let first = groups.join(&key("a"), member(1).0).expect("opened");
        assert_eq!(first.not_before, None);
        first.rest(UnixMs(5000));
        drop(first);
        let next = groups.join(&key("a"), member(2).0).expect("opened");
        assert_eq!(next.not_before, Some(UnixMs(6000)));
        let other = groups.join(&key("b"), member(3).0).expect("opened");
        assert_eq!(other.not_before, None);
        other.rest(UnixMs(6000));
        assert_eq!(lock(&groups.0).resting.len(), 1, "what is over is forgotten");
    }

    #[tokio::test]
    async fn a_group_that_nobody_closes_lets_its_calls_go() {
        let groups = CallGroups::default();
        let (one, answered) = member(1);
        let opened = groups.join(&key("a"), one).expect("opened");
        drop(opened);
        assert!(answered.await.is_err());
        assert!(groups.join(&key("a"), member(2).0).is_some());
    }
}
