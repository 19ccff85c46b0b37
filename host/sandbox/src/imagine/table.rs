//! Calls and images of the provider. Bounded: the oldest are dropped, and links to dropped images are unknown.
//!
//! Pure but for random ids: callers pass the time.

use std::collections::{HashMap, VecDeque};

use super::faults::{Faults, Marker};
use super::record::{ImageCall, ImagineRecord};
use crate::common::markers::Counts;
use gatehouse_sandbox_files::Picture;

/// Calls kept.
const MAX_CALLS: usize = 10_000;
/// Images kept.
const MAX_IMAGES: usize = 100_000;

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
pub(super) struct Table {
    count: u64,
    calls: VecDeque<ImageCall>,
    images: HashMap<String, StoredImage>,
    /// Ids, oldest first.
    order: VecDeque<String>,
    /// Calls so far of each prompt with a refusing fault.
    counts: Counts,
}

impl Table {
    /// Appends a call; gives its number.
    pub(super) fn append(&mut self, call: ImageCall) -> u64 {
        let number = self.count;
        self.count += 1;
        if self.calls.len() == MAX_CALLS {
            self.calls.pop_front();
        }
        self.calls.push_back(ImageCall { number, ..call });
        number
    }

    /// The call of that number, unless it was dropped.
    pub(super) fn call(&mut self, number: u64) -> Option<&mut ImageCall> {
        let first = self.calls.front()?.number;
        self.calls.get_mut(usize::try_from(number.checked_sub(first)?).ok()?)
    }

    /// The refusal that the markers of a prompt ask for. Counts calls with the same prompt.
    pub(super) fn refusal(&mut self, prompt: &str, faults: &Faults) -> Option<Marker> {
        faults.strike(&mut self.counts, prompt)
    }

    /// Keeps an image; gives its id.
    pub(super) fn store(&mut self, image: StoredImage) -> Result<String, getrandom::Error> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        let id = uuid::Builder::from_random_bytes(bytes).into_uuid().to_string();
        if self.order.len() == MAX_IMAGES
            && let Some(oldest) = self.order.pop_front()
        {
            self.images.remove(&oldest);
        }
        self.images.insert(id.clone(), image);
        self.order.push_back(id.clone());
        Ok(id)
    }

    pub(super) fn image(&mut self, id: &str) -> Option<&mut StoredImage> {
        self.images.get_mut(id)
    }

    pub(super) fn record(&self) -> ImagineRecord {
        ImagineRecord { count: self.count, calls: self.calls.iter().cloned().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded() {
        let mut table = Table::default();
        for _ in 0..MAX_CALLS + 2 {
            table.append(ImageCall::default());
        }
        let record = table.record();
        assert_eq!((record.count, record.calls.len()), (MAX_CALLS as u64 + 2, MAX_CALLS));
        assert!(table.call(1).is_none());
        assert_eq!(table.call(2).map(|call| call.number), Some(2));
        assert!(table.call(record.count).is_none());
    }
}
