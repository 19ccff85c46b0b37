//! Shares of thread time: the one that has used the least goes first. Pure.
//!
//! Time is counted as in a fair scheduler. One that returns after a pause starts at the virtual time of the others: a
//! pause earns it no credit, and time it has overused stays on its account.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Idle ones without a debt are forgotten once there are more than this.
const MAX_IDLE: usize = 64;

/// What may have jobs that wait.
pub(crate) trait Jobs: Default {
    fn is_empty(&self) -> bool;
}

/// Those that share, by name.
#[derive(Debug)]
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

impl<T> Default for Shares<T> {
    fn default() -> Self {
        Self { all: HashMap::new(), virtual_now: Duration::ZERO }
    }
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
