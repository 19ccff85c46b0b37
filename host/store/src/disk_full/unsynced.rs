//! The changes of a file since its last sync, to make them once more. Never touches the file.
//!
//! A sync that found no room may have dropped any of them, and the next sync would succeed without them: what a file
//! system could not write back counts as clean afterwards. So all of them are made again, in their order, before the
//! sync is tried again.

use std::io;
use std::ops::Range;

/// Bytes that are kept between two syncs. A commit writes far less; of one that writes more nothing is kept, and a sync
/// without room is a failure then.
const MAX_KEPT: usize = 64 << 20;
/// Memory that stays for the next commit.
const MAX_RESERVED: usize = 1 << 20;

/// One change.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Change<'a> {
    /// A new length.
    SetLen(u64),
    /// These bytes, from there on.
    Write(u64, &'a [u8]),
}

/// What was changed since the last sync.
#[derive(Debug, Default)]
pub(crate) struct Unsynced {
    changes: Vec<Kept>,
    bytes: Vec<u8>,
    is_incomplete: bool,
}

#[derive(Debug)]
enum Kept {
    SetLen(u64),
    /// The offset in the file, and where the bytes are kept.
    Write(u64, Range<usize>),
}

impl Unsynced {
    /// Keeps a change that was made.
    pub(crate) fn add(&mut self, change: &Change<'_>) {
        let kept = match *change {
            Change::SetLen(len) => Kept::SetLen(len),
            Change::Write(_, data) if self.bytes.len() + data.len() > MAX_KEPT => {
                self.clear();
                self.is_incomplete = true;
                return;
            }
            Change::Write(offset, data) => {
                let start = self.bytes.len();
                if !self.is_incomplete {
                    self.bytes.extend_from_slice(data);
                }
                Kept::Write(offset, start..self.bytes.len())
            }
        };
        if !self.is_incomplete {
            self.changes.push(kept);
        }
    }

    /// Forgets all: a sync has made sure of it.
    pub(crate) fn clear(&mut self) {
        self.changes.clear();
        self.bytes.clear();
        self.changes.shrink_to(MAX_RESERVED / size_of::<Kept>());
        self.bytes.shrink_to(MAX_RESERVED);
        self.is_incomplete = false;
    }

    /// Whether every change since the last sync is here.
    pub(crate) fn is_complete(&self) -> bool {
        !self.is_incomplete
    }

    /// Whether the last change was a new length.
    pub(crate) fn ends_with_length(&self) -> bool {
        matches!(self.changes.last(), Some(Kept::SetLen(_)))
    }

    /// Makes all of them again.
    ///
    /// # Errors
    /// The first of `make`.
    pub(crate) fn repeat(&self, mut make: impl FnMut(Change<'_>) -> io::Result<()>) -> io::Result<()> {
        self.changes.iter().try_for_each(|kept| match kept {
            Kept::SetLen(len) => make(Change::SetLen(*len)),
            Kept::Write(offset, range) => make(Change::Write(*offset, &self.bytes[range.clone()])),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeated(unsynced: &Unsynced) -> Vec<(u64, Option<Vec<u8>>)> {
        let mut changes = Vec::new();
        let repeat = unsynced.repeat(|change| {
            changes.push(match change {
                Change::SetLen(len) => (len, None),
                Change::Write(offset, data) => (offset, Some(data.to_vec())),
            });
            Ok(())
        });
        repeat.unwrap();
        changes
    }

    #[test]
    fn changes_are_repeated_in_their_order() {
        let mut unsynced = Unsynced::default();
        unsynced.add(&Change::SetLen(10));
        unsynced.add(&Change::Write(4, b"kite"));
        unsynced.add(&Change::Write(4, b""));
        unsynced.add(&Change::Write(0, b"ki"));
        let writes = [(4, Some(b"kite".to_vec())), (4, Some(vec![])), (0, Some(b"ki".to_vec()))];
        assert_eq!(repeated(&unsynced), [vec![(10, None)], writes.to_vec()].concat());
        assert!(!unsynced.ends_with_length());
        unsynced.add(&Change::SetLen(20));
        assert!(unsynced.ends_with_length());
        unsynced.clear();
        assert_eq!(repeated(&unsynced), []);
        assert!(unsynced.is_complete());
    }

    #[test]
    fn the_first_error_ends_the_repetition() {
        let mut unsynced = Unsynced::default();
        (1..=3).for_each(|len| unsynced.add(&Change::SetLen(len)));
        let mut made = 0;
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let outcome = unsynced.repeat(|change| {
            made += 1;
            if change == Change::SetLen(2) { Err(full()) } else { Ok(()) }
        });
        assert_eq!((made, outcome.unwrap_err().kind()), (2, io::ErrorKind::StorageFull));
    }

    #[test]
    fn too_much_is_not_kept_and_known_to_be_incomplete() {
        let (mut unsynced, large) = (Unsynced::default(), vec![1; MAX_KEPT]);
        unsynced.add(&Change::Write(0, &large));
        assert!(unsynced.is_complete());
        unsynced.add(&Change::Write(0, b"1"));
        unsynced.add(&Change::Write(0, b"2"));
        unsynced.add(&Change::SetLen(7));
        assert!(!unsynced.is_complete());
        assert_eq!(repeated(&unsynced), []);
        assert!(unsynced.bytes.capacity() <= MAX_RESERVED, "{}", unsynced.bytes.capacity());
        unsynced.clear();
        unsynced.add(&Change::Write(0, b"3"));
        assert!(unsynced.is_complete());
        assert_eq!(repeated(&unsynced), [(0, Some(b"3".to_vec()))]);
    }
}
