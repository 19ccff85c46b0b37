//! One request's share of its key's rates: taken before money is held, corrected at the end.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gatehouse_model::{Key, KeyId, Limits, RateVerdict, UnixMs};

use crate::rates::limiter::{RateId, RateLimiter};
use crate::rates::status::{LimitKind, LimitStatus, RateLimited, RateStatus};

/// The rates that one request counts against. Only the first correction counts.
#[derive(Debug)]
pub(crate) struct RateUse {
    limiter: Arc<RateLimiter>,
    key: KeyId,
    limits: Vec<RateLimit>,
    /// Set while something is taken that may be corrected.
    taken: AtomicBool,
}

#[derive(Debug)]
struct RateLimit {
    id: RateId,
    rate: NonZeroU32,
    /// What this request takes of it, and what `Gcra::take` answered.
    amount: u32,
    until: u64,
}

impl RateUse {
    /// Takes one request and `tokens` of every rate of the key for that model, by its canonical id; or nothing, and the
    /// one that takes longest is the answer. More tokens than a whole limit count as the whole: a small limit makes a large
    /// request wait, not impossible.
    pub(crate) fn take(
        limiter: &Arc<RateLimiter>,
        key: &Key,
        model: &str,
        tokens: Option<u64>,
        now: UnixMs,
    ) -> (Arc<Self>, Result<(), RateLimited>) {
        let of_model = key.model_limits.get(model).map(|limits| (Some(model), *limits));
        let mut limits = Vec::new();
        for (model, Limits { requests_per_minute, tokens_per_minute, .. }) in
            std::iter::once((None, key.limits)).chain(of_model)
        {
            let id =
                |tokens| RateId { lineage: key.lineage().clone(), model: model.map(str::to_owned), tokens };
            limits.extend(requests_per_minute.map(|rate| RateLimit::new(id(false), rate, 1)));
            let tokens = tokens.and_then(|tokens| Some((tokens_per_minute?, tokens)));
            limits.extend(tokens.map(|(rate, tokens)| RateLimit::new(id(true), rate, tokens)));
        }
        let outcome = take_all(limiter, &mut limits, now);
        let taken = AtomicBool::new(outcome.is_ok());
        let used = Self { limiter: Arc::clone(limiter), key: key.id.clone(), limits, taken };
        let outcome = outcome.map_err(|(at, wait)| used.refusal(at, wait));
        (Arc::new(used), outcome)
    }

    /// The provider has counted so many tokens; zero where nothing is billed. The request stays counted.
    pub(crate) fn settle(&self, tokens: u64, now: UnixMs) {
        self.correct(|limit| limit.id.tokens.then_some(tokens), now);
    }

    /// Gives everything back: the request was refused after all, and nothing was done.
    pub(crate) fn undo(&self, now: UnixMs) {
        self.correct(|_| Some(0), now);
    }

    /// What is left at that moment.
    pub(crate) fn status(&self, now: UnixMs) -> RateStatus {
        if self.limits.is_empty() {
            return RateStatus::default();
        }
        let states = self.limiter.lock();
        let least = |tokens: bool| {
            let of_kind = self.limits.iter().filter(|limit| limit.id.tokens == tokens);
            let status = of_kind.map(|limit| {
                let state = states.of(&limit.id);
                LimitStatus {
                    limit: limit.rate.get(),
                    remaining: state.remaining(limit.rate, now),
                    reset: state.until_full(now),
                }
            });
            status.min_by_key(|status| (status.remaining, status.limit))
        };
        RateStatus { requests: least(false), tokens: least(true) }
    }

    fn correct(&self, actual: impl Fn(&RateLimit) -> Option<u64>, now: UnixMs) {
        if self.limits.is_empty() || !self.taken.swap(false, Ordering::AcqRel) {
            return;
        }
        let mut states = self.limiter.lock();
        for limit in &self.limits {
            let Some(actual) = actual(limit) else { continue };
            let state = states.of_mut(&limit.id, now);
            match actual.checked_sub(limit.amount.into()) {
                Some(more) => state.take_more(limit.rate, more, now),
                None => {
                    let less = limit.amount - u32::try_from(actual).unwrap_or(limit.amount);
                    state.give_back(limit.rate, less, limit.until, now);
                }
            }
        }
    }

    fn refusal(&self, at: usize, wait: Duration) -> RateLimited {
        let RateLimit { id, rate, .. } = &self.limits[at];
        RateLimited {
            key: self.key.clone(),
            kind: if id.tokens { LimitKind::Tokens } else { LimitKind::Requests },
            limit: *rate,
            model: id.model.clone(),
            retry_after: Some(wait),
        }
    }
}

impl RateLimit {
    fn new(id: RateId, rate: NonZeroU32, amount: u64) -> Self {
        let amount = u32::try_from(amount).unwrap_or(u32::MAX).min(rate.get());
        Self { id, rate, amount, until: 0 }
    }
}

/// Checks all, then takes from all. The answer is otherwise which of them has to be waited for longest.
fn take_all(limiter: &RateLimiter, limits: &mut [RateLimit], now: UnixMs) -> Result<(), (usize, Duration)> {
    if limits.is_empty() {
        return Ok(());
    }
    let mut states = limiter.lock();
    let waits = limits.iter().enumerate().filter_map(|(at, limit)| {
        match states.of(&limit.id).check(limit.rate, limit.amount, now) {
            RateVerdict::After(wait) => Some((at, wait)),
            // No amount is more than its limit.
            RateVerdict::Now | RateVerdict::Never => None,
        }
    });
    match waits.max_by_key(|(_, wait)| *wait) {
        Some(longest) => Err(longest),
        None => {
            for limit in limits {
                limit.until = states.of_mut(&limit.id, now).take(limit.rate, limit.amount, now);
            }
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests;
