//! A fair queue: one queue of jobs for each family; the family that has used the least thread time goes first. Pure.
//!
//! Time is counted as in a fair scheduler. A family that returns after a pause starts at the virtual time of the
//! others: a pause earns it no credit, and time it has overused stays on its account.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// The cost of a running job until its time is known: enough that a second thread serves another family.
const RUNNING_COST: Duration = Duration::from_millis(10);

/// Jobs waiting, by family.
pub(crate) struct FairQueue<J> {
    /// One entry for each family ever seen; they are as few as the operator's plugins.
    families: HashMap<Arc<str>, FamilyQueue<J>>,
    /// The time used by the family served last; never falls.
    virtual_now: Duration,
}

struct FamilyQueue<J> {
    jobs: VecDeque<J>,
    used: Duration,
    running: u32,
}

impl<J> Default for FairQueue<J> {
    fn default() -> Self {
        Self { families: HashMap::new(), virtual_now: Duration::ZERO }
    }
}

impl<J> FamilyQueue<J> {
    fn rank(&self) -> Duration {
        self.used + RUNNING_COST * self.running
    }
}

impl<J> FairQueue<J> {
    /// Adds a job to its family's queue; `false` when `limit` jobs wait there already.
    pub(crate) fn push(&mut self, family: &str, job: J, limit: usize) -> bool {
        if !self.families.contains_key(family) {
            let queue = FamilyQueue { jobs: VecDeque::new(), used: Duration::ZERO, running: 0 };
            self.families.insert(family.into(), queue);
        }
        let queue = self.families.get_mut(family).expect("inserted above");
        if queue.jobs.len() >= limit {
            return false;
        }
        if queue.jobs.is_empty() && queue.running == 0 {
            queue.used = queue.used.max(self.virtual_now);
        }
        queue.jobs.push_back(job);
        true
    }

    /// Jobs of that family that wait.
    pub(crate) fn waiting(&self, family: &str) -> usize {
        self.families.get(family).map_or(0, |queue| queue.jobs.len())
    }

    /// The next job and its family; [`FairQueue::charge`] must follow when it has ended.
    pub(crate) fn pop(&mut self) -> Option<(Arc<str>, J)> {
        let waiting = self.families.iter_mut().filter(|(_, queue)| !queue.jobs.is_empty());
        let (family, queue) = waiting.min_by_key(|(_, queue)| queue.rank())?;
        self.virtual_now = self.virtual_now.max(queue.used);
        queue.running += 1;
        let job = queue.jobs.pop_front()?;
        Some((Arc::clone(family), job))
    }

    /// Records the end of a job of that family and the time it took.
    pub(crate) fn charge(&mut self, family: &str, took: Duration) {
        if let Some(queue) = self.families.get_mut(family) {
            queue.running = queue.running.saturating_sub(1);
            queue.used += took;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: Duration = Duration::from_millis(100);
    const QUICK: Duration = Duration::from_micros(20);

    fn queue(slow: usize, quick: usize) -> FairQueue<usize> {
        let mut queue = FairQueue::default();
        for job in 0..slow {
            assert!(queue.push("slow", job, 1000));
        }
        for job in 0..quick {
            assert!(queue.push("quick", job, 1000));
        }
        queue
    }

    /// Runs all jobs one after the other; returns the order of families.
    fn order(queue: &mut FairQueue<usize>) -> Vec<Arc<str>> {
        std::iter::from_fn(|| {
            let (family, _) = queue.pop()?;
            queue.charge(&family, if &*family == "slow" { SLOW } else { QUICK });
            Some(family)
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
    fn jobs_of_one_family_keep_their_order() {
        let mut queue = queue(5, 0);
        let jobs: Vec<usize> = std::iter::from_fn(|| queue.pop().map(|(_, job)| job)).collect();
        assert_eq!(jobs, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_second_thread_serves_another_family() {
        let mut queue = queue(2, 2);
        let first = queue.pop().unwrap().0;
        let second = queue.pop().unwrap().0;
        assert_ne!(first, second);
    }

    #[test]
    fn a_full_queue_refuses_only_its_own_family() {
        let mut queue = queue(3, 0);
        assert_eq!((queue.waiting("slow"), queue.waiting("quick")), (3, 0));
        assert!(!queue.push("slow", 9, 3));
        assert!(queue.push("quick", 9, 3));
    }

    #[test]
    fn a_pause_earns_no_credit_and_clears_no_debt() {
        let mut queue = queue(10, 0);
        order(&mut queue);
        // A new family gets no credit for the second that the others have used before ...
        for job in 0..100 {
            queue.push("quick", job, 1000);
            queue.push("slow", job, 1000);
        }
        let both: Vec<_> = (0..4)
            .map(|_| {
                let (family, _) = queue.pop().unwrap();
                queue.charge(&family, SLOW);
                family
            })
            .collect();
        let quick = both.iter().filter(|family| &***family == "quick").count();
        // ... except for the last job, whose time is still to be balanced.
        assert!((2..=3).contains(&quick), "{both:?}");
    }
}
