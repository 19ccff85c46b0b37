//! A prompt as it is counted and cached: its parts in order, and the points up to which it may be kept.

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::refusal::Refusal;
use super::shape::{Judged, Ttl};
use crate::text::record::Usage;
use crate::text::request_log::{Prefix, RequestLog};

/// The most points a prompt may have.
const MAX_POINTS: usize = 4;

#[derive(Clone, Copy, Debug)]
struct Point {
    prefix: Prefix,
    /// Up to here.
    tokens: u64,
    ttl: Ttl,
}

/// A prompt being added up: tools, then system, then messages.
pub(super) struct Prompt {
    digest: Sha256,
    pub(super) tokens: u64,
    points: Vec<Point>,
}

impl Prompt {
    /// Of one account and one model: caches are not shared.
    pub(super) fn new(account: usize, model: &str) -> Self {
        let mut digest = Sha256::new();
        digest.update(account.to_le_bytes());
        digest.update(model);
        Self { digest, tokens: 0, points: Vec::new() }
    }

    /// Adds a part; with a lifetime everything up to it may be kept.
    pub(super) fn add(&mut self, part: &Value, tokens: u64, ttl: Option<Ttl>) {
        let mut part = part.clone();
        if let Some(fields) = part.as_object_mut() {
            fields.remove("cache_control");
        }
        let text = part.to_string();
        self.digest.update(text.len().to_le_bytes());
        self.digest.update(text);
        self.tokens = self.tokens.saturating_add(tokens);
        if let Some(ttl) = ttl {
            self.point(ttl);
        }
    }

    /// Everything so far may be kept.
    pub(super) fn point(&mut self, ttl: Ttl) {
        let prefix = self.digest.clone().finalize().into();
        self.points.push(Point { prefix, tokens: self.tokens, ttl });
    }

    pub(super) fn judge(&self) -> Judged<()> {
        if self.points.len() > MAX_POINTS {
            return Err(Refusal::invalid(format!(
                "A maximum of {MAX_POINTS} blocks with cache_control may be provided. Found {}.",
                self.points.len()
            )));
        }
        Ok(())
    }

    /// What of the input is read from the cache, what is written to it, and what is neither; keeps what is written.
    pub(super) fn settle(&self, log: &mut RequestLog, now: u64) -> Usage {
        let hit = self.points.iter().rev().find(|point| log.is_cached(&point.prefix, now));
        let mut usage = Usage { cache_read: hit.map_or(0, |point| point.tokens), ..Usage::default() };
        let mut before = usage.cache_read;
        for point in &self.points {
            let (minutes, written) = match point.ttl {
                Ttl::FiveMinutes => (5, &mut usage.cache_write_5m),
                Ttl::Hour => (60, &mut usage.cache_write_1h),
            };
            *written += point.tokens.saturating_sub(before);
            before = before.max(point.tokens);
            log.cache(point.prefix, now.saturating_add(minutes * 60_000));
        }
        usage.input = self.tokens - before;
        usage
    }
}
