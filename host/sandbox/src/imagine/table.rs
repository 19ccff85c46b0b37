//! Calls and images of the provider. Bounded: the oldest are dropped, and links to dropped images are unknown.
//!
//! Pure but for random ids: callers pass the time.

use super::faults::{Faults, Marker};
use super::record::{ImageCall, ImagineRecord};
use crate::common::kept::{ById, Latest, fresh_id};
use crate::common::markers::Counts;
use crate::common::shared::Table;
use gatehouse_sandbox_files::Picture;

/// An image behind a link.
#[derive(Clone)]
pub(super) struct StoredImage {
    pub(super) picture: Picture,
    pub(super) faults: Faults,
    /// The number of its call.
    pub(super) call: u64,
    /// When its link ends.
    pub(super) until: u64,
    /// Downloads tried.
    pub(super) downloads: u32,
}

/// The table.
#[derive(Default)]
pub(crate) struct CallTable {
    count: u64,
    calls: Latest<ImageCall>,
    images: ById<StoredImage>,
    /// Calls so far of each prompt with a refusing fault.
    counts: Counts,
}

impl CallTable {
    /// Appends a call; gives its number.
    pub(super) fn append(&mut self, call: ImageCall) -> u64 {
        let number = self.count;
        self.count += 1;
        self.calls.push(ImageCall { number, ..call });
        number
    }

    /// The call of that number, unless it was dropped.
    pub(super) fn call(&mut self, number: u64) -> Option<&mut ImageCall> {
        let first = self.calls.0.front()?.number;
        self.calls.0.get_mut(usize::try_from(number.checked_sub(first)?).ok()?)
    }

    /// The refusal that the markers of a prompt ask for. Counts calls with the same prompt.
    pub(super) fn refusal(&mut self, prompt: &str, faults: &Faults) -> Option<Marker> {
        faults.strike(&mut self.counts, prompt)
    }

    /// Keeps an image; gives its id.
    pub(super) fn store(&mut self, image: StoredImage) -> Result<String, getrandom::Error> {
        let id = fresh_id()?;
        self.images.insert(&id, image);
        Ok(id)
    }

    pub(super) fn image(&mut self, id: &str) -> Option<&mut StoredImage> {
        self.images.get_mut(id)
    }
}

impl Table for CallTable {
    type Record = ImagineRecord;

    fn record(&self, _: u64) -> ImagineRecord {
        ImagineRecord { count: self.count, calls: self.calls.listed() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded() {
        let mut table = CallTable::default();
        let most = Latest::<ImageCall>::MOST;
        for _ in 0..most + 2 {
            table.append(ImageCall::default());
        }
        let record = table.record(0);
        assert_eq!((record.count, record.calls.len()), (most as u64 + 2, most));
        assert!(table.call(1).is_none());
        assert_eq!(table.call(2).map(|call| call.number), Some(2));
        assert!(table.call(record.count).is_none());
    }
}
