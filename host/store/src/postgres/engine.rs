//! PostgreSQL below the rows of one batch: what was fetched, and what is missing.
//!
//! A command is applied in one go, so nothing can be fetched in the middle of it. A row that is not here is noted and answered with
//! [`StoreError::Unavailable`]: the command is undone, all that was noted is fetched in one trip, and the command begins again.
//!
//! ```text
//! fetch --here--> the row
//!   '--missing--> noted, Unavailable --wanted--> one trip --add--> here
//! ```

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use gatehouse_tasks::{Backend, HoldId, List, Row, RowChange, RowKey};

use crate::error::StoreError;

/// Entries of a list that are fetched at once.
pub(super) const LISTED: usize = 64;

/// The rows of the last commit, as far as they are here.
pub(crate) struct Engine {
    /// Ids of all open holds: one that is not among them is absent, and no new request waits to hear that.
    holds: Arc<HashSet<HoldId>>,
    rows: HashMap<RowKey, Option<Row>>,
    lists: HashMap<List, Listed>,
    days: Option<BTreeSet<u32>>,
    wanted: RefCell<Wanted>,
    /// The commit drops the history of all days before this one.
    drop_before: u32,
}

/// The first entries of a list, in its order.
#[derive(Default)]
struct Listed {
    entries: Vec<(u64, RowKey)>,
    is_whole: bool,
}

/// What is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(super) keys: HashSet<RowKey>,
    /// With the last entry that is here: that one and the next ones are wanted.
    pub(super) lists: HashMap<List, Option<(u64, RowKey)>>,
    pub(super) days: bool,
}

/// What was fetched of it.
#[derive(Default)]
pub(crate) struct Found {
    pub(super) rows: Vec<(RowKey, Option<Row>)>,
    pub(super) lists: Vec<(List, Vec<(u64, RowKey)>)>,
    pub(super) days: Option<BTreeSet<u32>>,
}

impl Wanted {
    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.lists.is_empty() && !self.days
    }
}

impl Engine {
    pub(super) fn new(holds: Arc<HashSet<HoldId>>) -> Self {
        let (rows, lists, days, wanted, drop_before) = Default::default();
        Self { holds, rows, lists, days, wanted, drop_before }
    }

    /// Notes a row that will be read, unless it is here.
    pub(crate) fn want(&self, key: RowKey) {
        if !self.is_absent(&key) && !self.rows.contains_key(&key) {
            self.wanted.borrow_mut().keys.insert(key);
        }
    }

    /// Whether anything was noted since [`Engine::wanted`] was last asked.
    pub(crate) fn is_missing(&mut self) -> bool {
        !self.wanted.get_mut().is_empty()
    }

    /// What was noted since this was last asked.
    pub(crate) fn wanted(&mut self) -> Wanted {
        std::mem::take(self.wanted.get_mut())
    }

    /// Takes what was fetched; the keys of what is likely to be read next.
    pub(crate) fn add(&mut self, found: Found) -> Vec<RowKey> {
        let next = found.rows.iter().filter_map(|(_, row)| row.as_ref()).flat_map(Row::likely_next).collect();
        self.rows.extend(found.rows);
        for (list, entries) in found.lists {
            let listed = self.lists.entry(list).or_default();
            listed.is_whole = entries.len() < LISTED;
            let last = listed.entries.last().cloned();
            listed.entries.extend(entries.into_iter().filter(|entry| Some(entry) > last.as_ref()));
        }
        self.days = found.days.or_else(|| self.days.take());
        next
    }

    /// Nothing is fetched any more: the day before which the commit drops history; zero where it drops none.
    pub(crate) fn close(&mut self) -> u32 {
        self.holds = Arc::default();
        self.drop_before
    }

    /// Has the commit drop the history of all days before `day`.
    pub(crate) fn drop_before(&mut self, day: u32) {
        self.drop_before = day.max(self.drop_before);
    }

    /// Whether the commit drops history.
    pub(crate) fn drops(&self) -> bool {
        self.drop_before > 0
    }

    /// The days with history, as of the last commit.
    pub(crate) fn days(&self) -> Result<BTreeSet<u32>, StoreError> {
        self.days.clone().ok_or_else(|| {
            self.wanted.borrow_mut().days = true;
            StoreError::Unavailable
        })
    }

    fn is_absent(&self, key: &RowKey) -> bool {
        matches!(key, RowKey::Hold(id) if !self.holds.contains(id))
    }
}

