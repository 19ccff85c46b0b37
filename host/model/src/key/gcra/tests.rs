//! The rate algorithm against plain counting and against a bucket of tokens.

use std::num::NonZeroU32;
use std::time::Duration;

use proptest::prelude::*;

use super::*;

const START: UnixMs = UnixMs(1_800_000_000_000);

fn rate(rate: u32) -> NonZeroU32 {
    NonZeroU32::new(rate).unwrap()
}

fn after(millis: u64) -> UnixMs {
    UnixMs(START.0 + millis)
}

/// Takes the amount if it is there.
fn admit(state: &mut Gcra, limit: NonZeroU32, amount: u32, now: UnixMs) -> RateVerdict {
    let verdict = state.check(limit, amount, now);
    if verdict == RateVerdict::Now {
        state.take(limit, amount, now);
    }
    verdict
}

#[test]
fn a_limit_comes_at_once_and_grows_back_evenly() {
    let (mut state, limit) = (Gcra::default(), rate(5));
    for left in (0..5).rev() {
        assert_eq!(admit(&mut state, limit, 1, START), RateVerdict::Now);
        assert_eq!(state.remaining(limit, START), left);
    }
    assert_eq!(state.until_full(START), Duration::from_secs(60));
    assert_eq!(admit(&mut state, limit, 1, START), RateVerdict::After(Duration::from_secs(12)));
    assert_eq!(admit(&mut state, limit, 3, after(11_999)), RateVerdict::After(Duration::from_millis(24_001)));
    assert_eq!(state.remaining(limit, after(11_999)), 0);
    assert_eq!(admit(&mut state, limit, 1, after(12_000)), RateVerdict::Now);
    assert_eq!(state.remaining(limit, after(71_999)), 4);
    assert_eq!(state.remaining(limit, after(72_000)), 5);
    assert_eq!(state.until_full(after(72_000)), Duration::ZERO);
}

#[test]
fn more_than_the_whole_limit_never_comes() {
    let state = Gcra::default();
    assert_eq!(state.check(rate(5), 6, START), RateVerdict::Never);
    assert_eq!(state.check(rate(u32::MAX), u32::MAX, START), RateVerdict::Now);
}

#[test]
fn an_edit_keeps_what_was_taken() {
    let mut state = Gcra::default();
    state.take(rate(10), 5, START);
    // Half of the old limit is half of the new one.
    assert_eq!(state.remaining(rate(10), START), 5);
    assert_eq!(state.remaining(rate(100), START), 50);
    assert_eq!(state.remaining(rate(1), START), 0);
    assert_eq!(state.until_full(START), Duration::from_secs(30));
}

#[test]
fn what_was_taken_too_much_is_given_back_but_not_twice() {
    let (mut state, limit) = (Gcra::default(), rate(100));
    let taken = state.take(limit, 80, START);
    state.give_back(limit, 60, taken, START);
    assert_eq!(state.remaining(limit, START), 80);
    // 20 are missing; they are back after 12 s. What was taken then stays taken.
    let later = after(60_000);
    state.take(limit, 100, later);
    state.give_back(limit, 20, taken, later);
    assert_eq!(state.remaining(limit, later), 0);
}

#[test]
fn a_debt_is_a_minute_at_most() {
    let (mut state, limit) = (Gcra::default(), rate(100));
    state.take(limit, 100, START);
    state.take_more(limit, 50, START);
    assert_eq!(state.check(limit, 1, START), RateVerdict::After(Duration::from_millis(30_600)));
    state.take_more(limit, u64::MAX, START);
    assert_eq!(state.remaining(limit, START), 0);
    assert_eq!(state.check(limit, 100, START), RateVerdict::After(Duration::from_secs(120)));
    assert_eq!(state.until_full(START), Duration::from_secs(120));
    // A debt that is there already is not forgiven by a later one.
    state.take_more(limit, 0, START);
    assert_eq!(state.until_full(START), Duration::from_secs(120));
}

/// What happens at some moment, after the one before.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    pause_ms: u64,
    amount: u32,
}

fn arrivals(most: u32) -> impl Strategy<Value = Vec<Arrival>> {
    let pause_ms = prop_oneof![3 => Just(0), 3 => 0..2_000_u64, 1 => 0..90_000_u64];
    let arrival = (pause_ms, 1..=most).prop_map(|(pause_ms, amount)| Arrival { pause_ms, amount });
    proptest::collection::vec(arrival, 1..80)
}

/// Limits whose share of a minute is a whole number of nanoseconds.
fn even_limit() -> impl Strategy<Value = u32> {
    proptest::sample::select(vec![1, 2, 3, 4, 5, 6, 10, 12, 15, 60, 100, 250, 1_000, 6_000])
}

