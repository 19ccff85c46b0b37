//! How customers share an account's permits: fair order, reserve, waits, streams that nobody reads.

use std::collections::{BTreeMap, VecDeque};

use futures_util::FutureExt as _;
use gatehouse_model::KeyId;
use proptest::prelude::*;

use super::*;
use crate::pool::account::{HealthSignal, NoPermit};
use crate::pool::accounts::Wanted;
use crate::pool::waiting::{Claimant, Permits, Waiting};

fn claimant(customer: &str) -> Claimant {
    Claimant { customer: CustomerId(customer.to_owned()), key: KeyId("key".to_owned()) }
}

fn account(settings: &str, more: &str) -> Upstream {
    let text = format!("{more}\n{}", provider(API, settings));
    upstream_with(&text, TestClock::at(0), Arc::new(SystemResolver))
}

/// Permits granted so far, in order, by customer.
#[derive(Clone, Default)]
pub(super) struct Granted(Arc<Mutex<VecDeque<(String, Permits)>>>);

impl Granted {
    pub(super) fn ask(&self, upstream: &Upstream, name: &str) -> Option<Waiting> {
        let (granted, of) = (self.clone(), name.to_owned());
        let grant = move |permits| granted.0.lock().unwrap().push_back((of, permits));
        match upstream.acquire_or_wait("p", &claimant(name), Wanted::of(None), grant) {
            Ok(permits) => {
                self.0.lock().unwrap().push_back((name.to_owned(), permits));
                None
            }
            Err((_, waiting)) => Some(waiting.expect("a known provider")),
        }
    }

    fn take(&self, at: usize) -> Option<(String, Permits)> {
        self.0.lock().unwrap().remove(at)
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.0.lock().unwrap().iter().map(|(name, _)| name.clone()).collect()
    }

    fn count(&self, of: &str) -> usize {
        self.0.lock().unwrap().iter().filter(|(name, _)| name == of).count()
    }
}

#[test]
fn a_returned_permit_goes_to_the_customer_with_the_fewest() {
    let (upstream, granted) = (account("concurrency = 5", ""), Granted::default());
    let mut waiting: Vec<_> = (0..20).map(|_| granted.ask(&upstream, "a")).collect();
    waiting.extend(["b", "c", "b"].map(|name| granted.ask(&upstream, name)));
    assert_eq!(granted.names(), ["a"; 5]);
    for _ in 0..5 {
        drop(granted.take(0));
    }
    assert_eq!(granted.names(), ["b", "c", "b", "a", "a"], "however many a had asked for before");
}

#[test]
fn a_weight_is_a_larger_share() {
    let (upstream, granted) = (account("concurrency = 4", "[fairness.weights]\nb = 3\n"), Granted::default());
    let waiting: Vec<_> =
        ["a", "a", "a", "a", "b", "b", "b", "b", "a", "a"].map(|name| granted.ask(&upstream, name)).into();
    for _ in 0..4 {
        drop(granted.take(0));
    }
    assert_eq!((granted.count("a"), granted.count("b")), (1, 3));
    drop(waiting);
}

#[test]
fn a_waiter_that_left_is_passed_over_and_returns_nothing() {
    let (upstream, granted) = (account("concurrency = 1", ""), Granted::default());
    assert!(granted.ask(&upstream, "a").is_none());
    let (left, stays) = (granted.ask(&upstream, "b"), granted.ask(&upstream, "c"));
    drop(left);
    drop(granted.take(0));
    assert_eq!(granted.names(), ["c"]);
    drop((granted.take(0), stays));
    assert!(upstream.acquire_account("p", &acme(), None).is_ok());
}

/// A shutdown drops thousands of waiters that nobody owns any more: each returns its permit to the next. One call within
/// another for each of them would overflow the stack, and abort the process in the middle of its shutdown.
#[test]
fn any_number_of_waiters_whose_owner_is_gone_takes_the_same_stack() {
    const WAITERS: usize = 20_000;
    let (upstream, told) = (account("concurrency = 1", ""), Arc::new(AtomicUsize::new(0)));
    let held = upstream.acquire_account("p", &acme(), None).unwrap();
    let waiting: Vec<_> = (0..WAITERS)
        .map(|_| {
            let told = Arc::clone(&told);
            let grant = move |permits| {
                told.fetch_add(1, Ordering::Relaxed);
                drop::<Permits>(permits);
            };
            upstream.acquire_or_wait("p", &claimant("a"), Wanted::of(None), grant).unwrap_err().1
        })
        .collect();
    let small = std::thread::Builder::new().stack_size(128 << 10);
    small.spawn(move || drop(held)).unwrap().join().unwrap();
    assert_eq!(told.load(Ordering::Relaxed), WAITERS);
    assert!(upstream.acquire_account("p", &acme(), None).is_ok(), "nothing is left behind");
    drop(waiting);
}

