//! The request log of a text provider: requests, counts of refused texts, cached prompts.
//!
//! Bounded. Pure: callers pass the time.

use std::collections::{HashMap, VecDeque};

use crate::common::markers::Counts;
use crate::text::markers::{Faults, Marker};
use crate::text::record::{Received, TextRecord};

/// Requests kept.
const MAX_REQUESTS: usize = 10_000;
/// Bytes of bodies kept.
const MAX_BODIES: usize = 64 << 20;
/// Prompts cached; beyond that all are dropped.
const MAX_CACHED: usize = 100_000;

/// The digest of the beginning of a prompt, with the account and the model.
pub(crate) type Prefix = [u8; 32];

/// The log.
#[derive(Default)]
pub(crate) struct RequestLog {
    count: u64,
    requests: VecDeque<Received>,
    bodies: usize,
    counts: Counts,
    /// Until when each prompt is cached.
    cached: HashMap<Prefix, u64>,
}

impl RequestLog {
    /// Appends a request; gives its number.
    pub(crate) fn append(&mut self, request: Received) -> u64 {
        let number = self.count;
        self.count += 1;
        self.bodies += request.body.as_ref().map_or(0, Vec::len);
        self.requests.push_back(Received { number, ..request });
        if self.requests.len() > MAX_REQUESTS
            && let Some(oldest) = self.requests.pop_front()
        {
            self.bodies -= oldest.body.map_or(0, |body| body.len());
        }
        let mut oldest = self.requests.iter_mut();
        while self.bodies > MAX_BODIES
            && let Some(request) = oldest.next()
        {
            self.bodies -= request.body.take().map_or(0, |body| body.len());
        }
        number
    }

    /// The request with that number, unless it was dropped.
    pub(crate) fn request(&mut self, number: u64) -> Option<&mut Received> {
        let first = self.requests.front()?.number;
        self.requests.get_mut(usize::try_from(number.checked_sub(first)?).ok()?)
    }

    /// The refusal that the markers of a text ask for. Counts requests with the same text.
    pub(crate) fn refusal(&mut self, text: &str, faults: &Faults) -> Option<Marker> {
        let earlier = if faults.refuses() { self.counts.count(text) } else { 0 };
        faults.refusal(earlier)
    }

    pub(crate) fn is_cached(&self, prefix: &Prefix, now: u64) -> bool {
        self.cached.get(prefix).is_some_and(|until| now < *until)
    }

    /// Caches a prompt, or keeps it longer.
    pub(crate) fn cache(&mut self, prefix: Prefix, until: u64) {
        if self.cached.len() >= MAX_CACHED {
            self.cached.clear();
        }
        let kept = self.cached.entry(prefix).or_default();
        *kept = until.max(*kept);
    }

    pub(crate) fn record(&self) -> TextRecord {
        TextRecord { count: self.count, held: 0, requests: self.requests.iter().cloned().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded() {
        let mut log = RequestLog::default();
        let request = |bytes: usize| Received { body: Some(vec![7; bytes]), ..Received::default() };
        for _ in 0..3 {
            log.append(request(30 << 20));
        }
        let record = log.record();
        let kept: Vec<bool> = record.requests.iter().map(|request| request.body.is_some()).collect();
        assert_eq!(kept, [false, true, true], "the oldest body goes, the request stays");
        for _ in 0..MAX_REQUESTS {
            log.append(request(1));
        }
        assert_eq!((log.record().count, log.record().requests.len()), (10_003, MAX_REQUESTS));
        assert_eq!(log.bodies, MAX_REQUESTS);
        assert!(log.request(2).is_none());
        assert_eq!(log.request(10_002).map(|request| request.number), Some(10_002));
    }

    #[test]
    fn prompts_are_cached_until() {
        let mut log = RequestLog::default();
        log.cache([1; 32], 100);
        log.cache([1; 32], 50);
        assert!(log.is_cached(&[1; 32], 99));
        assert!(!log.is_cached(&[1; 32], 100));
        assert!(!log.is_cached(&[2; 32], 0));
    }
}
