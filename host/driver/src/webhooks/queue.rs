//! Which webhook may send now: one delivery at a time for each, not before it is due, not while its receiver is believed to
//! be down. Pure: time and chance come in as arguments.
//!
//! Holds one entry for a webhook with something to send; the deliveries themselves wait in the store.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use gatehouse_model::{DeliveryId, UnixMs, WebhookId};
use gatehouse_upstream::{Admission, Breaker};

/// A receiver that asks for a pause gets at most this much, for all that waits for it.
const LONGEST_PAUSE: Duration = Duration::from_secs(3_600);

/// How an attempt ended, as far as the next one is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttemptEnd {
    /// Nothing was sent: the webhook or the delivery is gone.
    Nothing,
    /// The receiver took it.
    Taken,
    /// It did not.
    Failed,
    /// It did not, and asks for a pause.
    Throttled(Duration),
}

impl AttemptEnd {
    /// As the metric of attempts names it.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Taken => "taken",
            Self::Failed => "failed",
            Self::Throttled(_) => "throttled",
        }
    }
}

/// The webhooks with something to send.
#[derive(Debug, Default)]
pub(crate) struct WebhookQueue {
    webhooks: BTreeMap<WebhookId, Entry>,
    due: BTreeSet<(UnixMs, WebhookId)>,
}

#[derive(Debug, Default)]
struct Entry {
    next: Option<(UnixMs, DeliveryId)>,
    in_flight: bool,
    breaker: Breaker,
    not_before: UnixMs,
    /// Where it is in `due`.
    listed: Option<UnixMs>,
}

impl WebhookQueue {
    /// What is due next for a webhook; `None` where nothing waits, or nothing may be sent.
    pub(crate) fn look(&mut self, id: WebhookId, next: Option<(UnixMs, DeliveryId)>, now: UnixMs) {
        let entry = self.webhooks.entry(id).or_default();
        entry.next = next;
        if let Some(listed) = entry.listed.take() {
            self.due.remove(&(listed, id));
        }
        if entry.in_flight {
            return;
        }
        match next {
            Some((due, _)) => {
                let open = match entry.breaker.admission(now) {
                    Admission::NotBefore(until) => until,
                    _ => UnixMs(0),
                };
                let due = due.max(entry.not_before).max(open);
                entry.listed = Some(due);
                self.due.insert((due, id));
            }
            // What is known of a receiver is kept while it is bad.
            None if !entry.breaker.is_open() && entry.not_before <= now => drop(self.webhooks.remove(&id)),
            None => {}
        }
    }

    /// The next one that may begin.
    pub(crate) fn take(&mut self, now: UnixMs) -> Option<(WebhookId, DeliveryId)> {
        let (due, id) = *self.due.first()?;
        if due > now {
            return None;
        }
        self.due.pop_first();
        let entry = self.webhooks.get_mut(&id)?;
        entry.listed = None;
        let (_, delivery) = entry.next.take()?;
        entry.in_flight = true;
        if entry.breaker.admission(now) == Admission::Trial {
            entry.breaker.begin_trial();
        }
        Some((id, delivery))
    }

    /// An attempt ended. [`Self::look`] must follow.
    pub(crate) fn ended(&mut self, id: WebhookId, end: AttemptEnd, now: UnixMs, chance: f64) {
        let entry = self.webhooks.entry(id).or_default();
        entry.in_flight = false;
        match end {
            AttemptEnd::Nothing => entry.breaker.abandon_trial(now),
            AttemptEnd::Taken => entry.breaker.succeeded(),
            AttemptEnd::Failed => entry.breaker.failed(now, chance),
            AttemptEnd::Throttled(pause) => {
                entry.breaker.abandon_trial(now);
                entry.not_before = now.plus(pause.min(LONGEST_PAUSE));
            }
        }
    }

