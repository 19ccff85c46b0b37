//! Work on several plugins at once, on threads of its own. Knows nothing of plugins.

use std::sync::{Mutex, PoisonError};
use std::thread;

/// Calls `work` for each item, `at_once` of them at the same time, in their order. Returns when all are done.
pub(crate) fn for_each<T: Sync>(items: &[T], at_once: usize, work: impl Fn(&T) + Sync) {
    let waiting = Mutex::new(items.iter());
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    thread::scope(|scope| {
        for _ in 0..at_once.clamp(1, items.len().max(1)) {
            scope.spawn(|| {
                while let Some(item) = next() {
                    work(item);
                }
            });
        }
    });
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_item_is_worked_on_once() {
        for (count, at_once) in [(0, 4), (1, 4), (9, 1), (9, 4), (3, 0)] {
            let items: Vec<usize> = (0..count).collect();
            let done = Mutex::new(Vec::new());
            for_each(&items, at_once, |item| done.lock().unwrap().push(*item));
            let done = done.into_inner().unwrap();
            assert_eq!((done.len(), BTreeSet::from_iter(done)), (count, items.into_iter().collect()));
        }
    }
}
