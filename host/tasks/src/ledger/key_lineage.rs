//! The rows of a key and of those that replaced it.
//!
//! A rotation shares one quota and one limit of concurrency. What a key has used and has open includes what the keys
//! that it replaced have, so a change of a key is made to all later ones too, and the newest row decides alone. Steady
//! traffic is on the newest key, where that is one row.

use gatehouse_model::{Credits, Key, KeyId, QuotaUse, UnixMs};

use crate::commands::rejection::Rejection;
use crate::ledger::quota::PeriodCounter;
use crate::storage::ledger_storage::LedgerStorage;

/// A key and those that replaced it.
#[derive(Clone, Debug)]
pub struct KeyLineage {
    /// The key.
    pub key: Key,
    /// Oldest first.
    later: Vec<Key>,
}

impl KeyLineage {
    /// The rows of `key` and of those that replaced it.
    pub(crate) fn read<B: LedgerStorage>(storage: &B, key: Key) -> Result<Self, B::Error> {
        Self::read_with(key, |id| storage.key(id))
    }

    /// The same, with rows from anywhere.
    ///
    /// # Errors
    /// What `row` answers.
    pub fn read_with<E>(key: Key, row: impl Fn(&KeyId) -> Result<Option<Key>, E>) -> Result<Self, E> {
        let (mut next, mut later) = (key.rotated_to.clone(), Vec::new());
        while let Some(id) = next.take() {
            if let Some(row) = row(&id)? {
                next.clone_from(&row.rotated_to);
                later.push(row);
            }
        }
        Ok(Self { key, later })
    }

    /// The shared quota and what is used of it at that moment; `None` when there is no quota.
    #[must_use]
    pub fn quota_use(&self, at: UnixMs) -> Option<QuotaUse> {
        self.newest().quota_use(at)
    }

    /// What counts the periods of the shared quota.
    pub(crate) fn period_counter(&mut self) -> PeriodCounter<'_> {
        PeriodCounter::of_key(self.newest_mut())
    }

    /// Whether one more request of that model may be open.
    pub(crate) fn check_concurrency(&self, model: &str) -> Result<(), Rejection> {
        let newest = self.newest();
        let full = |limit, model| Rejection::TooManyOpen { key: self.key.id.clone(), limit, model };
        if let Some(limit) = newest.limits.concurrency.filter(|limit| newest.open_requests() >= limit.get()) {
            return Err(full(limit, None));
        }
        let of_model = newest.model_limits.get(model).and_then(|limits| limits.concurrency);
        let open = newest.open.get(model).copied().unwrap_or(0);
        of_model
            .filter(|limit| open >= limit.get())
            .map_or(Ok(()), |limit| Err(full(limit, Some(model.to_owned()))))
    }

    /// Counts `change` as used. `None` where it does not fit; rows may then be half changed, so the caller drops them.
    pub(crate) fn add_used(&mut self, change: Credits) -> Option<()> {
        for row in self.rows_mut() {
            row.used = row.used.checked_add(change)?;
        }
        Some(())
    }

    /// What the key has used without those that it replaced: the sum of its own ledger rows.
    pub(crate) fn used_alone<B: LedgerStorage>(&self, storage: &B) -> Result<Credits, B::Error> {
        let replaced = self.key.rotated_from.as_ref().map(|id| storage.key(id)).transpose()?.flatten();
        let shared = replaced.map_or(Credits::ZERO, |row| row.used);
        // Every change of the replaced key was made to this one too, so it is never the larger one.
        Ok(self.key.used.checked_sub(shared).unwrap_or(Credits::ZERO))
    }

    /// Counts one more open request of that model.
    pub(crate) fn open(&mut self, model: &str) {
        for row in self.rows_mut() {
            match row.open.get_mut(model) {
                Some(open) => *open = open.saturating_add(1),
                None => {
                    row.open.insert(model.to_owned(), 1);
                }
            }
        }
    }

    /// Counts one open request of that model less.
    pub(crate) fn close(&mut self, model: &str) {
        for row in self.rows_mut() {
            match row.open.get_mut(model) {
                Some(open) if *open > 1 => *open -= 1,
                _ => {
                    row.open.remove(model);
                }
            }
        }
    }

    /// Takes over the rows that another part of the same command has changed.
    pub(crate) fn refresh(&mut self, changed: &Self) {
        for row in self.rows_mut() {
            if let Some(newer) = changed.rows().find(|newer| newer.id == row.id) {
                row.clone_from(newer);
            }
        }
    }

    /// Writes every row.
    pub(crate) fn write<B: LedgerStorage>(&self, storage: &mut B) -> Result<(), B::Error> {
        self.rows().try_for_each(|row| storage.put_key(row))
    }

    /// The key's id.
    pub(crate) fn id(&self) -> &KeyId {
        &self.key.id
    }

    /// The row whose quota and limits count.
    pub(crate) fn newest(&self) -> &Key {
        self.later.last().unwrap_or(&self.key)
    }

    pub(crate) fn newest_mut(&mut self) -> &mut Key {
        self.later.last_mut().unwrap_or(&mut self.key)
    }

    fn rows(&self) -> impl Iterator<Item = &Key> {
        std::iter::once(&self.key).chain(&self.later)
    }

    fn rows_mut(&mut self) -> impl Iterator<Item = &mut Key> {
        std::iter::once(&mut self.key).chain(&mut self.later)
    }
}
