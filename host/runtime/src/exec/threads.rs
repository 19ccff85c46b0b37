//! A fixed set of threads that run plugins, fed by a fair queue.
//!
//! Calls are synchronous: a pure function has nothing to await, and a guest's endless loop may hold a plugin thread
//! but never a thread that serves sockets. The threads are outside any async runtime, as the synchronous half of
//! wasmtime-wasi requires.
//!
//! A family whose plugin uses its whole time limit in every call delays the others by one running call. It fills its
//! own queue, and only its own callers get [`Fault::Busy`]: those that begin new work, and of them the customer, and the
//! key, that fill it. Begun work waits.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crossbeam_channel::bounded;
use gatehouse_model::metric;
use tokio::sync::oneshot;

use crate::exec::engine::THREAD_STACK;
use crate::exec::lock;
use crate::exec::queue::fair_queue::{FairQueue, Ticket};
use crate::exec::queue::family_queue::{Added, Origin};
use crate::fault::{Fault, panic_text};

/// Runs, or is told that it is refused.
type Job = Box<dyn FnOnce(Outcome) + Send>;

/// What becomes of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Runs,
    /// The queue is full, and its customer fills it.
    Refused,
}

/// New jobs of one family that may wait; at 20 us a call and two threads the last one waits about 10 ms. A large body
/// counts as several.
const QUEUE_LIMIT: u64 = 1024;

/// Runs calls on its threads; they end when it is dropped.
pub(crate) struct Threads {
    shared: Arc<Mutex<Work>>,
    /// Blocks each caller until its call is done, so that a test sees everything happen in one order.
    synchronous: bool,
}

/// Jobs run outside of its lock.
#[derive(Default)]
struct Work {
    queue: FairQueue<Job>,
    /// Threads that wait for a job. A wake-up costs a system call: each is woken once, and the last one to wait first, whose
    /// caches still hold what it ran.
    idle: Vec<Thread>,
    closed: bool,
}

impl Threads {
    pub(crate) fn start(name: &str, count: usize) -> std::io::Result<Self> {
        let threads = Self { shared: Arc::default(), synchronous: false };
        for number in 0..count {
            let shared = Arc::clone(&threads.shared);
            thread::Builder::new()
                .name(format!("{name}-{number}"))
                .stack_size(THREAD_STACK)
                .spawn(move || run_jobs(&shared))?;
        }
        Ok(threads)
    }

    /// The same threads, with [`Threads::run`] blocking its caller.
    pub(crate) fn synchronous(mut self) -> Self {
        self.synchronous = true;
        self
    }

    /// Runs `call` on a thread. A call whose caller is dropped while it waits does not run.
    ///
    /// # Errors
    /// [`Fault::Busy`] for new work only.
    pub(crate) async fn run<R: Send + 'static>(
        &self,
        family: &str,
        origin: &Origin,
        call: impl FnOnce() -> Result<R, Fault> + Send + 'static,
    ) -> Result<R, Fault> {
        if self.synchronous {
            return self.run_blocking(family, call);
        }
        let (sender, receiver) = oneshot::channel();
        let job = move |outcome| match outcome {
            Outcome::Refused => drop(sender.send(Err(Fault::Busy))),
            Outcome::Runs if sender.is_closed() => {}
            Outcome::Runs => drop(sender.send(catch_panic(call))),
        };
        self.push(family, origin, Box::new(job));
        receiver.await.unwrap_or_else(|_| Err(stopped()))
    }

    /// Runs `call` for a caller outside async code; waits even when the queue is full.
    pub(crate) fn run_blocking<R: Send + 'static>(
        &self,
        family: &str,
        call: impl FnOnce() -> Result<R, Fault> + Send + 'static,
    ) -> Result<R, Fault> {
        let answer = Arc::new(Mutex::new(None));
        let filled = Arc::clone(&answer);
        self.push_and_wait(family, Box::new(move || *lock(&filled) = Some(catch_panic(call))));
        let answer = lock(&answer).take();
        answer.unwrap_or_else(|| Err(stopped()))
    }

    /// Returns when `call` has run, or never will. Of one type, so that the channel is compiled once and not for every answer.
    fn push_and_wait(&self, family: &str, call: Box<dyn FnOnce() + Send>) {
        let (ended, end) = bounded::<()>(1);
        let job = move |_| {
            call();
            drop(ended);
        };
        self.push(family, &Origin::begun(""), Box::new(job));
        let _ = end.recv();
    }

    /// Calls of that family's begun work that wait for a thread.
    pub(crate) fn waiting(&self, family: &str) -> usize {
        lock(&self.shared).queue.begun(family)
    }

    fn push(&self, family: &str, origin: &Origin, job: Job) {
        let (refused, idle) = {
            let mut work = lock(&self.shared);
            match work.queue.push(family, origin, job, QUEUE_LIMIT) {
                Added::Waits(refused) => (refused, work.idle.pop()),
                Added::Refused(job) => (vec![job], None),
            }
        };
        if let Some(idle) = idle {
            idle.unpark();
        }
        if !refused.is_empty() {
            metrics::counter!(metric::PLUGIN_QUEUE_FULL, "family" => family.to_owned())
                .increment(refused.len() as u64);
        }
        // Outside of the lock: their callers go on at once.
        refused.into_iter().for_each(|job| job(Outcome::Refused));
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let idle = {
            let mut work = lock(&self.shared);
            work.closed = true;
            mem::take(&mut work.idle)
        };
        idle.iter().for_each(Thread::unpark);
    }
}

