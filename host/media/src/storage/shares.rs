//! What of the disk the files of one customer's unfinished tasks take. Pure but for its lock; never reads a disk.
//!
//! A customer may hold as much as it leaves free above the disk's mark: half of it when it is alone, less while others hold
//! files. So the one who fills the disk is refused long before it is low, and the others go on. A first file is taken as long
//! as it fits.
//!
//! Kept in memory: after a restart the files of earlier tasks count as used space, and for nobody.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use gatehouse_model::{BlobId, CustomerId};

/// The files of all unfinished tasks, by customer.
#[derive(Debug, Default)]
pub(crate) struct Shares(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    held: HashMap<CustomerId, u64>,
    blobs: HashMap<BlobId, (CustomerId, u64)>,
    /// The free space that was seen last, and the bytes that were counted since.
    seen: Option<u64>,
    since: u64,
}

/// A customer's files take too much of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the unfinished tasks of this account hold {} MiB of files, which is its share of the disk", .held.div_ceil(1 << 20))]
pub struct ShareExceeded {
    /// Bytes that it holds.
    pub held: u64,
}

impl Shares {
    /// Counts files of a customer's new task before they are written. `room` is what the disk had free above its mark at the
    /// last look; without one, nothing is refused.
    pub(crate) fn reserve(
        &self,
        customer: &CustomerId,
        blobs: &[(BlobId, u64)],
        room: Option<u64>,
    ) -> Result<(), ShareExceeded> {
        let more: u64 = blobs.iter().map(|(_, bytes)| bytes).sum();
        let mut state = self.lock();
        if more > 0
            && let Some(room) = room
        {
            // Another look has seen what was written before it.
            if state.seen != Some(room) {
                (state.seen, state.since) = (Some(room), 0);
            }
            let held = state.held.get(customer).copied().unwrap_or_default();
            let left = room.saturating_sub(state.since).checked_sub(more);
            let fits = left.is_some_and(|left| held == 0 || held.saturating_add(more) <= left);
            if !fits {
                return Err(ShareExceeded { held });
            }
        }
        state.add(customer, blobs);
        Ok(())
    }

    /// Counts a file of a running task, which is never refused.
    pub(crate) fn add(&self, customer: &CustomerId, blob: BlobId, bytes: u64) {
        self.lock().add(customer, &[(blob, bytes)]);
    }

    /// A file is gone.
    pub(crate) fn forget(&self, blob: BlobId) {
        self.lock().forget(blob);
    }

    /// All files for which `is_gone` holds are gone.
    pub(crate) fn forget_where(&self, is_gone: impl Fn(BlobId) -> bool) {
        let mut state = self.lock();
        let gone: Vec<BlobId> = state.blobs.keys().copied().filter(|blob| is_gone(*blob)).collect();
        gone.into_iter().for_each(|blob| state.forget(blob));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn add(&mut self, customer: &CustomerId, blobs: &[(BlobId, u64)]) {
        for &(blob, bytes) in blobs.iter().filter(|(_, bytes)| *bytes > 0) {
            self.since = self.since.saturating_add(bytes);
            *self.held.entry(customer.clone()).or_default() += bytes;
            self.blobs.insert(blob, (customer.clone(), bytes));
        }
    }

    fn forget(&mut self, blob: BlobId) {
        let Some((customer, bytes)) = self.blobs.remove(&blob) else { return };
        if let Some(held) = self.held.get_mut(&customer) {
            *held = held.saturating_sub(bytes);
            if *held == 0 {
                self.held.remove(&customer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_harness::TestSeed;
    use gatehouse_model::UnixMs;

    use super::*;

    fn ids(count: usize) -> Vec<BlobId> {
        let seed = TestSeed::counting_from(1);
        (0..count).map(|_| BlobId::new(UnixMs(1), &seed)).collect()
    }

    #[test]
    fn one_customer_gets_half_of_the_space_and_the_next_half_of_the_rest() {
        let (shares, ids) = (Shares::default(), ids(200));
        let mut next = ids.iter().copied();
        let mut fill = |customer: &str| {
            let customer = CustomerId::from(customer);
            let fits = |id| shares.reserve(&customer, &[(id, 12)], Some(1200)).is_ok();
            next.by_ref().take_while(|id| fits(*id)).count() * 12
        };
        assert_eq!((fill("greedy"), fill("late")), (600, 300));
        assert_eq!(
            shares.reserve(&"greedy".into(), &[(ids[199], 12)], Some(1200)),
            Err(ShareExceeded { held: 600 })
        );
    }

    #[test]
    fn what_is_gone_is_free_again_and_a_first_file_needs_no_more_than_room() {
        let (shares, ids) = (Shares::default(), ids(3));
        let customer = CustomerId::from("a");
        assert!(shares.reserve(&customer, &[(ids[0], 90)], Some(100)).is_ok(), "the first");
        assert!(shares.reserve(&customer, &[(ids[1], 5)], Some(100)).is_err());
        assert!(shares.reserve(&"b".into(), &[(ids[1], 11)], Some(100)).is_err(), "no room at all");
        shares.forget(ids[0]);
        // The next look sees that it is gone.
        assert!(shares.reserve(&customer, &[(ids[1], 40)], Some(101)).is_ok());
        assert!(shares.reserve(&customer, &[(ids[2], 400)], None).is_ok(), "nothing is known of the disk");
        shares.forget(ids[1]);
        shares.forget(ids[2]);
        assert!(shares.lock().held.is_empty() && shares.lock().blobs.is_empty());
    }
}