    /// When the next one may begin.
    pub(crate) fn next_due(&self) -> Option<UnixMs> {
        self.due.first().map(|(due, _)| *due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: WebhookId = WebhookId::from_bits(1);
    const OTHER: WebhookId = WebhookId::from_bits(2);

    fn delivery(number: u128) -> DeliveryId {
        DeliveryId::from_bits(number)
    }

    fn next(due: u64, number: u128) -> Option<(UnixMs, DeliveryId)> {
        Some((UnixMs(due), delivery(number)))
    }

    #[test]
    fn a_webhook_has_one_in_flight_and_does_not_hold_up_another() {
        let mut queue = WebhookQueue::default();
        queue.look(ONE, next(5, 10), UnixMs(0));
        queue.look(OTHER, next(7, 20), UnixMs(0));
        assert_eq!((queue.take(UnixMs(4)), queue.next_due()), (None, Some(UnixMs(5))));
        assert_eq!(queue.take(UnixMs(9)), Some((ONE, delivery(10))));
        // More comes for it meanwhile.
        queue.look(ONE, next(6, 11), UnixMs(9));
        assert_eq!(queue.take(UnixMs(9)), Some((OTHER, delivery(20))));
        assert_eq!(queue.take(UnixMs(9)), None);
        queue.ended(ONE, AttemptEnd::Taken, UnixMs(9), 0.0);
        queue.look(ONE, next(6, 11), UnixMs(9));
        assert_eq!(queue.take(UnixMs(9)), Some((ONE, delivery(11))));
    }

    #[test]
    fn five_failures_in_a_row_pause_a_webhook_and_one_trial_decides() {
        let mut queue = WebhookQueue::default();
        for round in 0..5 {
            queue.look(ONE, next(0, round), UnixMs(0));
            assert!(queue.take(UnixMs(0)).is_some(), "{round}");
            queue.ended(ONE, AttemptEnd::Failed, UnixMs(0), 0.0);
        }
        queue.look(ONE, next(0, 9), UnixMs(0));
        assert_eq!((queue.take(UnixMs(1_999)), queue.next_due()), (None, Some(UnixMs(2_000))));
        // Nothing waits for a while: it is still known to be down.
        queue.look(ONE, None, UnixMs(0));
        queue.look(ONE, next(0, 9), UnixMs(0));
        assert_eq!(queue.take(UnixMs(2_000)), Some((ONE, delivery(9))));
        queue.ended(ONE, AttemptEnd::Failed, UnixMs(2_000), 0.0);
        queue.look(ONE, next(0, 9), UnixMs(2_000));
        assert_eq!(queue.next_due(), Some(UnixMs(6_000)), "twice as long");
        assert_eq!(queue.take(UnixMs(6_000)), Some((ONE, delivery(9))));
        queue.ended(ONE, AttemptEnd::Taken, UnixMs(6_000), 0.0);
        queue.look(ONE, next(0, 10), UnixMs(6_000));
        assert_eq!(queue.take(UnixMs(6_000)), Some((ONE, delivery(10))));
    }

    #[test]
    fn a_receiver_that_asks_for_a_pause_gets_it_for_all_that_waits() {
        let mut queue = WebhookQueue::default();
        queue.look(ONE, next(0, 1), UnixMs(0));
        queue.take(UnixMs(0)).unwrap();
        queue.ended(ONE, AttemptEnd::Throttled(Duration::from_secs(30)), UnixMs(0), 0.0);
        queue.look(ONE, next(0, 2), UnixMs(0));
        assert_eq!((queue.take(UnixMs(29_999)), queue.next_due()), (None, Some(UnixMs(30_000))));
        queue.take(UnixMs(30_000)).unwrap();
        queue.ended(ONE, AttemptEnd::Throttled(Duration::MAX), UnixMs(0), 0.0);
        queue.look(ONE, next(0, 2), UnixMs(0));
        assert_eq!(queue.next_due(), Some(UnixMs(3_600_000)), "an hour at most");
    }

    #[test]
    fn nothing_is_kept_of_a_webhook_that_is_well_and_has_nothing_to_send() {
        let mut queue = WebhookQueue::default();
        queue.look(ONE, next(0, 1), UnixMs(0));
        queue.take(UnixMs(0)).unwrap();
        queue.ended(ONE, AttemptEnd::Taken, UnixMs(0), 0.0);
        queue.look(ONE, None, UnixMs(0));
        assert!(queue.webhooks.is_empty() && queue.due.is_empty());
    }
}
