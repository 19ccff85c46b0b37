//! When to ask again. The host adds jitter and honours `Retry-After`; these only give the rhythm.

use std::time::Duration;

use crate::{Context, UnixMs};

/// Never ask a provider more often than this.
pub const SHORTEST: Duration = Duration::from_secs(2);
/// Never leave a task unasked for longer than this.
pub const LONGEST: Duration = Duration::from_secs(30);

/// The next moment to poll a job that has been running since `since`: an eighth of the time it has taken
/// so far, between 2 and 30 seconds, so that a short job is noticed soon and a long one costs little.
///
/// ```
/// use std::time::Duration;
/// use gatehouse_sdk::{Context, UnixMs, pace};
///
/// let start = UnixMs(1_000_000);
/// assert_eq!(pace::poll(&Context::at(start), start), start.plus(Duration::from_secs(2)));
///
/// let later = start.plus(Duration::from_secs(80));
/// assert_eq!(pace::poll(&Context::at(later), start), later.plus(Duration::from_secs(10)));
/// ```
#[must_use]
pub fn poll(cx: &Context, since: UnixMs) -> UnixMs {
    cx.now.plus((cx.now.since(since) / 8).clamp(SHORTEST, LONGEST))
}

/// How long to rest after the `attempt`-th fault in a row (the first is 1): 2, 4, 8, 16, then 30 seconds.
///
/// ```
/// use gatehouse_sdk::pace;
///
/// let rests: Vec<_> = (1..=6).map(|attempt| pace::backoff(attempt).as_secs()).collect();
/// assert_eq!(rests, [2, 4, 8, 16, 30, 30]);
/// ```
#[must_use]
pub fn backoff(attempt: u32) -> Duration {
    Duration::from_secs(1_u64 << attempt.min(5)).clamp(SHORTEST, LONGEST)
}
