//! A prompt as it is counted and cached: its parts in order, and its cache points.

use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::errors::invalid;
use crate::text::record::Usage;
use crate::text::refusal::Refusal;
use crate::text::request_log::{Prefix, RequestLog};

/// The most cache points of a prompt.
const MAX_POINTS: usize = 4;

/// A request to cache the prompt up to here.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct CacheControl {
    ttl: Option<Ttl>,
}

/// How long a prompt is cached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
enum Ttl {
    #[default]
    #[serde(rename = "5m")]
    FiveMinutes,
    #[serde(rename = "1h")]
    Hour,
}

#[derive(Clone, Copy, Debug)]
struct Point {
    prefix: Prefix,
    /// Of the prompt up to here.
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

    /// Adds a part; with cache control the prompt is cached up to it.
    pub(super) fn add(&mut self, part: &Value, tokens: u64, cache: Option<CacheControl>) {
        let mut part = part.clone();
        if let Some(fields) = part.as_object_mut() {
            fields.remove("cache_control");
        }
        let text = part.to_string();
        self.digest.update(text.len().to_le_bytes());
        self.digest.update(text);
        self.tokens = self.tokens.saturating_add(tokens);
        if let Some(cache) = cache {
            self.cache_point(cache);
        }
    }

    /// Caches everything so far.
    pub(super) fn cache_point(&mut self, cache: CacheControl) {
        let prefix = self.digest.clone().finalize().into();
        self.points.push(Point { prefix, tokens: self.tokens, ttl: cache.ttl.unwrap_or_default() });
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
