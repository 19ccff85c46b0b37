//! Compares the sums of usage with the ledger, for the doctor.

use std::collections::BTreeMap;

use gatehouse_model::{CustomerId, KeyId, Usage};

use crate::records::journal_entry::JournalEntry;
use crate::records::usage::{UsageSums, hour_of};

/// Days of keys whose ledger rows and sums of usage have not met yet.
#[derive(Debug, Default)]
pub(crate) struct UsageCheck {
    /// Requests, failures, settled and refunded by the ledger, less those of the sums.
    open: BTreeMap<(CustomerId, KeyId, u32), [i128; 4]>,
}

impl UsageCheck {
    /// The next row of the ledger.
    pub(crate) fn entry(&mut self, entry: &JournalEntry) {
        if let (Some(key), Some(sums)) = (&entry.key, UsageSums::of(entry, Usage::default())) {
            self.add(entry.customer.clone(), key.clone(), hour_of(entry.at) / 24, &sums, 1);
        }
    }

    /// Sums of a key, a day and a model.
    pub(crate) fn day(&mut self, customer: &CustomerId, key: &KeyId, day: u32, sums: &UsageSums) {
        self.add(customer.clone(), key.clone(), day, sums, -1);
    }

    /// What does not fit, once all was seen.
    pub(crate) fn findings(self) -> impl Iterator<Item = String> {
        let wrong = self.open.into_iter().filter(|(_, left)| *left != [0; 4]);
        wrong.map(|((customer, key, day), _)| {
            format!(
                "usage of key {key} of customer {customer} on day {day}: it is not the sum of its ledger rows"
            )
        })
    }

    fn add(&mut self, customer: CustomerId, key: KeyId, day: u32, sums: &UsageSums, sign: i128) {
        let more = [
            i128::from(sums.requests),
            i128::from(sums.failures),
            i128::from(sums.settled.0),
            i128::from(sums.refunded.0),
        ];
        let open = self.open.entry((customer, key, day)).or_default();
        for (left, more) in open.iter_mut().zip(more) {
            *left += sign * more;
        }
    }
}