fn run_jobs(shared: &Mutex<Work>) {
    let mut ended = None;
    while let Some((ticket, job)) = next_job(shared, ended) {
        let begun = Instant::now();
        job(Outcome::Runs);
        ended = Some((ticket, begun.elapsed()));
    }
}

/// Records the job that has ended and the time it took, and waits for the next one; `None` once the threads are
/// to end.
fn next_job(shared: &Mutex<Work>, ended: Option<(Ticket, Duration)>) -> Option<(Ticket, Job)> {
    let mut work = lock(shared);
    if let Some((ticket, took)) = ended {
        work.queue.charge(&ticket, took);
    }
    loop {
        if let Some(next) = work.queue.pop() {
            return Some(next);
        }
        if work.closed {
            return None;
        }
        let this = thread::current();
        work.idle.push(this.clone());
        // The one that wakes a thread takes it out. A thread may also return from `park` without having been woken.
        while work.idle.iter().any(|idle| idle.id() == this.id()) {
            drop(work);
            thread::park();
            work = lock(shared);
        }
    }
}

/// Turns a panic of the host's own code into a fault, so that the thread stays.
fn catch_panic<R>(call: impl FnOnce() -> Result<R, Fault>) -> Result<R, Fault> {
    catch_unwind(AssertUnwindSafe(call))
        .unwrap_or_else(|panic| Err(Fault::Host(format!("panic: {}", panic_text(&*panic)))))
}

fn stopped() -> Fault {
    Fault::Host("the plugin threads have stopped".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(customer: &str) -> Origin {
        Origin::new(customer, "key".into(), 0)
    }

    /// Keeps the one thread busy until the sender is dropped.
    fn hold(threads: &Threads, family: &str) -> crossbeam_channel::Sender<()> {
        let (go, wait) = bounded::<()>(0);
        let (started, running) = bounded::<()>(1);
        let job = move |_| {
            let _ = started.send(());
            let _ = wait.recv();
        };
        threads.push(family, &new("holder"), Box::new(job));
        running.recv().unwrap();
        go
    }

    fn is_pending<F: Future>(future: std::pin::Pin<&mut F>) -> bool {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        future.poll(&mut context).is_pending()
    }

    #[tokio::test]
    async fn a_panic_is_a_fault_and_the_thread_goes_on() {
        let threads = Threads::start("test", 1).unwrap();
        let fault = threads.run::<()>("a", &new("c"), || panic!("boom")).await.unwrap_err();
        assert_eq!(fault, Fault::Host("panic: boom".to_owned()));
        assert_eq!(threads.run("a", &new("c"), || Ok(7)).await, Ok(7));
        assert_eq!(threads.run_blocking("a", || Ok(8)), Ok(8));
    }

    #[tokio::test]
    async fn a_full_queue_is_busy_for_its_own_family_only() {
        let threads = Threads::start("test", 1).unwrap();
        let go = hold(&threads, "a");
        for _ in 0..QUEUE_LIMIT {
            threads.push("a", &new("c"), Box::new(|_| {}));
        }
        assert_eq!(threads.run("a", &new("c"), || Ok(())).await, Err(Fault::Busy));
        let origin = new("c");
        let mut other = Box::pin(threads.run("b", &origin, || Ok(())));
        assert!(is_pending(other.as_mut()), "another family has its own queue");
        drop(go);
        assert_eq!(other.await, Ok(()));
        assert_eq!(threads.run_blocking("a", || Ok(())), Ok(()));
    }

    /// A customer fills the queue: begun work and others' new work waits, and it is the customer that is refused.
    #[tokio::test]
    async fn a_full_queue_refuses_the_customer_that_fills_it() {
        let threads = Threads::start("test", 1).unwrap();
        let go = hold(&threads, "a");
        let crowding = new("crowd");
        let mut crowd: Vec<_> =
            (0..QUEUE_LIMIT).map(|_| Box::pin(threads.run("a", &crowding, || Ok(())))).collect();
        assert!(crowd.iter_mut().all(|call| is_pending(call.as_mut())));
        let (one, push) = (new("other"), Origin::begun("third"));
        let mut calls = [1, 2].map(|n| Box::pin(threads.run("a", &one, move || Ok(n))));
        let mut stream = Box::pin(threads.run("a", &push, || Ok(2)));
        assert!(calls.iter_mut().all(|call| is_pending(call.as_mut())) && is_pending(stream.as_mut()));
        drop(go);
        assert_eq!(stream.await, Ok(2));
        for (call, n) in calls.into_iter().zip([1, 2]) {
            assert_eq!(call.await, Ok(n));
        }
        let mut refused = 0;
        for call in crowd {
            refused += usize::from(call.await == Err(Fault::Busy));
        }
        assert_eq!(refused, 2, "one for each of the other customer's");
    }

    #[tokio::test]
    async fn a_call_without_a_caller_does_not_run() {
        let threads = Threads::start("test", 1).unwrap();
        let go = hold(&threads, "a");
        let (sender, receiver) = bounded::<()>(1);
        let origin = new("c");
        let mut dropped = Box::pin(threads.run("a", &origin, move || {
            let _ = sender.send(());
            Ok(())
        }));
        assert!(is_pending(dropped.as_mut()));
        drop(dropped);
        drop(go);
        threads.run_blocking("a", || Ok(())).unwrap();
        assert!(receiver.try_recv().is_err());
    }
}
