//! The rows that commands work on, in memory, above an engine that keeps them. A row is read from the engine at most once, each
//! change stays here until the commit, and what a command changed before it stopped is undone.
//!
//! ```text
//! unknown --read--> as stored --set--> changed --commit--> as stored
//!                                      |    ^
//!                                      '----' set, undo
//! ```
//!
//! A row that is not there is known as absent, like any other. Rows of customers at work outlive the commit, within a bound, so that
//! their next commands read nothing. Never decides about tasks or money.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use gatehouse_model::WebhookId;

use crate::storage::ledger_storage::LedgerStorage;
use crate::storage::row::{Kind, List, Row, RowKey};

/// An engine: it has the rows of the last commit, and makes changes durable.
pub trait Backend {
    /// Why it cannot.
    type Error;

    /// The row of that key, as of the last commit.
    ///
    /// # Errors
    /// The engine's.
    fn fetch(&self, key: &RowKey) -> Result<Option<Row>, Self::Error>;

    /// The first row of a list as of the last commit, with its place, without those that `is_changed` since. It is looked for at
    /// `from` and behind: every row before is one of those.
    ///
    /// # Errors
    /// The engine's.
    fn first(
        &self,
        list: &List,
        from: Option<&(u64, RowKey)>,
        is_changed: &dyn Fn(&RowKey) -> bool,
    ) -> Result<Option<(u64, RowKey)>, Self::Error>;

    /// Makes the changes durable, all or none, with everything that finds these rows by other things than their keys.
    ///
    /// # Errors
    /// The engine's.
    fn commit(&mut self, changes: &[RowChange]) -> Result<(), Self::Error>;
}

/// What becomes of one row.
#[derive(Clone, Debug)]
pub struct RowChange {
    /// Its name.
    pub key: RowKey,
    /// What was stored; nothing for a row that is only ever written.
    pub before: Option<Row>,
    /// What is to be stored.
    pub after: Option<Row>,
}

/// Rows as the engine has them; `None` is absent.
///
/// Those that outlive a commit are in one of two generations, each of at most half of so many bytes: what is used goes into the
/// younger one, and once that is full, the older one is forgotten.
#[derive(Clone, Debug)]
pub struct Kept {
    younger: HashMap<RowKey, Option<Row>>,
    older: HashMap<RowKey, Option<Row>>,
    /// Those of the younger ones that do not outlive the commit.
    passing: Vec<RowKey>,
    /// What the other younger ones take.
    bytes: usize,
    /// What both generations may take.
    most: usize,
}

impl Default for Kept {
    /// Room for some ten thousand customers at work with a key each.
    fn default() -> Self {
        Self::within(16 << 20)
    }
}

impl Kept {
    /// Nothing yet, and never more than about so many bytes between two commits.
    #[must_use]
    pub fn within(most: usize) -> Self {
        let (younger, older, passing, bytes) = Default::default();
        Self { younger, older, passing, bytes, most }
    }

    /// Nothing, within the same bytes.
    #[must_use]
    pub fn emptied(&self) -> Self {
        Self::within(self.most)
    }

    /// Takes what it holds, whose place nothing has meanwhile.
    #[must_use]
    pub fn take(&mut self) -> Self {
        let empty = self.emptied();
        std::mem::replace(self, empty)
    }

    fn find(&mut self, key: &RowKey) -> Option<&Option<Row>> {
        if !self.older.is_empty()
            && let Some((key, row)) = self.older.remove_entry(key)
        {
            self.insert(key, row);
        }
        self.younger.get(key)
    }

    fn knows(&self, key: &RowKey) -> bool {
        self.younger.contains_key(key) || self.older.contains_key(key)
    }

    fn add(&mut self, key: RowKey, row: Option<Row>) {
        if key.outlives_commits(row.as_ref()) {
            self.insert(key, row);
        } else {
            self.passing.push(key.clone());
            self.younger.insert(key, row);
        }
    }

