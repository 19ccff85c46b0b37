//! Permits of streams that nobody reads any more: each is given up as soon as somebody waits for it. Pure.
//!
//! The stream itself is read on for a while, where its provider is drained for the sake of its count. So a few jobs more than
//! the limit may be in flight for that time; beyond that the stream ends at once.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use gatehouse_model::CustomerId;
use tokio::sync::Notify;

/// The abandoned permits of one API.
#[derive(Debug, Default)]
pub(crate) struct Abandoned {
    /// Still counted, by number.
    counted: BTreeMap<u64, Entry>,
    /// Streams that go on without a permit, by position of their account.
    beyond: HashMap<usize, u64>,
    numbers: u64,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Of its account's state.
    pub(crate) position: usize,
    pub(crate) customer: CustomerId,
    /// Notified when the stream has to end.
    end: Arc<Notify>,
}

impl Abandoned {
    /// Adds a permit at that account; gives its number.
    pub(crate) fn add(&mut self, position: usize, customer: CustomerId, end: Arc<Notify>) -> u64 {
        self.numbers += 1;
        self.counted.insert(self.numbers, Entry { position, customer, end });
        self.numbers
    }

    /// Takes back the oldest permit that will do. At most `max` streams of its account go on without one.
    pub(crate) fn reclaim(
        &mut self,
        will_do: impl Fn(&Entry) -> bool,
        max: impl Fn(&Entry) -> u64,
    ) -> Option<Entry> {
        let number = self.counted.iter().find(|(_, entry)| will_do(entry)).map(|(number, _)| *number)?;
        let entry = self.counted.remove(&number)?;
        let beyond = self.beyond.entry(entry.position).or_default();
        *beyond += 1;
        if *beyond > max(&entry) {
            entry.end.notify_one();
        }
        Some(entry)
    }

    /// The stream has ended; whether its permit was still counted.
    pub(crate) fn end(&mut self, number: u64, position: usize) -> bool {
        if self.counted.remove(&number).is_some() {
            return true;
        }
        if let Some(beyond) = self.beyond.get_mut(&position) {
            *beyond = beyond.saturating_sub(1);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn the_oldest_is_taken_back_first_and_too_many_end() {
        let mut abandoned = Abandoned::default();
        let end = || Arc::new(Notify::new());
        let ends = [end(), end(), end()];
        let add = |abandoned: &mut Abandoned, position, end: &Arc<Notify>| {
            abandoned.add(position, CustomerId("a".to_owned()), Arc::clone(end))
        };
        let first = add(&mut abandoned, 0, &ends[0]);
        let other = add(&mut abandoned, 1, &ends[1]);
        let second = add(&mut abandoned, 0, &ends[2]);
        let at_first = |entry: &Entry| entry.position == 0;
        let is_told = |end: &Arc<Notify>| end.notified().now_or_never().is_some();
        assert!(abandoned.reclaim(at_first, |_| 1).is_some());
        assert!(!is_told(&ends[0]), "one may go on");
        assert!(abandoned.reclaim(at_first, |_| 1).is_some());
        assert!(is_told(&ends[2]) && !is_told(&ends[0]));
        assert!(abandoned.reclaim(at_first, |_| 1).is_none());
        assert!(abandoned.end(other, 1), "counted to its end");
        assert!(!abandoned.end(first, 0) && !abandoned.end(second, 0));
        assert_eq!(abandoned.beyond.get(&0), Some(&0));
    }
}
