//! The last lines of a log, in memory: bounded in number and in bytes, the oldest go first. A push is one short lock.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{Credits, CustomerId, KeyId, RequestId, Tags, UnixMs, Usage};

/// Lines that are kept, newest last; each has a number that never repeats within the process.
#[derive(Debug)]
pub struct Recent<T> {
    max_lines: usize,
    max_bytes: usize,
    kept: Mutex<Kept<T>>,
}

#[derive(Debug)]
struct Kept<T> {
    /// The number of the line that comes next.
    next: u64,
    bytes: usize,
    lines: VecDeque<(usize, T)>,
}

/// Lines that were found, and where to look on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecentPage<T> {
    /// By number, in the order that was asked for.
    pub lines: Vec<(u64, T)>,
    /// The number to go on from; none at the end.
    pub next: Option<u64>,
}

/// A request as its log keeps it. Has no query, no header and no body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestLine {
    /// Its id, which has its moment.
    pub id: RequestId,
    /// Its method; "OTHER" for one that no route has.
    pub method: &'static str,
    /// The pattern of its route; "-" where none fits.
    pub route: &'static str,
    /// The status of its answer; 499 where the client left first.
    pub status: u16,
    /// Milliseconds until its answer had left.
    pub ms: u32,
    /// The key that it came with, also where it was refused: what its secret says of its id.
    pub key: Option<KeyId>,
    /// The customer of that key; absent for a key that does not exist.
    pub customer: Option<CustomerId>,
    /// The client's address; absent for a request of the console's playground.
    pub client: Option<IpAddr>,
    /// Bytes of its body.
    pub received: u64,
    /// Bytes of its answer.
    pub sent: u64,
    /// What the work on it made known.
    pub facts: RequestFacts,
}

/// What becomes known of a request while it is worked on. Where it is made of several text requests, numbers are their sums.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestFacts {
    /// The canonical id of its model.
    pub model: Option<Arc<str>>,
    /// What its client noted down about it.
    pub tags: Option<Arc<Tags>>,
    /// The plugin that read it: family, version and the beginning of its digest, as `chat 1.0.0 (3fa9c2d1)`.
    pub plugin: Option<Arc<str>>,
    /// The provider that was called last; of a task, the one that its first call goes to, where that left at once.
    pub provider: Option<Arc<str>>,
    /// The account of that provider.
    pub account: Option<Arc<str>>,
    /// The target of the model that answered, as `provider/upstream`; absent where none did, and for a task.
    pub target: Option<Arc<str>>,
    /// Calls that were made for it while its client waited.
    pub attempts: u32,
    /// Tokens that it was charged for.
    pub tokens: Option<Usage>,
    /// Milliseconds from the last call to the head of its answer.
    pub first_byte_ms: Option<u32>,
    /// Milliseconds from the request to the first content that its client could read of a stream.
    pub first_token_ms: Option<u32>,
    /// What was held for it: the most that a text may cost, or the price of a task.
    pub held: Option<Credits>,
    /// What it was charged; absent where nothing was held, and for a task.
    pub charged: Option<Credits>,
}

/// What the process said, as its log keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessLine {
    /// When.
    pub at: UnixMs,
    /// "ERROR", "WARN", "INFO", "DEBUG" or "TRACE".
    pub level: &'static str,
    /// The part of the program.
    pub target: &'static str,
    /// The sentence and its values.
    pub text: String,
}

impl<T: Clone> Recent<T> {
    /// A log of at most so many lines and bytes.
    #[must_use]
    pub fn new(max_lines: usize, max_bytes: usize) -> Self {
        let kept = Kept { next: 1, bytes: 0, lines: VecDeque::new() };
        Self { max_lines, max_bytes, kept: Mutex::new(kept) }
    }

    fn lock(&self) -> MutexGuard<'_, Kept<T>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line of so many bytes.
    pub fn push(&self, line: T, bytes: usize) {
        let mut kept = self.lock();
        kept.next += 1;
        kept.bytes += bytes;
        kept.lines.push_back((bytes, line));
        while kept.lines.len() > self.max_lines || (kept.bytes > self.max_bytes && kept.lines.len() > 1) {
            let Some((bytes, _)) = kept.lines.pop_front() else { return };
            kept.bytes -= bytes;
        }
    }

