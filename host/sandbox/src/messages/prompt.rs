//! A prompt as it is counted and cached: its parts in order, and its cache points.

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::errors::invalid;
use crate::text::record::Usage;
use crate::text::refusal::Refusal;
use crate::text::request_log::{Prefix, RequestLog};

/// The most cache points of a prompt.
const MAX_POINTS: usize = 4;

#[derive(Clone, Copy, Debug)]
struct Point {
    prefix: Prefix,
    /// Of the prompt up to here.
    tokens: u64,
    /// Cached for an hour, not for five minutes.
    for_hour: bool,
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
        let digest = Sha256::new().chain_update(account.to_le_bytes()).chain_update(model);
        Self { digest, tokens: 0, points: Vec::new() }
    }

    /// Adds a part; with cache control the prompt is cached up to it.
    pub(super) fn add(&mut self, part: &Value, tokens: u64) {
        let mut plain = part.clone();
        if let Some(fields) = plain.as_object_mut() {
            fields.remove("cache_control");
        }
        let text = plain.to_string();
        self.digest.update(text.len().to_le_bytes());
        self.digest.update(text);
        self.tokens = self.tokens.saturating_add(tokens);
        self.cache_point(part);
    }

    /// Caches everything so far, when `part` says so.
    pub(super) fn cache_point(&mut self, part: &Value) {
        let cache = &part["cache_control"];
        if !cache.is_null() {
            let prefix = self.digest.clone().finalize().into();
            self.points.push(Point { prefix, tokens: self.tokens, for_hour: cache["ttl"] == "1h" });
        }
    }

    pub(super) fn check(&self, context: u64) -> Result<(), Refusal> {
        if self.points.len() > MAX_POINTS {
            return Err(invalid(format!(
                "A maximum of {MAX_POINTS} blocks with cache_control may be provided. Found {}.",
                self.points.len()
            )));
        }
        if self.tokens > context {
            return Err(invalid(format!("prompt is too long: {} tokens > {context} maximum", self.tokens)));
        }
        Ok(())
    }

    /// Bills the input: read from the cache, written to it, or neither. Writes the cache.
    pub(super) fn bill(&self, log: &mut RequestLog, now: u64) -> Usage {
        let hit = self.points.iter().rev().find(|point| log.is_cached(&point.prefix, now));
        let mut usage = Usage { cache_read: hit.map_or(0, |point| point.tokens), ..Usage::default() };
        let mut before = usage.cache_read;
        for point in &self.points {
            let (minutes, written) = match point.for_hour {
                false => (5, &mut usage.cache_write_5m),
                true => (60, &mut usage.cache_write_1h),
            };
            *written += point.tokens.saturating_sub(before);
            before = before.max(point.tokens);
            log.cache(point.prefix, now.saturating_add(minutes * 60_000));
        }
        usage.input = self.tokens - before;
        usage
    }
}