fn moments(arrivals: &[Arrival]) -> Vec<(UnixMs, u32)> {
    let mut now = START;
    let at = |arrival: &Arrival| {
        now = UnixMs(now.0 + arrival.pause_ms);
        (now, arrival.amount)
    };
    arrivals.iter().map(at).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// In any window no more than the whole limit and what grows back meanwhile.
    #[test]
    fn no_window_admits_more(limit in 1..2_000_u32, arrivals in arrivals(50)) {
        let mut state = Gcra::default();
        let mut admitted: Vec<(UnixMs, u32)> = Vec::new();
        for (now, amount) in moments(&arrivals) {
            if admit(&mut state, rate(limit), amount, now) == RateVerdict::Now {
                admitted.push((now, amount));
            }
        }
        for from in 0..admitted.len() {
            let mut sum = 0;
            for (at, amount) in &admitted[from..] {
                sum += u64::from(*amount);
                let span_ms = at.0 - admitted[from].0.0;
                // In units of a 60,000th; the share of a nanosecond may be rounded in the client's favour.
                let most = u64::from(limit) * (60_000 + span_ms) + 1;
                prop_assert!(sum * 60_000 <= most, "{sum} within {span_ms} ms");
            }
        }
    }

    /// A refusal changes nothing, and what it says is exact: then it passes, and a millisecond earlier it does not.
    #[test]
    fn a_refusal_says_when(limit in 1..2_000_u32, arrivals in arrivals(50)) {
        let mut state = Gcra::default();
        for (now, amount) in moments(&arrivals) {
            let before = state;
            let remaining = state.remaining(rate(limit), now);
            match admit(&mut state, rate(limit), amount, now) {
                RateVerdict::Now => prop_assert!(amount <= remaining),
                RateVerdict::Never => prop_assert!(amount > limit),
                RateVerdict::After(wait) => {
                    prop_assert!(amount > remaining);
                    prop_assert_eq!(before, state);
                    prop_assert_eq!(state.check(rate(limit), amount, now.plus(wait)), RateVerdict::Now);
                    let earlier = UnixMs(now.plus(wait).0 - 1);
                    prop_assert_ne!(state.check(rate(limit), amount, earlier), RateVerdict::Now);
                }
            }
            prop_assert_eq!(state.until_full(now) == Duration::ZERO, state.remaining(rate(limit), now) == limit);
        }
    }

    /// Several limits are checked before any is taken from: their order does not matter.
    #[test]
    fn the_order_of_limits_does_not_matter(limits in proptest::collection::vec(1..40_u32, 2..4), arrivals in arrivals(3)) {
        let run = |order: &[u32]| {
            let mut states = vec![Gcra::default(); order.len()];
            moments(&arrivals).into_iter().map(|(now, amount)| {
                let wait = |(state, limit): (&Gcra, &u32)| state.check(rate(*limit), amount, now);
                let passes = states.iter().zip(order).map(wait).all(|verdict| verdict == RateVerdict::Now);
                if passes {
                    for (state, limit) in states.iter_mut().zip(order) {
                        state.take(rate(*limit), amount, now);
                    }
                }
                passes
            }).collect::<Vec<bool>>()
        };
        let reversed: Vec<u32> = limits.iter().rev().copied().collect();
        prop_assert_eq!(run(&limits), run(&reversed));
    }

    /// Corrections never admit more than was given back.
    #[test]
    fn corrections_give_nothing_away(
        limit in 10..500_u32, arrivals in arrivals(50), kept in proptest::collection::vec(0..=100_u32, 80), late in 0..5_000_u64,
    ) {
        let limit = rate(limit);
        let mut state = Gcra::default();
        for ((now, amount), percent) in moments(&arrivals).into_iter().zip(kept) {
            let before = state;
            if admit(&mut state, limit, amount, now) == RateVerdict::Now {
                let all = state;
                let taken = all.tat;
                let end = now.plus(Duration::from_millis(late));
                state.give_back(limit, amount * (100 - percent) / 100, taken, end);
                // Never more is there than if the request had not come, nor less than if it had kept everything.
                prop_assert!(state.remaining(limit, end) <= before.remaining(limit, end));
                prop_assert!(state.remaining(limit, end) >= all.remaining(limit, end));
            }
        }
    }

    /// Without corrections it decides as a bucket of tokens does, which is filled by the millisecond.
    #[test]
    fn it_agrees_with_a_token_bucket(limit in even_limit(), arrivals in arrivals(30)) {
        // In 60,000ths of one: what a millisecond adds is then a whole number.
        let capacity = u64::from(limit) * 60_000;
        let (mut state, mut bucket, mut last) = (Gcra::default(), capacity, START);
        for (now, amount) in moments(&arrivals) {
            let wanted = u64::from(amount) * 60_000;
            bucket = capacity.min(bucket + (now.0 - last.0) * u64::from(limit));
            last = now;
            let theirs = wanted <= bucket;
            bucket -= if theirs { wanted } else { 0 };
            let ours = admit(&mut state, rate(limit), amount, now) == RateVerdict::Now;
            prop_assert_eq!(ours, theirs, "{} of {} at {}", amount, limit, now);
            prop_assert_eq!(u64::from(state.remaining(rate(limit), now)), bucket / 60_000);
        }
    }
}
