//! How fast permits come to those that wait: what an honest estimate of a wait is made of. Pure.

use std::time::Duration;

use gatehouse_model::UnixMs;

/// Measured over this long at least once it has gone by, and twice as long at most.
const WINDOW: Duration = Duration::from_secs(300);
/// Fewer permits than this are no measure.
const MIN_SERVED: u64 = 4;

/// Permits that came while others waited for theirs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    /// The window under way; none while nobody waits.
    since: Option<UnixMs>,
    served: u64,
    /// The window before.
    before: (Duration, u64),
}

impl Pace {
    /// Somebody waits.
    pub(crate) fn begin(&mut self, now: UnixMs) {
        self.since.get_or_insert(now);
    }

    /// A waiter got its permit.
    pub(crate) fn serve(&mut self, now: UnixMs) {
        self.served += 1;
        let Some(since) = self.since else { return };
        let span = now.since(since);
        if span >= WINDOW {
            *self = Self { since: Some(now), served: 0, before: (span, self.served) };
        }
    }

    /// Nobody waits any more: what was measured says nothing of the next time.
    pub(crate) fn end(&mut self) {
        *self = Self::default();
    }

    /// The time from one permit to the next; `None` while too few have come.
    pub(crate) fn interval(&self, now: UnixMs) -> Option<Duration> {
        let (span, served) = self.before;
        let (span, served) = (span + now.since(self.since?), served + self.served);
        (served >= MIN_SERVED).then(|| span / u32::try_from(served).unwrap_or(u32::MAX))
    }
}
