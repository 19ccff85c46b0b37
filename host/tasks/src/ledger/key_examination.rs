//! The examination's part about keys: what each has used and has open, with what its rotations share.

use std::collections::BTreeMap;

use gatehouse_model::{Credits, Key, KeyId};

use crate::ledger::quota_examination::{OpenShares, QuotaRow, add_share};
use crate::records::hold::Hold;

/// What was seen of keys, until all rows were.
#[derive(Debug, Default)]
pub(crate) struct KeyExamination {
    /// By the ledger: held plus settled through the key alone.
    used: BTreeMap<KeyId, i128>,
    /// By the rows of holds: open requests through the key alone, by model.
    open: BTreeMap<KeyId, BTreeMap<String, u32>>,
    /// What those holds count in periods of the key's quota.
    counted: BTreeMap<KeyId, OpenShares>,
    rows: BTreeMap<KeyId, KeyRow>,
}

/// What the examination keeps of a key's row.
#[derive(Debug)]
struct KeyRow {
    used: Credits,
    quota: QuotaRow,
    open: BTreeMap<String, u32>,
    rotated_from: Option<KeyId>,
    rotated_to: Option<KeyId>,
}

impl KeyExamination {
    /// A row of the ledger that counts against that key.
    pub(crate) fn entry(&mut self, key: &KeyId, change: i128) {
        *self.used.entry(key.clone()).or_default() += change;
    }

    /// The row of an open hold.
    pub(crate) fn hold(&mut self, hold: &Hold) {
        *self.open.entry(hold.key.clone()).or_default().entry(hold.model.clone()).or_default() += 1;
        let own = std::iter::once((&hold.key, hold.counted));
        for (key, counted) in own.chain(hold.shares.iter().map(|share| (&share.key, share.counted))) {
            add_share(self.counted.entry(key.clone()).or_default(), counted);
        }
    }

    /// A key's row.
    pub(crate) fn key(&mut self, key: &Key) {
        let row = KeyRow {
            used: key.used,
            quota: QuotaRow::of_key(key),
            open: key.open.clone(),
            rotated_from: key.rotated_from.clone(),
            rotated_to: key.rotated_to.clone(),
        };
        self.rows.insert(key.id.clone(), row);
    }

    /// What contradicts itself, a sentence each.
    pub(crate) fn findings(&self) -> Vec<String> {
        let mut findings = Vec::new();
        for (id, row) in &self.rows {
            let earlier = self.with_earlier(id);
            let used: i128 = earlier.iter().filter_map(|key| self.used.get(*key)).sum();
            if used != i128::from(row.used.0) {
                findings.push(format!("key {id}: its use is not the sum of its ledger rows"));
            }
            let mut counted = OpenShares::new();
            for (period, amount) in earlier.iter().filter_map(|key| self.counted.get(*key)).flatten() {
                *counted.entry(*period).or_default() += amount;
            }
            let wrong = row.quota.findings(&counted).into_iter();
            findings.extend(wrong.map(|finding| format!("key {id}: {finding}")));
            let mut open: BTreeMap<String, u32> = BTreeMap::new();
            for (model, count) in earlier.iter().filter_map(|key| self.open.get(*key)).flatten() {
                *open.entry(model.clone()).or_default() += count;
            }
            if open != row.open {
                findings.push(format!("key {id}: what it has open is not what its holds say"));
            }
            let from = |to: &KeyId| self.rows.get(to).is_some_and(|to| to.rotated_from.as_ref() == Some(id));
            let to =
                |from: &KeyId| self.rows.get(from).is_some_and(|from| from.rotated_to.as_ref() == Some(id));
            if !row.rotated_to.as_ref().is_none_or(from) || !row.rotated_from.as_ref().is_none_or(to) {
                findings.push(format!("key {id}: the key of its rotation does not know of it"));
            }
        }
        let rowless = self.used.iter().filter(|(key, used)| **used != 0 && !self.rows.contains_key(*key));
        findings.extend(rowless.map(|(key, _)| format!("key {key}: it is in the ledger, but has no row")));
        findings
    }

    /// A key and those that it replaced.
    fn with_earlier<'a>(&'a self, id: &'a KeyId) -> Vec<&'a KeyId> {
        let before = |id: &&'a KeyId| self.rows.get(*id)?.rotated_from.as_ref();
        // Damaged rows may form a circle.
        std::iter::successors(Some(id), before).take(self.rows.len()).collect()
    }
}
