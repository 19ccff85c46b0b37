//! Keys in the oracle: made, edited, replaced by others that share their quota.

use gatehouse_model::{Key, KeyId, KeyPolicy, UnixMs};

use super::{HoldState, KeyState, Oracle};

impl Oracle {
    pub(super) fn add_key(&mut self, key: &Key) -> bool {
        let bad = key.quota.is_some_and(|quota| quota.0 < 0) || self.keys.contains_key(&key.id);
        if bad || !self.balances.contains_key(&key.customer) {
            return false;
        }
        let key_state = KeyState {
            customer: key.customer.clone(),
            quota: key.quota.map(|quota| quota.0),
            used: 0,
            until: key.expires,
            revoked: false,
            revision: 0,
            next: None,
            listed: 0,
            most: None,
            most_of_model: None,
            over: 0,
        };
        self.keys.insert(key.id.clone(), key_state).is_none()
    }

    pub(super) fn edit_key(&mut self, id: &KeyId, revision: u64, policy: &KeyPolicy) -> bool {
        let Some(key_state) = self.keys.get_mut(id) else { return false };
        let number = |limits: Option<&gatehouse_model::Limits>| {
            limits.and_then(|limits| limits.concurrency).map(|most| most.get() as usize)
        };
        let (quota, most) = (policy.quota.map(|quota| quota.0), number(Some(&policy.limits)));
        let most_of_model = number(policy.model_limits.get("model-0"));
        let bad = quota.is_some_and(|quota| quota < 0) || key_state.revoked || key_state.revision != revision;
        let same = (quota, most, most_of_model) == (key_state.quota, key_state.most, key_state.most_of_model)
            && key_state.listed == policy.model_limits.len();
        if bad || (key_state.next.is_some() && !same) {
            return false;
        }
        if quota != key_state.quota {
            key_state.over = key_state.used;
        }
        key_state.listed = policy.model_limits.len();
        (key_state.quota, key_state.most, key_state.most_of_model) = (quota, most, most_of_model);
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
        let counts = |hold: &&HoldState| model(&hold.model) && self.lineage(&hold.parts[0].0).contains(key);
        self.holds.values().filter(counts).count()
    }
}
