//! A fair queue of jobs: the family that has used the least thread time goes first, within it the customer that has, within
//! that begun work, then the key that has. Pure.
//!
//! Shares of time are counted as in a fair scheduler. One that returns after a pause starts at the virtual time of the others: a
//! pause earns it no credit, and time it has overused stays on its account.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::exec::queue::family_queue::{Added, FamilyQueue, Origin, Running};

/// Jobs waiting, by family.
pub(crate) struct FairQueue<J> {
    families: Shares<FamilyQueue<J>>,
}

/// A job that runs, and its family.
#[derive(Debug)]
pub(crate) struct Ticket {
    family: Arc<str>,
    running: Running,
}

impl<J> Default for FairQueue<J> {
    fn default() -> Self {
        Self { families: Shares::default() }
    }
}

impl<J> FairQueue<J> {
    /// Adds a job to its family's queue; see [`FamilyQueue::push`].
    pub(crate) fn push(&mut self, family: &str, origin: &Origin, job: J, limit: u64) -> Added<J> {
        self.families.join(family).push(origin, job, limit)
    }

    /// Jobs of that family's begun work that wait.
    pub(crate) fn begun(&self, family: &str) -> usize {
        self.families.find(family).map_or(0, FamilyQueue::begun)
    }

    /// The next job; [`FairQueue::charge`] must follow when it has ended.
    pub(crate) fn pop(&mut self) -> Option<(Ticket, J)> {
        let family = self.families.first()?;
        let (running, job) = self.families.find_mut(&family)?.pop()?;
        self.families.begin(&family, running.estimate);
        Some((Ticket { family, running }, job))
    }

    /// Records the end of a job and the time it took.
    pub(crate) fn charge(&mut self, ticket: &Ticket, took: Duration) {
        if let Some(queue) = self.families.end(&ticket.family, ticket.running.estimate, took) {
            queue.charge(&ticket.running, took);
        }
    }
}

/// Idle ones without a debt are forgotten once there are more than this.
const MAX_IDLE: usize = 64;

/// What may have jobs that wait.
pub(crate) trait Jobs: Default {
    fn is_empty(&self) -> bool;
}

/// Those that share, by name.
#[derive(Debug, Default)]
pub(crate) struct Shares<T> {
    all: HashMap<Arc<str>, Share<T>>,
    /// The time used by the one served last; never falls.
    virtual_now: Duration,
}

#[derive(Debug, Default)]
struct Share<T> {
    jobs: T,
    used: Duration,
    /// The estimated cost of what runs.
    running: Duration,
}

impl<T: Jobs> Shares<T> {
    /// The jobs of `name`, to which one is added.
    pub(crate) fn join(&mut self, name: &str) -> &mut T {
        let now = self.virtual_now;
        if !self.all.contains_key(name) {
            if self.all.len() >= MAX_IDLE {
                self.all.retain(|_, share| !share.is_idle() || share.used > now);
            }
            self.all.insert(name.into(), Share::default());
        }
        let share = self.all.get_mut(name).expect("inserted above");
        if share.is_idle() {
            share.used = share.used.max(now);
        }
        &mut share.jobs
    }

    pub(crate) fn find(&self, name: &str) -> Option<&T> {
        self.all.get(name).map(|share| &share.jobs)
    }

    pub(crate) fn find_mut(&mut self, name: &str) -> Option<&mut T> {
        self.all.get_mut(name).map(|share| &mut share.jobs)
    }

    /// The one that has jobs and has used the least; among equals the first by name.
    pub(crate) fn first(&self) -> Option<Arc<str>> {
        let waiting = self.all.iter().filter(|(_, share)| !share.jobs.is_empty());
        waiting
            .min_by_key(|(name, share)| (share.used + share.running, *name))
            .map(|(name, _)| Arc::clone(name))
    }

    /// The one with the most of something, and how much; among equals the last by name.
    pub(crate) fn largest(&self, size: impl Fn(&T) -> u64) -> Option<(Arc<str>, u64)> {
        let sizes = self.all.iter().map(|(name, share)| (name, size(&share.jobs)));
        sizes.max_by_key(|(name, size)| (*size, *name)).map(|(name, size)| (Arc::clone(name), size))
    }