impl Backend for Engine {
    type Error = StoreError;

    fn fetch(&self, key: &RowKey) -> Result<Option<Row>, StoreError> {
        if self.is_absent(key) {
            return Ok(None);
        }
        self.rows.get(key).cloned().ok_or_else(|| {
            self.wanted.borrow_mut().keys.insert(key.clone());
            StoreError::Unavailable
        })
    }

    fn first(
        &self,
        list: &List,
        from: Option<&(u64, RowKey)>,
        is_changed: &dyn Fn(&RowKey) -> bool,
    ) -> Result<Option<(u64, RowKey)>, StoreError> {
        let listed = self.lists.get(list);
        let entries = listed.map_or(&[][..], |listed| &listed.entries);
        let behind = entries.iter().filter(|entry| from.is_none_or(|from| *entry >= from));
        let free = behind.into_iter().find(|(_, key)| !is_changed(key));
        if free.is_some() || listed.is_some_and(|listed| listed.is_whole) {
            return Ok(free.cloned());
        }
        self.wanted.borrow_mut().lists.insert(list.clone(), entries.last().cloned());
        Err(StoreError::Unavailable)
    }

    /// Never called: the changes are sent by [`Home`](super::home::Home), as often as it takes.
    fn commit(&mut self, _: &[RowChange]) -> Result<(), StoreError> {
        Err(StoreError::failed("a batch was committed before it was sent to the database"))
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_model::{CustomerId, RequestId, TaskId};

    use super::*;

    fn key(name: &str) -> RowKey {
        RowKey::Customer(CustomerId(name.to_owned()))
    }

    /// A command would wait for ever for what nobody fetches, or fetch the same again and again.
    #[test]
    fn what_is_missing_is_noted_once_and_what_came_is_here() {
        let mut engine = Engine::new(Arc::default());
        for name in ["a", "b", "a"] {
            assert_eq!(engine.fetch(&key(name)), Err(StoreError::Unavailable));
        }
        let wanted = engine.wanted();
        assert_eq!(wanted.keys, [key("a"), key("b")].into());
        assert!(engine.wanted().is_empty());
        let rows = wanted.keys.into_iter().map(|key| (key, None)).collect();
        engine.add(Found { rows, ..Found::default() });
        assert_eq!(engine.fetch(&key("a")), Ok(None), "that it is absent is known");
        engine.want(key("b"));
        assert!(engine.wanted().is_empty());
    }

    /// Each new request would wait for the server.
    #[test]
    fn a_hold_that_is_not_open_is_absent_without_a_trip() {
        let id = |number| HoldId::Request(RequestId::from_bits(number));
        let mut engine = Engine::new(Arc::new([id(1)].into()));
        assert_eq!(engine.fetch(&RowKey::Hold(id(2))), Ok(None));
        assert!(engine.wanted().is_empty());
        assert_eq!(engine.fetch(&RowKey::Hold(id(1))), Err(StoreError::Unavailable));
    }

    /// The rest of a long list would be taken for absent, or its beginning fetched again.
    #[test]
    fn a_list_is_fetched_as_far_as_it_is_needed() {
        let entry = |number: u128| (0, RowKey::Task(TaskId::from_bits(number)));
        let mut engine = Engine::new(Arc::default());
        let none = |_: &RowKey| false;
        assert_eq!(engine.first(&List::Live, None, &none), Err(StoreError::Unavailable));
        assert_eq!(engine.wanted().lists, HashMap::from([(List::Live, None)]));
        let piece: Vec<_> = (0_u128..).take(LISTED).map(entry).collect();
        let last = piece.last().cloned();
        engine.add(Found { lists: vec![(List::Live, piece)], ..Found::default() });
        assert_eq!(engine.first(&List::Live, None, &none), Ok(Some(entry(0))));
        let all = |_: &RowKey| true;
        assert_eq!(engine.first(&List::Live, Some(&entry(3)), &all), Err(StoreError::Unavailable));
        assert_eq!(engine.wanted().lists, HashMap::from([(List::Live, last)]));
        let rest = vec![entry(63), entry(100)];
        engine.add(Found { lists: vec![(List::Live, rest)], ..Found::default() });
        assert_eq!(
            engine.first(&List::Live, Some(&entry(3)), &|key| *key < entry(100).1),
            Ok(Some(entry(100)))
        );
        assert_eq!(engine.first(&List::Live, None, &all), Ok(None));
    }
}