/// A waiter that panics takes nobody else's turn.
#[test]
fn a_panic_of_one_waiter_leaves_the_others_in_order() {
    let (upstream, granted) = (account("concurrency = 1", ""), Granted::default());
    let held = upstream.acquire_account("p", &acme(), None).unwrap();
    let panics = upstream
        .acquire_or_wait("p", &claimant("a"), Wanted::of(None), |_| panic!("on purpose"))
        .unwrap_err();
    let waiting = ["b", "c"].map(|name| granted.ask(&upstream, name));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(held))).is_err());
    upstream.pool("p").unwrap().serve_waiting();
    assert_eq!(granted.names(), ["b"]);
    drop(granted.take(0));
    assert_eq!(granted.names(), ["c"]);
    drop((panics, waiting));
}

#[test]
fn nobody_overtakes_those_that_wait() {
    let (upstream, granted) = (account("concurrency = 1", ""), Granted::default());
    assert!(granted.ask(&upstream, "a").is_none());
    let _waiting = granted.ask(&upstream, "a");
    drop(granted.take(0));
    assert_eq!(upstream.acquire_account("p", &CustomerId::from("b"), None).unwrap_err(), NoPermit::Busy);
}

#[test]
fn one_customer_alone_gets_every_permit_and_among_several_not_the_reserve() {
    let upstream = account("concurrency = 16", "");
    let take = |name: &str| {
        std::iter::from_fn(|| upstream.acquire_account("p", &CustomerId::from(name), None).ok())
            .collect::<Vec<_>>()
    };
    assert_eq!(take("a").len(), 16);
    upstream.expect_several_customers();
    let of_a = take("a");
    assert_eq!(of_a.len(), 14);
    let of_b = take("b");
    assert_eq!(of_b.len(), 1, "and leaves one for a third");
    assert_eq!(take("c").len(), 1);
    let none = account("concurrency = 16\nreserve = 0", "");
    none.expect_several_customers();
    let all: Vec<_> = std::iter::from_fn(|| none.acquire_account("p", &acme(), None).ok()).collect();
    assert_eq!(all.len(), 16);
}

/// The first in order may not have what is in reserve; the next one, who uses less, may.
#[test]
fn who_is_denied_the_reserve_is_in_nobodys_way() {
    let upstream = account("concurrency = 6\nreserve = 2", "[fairness.weights]\nheavy = 10\n");
    upstream.expect_several_customers();
    let granted = Granted::default();
    for name in ["heavy", "heavy", "heavy", "light", "c", "d"] {
        assert!(granted.ask(&upstream, name).is_none(), "{name}");
    }
    let waiting = ["heavy", "light"].map(|name| granted.ask(&upstream, name));
    drop(granted.take(4));
    assert_eq!(
        granted.names(),
        ["heavy", "heavy", "heavy", "light", "d"],
        "one is left, and each of them has one"
    );
    drop(granted.take(4));
    assert_eq!(granted.names(), ["heavy", "heavy", "heavy", "light", "light"]);
    drop(waiting);
}

/// Waits in the name of another customer.
fn wait(upstream: &Upstream, longest: Duration) -> impl Future<Output = Result<Permits, NoPermit>> + use<> {
    let upstream = upstream.clone();
    async move { upstream.wait_for_account("p", &claimant("b"), &[], None, longest).await }
}

#[tokio::test]
async fn a_wait_ends_with_a_permit_or_with_its_time() {
    let clock = TestClock::at(0);
    let upstream = pool(&clock, &[("main", "concurrency = 1")]);
    let longest = Duration::from_secs(7);
    let (held, _call) = upstream.acquire_account("p", &acme(), None).unwrap();
    let wait = || wait(&upstream, longest);
    let first = tokio::spawn(wait());
    clock.armed(longest).await;
    clock.advance(longest);
    assert_eq!(first.await.unwrap().unwrap_err(), NoPermit::Busy);
    let second = tokio::spawn(wait());
    clock.armed(longest).await;
    drop(held);
    assert!(second.await.unwrap().is_ok());
    assert!(upstream.acquire_account("p", &acme(), None).is_ok(), "nothing is left behind");
}