    fn insert(&mut self, key: RowKey, row: Option<Row>) {
        self.bytes += bytes(row.as_ref());
        self.younger.insert(key, row);
    }

    /// Takes out a row that changes.
    fn remove(&mut self, key: &RowKey) -> Option<Row> {
        let row = self.younger.remove(key)?;
        if key.outlives_commits(row.as_ref()) {
            self.bytes -= bytes(row.as_ref());
        }
        row
    }

    /// Follows a commit.
    fn committed(mut self, changes: Vec<RowChange>) -> Self {
        for key in self.passing.drain(..) {
            self.younger.remove(&key);
        }
        for RowChange { key, after, .. } in changes {
            if key.outlives_commits(after.as_ref()) {
                self.insert(key, after);
            }
        }
        if self.bytes > self.most / 2 {
            self.older = std::mem::take(&mut self.younger);
            // One batch may have brought more than there is room for.
            if self.bytes > self.most {
                self.older.clear();
            }
            self.bytes = 0;
        }
        self
    }
}

/// What a row takes in memory, about, with its place in a table that is half full.
fn bytes(row: Option<&Row>) -> usize {
    2 * size_of::<(RowKey, Option<Row>)>() + row.map_or(0, Row::bytes)
}

/// What is known of a list, so that no look-up goes over rows again that another one went over.
#[derive(Clone, Debug, Default)]
struct Listed {
    /// Changed rows that are in it, in its order.
    changed: BTreeSet<(u64, RowKey)>,
    /// Its first row in the engine that had not been changed at the last look-up; the rows before it have been. None there is
    /// another answer than none looked for.
    stored: Option<Option<(u64, RowKey)>>,
}

/// Rows above an engine.
#[derive(Clone, Debug, Default)]
pub struct Rows<B> {
    pub(crate) backend: B,
    stored: RefCell<Kept>,
    /// As they are to be stored, in the order of their keys.
    pub(crate) changed: BTreeMap<RowKey, Option<Row>>,
    /// What the present command found under the keys that it changed, where these had been changed before.
    undo: Vec<(RowKey, Option<Option<Row>>)>,
    lists: RefCell<HashMap<List, Listed>>,
}

impl<B: Backend> Rows<B> {
    /// Above an engine, of which these rows are known.
    pub fn new(backend: B, kept: Kept) -> Self {
        let (changed, undo, lists) = Default::default();
        Self { backend, stored: RefCell::new(kept), changed, undo, lists }
    }

    /// The engine.
    pub fn backend(&mut self) -> &mut B {
        &mut self.backend
    }

    /// Whether no command has to fetch the row of that key.
    pub fn knows(&self, key: &RowKey) -> bool {
        self.changed.contains_key(key) || key.is_written_only() || self.stored.borrow().knows(key)
    }

    /// The rows that are there and were changed since the last commit, in the order of their keys.
    pub fn changed(&self) -> impl Iterator<Item = (&RowKey, &Row)> {
        self.changed.iter().filter_map(|(key, row)| Some((key, row.as_ref()?)))
    }

    /// Makes the changes durable: the rows that need not be read again, and the webhooks whose rows or deliveries were written.
    ///
    /// # Errors
    /// The engine's.
    pub fn commit(mut self) -> Result<(Kept, BTreeSet<WebhookId>), B::Error> {
        let changes = self.changes();
        self.backend.commit(&changes)?;
        Ok(self.committed(changes))
    }

    /// Follows a commit of these changes, all that there were: what [`Rows::commit`] answers. For an engine that commits later.
    pub fn committed(self, changes: Vec<RowChange>) -> (Kept, BTreeSet<WebhookId>) {
        let written = changes.iter().filter_map(|change| match (&change.key, &change.after) {
            (RowKey::Webhook(id), _) => Some(*id),
            // A callback's queue has no row of its own that would tell the sender to look.
            (_, Some(Row::Delivery(delivery))) => Some(delivery.webhook),
            _ => None,
        });
        let written = written.collect();
        (self.stored.into_inner().committed(changes), written)
    }

