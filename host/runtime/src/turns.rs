//! Whose turn it is: one queue for each family, and the family that has had the least time goes first. Pure.
//!
//! Time is counted as in a fair scheduler: a family that comes back after a pause starts where the others stand,
//! so that a pause earns no arrears, and what it has used too much stays with it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// What a job under way is counted as until its time is known: enough that a second thread looks elsewhere.
const UNDER_WAY: Duration = Duration::from_millis(10);

/// Jobs waiting, by family.
pub(crate) struct Turns<J> {
    /// PluginService stay once they have been seen; they are as few as the operator's plugins.
    lines: HashMap<Arc<str>, Line<J>>,
    /// Where the family stood that had its turn last; never falls.
    now: Duration,
}

struct Line<J> {
    jobs: VecDeque<J>,
    had: Duration,
    under_way: u32,
}

impl<J> Default for Turns<J> {
    fn default() -> Self {
        Self { lines: HashMap::new(), now: Duration::ZERO }
    }
}

impl<J> Line<J> {
    fn rank(&self) -> Duration {
        self.had + UNDER_WAY * self.under_way
    }
}

impl<J> Turns<J> {
    /// Puts a job at the end of its family's queue; `false` when `most` wait there already.
    pub(crate) fn queue(&mut self, family: &str, job: J, most: usize) -> bool {
        if !self.lines.contains_key(family) {
            let line = Line { jobs: VecDeque::new(), had: Duration::ZERO, under_way: 0 };
            self.lines.insert(family.into(), line);
        }
        let line = self.lines.get_mut(family).expect("put there a line above");
        if line.jobs.len() >= most {
            return false;
        }
        if line.jobs.is_empty() && line.under_way == 0 {
            line.had = line.had.max(self.now);
        }
        line.jobs.push_back(job);
        true
    }

    /// Jobs of that family that wait.
    pub(crate) fn waiting(&self, family: &str) -> usize {
        self.lines.get(family).map_or(0, |line| line.jobs.len())
    }

    /// The next job, and whose it is; [`Turns::charge`] must follow when it has ended.
    pub(crate) fn take(&mut self) -> Option<(Arc<str>, J)> {
        let waiting = self.lines.iter_mut().filter(|(_, line)| !line.jobs.is_empty());
        let (family, line) = waiting.min_by_key(|(_, line)| line.rank())?;
        self.now = self.now.max(line.had);
        line.under_way += 1;
        let job = line.jobs.pop_front()?;
        Some((Arc::clone(family), job))
    }

    /// A job of that family has ended and took so long.
    pub(crate) fn charge(&mut self, family: &str, took: Duration) {
        if let Some(line) = self.lines.get_mut(family) {
            line.under_way = line.under_way.saturating_sub(1);
            line.had += took;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: Duration = Duration::from_millis(100);
    const QUICK: Duration = Duration::from_micros(20);

    fn turns(slow: usize, quick: usize) -> Turns<usize> {
        let mut turns = Turns::default();
        for job in 0..slow {
            assert!(turns.queue("slow", job, 1000));
        }
        for job in 0..quick {
            assert!(turns.queue("quick", job, 1000));
        }
        turns
    }

    /// Runs jobs one after the other until nothing waits; the order of families.
    fn order(turns: &mut Turns<usize>) -> Vec<Arc<str>> {
        std::iter::from_fn(|| {
            let (family, _) = turns.take()?;
            turns.charge(&family, if &*family == "slow" { SLOW } else { QUICK });
            Some(family)
        })
        .collect()
    }

    #[test]
    fn a_slow_family_is_passed_by_quick_ones() {
        let order = order(&mut turns(100, 500));
        let slow_before = order.iter().position(|family| &**family == "quick").unwrap();
        let last_quick = order.iter().rposition(|family| &**family == "quick").unwrap();
        assert!(slow_before <= 1 && last_quick <= 501, "{slow_before} {last_quick}");
        assert_eq!(order.len(), 600, "and yet all are served");
    }

    #[test]
    fn jobs_of_one_family_keep_their_order() {
        let mut turns = turns(5, 0);
        let jobs: Vec<usize> = std::iter::from_fn(|| turns.take().map(|(_, job)| job)).collect();
        assert_eq!(jobs, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_second_thread_looks_elsewhere() {
        let mut turns = turns(2, 2);
        let first = turns.take().unwrap().0;
        let second = turns.take().unwrap().0;
        assert_ne!(first, second);
    }

    #[test]
    fn a_full_queue_is_its_own_familys_matter() {
        let mut turns = turns(3, 0);
        assert_eq!((turns.waiting("slow"), turns.waiting("quick")), (3, 0));
        assert!(!turns.queue("slow", 9, 3));
        assert!(turns.queue("quick", 9, 3));
    }

    #[test]
    fn a_pause_earns_no_arrears_and_forgives_no_debt() {
        let mut turns = turns(10, 0);
        order(&mut turns);
        // Newcomers do not get the second that the others have had before them ...
        for job in 0..100 {
            turns.queue("quick", job, 1000);
            turns.queue("slow", job, 1000);
        }
        let both: Vec<_> = (0..4)
            .map(|_| {
                let (family, _) = turns.take().unwrap();
                turns.charge(&family, SLOW);
                family
            })
            .collect();
        let quick = both.iter().filter(|family| &***family == "quick").count();
        // ... beyond the last turn, which is still to be made good.
        assert!((2..=3).contains(&quick), "{both:?}");
    }
}