/// A 429 pauses an account: who can wait as long gets it afterwards, others are told at once.
#[tokio::test]
async fn a_pause_of_the_account_is_waited_for() {
    let clock = TestClock::at(0);
    let upstream = pool(&clock, &[("main", "")]);
    let pause = Duration::from_secs(3);
    let permits = upstream.acquire_account("p", &acme(), None).unwrap();
    permits.1.report(HealthSignal::RateLimited(Some(pause)));
    drop(permits);
    let refused = wait(&upstream, Duration::from_secs(2)).await;
    assert_eq!(refused.unwrap_err(), NoPermit::Until(UnixMs(3000)));
    let waiting = tokio::spawn(wait(&upstream, Duration::from_secs(4)));
    clock.armed(pause).await;
    clock.advance(pause);
    assert!(waiting.await.unwrap().is_ok());
}

#[test]
fn an_abandoned_permit_is_given_up_once_another_waits() {
    let (upstream, granted) = (account("concurrency = 2", ""), Granted::default());
    for _ in 0..2 {
        assert!(granted.ask(&upstream, "a").is_none());
    }
    let (_, mut first) = granted.take(0).unwrap();
    let (_, mut second) = granted.take(0).unwrap();
    // A wait for the end may be given up and begun again.
    drop(first.0.abandon());
    let ends = [first.0.abandon(), second.0.abandon()];
    let is_told = |end: &Arc<tokio::sync::Notify>| end.notified().now_or_never().is_some();
    assert!(granted.ask(&upstream, "b").is_none() && !is_told(&ends[0]), "it is read on without a permit");
    assert!(granted.ask(&upstream, "c").is_none() && is_told(&ends[1]), "one at a time");
    let waiting = granted.ask(&upstream, "d");
    assert!(waiting.is_some(), "two are in use");
    drop((first, second));
    assert_eq!(granted.names(), ["b", "c"], "what was taken back is not returned again");
    drop(granted.take(0));
    assert_eq!(granted.names(), ["c", "d"]);
}

#[test]
fn an_estimate_follows_the_pace_and_the_customers_own_queue() {
    let clock = TestClock::at(0);
    let upstream = pool(&clock, &[("main", "concurrency = 1")]);
    let granted = Granted::default();
    let waiting: Vec<_> = (0..110).map(|_| granted.ask(&upstream, "a")).collect();
    assert_eq!(upstream.estimated_wait("p", &CustomerId::from("a")), None, "not known yet");
    for _ in 0..10 {
        clock.advance_ms(1000);
        drop(granted.take(0));
    }
    let seconds =
        |name: &str| upstream.estimated_wait("p", &CustomerId::from(name)).map(|wait| wait.as_secs());
    assert_eq!(seconds("a"), Some(100), "99 before it, one a second");
    let estimate = |waiting: &Option<Waiting>| {
        let found = waiting.as_ref()?.estimate()?;
        Some((found.position, found.wait.map(|wait| wait.as_secs())))
    };
    // The first had a permit at once, the next ten have theirs.
    assert_eq!(
        [10, 11, 12, 109].map(|at| estimate(&waiting[at])),
        [None, Some((1, Some(1))), Some((2, Some(2))), Some((99, Some(99))),]
    );
    assert_eq!(seconds("b"), None, "nothing of b's waits");
    let of_b = granted.ask(&upstream, "b");
    assert_eq!(seconds("a"), Some(200), "every other permit is b's");
    assert_eq!((estimate(&waiting[11]), estimate(&of_b)), (Some((1, Some(2))), Some((1, Some(2)))));
    assert!(seconds("b") <= Some(4));
    drop(waiting);
}

/// A run under a virtual clock: every customer has demands of its own, and jobs take as long as they take.
struct Run {
    clock: Arc<TestClock>,
    upstream: Upstream,
    granted: Granted,
    waiting: BTreeMap<String, VecDeque<Waiting>>,
    immediate: Vec<(String, Permits)>,
    /// The end of each job in flight.
    ends: Vec<(u64, String, Permits)>,
}

