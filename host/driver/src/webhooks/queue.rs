//! Which webhook may send now: one delivery at a time for each, not before it is due, not while its receiver is believed to
//! be down, and not while its customer has its share of what is under way. Pure: time and chance come in as arguments.
//!
//! Holds one entry for a webhook with something to send, or with a receiver that is believed to be down; the deliveries
//! themselves wait in the store. A queue of callbacks is a webhook here.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use gatehouse_model::{CustomerId, DeliveryId, Digest, UnixMs, WebhookId};
use gatehouse_upstream::{Admission, Breaker};

/// Attempts under way at once, of all webhooks.
const MAX_IN_FLIGHT: usize = 128;
/// Attempts under way at once, of one customer's webhooks.
const MAX_OF_CUSTOMER: usize = 16;
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

/// A delivery that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) due: UnixMs,
    pub(crate) delivery: DeliveryId,
    pub(crate) customer: CustomerId,
    /// A digest of the webhook's address; `None` for a callback, whose queue is of one host.
    pub(crate) address: Option<Digest>,
}

/// The webhooks with something to send.
#[derive(Debug, Default)]
pub(crate) struct WebhookQueue {
    webhooks: BTreeMap<WebhookId, Entry>,
    due: BTreeSet<(UnixMs, WebhookId)>,
    /// Customers with attempts under way.
    customers: BTreeMap<CustomerId, Share>,
    in_flight: usize,
}

#[derive(Debug, Default)]
struct Entry {
    next: Option<Waiting>,
    /// Whose attempt is under way.
    in_flight: Option<CustomerId>,
    /// The address that `breaker` and `not_before` are about.
    address: Option<Digest>,
    breaker: Breaker,
    not_before: UnixMs,
    /// Where it is in `due`, or was before its customer had its share.
    listed: Option<UnixMs>,
}

#[derive(Debug, Default)]
struct Share {
    in_flight: usize,
    /// Webhooks that are due, and wait for an attempt of the same customer to end.
    held: BTreeSet<(UnixMs, WebhookId)>,
}

impl WebhookQueue {
    /// What is due next for a webhook; `None` where nothing waits, or nothing may be sent.
    pub(crate) fn look(&mut self, id: WebhookId, next: Option<Waiting>, now: UnixMs) {
        let entry = self.webhooks.entry(id).or_default();
        if let Some(listed) = entry.listed.take() {
            self.due.remove(&(listed, id));
            let share = entry.next.as_ref().and_then(|before| self.customers.get_mut(&before.customer));
            if let Some(share) = share {
                share.held.remove(&(listed, id));
            }
        }
        entry.next = next;
        if entry.in_flight.is_some() {
            return;
        }
        // Not while an attempt is under way: it may be at the address before, and its end is of that one.
        if let Some(next) = &entry.next
            && next.address != entry.address
        {
            (entry.address, entry.breaker) = (next.address, Breaker::default());
            entry.not_before = UnixMs(0);
        }
        let open = match entry.breaker.admission(now) {
            Admission::NotBefore(until) => until,
            _ => UnixMs(0),
        };
        let bad_until = entry.not_before.max(open);
        let listed = match &entry.next {
            Some(next) => next.due.max(bad_until),
            // What is known of a receiver is kept while it is bad, and no longer: hosts without end may be down.
            None if bad_until > now => bad_until,
            None => return drop(self.webhooks.remove(&id)),
        };
        entry.listed = Some(listed);
        self.due.insert((listed, id));
    }

