//! When to poll again, how long to wait for anything else, and how far a job probably is. The host adds jitter and honours
//! `Retry-After`; these functions give the interval.
//!
//! An operator may set other bounds in the plugin's settings, for every family alike:
//! `[plugins.settings.<family>.pace]` with `shortest_ms` and `longest_ms`.

use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::time::Duration;

use gatehouse_contract::MAX_WAIT;
use serde::Deserialize as _;

use crate::contract::context::{Context, UnixMs};
pub use crate::contract::manifest::PaceSettings;

/// The shortest interval, unless the operator sets `pace.shortest_ms`.
pub const SHORTEST: Duration = Duration::from_secs(2);
/// The longest interval, unless the operator sets `pace.longest_ms`.
pub const LONGEST: Duration = Duration::from_secs(30);

/// The next moment to poll a job that has been running since `since`: an eighth of the time it has run
/// so far, between 2 and 30 seconds. A short job is seen soon, and a long one costs few polls.
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
    let (shortest, longest) = bounds(cx);
    cx.now.plus((cx.now.since(since) / 8).clamp(shortest, longest))
}

/// When to try again after the `attempt`-th fault in a row (the first is 1): in 2, 4, 8, 16, then 30 seconds.
///
/// ```
/// use gatehouse_sdk::{Context, UnixMs, pace};
///
/// let cx = Context::at(UnixMs(1_000_000));
/// let rests: Vec<_> = (1..=6).map(|attempt| pace::backoff(&cx, attempt).since(cx.now).as_secs()).collect();
/// assert_eq!(rests, [2, 4, 8, 16, 30, 30]);
///
/// let hurried = Context { settings: serde_json::json!({"pace": {"shortest_ms": 10}}), ..cx };
/// assert_eq!(pace::backoff(&hurried, 3).since(hurried.now).as_millis(), 40);
/// ```
#[must_use]
pub fn backoff(cx: &Context, attempt: u32) -> UnixMs {
    let (shortest, longest) = bounds(cx);
    cx.now.plus((shortest * (1 << attempt.saturating_sub(1).min(16))).clamp(shortest, longest))
}

/// The task's deadline, or 24 hours from now where that is earlier: a host takes no longer wait. For a task that waits for
/// something other than time. When the timer comes before the deadline, the family waits again.
///
/// ```
/// use std::time::Duration;
/// use gatehouse_sdk::{Context, UnixMs, pace};
///
/// let cx = Context::at(UnixMs(1_000_000));
/// assert_eq!(pace::until_deadline(&cx), cx.deadline);
///
/// let day = Duration::from_secs(24 * 60 * 60);
/// let patient = Context { deadline: cx.now.plus(2 * day), ..cx };
/// assert_eq!(pace::until_deadline(&patient), patient.now.plus(day));
/// ```
#[must_use]
pub fn until_deadline(cx: &Context) -> UnixMs {
    cx.now.plus(cx.deadline.since(cx.now).min(MAX_WAIT))
}

/// The progress, percent, of a job whose provider tells none: from the first percent of `range` to
/// its last in the `usual` duration.
///
/// ```
/// use std::time::Duration;
/// use gatehouse_sdk::{Context, UnixMs, pace};
///
/// let since = UnixMs(1_000_000);
/// let after = |seconds| {
///     let cx = Context::at(since.plus(Duration::from_secs(seconds)));
///     pace::estimate(&cx, since, Duration::from_secs(100), 10..=95)
/// };
/// assert_eq!([after(0), after(50), after(100), after(1000)], [10, 52, 95, 95]);
/// ```
#[must_use]
pub fn estimate(cx: &Context, since: UnixMs, usual: Duration, range: RangeInclusive<u8>) -> u8 {
    let (first, highest) = range.into_inner();
    let span = highest.saturating_sub(first);
    let share = cx.now.since(since).as_millis() * u128::from(span) / usual.as_millis().max(1);
    first + u8::try_from(share).map_or(span, |share| share.min(span))
}

/// The operator's bounds, or the defaults; with an invalid value, which a host refuses by the family's schema, the defaults.
fn bounds(cx: &Context) -> (Duration, Duration) {
    let pace = PaceSettings::deserialize(&cx.settings["pace"]).unwrap_or_default();
    let read =
        |ms: Option<NonZeroU32>, default| ms.map_or(default, |ms| Duration::from_millis(u64::from(ms.get())));
    let shortest = read(pace.shortest_ms, SHORTEST);
    (shortest, read(pace.longest_ms, LONGEST).max(shortest))
}