impl Run {
    fn new(permits: usize) -> Self {
        let clock = TestClock::at(0);
        let upstream = pool(&clock, &[("main", &format!("concurrency = {permits}"))]);
        let (granted, waiting, immediate) = (Granted::default(), BTreeMap::new(), Vec::new());
        Self { clock, upstream, granted, waiting, immediate, ends: Vec::new() }
    }

    fn ask(&mut self, name: &str) {
        match self.granted.ask(&self.upstream, name) {
            Some(position) => self.waiting.entry(name.to_owned()).or_default().push_back(position),
            None => self.immediate.extend(self.granted.0.lock().unwrap().pop_back()),
        }
    }

    /// Asks until so many wait.
    fn fill(&mut self, name: &str, waiting: usize) {
        while self.waiting.get(name).map_or(0, VecDeque::len) < waiting {
            self.ask(name);
        }
    }

    /// One step: jobs that are over end, and those that were granted begin.
    fn step(&mut self, now: u64, mut length: impl FnMut(&str) -> u64) {
        self.clock.advance_ms(100);
        let over: Vec<_> = self.ends.extract_if(.., |(end, ..)| *end <= now).collect();
        drop(over);
        let mut begin = std::mem::take(&mut self.immediate);
        while let Some((name, permits)) = self.granted.take(0) {
            // A customer's positions are served in order.
            drop(self.waiting.get_mut(&name).and_then(VecDeque::pop_front));
            begin.push((name, permits));
        }
        for (name, permits) in begin {
            let end = now + length(&name).max(1);
            self.ends.push((end, name, permits));
        }
    }

    fn used(&self, of: &str) -> usize {
        let immediate = self.immediate.iter().filter(|(name, _)| name == of).count();
        self.ends.iter().filter(|(_, name, _)| name == of).count() + self.granted.count(of) + immediate
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    /// With k customers that always want more, each has at least 1/(k+1) of the permits, on average over the time after
    /// every first job, whatever the others ask for and however long their jobs take.
    #[test]
    fn each_customer_has_its_share(
        customers in 2_usize..6,
        permits in 4_usize..14,
        greed in 1_usize..60,
        seed in any::<u64>(),
    ) {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut run = Run::new(permits);
        let names: Vec<String> = (0..customers).map(|n| format!("c{n}")).collect();
        // The first takes everything before the others come.
        for _ in 0..permits * greed {
            run.ask("c0");
        }
        let longest: Vec<u64> = names.iter().map(|_| random.u64(2..30)).collect();
        let mut shares = vec![0_usize; customers];
        let (warm_up, end) = (60, 460);
        for now in 0..end {
            for name in &names {
                run.fill(name, permits);
            }
            run.step(now, |name| random.u64(1..=longest[name[1..].parse::<usize>().unwrap_or(0)]));
            prop_assert!(run.ends.len() <= permits);
            if now >= warm_up {
                for (share, name) in shares.iter_mut().zip(&names) {
                    *share += run.used(name);
                }
            }
        }
        let least = permits * usize::try_from(end - warm_up).unwrap_or(0) / (customers + 1);
        // Where the time begins and ends, another's job may still be in flight.
        let job = longest.iter().max().map_or(0, |job| usize::try_from(*job).unwrap_or(0));
        for (name, share) in names.iter().zip(&shares) {
            prop_assert!(*share + job >= least, "{name} had {share} of {least} at least; {shares:?}");
        }
    }

}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Each waiter is served after a bounded number of permits, whatever comes and goes meanwhile.
    #[test]
    fn nobody_starves(customers in 1_usize..12, permits in 1_usize..6, seed in any::<u64>()) {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut run = Run::new(permits);
        for now in 0..60 {
            for _ in 0..random.usize(0..4) {
                run.ask(&format!("c{}", random.usize(0..customers)));
            }
            if random.bool() {
                // Some give up.
                let name = format!("c{}", random.usize(0..customers));
                if let Some(positions) = run.waiting.get_mut(&name) {
                    drop(positions.pop_back());
                }
            }
            run.step(now, |_| random.u64(1..6));
        }
        run.ask("patient");
        // A new customer in every step, each with more than enough.
        let mut steps = 0;
        while run.used("patient") == 0 {
            steps += 1;
            prop_assert!(steps < 400, "still waiting");
            for name in [format!("new{steps}"), "c0".to_owned()] {
                run.ask(&name);
            }
            run.step(1000 + steps, |_| random.u64(1..6));
        }
    }
}