    /// What is to be stored, in the order of keys. Nothing is changed any more then.
    pub fn changes(&mut self) -> Vec<RowChange> {
        let stored = self.stored.get_mut();
        let changed = std::mem::take(&mut self.changed).into_iter();
        let changes = changed.map(|(key, after)| RowChange { before: stored.remove(&key), key, after });
        // What came and went again leaves nothing to do.
        changes.filter(|change| change.before.is_some() || change.after.is_some()).collect()
    }

    /// Has a row be changed, or be as it is stored; how it was before.
    fn change(&mut self, key: &RowKey, row: Option<Option<Row>>) -> Option<Option<Row>> {
        let list = |row: &Option<Option<Row>>| List::of(key, row.as_ref()?.as_ref()?);
        let after = list(&row);
        let before = match row {
            Some(row) => self.changed.insert(key.clone(), row),
            None => self.changed.remove(key),
        };
        let (was, lists) = (list(&before), self.lists.get_mut());
        if was != after {
            if let Some((list, place)) = was
                && let Some(listed) = lists.get_mut(&list)
            {
                listed.changed.remove(&(place, key.clone()));
            }
            if let Some((list, place)) = after {
                lists.entry(list).or_default().changed.insert((place, key.clone()));
            }
        }
        before
    }
}

impl<B: Backend> LedgerStorage for Rows<B> {
    type Error = B::Error;

    fn read<T>(&self, key: &RowKey, read: impl FnOnce(Option<&Row>) -> T) -> Result<T, B::Error> {
        if let Some(row) = self.changed.get(key) {
            return Ok(read(row.as_ref()));
        }
        if key.is_written_only() {
            return Ok(read(None));
        }
        let mut stored = self.stored.borrow_mut();
        if let Some(row) = stored.find(key) {
            return Ok(read(row.as_ref()));
        }
        let row = self.backend.fetch(key)?;
        let found = read(row.as_ref());
        stored.add(key.clone(), row);
        Ok(found)
    }

    fn first<T: Kind>(&self, list: &List) -> Result<Option<T>, B::Error> {
        let mut lists = self.lists.borrow_mut();
        let listed = lists.entry(list.clone()).or_default();
        let is_changed = |key: &RowKey| self.changed.contains_key(key);
        let stored = match &listed.stored {
            None => self.backend.first(list, None, &is_changed)?,
            Some(Some(known)) if is_changed(&known.1) => {
                self.backend.first(list, Some(known), &is_changed)?
            }
            Some(known) => known.clone(),
        };
        let first = listed.changed.first().into_iter().chain(&stored).min().cloned();
        listed.stored = Some(stored);
        drop(lists);
        Ok(first.map(|(_, key)| self.find(&key)).transpose()?.flatten())
    }

    fn set(&mut self, key: RowKey, row: Option<Row>) -> Result<(), B::Error> {
        // The commit compares it with what was there.
        self.read(&key, |_| ())?;
        if row.is_none() && key.has_content() {
            // A command may take out as many as there are, and they stay here until the commit.
            let stored = self.stored.get_mut().younger.get_mut(&key);
            stored.into_iter().flatten().for_each(Row::drop_content);
        }
        let before = self.change(&key, Some(row));
        self.undo.push((key, before));
        Ok(())
    }

    fn begin(&mut self) {
        self.undo.clear();
    }

    fn undo(&mut self) {
        while let Some((key, before)) = self.undo.pop() {
            if before.is_none() {
                // Rows that look-ups went over may be in their lists again.
                self.lists.get_mut().values_mut().for_each(|listed| listed.stored = None);
                if key.has_content() {
                    // It may have none any more.
                    self.stored.get_mut().younger.remove(&key);
                }
            }
            self.change(&key, before);
        }
    }
}
