//! A fixed set of threads that run plugins, fed by a fair queue.
//!
//! Calls are synchronous: a pure function has nothing to await, and a guest's endless loop may hold a plugin thread
//! but never a thread that serves sockets. The threads are outside any async runtime, as the synchronous half of
//! wasmtime-wasi requires.
//!
//! A family whose plugin uses its whole time limit in every call delays the others by one running call. It fills its
//! own queue, and only its own callers get [`Fault::Busy`].

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use crossbeam_channel::bounded;
use tokio::sync::oneshot;

use crate::exec::engine::THREAD_STACK;
use crate::exec::fair_queue::FairQueue;
use crate::fault::{Fault, panic_text};

type Job = Box<dyn FnOnce() + Send>;

/// Jobs of one family that may wait; at 20 us a call and two threads the last one waits about 10 ms.
const QUEUE_LIMIT: usize = 1024;

/// Runs calls on its threads; they end when it is dropped.
pub(crate) struct Threads {
    shared: Arc<Shared>,
    /// Blocks each caller until its call is done, so that a test sees everything happen in one order.
    synchronous: bool,
}

#[derive(Default)]
struct Shared {
    work: Mutex<Work>,
    job_added: Condvar,
}

#[derive(Default)]
struct Work {
    queue: FairQueue<Job>,
    closed: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Work> {
        // A panic cannot leave the queue half changed: jobs run outside the lock.
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next job; `None` once the threads are to end.
    fn next(&self) -> Option<(Arc<str>, Job)> {
        let mut work = self.lock();
        loop {
            if let Some(next) = work.queue.pop() {
                return Some(next);
            }
            if work.closed {
                return None;
            }
            work = self.job_added.wait(work).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Threads {
    pub(crate) fn start(name: &str, count: usize) -> std::io::Result<Self> {
        let threads = Self { shared: Arc::default(), synchronous: false };
        for number in 0..count {
            let shared = Arc::clone(&threads.shared);
            thread::Builder::new()
                .name(format!("{name}-{number}"))
                .stack_size(THREAD_STACK)
                .spawn(move || work(&shared))?;
        }
        Ok(threads)
    }

    /// The same threads, with [`Threads::run`] blocking its caller.
    pub(crate) fn synchronous(mut self) -> Self {
        self.synchronous = true;
        self
    }

    pub(crate) fn is_synchronous(&self) -> bool {
        self.synchronous
    }

    /// Runs `call` on a thread. A call whose caller is dropped while it waits does not run.
    pub(crate) async fn run<R: Send + 'static>(
        &self,
        family: &str,
        call: impl FnOnce() -> Result<R, Fault> + Send + 'static,
    ) -> Result<R, Fault> {
        if self.synchronous {
            return self.run_blocking(family, call);
        }
        let (sender, receiver) = oneshot::channel();
        let job = move || {
            if !sender.is_closed() {
                let _ = sender.send(catch_panic(call));
            }
        };
        self.push(family, Box::new(job), QUEUE_LIMIT)?;
        receiver.await.unwrap_or_else(|_| Err(stopped()))
    }

    /// Runs `call` for a caller outside async code; waits even when the queue is full.
    pub(crate) fn run_blocking<R: Send + 'static>(
        &self,
        family: &str,
        call: impl FnOnce() -> Result<R, Fault> + Send + 'static,
    ) -> Result<R, Fault> {
        let (sender, receiver) = bounded(1);
        let job = move || {
            let _ = sender.send(catch_panic(call));
        };
        self.push(family, Box::new(job), usize::MAX)?;
        receiver.recv().unwrap_or_else(|_| Err(stopped()))
    }

    /// Calls of that family that wait for a thread.
    pub(crate) fn waiting(&self, family: &str) -> usize {
        self.shared.lock().queue.waiting(family)
    }

    fn push(&self, family: &str, job: Job, limit: usize) -> Result<(), Fault> {
        if !self.shared.lock().queue.push(family, job, limit) {
            return Err(Fault::Busy);
        }
        self.shared.job_added.notify_one();
        Ok(())
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.job_added.notify_all();
    }
}

fn work(shared: &Shared) {
    while let Some((family, job)) = shared.next() {
        let begun = Instant::now();
        job();
        shared.lock().queue.charge(&family, begun.elapsed());
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

    #[tokio::test]
    async fn a_panic_is_a_fault_and_the_thread_goes_on() {
        let threads = Threads::start("test", 1).unwrap();
        let fault = threads.run::<()>("a", || panic!("boom")).await.unwrap_err();
        assert_eq!(fault, Fault::Host("panic: boom".to_owned()));
        assert_eq!(threads.run("a", || Ok(7)).await, Ok(7));
        assert_eq!(threads.run_blocking("a", || Ok(8)), Ok(8));
    }

    #[tokio::test]
    async fn a_full_queue_is_busy_for_its_own_family_only() {
        let threads = Threads::start("test", 1).unwrap();
        let (go, wait) = bounded::<()>(0);
        let (started, running) = bounded::<()>(1);
        let hold: Job = Box::new(move || {
            let _ = started.send(());
            let _ = wait.recv();
        });
        threads.push("a", hold, QUEUE_LIMIT).unwrap();
        running.recv().unwrap();
        for _ in 0..QUEUE_LIMIT {
            threads.push("a", Box::new(|| {}), QUEUE_LIMIT).unwrap();
        }
        assert_eq!(threads.run("a", || Ok(())).await, Err(Fault::Busy));
        let mut other = Box::pin(threads.run("b", || Ok(())));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(other.as_mut().poll(&mut context).is_pending(), "another family has its own queue");
        drop(go);
        assert_eq!(other.await, Ok(()));
        assert_eq!(threads.run_blocking("a", || Ok(())), Ok(()));
    }

    #[tokio::test]
    async fn a_call_without_a_caller_does_not_run() {
        let threads = Threads::start("test", 1).unwrap();
        let (go, wait) = bounded::<()>(0);
        threads.push("a", Box::new(move || wait.recv().unwrap_or(())), QUEUE_LIMIT).unwrap();
        let (sender, receiver) = bounded::<()>(1);
        let mut dropped = Box::pin(threads.run("a", move || {
            let _ = sender.send(());
            Ok(())
        }));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(dropped.as_mut().poll(&mut context).is_pending());
        drop(dropped);
        drop(go);
        threads.run_blocking("a", || Ok(())).unwrap();
        assert!(receiver.try_recv().is_err());
    }
}
