//! The jobs of one family that wait: by customer, and the new ones of a customer by key. Pure.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::exec::queue::fair_queue::{Jobs, Shares};

/// The cost of a running job until its time is known: enough that a second thread serves another family.
const RUNNING_COST: Duration = Duration::from_millis(10);
/// Each byte of a body costs about as much: it is copied, checked and parsed.
const NANOS_PER_BYTE: u64 = 10;
/// A body counts in the queue once, and once more for each of these.
const BYTES_PER_UNIT: usize = 64 << 10;

/// In whose name a call is made, and what it belongs to.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    customer: Arc<str>,
    kind: JobKind,
}

/// What a call belongs to.
#[derive(Clone, Debug)]
enum JobKind {
    /// What a client is already served with: an open stream, a provider's answer, a task's step.
    Begun,
    /// A request with this key, and the bytes of its body.
    New { key: Arc<str>, bytes: usize },
}

impl Origin {
    /// A request with this `key`, whose body has so many bytes.
    pub(crate) fn new(customer: &str, key: Arc<str>, bytes: usize) -> Self {
        Self { customer: customer.into(), kind: JobKind::New { key, bytes } }
    }

    /// What the customer is already served with.
    pub(crate) fn begun(customer: &str) -> Self {
        Self { customer: customer.into(), kind: JobKind::Begun }
    }
}

/// What became of a job that was added.
#[derive(Debug)]
pub(crate) enum Added<J> {
    /// It waits; these are refused in its stead.
    Waits(Vec<J>),
    /// It is refused itself.
    Refused(J),
}

/// A job that runs.
#[derive(Debug)]
pub(crate) struct Running {
    customer: Arc<str>,
    key: Option<Arc<str>>,
    pub(crate) estimate: Duration,
}

/// The jobs of a family.
#[derive(Debug)]
pub(crate) struct FamilyQueue<J> {
    customers: Shares<CustomerJobs<J>>,
    /// Jobs of begun work that wait.
    begun: usize,
    /// New work that waits, in units.
    units: u64,
}

#[derive(Debug)]
struct CustomerJobs<J> {
    begun: VecDeque<J>,
    keys: Shares<KeyJobs<J>>,
    units: u64,
}

#[derive(Debug)]
struct KeyJobs<J> {
    jobs: VecDeque<NewJob<J>>,
    units: u64,
}

#[derive(Debug)]
struct NewJob<J> {
    job: J,
    bytes: usize,
}

impl<J> FamilyQueue<J> {
    /// Adds a job. Begun work is always taken: its number is limited elsewhere. Of new work `limit` units may wait; who
    /// fills that is refused. A customer with less takes the share of the one with the most, and likewise a key of its
    /// customer's.
    pub(crate) fn push(&mut self, origin: &Origin, job: J, limit: u64) -> Added<J> {
        let JobKind::New { key, bytes } = &origin.kind else {
            self.begun += 1;
            self.customers.join(&origin.customer).begun.push_back(job);
            return Added::Waits(Vec::new());
        };
        let (job, mut refused) = (NewJob { job, bytes: *bytes }, Vec::new());
        while self.units + job.units() > limit {
            match self.evict(&origin.customer, key, job.units()) {
                Some(other) => refused.push(other),
                None if refused.is_empty() => return Added::Refused(job.job),
                // It has less than those who gave way, so it may be a little above the limit.
                None => break,
            }
        }
        let units = job.units();
        self.units += units;
        let customer = self.customers.join(&origin.customer);
        customer.units += units;
        let jobs = customer.keys.join(key);
        jobs.units += units;
        jobs.jobs.push_back(job);
        Added::Waits(refused)
    }

    /// Takes out the newest job of the customer, and the key, that fill the queue; nothing if `units` more of this key
    /// would be as much.
    fn evict(&mut self, customer: &str, key: &str, units: u64) -> Option<J> {
        let own = self.customers.find(customer).map_or(0, |jobs| jobs.units);
        let (largest, most) = self.customers.largest(|jobs| jobs.units)?;
        let is_own = *largest == *customer;
        if !is_own && own + units > most {
            return None;
        }
        let of_largest = self.customers.find_mut(&largest)?;
        let own_key = of_largest.keys.find(key).filter(|_| is_own).map_or(0, |jobs| jobs.units);
        let (largest_key, most_of_key) = of_largest.keys.largest(|jobs| jobs.units)?;
        if is_own && (*largest_key == *key || own_key + units > most_of_key) {
            return None;
        }
        let jobs = of_largest.keys.find_mut(&largest_key)?;
        let newest = jobs.jobs.pop_back()?;
        let freed = newest.units();
        jobs.units -= freed;
        of_largest.units -= freed;
        self.units -= freed;
        Some(newest.job)
    }

    /// Jobs of begun work that wait.
    pub(crate) fn begun(&self) -> usize {
        self.begun
    }

    /// The next job.
    pub(crate) fn pop(&mut self) -> Option<(Running, J)> {
        let customer = self.customers.first()?;
        let jobs = self.customers.find_mut(&customer)?;
        let (key, job, estimate) = if let Some(job) = jobs.begun.pop_front() {
            self.begun -= 1;
            (None, job, RUNNING_COST)
        } else {
            let key = jobs.keys.first()?;
            let of_key = jobs.keys.find_mut(&key)?;
            let next = of_key.jobs.pop_front()?;
            let (units, estimate) = (next.units(), next.estimate());
            of_key.units -= units;
            jobs.keys.begin(&key, estimate);
            jobs.units -= units;
            self.units -= units;
            (Some(key), next.job, estimate)
        };
        self.customers.begin(&customer, estimate);
        Some((Running { customer, key, estimate }, job))
    }

    /// Records the end of a job and the time it took.
    pub(crate) fn charge(&mut self, running: &Running, took: Duration) {
        let customer = self.customers.end(&running.customer, running.estimate, took);
        if let (Some(jobs), Some(key)) = (customer, &running.key) {
            jobs.keys.end(key, running.estimate, took);
        }
    }
}

impl<J> NewJob<J> {
    fn units(&self) -> u64 {
        1 + (self.bytes / BYTES_PER_UNIT) as u64
    }

    fn estimate(&self) -> Duration {
        RUNNING_COST + Duration::from_nanos(NANOS_PER_BYTE * self.bytes as u64)
    }
}

impl<J> Jobs for FamilyQueue<J> {
    fn is_empty(&self) -> bool {
        self.begun == 0 && self.units == 0
    }
}

impl<J> Jobs for CustomerJobs<J> {
    fn is_empty(&self) -> bool {
        self.begun.is_empty() && self.units == 0
    }
}

impl<J> Jobs for KeyJobs<J> {
    fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }
}

impl<J> Default for FamilyQueue<J> {
    fn default() -> Self {
        Self { customers: Shares::default(), begun: 0, units: 0 }
    }
}

impl<J> Default for CustomerJobs<J> {
    fn default() -> Self {
        Self { begun: VecDeque::new(), keys: Shares::default(), units: 0 }
    }
}

impl<J> Default for KeyJobs<J> {
    fn default() -> Self {
        Self { jobs: VecDeque::new(), units: 0 }
    }
}
