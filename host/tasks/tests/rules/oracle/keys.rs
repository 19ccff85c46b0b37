//! Keys in the oracle: made, edited, replaced by others that share their quota.

use gatehouse_model::{Key, KeyId, KeyPolicy, UnixMs};

use super::quotas::QuotaState;
use super::{HoldState, KeyState, Oracle};

impl Oracle {
    pub(super) fn add_key(&mut self, key: &Key) -> bool {
        let mut quota = QuotaState::default();
        let bad =
            !quota.set((key.quota, key.quota_period), 0, key.created) || self.keys.contains_key(&key.id);
        if bad || !self.balances.contains_key(&key.customer) {
            return false;
        }
        let key_state = KeyState {
            customer: key.customer.clone(),
            quota,
            used: 0,
            until: key.expires,
            revoked: false,
            revision: 0,
            next: None,
            listed: 0,
            most: None,
            most_of_model: None,
        };
        self.keys.insert(key.id.clone(), key_state).is_none()
    }

    pub(super) fn edit_key(&mut self, id: &KeyId, revision: u64, policy: &KeyPolicy, at: UnixMs) -> bool {
        let Some(key_state) = self.keys.get_mut(id) else { return false };
        let number = |limits: Option<&gatehouse_model::Limits>| {
            limits.and_then(|limits| limits.concurrency).map(|most| most.get() as usize)
        };
        let (most, of_model) = (number(Some(&policy.limits)), number(policy.model_limits.get("model-0")));
        let same = (most, of_model) == (key_state.most, key_state.most_of_model)
            && key_state.quota.is(policy.quota, policy.quota_period)
            && key_state.listed == policy.model_limits.len();
        let bad = key_state.revoked || key_state.revision != revision;
        if bad || (key_state.next.is_some() && !same) {
            return false;
        }
        if !key_state.quota.set((policy.quota, policy.quota_period), key_state.used, at) {
            return false;
        }
        key_state.listed = policy.model_limits.len();
        (key_state.most, key_state.most_of_model) = (most, of_model);
        key_state.revision += 1;
        true
    }

    pub(super) fn rotate_key(&mut self, id: &KeyId, new: &KeyId, until: UnixMs, at: UnixMs) -> bool {
        let Some(key_state) = self.keys.get(id).cloned() else { return false };
        let ended = key_state.revoked || key_state.until.is_some_and(|until| until <= at);
        if ended || key_state.next.is_some() || until < at || self.keys.contains_key(new) {
            return false;
        }
        let old = self.keys.get_mut(id).unwrap();
        old.until = Some(old.until.map_or(until, |before| before.min(until)));
        old.next = Some(new.clone());
        old.revision += 1;
        self.keys.insert(new.clone(), KeyState { revision: 0, ..key_state });
        true
    }

    /// A key and those that replaced it.
    pub(super) fn lineage(&self, key: &KeyId) -> Vec<KeyId> {
        std::iter::successors(Some(key.clone()), |key| self.keys[key].next.clone()).collect()
    }

    /// How many requests of a model are open through a key and those that it replaced.
    pub(crate) fn open(&self, key: &KeyId, model: impl Fn(&str) -> bool) -> usize {
        let counts = |hold: &&HoldState| model(&hold.model) && self.lineage(&hold.parts[0].key).contains(key);
        self.holds.values().filter(counts).count()
    }
}
