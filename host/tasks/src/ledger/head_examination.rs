//! The examination's part about chains: each customer's entries follow each other, end at the head in the customer's row, and
//! were where the marks of the audit record say.

use std::collections::BTreeMap;

use gatehouse_model::{Customer, CustomerId, LedgerHead, UnixMs};

use crate::records::journal_entry::JournalEntry;
use crate::records::mark::LedgerMark;

/// The chains as far as their entries were seen.
#[derive(Debug, Default)]
pub(crate) struct HeadExamination {
    heads: BTreeMap<CustomerId, LedgerHead>,
    entries: u64,
    /// Marks that lie ahead, by the length of the ledger.
    marks: BTreeMap<(u64, UnixMs), LedgerMark>,
}

impl HeadExamination {
    /// A mark, before any entry.
    pub(crate) fn mark(&mut self, at: UnixMs, mark: LedgerMark) {
        self.marks.insert((mark.entries, at), mark);
    }

    /// The next entry of the ledger; what is wrong with its place, a sentence each.
    pub(crate) fn entry(&mut self, entry: &JournalEntry) -> Vec<String> {
        let mut findings = self.marks_here();
        self.entries += 1;
        let head = self.heads.entry(entry.customer.clone()).or_default();
        if entry.seq != head.next {
            findings.push(format!("{}: expected entry {} here", named(entry), head.next));
        }
        if entry.link(head.chain) != entry.chain {
            findings.push(format!("{}: the hash chain is broken", named(entry)));
        }
        *head = entry.head();
        findings
    }

    /// A customer's row, after all entries.
    pub(crate) fn customer(&self, customer: &Customer) -> Option<String> {
        let (id, known) = (&customer.id, customer.head);
        let found = self.heads.get(id).copied().unwrap_or_default();
        if found.next != known.next {
            let (next, there) = (known.next, found.next);
            return Some(format!(
                "customer {id}: its row knows {next} ledger entries, and there are {there}"
            ));
        }
        let is_end = found.chain == known.chain;
        (!is_end).then(|| {
            format!("customer {id}: its chain does not end with the ledger entry that its row names")
        })
    }

    /// What is wrong once everything was seen.
    pub(crate) fn rest(mut self) -> Vec<String> {
        let mut findings = self.marks_here();
        findings.extend(self.marks.keys().map(|(entries, at)| {
            format!(
                "the ledger had {entries} entries at {at} by the audit record, and has {} now",
                self.entries
            )
        }));
        findings
    }

    /// Compares the marks that were made of a ledger of this length.
    fn marks_here(&mut self) -> Vec<String> {
        let mut findings = Vec::new();
        while let Some(first) = self.marks.first_entry()
            && first.key().0 <= self.entries
        {
            let ((_, at), mark) = first.remove_entry();
            let here = self.heads.iter().fold(LedgerMark::default(), |here, (id, head)| here.with(id, *head));
            if here != mark {
                findings.push(format!("the ledger's chains ended elsewhere at {at}, by the audit record"));
            }
        }
        findings
    }
}

/// An entry, for people.
pub(crate) fn named(entry: &JournalEntry) -> String {
    format!("customer {}, ledger entry {}", entry.customer, entry.seq)
}
