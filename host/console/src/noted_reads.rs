//! Reads of tasks' steps that are on record and not followed yet. A page that shows them leaves a line in the audit record; the
//! stream that keeps the page up to date goes on from that line, once. Every other stream leaves a line of its own.
//!
//! In memory, as sessions are. Never writes a line and never reads a step.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gatehouse_model::{TaskId, UnixMs};

/// Reads that are remembered; the stream after an older one leaves a line of its own.
const MAX_READS: usize = 100;
/// A page has begun to follow its task by then.
const LIFE: Duration = Duration::from_secs(60);

/// Each read counts for one stream of its session.
#[derive(Default)]
pub(crate) struct NotedReads(Mutex<VecDeque<NotedRead>>);

/// The read of one page.
struct NotedRead {
    session: u64,
    task: TaskId,
    at: UnixMs,
}

impl NotedReads {
    fn lock(&self) -> MutexGuard<'_, VecDeque<NotedRead>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers the read of a page whose line was written.
    pub(crate) fn hand_over(&self, session: u64, task: TaskId, now: UnixMs) {
        let mut reads = self.lock();
        if reads.len() >= MAX_READS {
            reads.pop_front();
        }
        reads.push_back(NotedRead { session, task, at: now });
    }

    /// Takes the read of a page of this session, so that no other stream has it; whether there was one.
    pub(crate) fn take(&self, session: u64, task: TaskId, now: UnixMs) -> bool {
        let mut reads = self.lock();
        reads.retain(|read| now.since(read.at) < LIFE);
        let found = reads.iter().position(|read| read.session == session && read.task == task);
        found.and_then(|at| reads.remove(at)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it a stream would show steps that nobody has noted down as read.
    #[test]
    fn a_read_counts_for_one_stream_of_its_session_for_a_while() {
        let (reads, task, other) = (NotedReads::default(), TaskId::from_bits(1), TaskId::from_bits(2));
        let (now, late) = (UnixMs(0), UnixMs(60_000));
        reads.hand_over(1, task, now);
        let taken = [(2, task), (1, other), (1, task), (1, task)];
        assert_eq!(taken.map(|(session, task)| reads.take(session, task, now)), [false, false, true, false]);
        reads.hand_over(1, task, now);
        assert!(!reads.take(1, task, late));
        for _ in 0..=MAX_READS {
            reads.hand_over(1, task, late);
        }
        assert_eq!((0..=MAX_READS).filter(|_| reads.take(1, task, late)).count(), MAX_READS);
    }
}