    /// The next one that may begin. Customers who have few under way come before one who has many: each has fewer than there
    /// are places left, so that there is always one for somebody else.
    pub(crate) fn take(&mut self, now: UnixMs) -> Option<(WebhookId, DeliveryId)> {
        let share = MAX_OF_CUSTOMER.min(self.places());
        while share > 0 && self.next_due().is_some_and(|due| due <= now) {
            let (due, id) = self.due.pop_first()?;
            let entry = self.webhooks.get_mut(&id)?;
            let Some(next) = &entry.next else {
                self.webhooks.remove(&id);
                continue;
            };
            let of_customer = self.customers.entry(next.customer.clone()).or_default();
            if of_customer.in_flight >= share {
                of_customer.held.insert((due, id));
                continue;
            }
            let Waiting { delivery, customer, .. } = entry.next.take()?;
            (entry.listed, entry.in_flight) = (None, Some(customer));
            of_customer.in_flight += 1;
            self.in_flight += 1;
            if entry.breaker.admission(now) == Admission::Trial {
                entry.breaker.begin_trial();
            }
            return Some((id, delivery));
        }
        None
    }

    /// An attempt ended. [`Self::look`] must follow.
    pub(crate) fn ended(&mut self, id: WebhookId, end: AttemptEnd, now: UnixMs, chance: f64) {
        let entry = self.webhooks.entry(id).or_default();
        if let Some(customer) = entry.in_flight.take() {
            self.in_flight = self.in_flight.saturating_sub(1);
            if let Some(share) = self.customers.get_mut(&customer) {
                share.in_flight = share.in_flight.saturating_sub(1);
                // Two, so that a share which was small in a crowd grows again.
                for _ in 0..2 {
                    self.due.extend(share.held.pop_first());
                }
                if share.in_flight == 0 {
                    self.due.append(&mut share.held);
                    self.customers.remove(&customer);
                }
            }
        }
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

    /// When the next one may begin; not known where all places are taken: then an attempt must end first.
    pub(crate) fn next_due(&self) -> Option<UnixMs> {
        self.due.first().map(|(due, _)| *due).filter(|_| self.places() > 0)
    }

    /// How many may begin now.
    fn places(&self) -> usize {
        MAX_IN_FLIGHT.saturating_sub(self.in_flight)
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

    fn next(due: u64, number: u128) -> Option<Waiting> {
        of("c", due, number)
    }

    fn of(customer: &str, due: u64, number: u128) -> Option<Waiting> {
        let customer = CustomerId(customer.to_owned());
        let address = Some(Digest::of(b"https://example.com/hook"));
        Some(Waiting { due: UnixMs(due), delivery: delivery(number), customer, address })
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

    /// Without it a receiver that works would hear nothing until the pause of the one before it is over.
    #[test]
    fn a_new_address_is_not_held_up_by_what_is_known_of_the_one_before() {
        let throttled = AttemptEnd::Throttled(Duration::from_secs(30));
        for (end, times, moves_during_attempt) in [
            (throttled, 1, false),
            (throttled, 1, true),
            (AttemptEnd::Failed, 5, false),
            (AttemptEnd::Failed, 5, true),
        ] {
            let mut queue = WebhookQueue::default();
            let moved = || {
                let address = Some(Digest::of(b"https://example.org/hook"));
                next(0, 9).map(|next| Waiting { address, ..next })
            };
            for round in 1..=times {
                queue.look(ONE, next(0, round), UnixMs(0));
                assert_eq!(queue.take(UnixMs(0)), Some((ONE, delivery(round))));
                if moves_during_attempt && round == times {
                    queue.look(ONE, moved(), UnixMs(0));
                }
                queue.ended(ONE, end, UnixMs(0), 0.0);
            }
            if !moves_during_attempt {
                queue.look(ONE, next(0, 9), UnixMs(0));
                assert_eq!(queue.take(UnixMs(0)), None, "{end:?}: the same address");
                queue.look(ONE, None, UnixMs(0));
            }
            queue.look(ONE, moved(), UnixMs(0));
            assert_eq!(queue.take(UnixMs(0)), Some((ONE, delivery(9))), "{end:?} {moves_during_attempt}");
        }
    }

    #[test]
    fn nothing_is_kept_of_a_webhook_that_has_nothing_to_send_once_it_is_well_or_its_pause_is_over() {
        for (end, kept_until) in [
            (AttemptEnd::Taken, None),
            (AttemptEnd::Failed, None),
            (AttemptEnd::Throttled(Duration::from_secs(9)), Some(UnixMs(9_000))),
        ] {
            let mut queue = WebhookQueue::default();
            queue.look(ONE, next(0, 1), UnixMs(0));
            queue.take(UnixMs(0)).unwrap();
            queue.ended(ONE, end, UnixMs(0), 0.0);
            queue.look(ONE, None, UnixMs(0));
            assert_eq!((queue.next_due(), queue.webhooks.len()), (kept_until, kept_until.iter().len()));
            assert_eq!(queue.take(UnixMs(9_000)), None);
            assert!(
                queue.webhooks.is_empty() && queue.due.is_empty() && queue.customers.is_empty(),
                "{end:?}"
            );
        }
    }

    /// All that may begin now.
    fn begun(queue: &mut WebhookQueue) -> Vec<WebhookId> {
        std::iter::from_fn(|| queue.take(UnixMs(0))).map(|(id, _)| id).collect()
    }

    /// Without it some customers with slow receivers would have every place, and nobody else would hear anything.
    #[test]
    fn customers_with_slow_receivers_leave_places_for_others() {
        for crowd in [1, 8, 40, 127] {
            let mut queue = WebhookQueue::default();
            for number in 0..crowd * 30 {
                let customer = format!("slow {}", number % crowd);
                queue.look(WebhookId::from_bits(number), of(&customer, 0, number), UnixMs(0));
            }
            let slow = begun(&mut queue);
            assert_eq!(queue.next_due(), None, "{crowd}: the rest waits for an end");
            let most = queue.customers.values().map(|share| share.in_flight).max();
            assert!(most <= Some(MAX_OF_CUSTOMER) && queue.places() > 0, "{crowd}: {most:?}");
            queue.look(WebhookId::from_bits(1 << 64), of("other", 0, 1), UnixMs(0));
            assert_eq!(begun(&mut queue), [WebhookId::from_bits(1 << 64)], "{crowd}");
            // Each end lets what was held begin, until nothing is left.
            let (mut running, mut done) = (slow, 0);
            running.push(WebhookId::from_bits(1 << 64));
            while let Some(id) = running.pop() {
                queue.ended(id, AttemptEnd::Taken, UnixMs(0), 0.0);
                queue.look(id, None, UnixMs(0));
                running.extend(begun(&mut queue));
                done += 1;
            }
            assert_eq!(done, crowd * 30 + 1);
            assert!(queue.webhooks.is_empty() && queue.due.is_empty() && queue.customers.is_empty());
            assert_eq!(queue.in_flight, 0);
        }
    }

    /// Without it a customer that was held back in a crowd would stay slow when the crowd is gone.
    #[test]
    fn a_share_that_was_small_grows_again() {
        let mut queue = WebhookQueue::default();
        for number in 0..120 {
            queue.look(WebhookId::from_bits(1_000 + number), of(&format!("{number}"), 0, number), UnixMs(0));
        }
        let crowd = begun(&mut queue);
        for number in 0..100 {
            queue.look(WebhookId::from_bits(number), of("c", 0, number), UnixMs(0));
        }
        let mut running = begun(&mut queue);
        assert_eq!(running.len(), 4);
        for id in crowd {
            queue.ended(id, AttemptEnd::Taken, UnixMs(0), 0.0);
            queue.look(id, None, UnixMs(0));
        }
        for _ in 0..2 * MAX_OF_CUSTOMER {
            let id = running.remove(0);
            queue.ended(id, AttemptEnd::Taken, UnixMs(0), 0.0);
            queue.look(id, None, UnixMs(0));
            running.extend(begun(&mut queue));
        }
        assert_eq!(running.len(), MAX_OF_CUSTOMER);
        // One that is held may have nothing to send any more.
        let held = *queue.customers.values().flat_map(|share| &share.held).next().unwrap();
        queue.look(held.1, None, UnixMs(0));
        assert!(queue.customers.values().all(|share| !share.held.contains(&held)));
    }
}
