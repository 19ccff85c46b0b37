//! A token bucket. Pure: time comes in as an argument.

use std::time::Duration;

use gatehouse_model::UnixMs;

/// Lets `rate` calls a second pass, and as many at once as one second brings (at least one).
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenBucket {
    rate: f64,
    tokens: f64,
    at: UnixMs,
}

impl TokenBucket {
    /// A full bucket; `rate` must be above zero.
    pub(crate) fn new(rate: f64, now: UnixMs) -> Self {
        Self { rate, tokens: rate.max(1.0), at: now }
    }

    /// From now on `rate` calls a second; tokens above one second's are lost.
    pub(crate) fn set_rate(&mut self, rate: f64) {
        self.rate = rate;
        self.tokens = self.tokens.min(rate.max(1.0));
    }

    /// When the next token is there; `None` when one is there now.
    pub(crate) fn next_token(&mut self, now: UnixMs) -> Option<UnixMs> {
        self.refill(now);
        let missing = 1.0 - self.tokens;
        // A hair less than one token is rounding, not a shortage.
        (missing > 1e-6).then(|| {
            let wait = Duration::from_secs_f64((missing / self.rate).min(3600.0));
            now.plus(wait.max(Duration::from_millis(1)) + Duration::from_micros(999))
        })
    }

    /// Takes one token.
    pub(crate) fn take(&mut self, now: UnixMs) {
        self.refill(now);
        self.tokens = (self.tokens - 1.0).max(0.0);
    }

    /// Returns a token that was not used.
    pub(crate) fn give_back(&mut self, now: UnixMs) {
        self.refill(now);
        self.tokens = (self.tokens + 1.0).min(self.rate.max(1.0));
    }

    fn refill(&mut self, now: UnixMs) {
        let brought = now.since(self.at).as_secs_f64() * self.rate;
        self.tokens = (self.tokens + brought).min(self.rate.max(1.0));
        self.at = self.at.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_brings_what_the_rate_says() {
        let mut token_bucket = TokenBucket::new(4.0, UnixMs(0));
        let mut passed = 0;
        for ms in 0..10_000 {
            if token_bucket.next_token(UnixMs(ms)).is_none() {
                token_bucket.take(UnixMs(ms));
                passed += 1;
            }
        }
        assert!((43..=44).contains(&passed), "{passed}");
    }

    #[test]
    fn the_moment_it_names_is_early_enough_and_true() {
        for rate in [0.01, 0.3, 1.0, 7.0, 999.0] {
            let mut token_bucket = TokenBucket::new(rate, UnixMs(5));
            for _ in 0..20 {
                let now = token_bucket.at;
                match token_bucket.next_token(now) {
                    None => token_bucket.take(now),
                    Some(then) => {
                        assert!(then > now);
                        assert_eq!(token_bucket.next_token(then), None, "rate {rate}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_token_given_back_is_there_and_none_beyond_the_bucket() {
        let mut token_bucket = TokenBucket::new(1.0, UnixMs(0));
        token_bucket.take(UnixMs(0));
        assert!(token_bucket.next_token(UnixMs(0)).is_some());
        token_bucket.give_back(UnixMs(0));
        token_bucket.give_back(UnixMs(0));
        assert_eq!(token_bucket.next_token(UnixMs(0)), None);
        token_bucket.take(UnixMs(0));
        assert!(token_bucket.next_token(UnixMs(0)).is_some(), "a bucket of one holds one");
    }

    #[test]
    fn a_clock_set_back_brings_nothing() {
        let mut token_bucket = TokenBucket::new(1.0, UnixMs(10_000));
        token_bucket.take(UnixMs(10_000));
        assert!(token_bucket.next_token(UnixMs(0)).is_some());
    }
}