    /// The newest lines that fit, at most `limit`, the newest first; those before the line `before`, if given.
    #[must_use]
    pub fn newest(&self, before: Option<u64>, limit: usize, fits: impl Fn(&T) -> bool) -> RecentPage<T> {
        let kept = self.lock();
        let first = kept.first();
        let end = before.unwrap_or(kept.next).clamp(first, kept.next);
        let mut lines = Vec::new();
        for number in (first..end).rev() {
            let Some((_, line)) = kept.at(number) else { continue };
            if !fits(line) {
                continue;
            }
            if lines.len() == limit {
                let next = lines.last().map(|(number, _)| *number);
                return RecentPage { lines, next };
            }
            lines.push((number, line.clone()));
        }
        RecentPage { lines, next: None }
    }

    /// The lines after the line `after` that fit, at most `limit`, the oldest first; and the last number that was looked at.
    #[must_use]
    pub fn after(&self, after: u64, limit: usize, fits: impl Fn(&T) -> bool) -> (Vec<(u64, T)>, u64) {
        let kept = self.lock();
        let (mut lines, mut seen) = (Vec::new(), after.max(kept.first() - 1).min(kept.next - 1));
        for number in seen + 1..kept.next {
            if lines.len() == limit {
                break;
            }
            seen = number;
            if let Some((_, line)) = kept.at(number).filter(|(_, line)| fits(line)) {
                lines.push((number, line.clone()));
            }
        }
        (lines, seen)
    }

    /// The number of the last line; zero before the first.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.lock().next - 1
    }
}

impl<T> Kept<T> {
    /// The number of the oldest line.
    fn first(&self) -> u64 {
        self.next - self.lines.len() as u64
    }

    fn at(&self, number: u64) -> Option<&(usize, T)> {
        self.lines.get(usize::try_from(number.checked_sub(self.first())?).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(page: &RecentPage<u32>) -> (Vec<u32>, Option<u64>) {
        (page.lines.iter().map(|(_, line)| *line).collect(), page.next)
    }

    #[test]
    fn lines_and_bytes_are_bounded() {
        let log = Recent::new(3, 10);
        for line in 1..=5 {
            log.push(line, 1);
        }
        assert_eq!(numbers(&log.newest(None, 10, |_| true)), (vec![5, 4, 3], None));
        log.push(6, 9);
        assert_eq!(numbers(&log.newest(None, 10, |_| true)), (vec![6, 5], None));
        // A line that is too long on its own stays alone.
        log.push(7, 100);
        assert_eq!(numbers(&log.newest(None, 10, |_| true)), (vec![7], None));
        log.push(8, 1);
        assert_eq!((numbers(&log.newest(None, 10, |_| true)), log.last()), ((vec![8], None), 8));
    }

    #[test]
    fn pages_follow_one_another_while_lines_come_and_go() {
        let log = Recent::new(100, 1000);
        for line in 1..=10 {
            log.push(line, 1);
        }
        let even = |line: &u32| line.is_multiple_of(2);
        let page = log.newest(None, 2, even);
        assert_eq!(numbers(&page), (vec![10, 8], Some(8)));
        log.push(12, 1);
        assert_eq!(numbers(&log.newest(page.next, 2, even)), (vec![6, 4], Some(4)));
        assert_eq!(numbers(&log.newest(Some(4), 2, even)), (vec![2], None));
        assert_eq!(numbers(&log.newest(Some(0), 2, even)), (vec![], None));
        assert_eq!(log.after(8, 2, even), (vec![(10, 10), (11, 12)], 11));
        assert_eq!(log.after(2, 1, even), (vec![(4, 4)], 4));
        assert_eq!(log.after(99, 5, even), (vec![], 11));
    }

    #[test]
    fn a_follower_goes_on_after_lines_that_are_gone() {
        let log = Recent::new(2, 1000);
        for line in 1..=10 {
            log.push(line, 1);
        }
        assert_eq!(log.after(1, 5, |_| true), (vec![(9, 9), (10, 10)], 10));
        let empty = Recent::<u32>::new(2, 10);
        assert_eq!((empty.after(0, 5, |_| true), empty.last()), ((vec![], 0), 0));
    }
}
