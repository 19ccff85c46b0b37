//! Calls and images of the provider. Bounded: the oldest are dropped, and links to dropped images are unknown.
//!
//! Pure but for random ids: callers pass the time. The record of the provider is every call and what came of it: tests
//! compare it with the gateway's ledger, also as JSON from a listener of its own.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::faults::Faults;
use crate::common::kept::{ById, Latest, fresh_id};
use crate::common::markers::Counts;
use crate::common::shared::Table;
use gatehouse_sandbox_files::Picture;

/// Calls since the start, within the limits of the table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImagineRecord {
    /// Calls since the start, dropped ones included.
    pub count: u64,
    /// Oldest first: the latest 10,000.
    pub calls: Vec<ImageCall>,
}

/// One call of generations or edits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImageCall {
    /// Counted from 0 since the start.
    pub number: u64,
    /// `generations` or `edits`.
    pub route: String,
    /// Index into the settings' keys; `None` without a valid key.
    pub account: Option<usize>,
    /// As sent, but for a reference in the body: `{"sha256", "bytes", "width", "height", "mime"}` in place of its
    /// URL. Null when the body was not read.
    pub body: Value,
    /// When, in milliseconds since the Unix epoch.
    pub at: u64,
    /// The status of the reply; `None` while the call lasts, or when no reply was sent.
    pub status: Option<u16>,
    /// Images that were made and handed over; filtered ones are not.
    pub images: u32,
    /// The bill, 10^10 ticks a dollar.
    pub cost_in_usd_ticks: u64,
    /// Complete deliveries of its files.
    pub deliveries: u32,
}

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
    pub(super) images: ById<StoredImage>,
    /// Calls so far of each prompt with a refusing fault.
    pub(super) counts: Counts,
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

    /// Keeps an image; gives its id.
    pub(super) fn store(&mut self, image: StoredImage) -> Result<String, getrandom::Error> {
        let id = fresh_id()?;
        self.images.insert(&id, image);
        Ok(id)
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