    /// One of its jobs begins; [`Shares::end`] must follow.
    pub(crate) fn begin(&mut self, name: &str, estimate: Duration) {
        if let Some(share) = self.all.get_mut(name) {
            self.virtual_now = self.virtual_now.max(share.used);
            share.running += estimate;
        }
    }

    /// Such a job has ended after that time.
    pub(crate) fn end(&mut self, name: &str, estimate: Duration, took: Duration) -> Option<&mut T> {
        let share = self.all.get_mut(name)?;
        share.running = share.running.saturating_sub(estimate);
        share.used += took;
        Some(&mut share.jobs)
    }
}

impl<T: Jobs> Share<T> {
    fn is_idle(&self) -> bool {
        self.jobs.is_empty() && self.running.is_zero()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SLOW: Duration = Duration::from_millis(100);
    const QUICK: Duration = Duration::from_micros(20);
    const LIMIT: u64 = 1000;

    fn new(customer: &str, key: &str, bytes: usize) -> Origin {
        Origin::new(customer, key.into(), bytes)
    }

    fn waits<J>(added: &Added<J>) -> bool {
        matches!(added, Added::Waits(refused) if refused.is_empty())
    }

    fn queue(slow: usize, quick: usize) -> FairQueue<usize> {
        let mut queue = FairQueue::default();
        for (family, jobs) in [("slow", slow), ("quick", quick)] {
            for job in 0..jobs {
                assert!(waits(&queue.push(family, &new("a", "key", 0), job, LIMIT)));
            }
        }
        queue
    }

    /// Runs all jobs one after the other; returns the order of families.
    fn order(queue: &mut FairQueue<usize>) -> Vec<Arc<str>> {
        std::iter::from_fn(|| {
            let (ticket, _) = queue.pop()?;
            queue.charge(&ticket, if &*ticket.family == "slow" { SLOW } else { QUICK });
            Some(ticket.family)
        })
        .collect()
    }

    /// Runs all jobs, each as long as it says.
    fn jobs(queue: &mut FairQueue<(&'static str, Duration)>) -> Vec<&'static str> {
        std::iter::from_fn(|| {
            let (ticket, (name, took)) = queue.pop()?;
            queue.charge(&ticket, took);
            Some(name)
        })
        .collect()
    }

    #[test]
    fn quick_families_overtake_a_slow_one() {
        let order = order(&mut queue(100, 500));
        let slow_before = order.iter().position(|family| &**family == "quick").unwrap();
        let last_quick = order.iter().rposition(|family| &**family == "quick").unwrap();
        assert!(slow_before <= 1 && last_quick <= 501, "{slow_before} {last_quick}");
        assert_eq!(order.len(), 600, "all jobs run");
    }

    #[test]
    fn jobs_of_one_key_keep_their_order() {
        let mut queue = queue(5, 0);
        let jobs: Vec<usize> = std::iter::from_fn(|| queue.pop().map(|(_, job)| job)).collect();
        assert_eq!(jobs, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_second_thread_serves_another_family() {
        let mut queue = queue(2, 2);
        let first = queue.pop().unwrap().0.family;
        let second = queue.pop().unwrap().0.family;
        assert_ne!(first, second);
    }

    #[test]
    fn begun_work_is_always_taken_and_goes_before_the_customers_new_work() {
        let mut queue = queue(3, 0);
        for job in 10..2000 {
            assert!(waits(&queue.push("slow", &Origin::begun("a"), job, 3)));
        }
        assert_eq!(queue.begun("slow"), 1990);
        assert_eq!(queue.pop().unwrap().1, 10);
    }

    #[test]
    fn the_customer_that_fills_the_queue_is_refused() {
        let mut queue = FairQueue::default();
        for job in 0..10 {
            // Four keys of one customer.
            assert!(waits(&queue.push("f", &new("many", ["1", "2", "3", "4"][job % 4], 0), job, 10)));
        }
        let Added::Waits(refused) = queue.push("f", &new("one", "key", 0), 100, 10) else {
            panic!("refused")
        };
        assert_eq!(refused, [9], "the newest of the keys with the most");
        assert!(matches!(queue.push("f", &new("many", "1", 0), 101, 10), Added::Refused(101)));
    }

    #[test]
    fn a_key_does_not_keep_another_of_its_customer_out() {
        let mut queue = FairQueue::default();
        for job in 0..10 {
            assert!(waits(&queue.push("f", &new("a", "greedy", 0), job, 10)));
        }
        assert!(
            matches!(queue.push("f", &new("a", "other", 0), 10, 10), Added::Waits(refused) if refused == [9])
        );
        assert!(matches!(queue.push("f", &new("a", "greedy", 0), 11, 10), Added::Refused(11)));
    }

    #[test]
    fn a_large_body_takes_more_of_the_queue() {
        let mut queue = FairQueue::default();
        for job in 0..2 {
            assert!(waits(&queue.push("f", &new("large", "key", 200 << 10), job, 10)));
        }
        assert!(matches!(queue.push("f", &new("large", "key", 200 << 10), 2, 10), Added::Refused(2)));
        assert!(waits(&queue.push("f", &new("small", "key", 0), 3, 10)));
    }

    #[test]
    fn customers_share_by_time_and_keys_within_them() {
        let mut queue = FairQueue::default();
        for _ in 0..20 {
            for key in ["1", "2", "3", "4"] {
                assert!(waits(&queue.push("f", &new("heavy", key, 0), ("heavy", SLOW), LIMIT)));
            }
            assert!(waits(&queue.push("f", &Origin::begun("light"), ("light", QUICK), LIMIT)));
        }
        let order = jobs(&mut queue);
        let last = order.iter().rposition(|name| *name == "light").unwrap();
        assert!(last <= 21, "twenty quick jobs wait for one slow job at most: {last}");
        for key in ["1", "1", "1", "2"] {
            let name = if key == "1" { "one" } else { "two" };
            assert!(waits(&queue.push("f", &new("heavy", key, 0), (name, SLOW), LIMIT)));
        }
        let order = jobs(&mut queue);
        assert!(order.iter().position(|name| *name == "two") <= Some(1), "{order:?}");
    }

    #[test]
    fn a_pause_earns_no_credit_and_clears_no_debt() {
        let mut queue = queue(10, 0);
        order(&mut queue);
        // A new family gets no credit for the second that the others have used before ...
        for job in 0..100 {
            queue.push("quick", &new("a", "key", 0), job, LIMIT);
            queue.push("slow", &new("a", "key", 0), job, LIMIT);
        }
        let both: Vec<_> = (0..4)
            .map(|_| {
                let (ticket, _) = queue.pop().unwrap();
                queue.charge(&ticket, SLOW);
                ticket.family
            })
            .collect();
        let quick = both.iter().filter(|family| &***family == "quick").count();
        // ... except for the last job, whose time is still to be balanced.
        assert!((2..=3).contains(&quick), "{both:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

        /// Of customers that always have work each gets its share of the time, whatever their jobs cost and with however
        /// many keys they come; and of what was added everything runs or was refused.
        #[test]
        fn each_customer_has_its_share_of_the_time(
            costs in proptest::collection::vec(1_u64..40, 2..6),
            keys in 1_usize..5,
            threads in 1_usize..4,
        ) {
            let names: Vec<String> = (0..costs.len()).map(|n| format!("c{n}")).collect();
            let (mut queue, mut used) = (FairQueue::default(), vec![0_u64; costs.len()]);
            let (mut running, mut waiting): (Vec<(u64, Ticket, usize)>, _) = (Vec::new(), vec![0_usize; costs.len()]);
            for now in 0..2000_u64 {
                for (n, name) in names.iter().enumerate() {
                    while waiting[n] < 8 {
                        let origin = if n == 0 { Origin::begun(name) } else { new(name, &(waiting[n] % keys).to_string(), 0) };
                        prop_assert!(waits(&queue.push("f", &origin, n, LIMIT)));
                        waiting[n] += 1;
                    }
                }
                let over: Vec<_> = running.extract_if(.., |(end, ..)| *end <= now).collect();
                for (_, ticket, n) in over {
                    queue.charge(&ticket, Duration::from_millis(costs[n]));
                    used[n] += costs[n];
                }
                while running.len() < threads {
                    let Some((ticket, n)) = queue.pop() else { break };
                    waiting[n] -= 1;
                    running.push((now + costs[n], ticket, n));
                }
            }
            let least = 2000 * threads as u64 / (costs.len() as u64 + 1);
            // One customer has as many threads at once as there are; the others balance that.
            prop_assert!(used.iter().all(|&used| used + 100 * threads as u64 >= least), "{used:?} of {least}");
        }
    }
}
