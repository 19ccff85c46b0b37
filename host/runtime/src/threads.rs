//! A fixed set of threads that run plugins, and one queue for each family.
//!
//! Calls are synchronous: a pure function has nothing to await, and a guest's endless loop may hold a
//! plugin thread but never a thread that serves sockets. The threads are outside any async runtime, as
//! wasmtime-wasi's synchronous half requires.
//!
//! Which family is next is decided in `turns`: whoever has had the least of the threads' time. So a family
//! whose plugin uses up its time limit call after call delays the others by the call under way, fills
//! its own queue, and is itself the one that is told to come again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use crossbeam_channel::bounded;
use tokio::sync::oneshot;

use crate::engine::THREAD_STACK;
use crate::fault::Fault;
use crate::turns::Turns;

type Job = Box<dyn FnOnce() + Send>;

/// Jobs of one family waiting; at 20 us a call the last one waits some 10 ms for two threads.
const QUEUE: usize = 1024;

/// The threads end when this is dropped.
pub(crate) struct Threads {
    shared: Arc<Shared>,
    /// A caller is held up until its call is done, so that calls and everything else happen in one order.
    in_turn: bool,
}

#[derive(Default)]
struct Shared {
    work: Mutex<Work>,
    came: Condvar,
}

#[derive(Default)]
struct Work {
    turns: Turns<Job>,
    over: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Work> {
        // Jobs run outside the lock, and every change below it is complete before anything can panic.
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next job and whose it is; `None` when there will be no more.
    fn next(&self) -> Option<(Arc<str>, Job)> {
        let mut work = self.lock();
        loop {
            if let Some(next) = work.turns.take() {
                return Some(next);
            }
            if work.over {
                return None;
            }
            work = self.came.wait(work).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Threads {
    pub(crate) fn start(name: &str, count: usize) -> std::io::Result<Self> {
        let threads = Self { shared: Arc::default(), in_turn: false };
        for number in 0..count {
            let shared = Arc::clone(&threads.shared);
            thread::Builder::new()
                .name(format!("{name}-{number}"))
                .stack_size(THREAD_STACK)
                .spawn(move || work(&shared))?;
        }
        Ok(threads)
    }

    /// The same threads, with each call holding up the thread that asks for it.
    pub(crate) fn in_turn(mut self) -> Self {
        self.in_turn = true;
        self
    }

    /// Runs `call` on a thread when it is its family's turn. When the caller goes away first, the call is
    /// not begun.
    pub(crate) async fn run<R: Send + 'static>(
        &self,
        family: &str,
        call: impl FnOnce() -> Result<R, Fault> + Send + 'static,
    ) -> Result<R, Fault> {
        if self.in_turn {
            return self.run_blocking(family, call);
        }
        let (tell, told) = oneshot::channel();
        let job = move || {
            if !tell.is_closed() {
                let _ = tell.send(guarded(call));
            }
        };
        self.queue(family, Box::new(job), QUEUE)?;
        told.await.unwrap_or_else(|_| Err(stopped()))
    }

    /// The same for a caller that is no future; waits its turn even when the queue is full.
    pub(crate) fn run_blocking<R: Send + 'static>(
        &self,
        family: &str,
        call: impl FnOnce() -> Result<R, Fault> + Send + 'static,
    ) -> Result<R, Fault> {
        let (tell, told) = bounded(1);
        let job = move || {
            let _ = tell.send(guarded(call));
        };
        self.queue(family, Box::new(job), usize::MAX)?;
        told.recv().unwrap_or_else(|_| Err(stopped()))
    }

    /// Calls of that family that wait for a thread.
    pub(crate) fn waiting(&self, family: &str) -> usize {
        self.shared.lock().turns.waiting(family)
    }

    fn queue(&self, family: &str, job: Job, most: usize) -> Result<(), Fault> {
        let queued = self.shared.lock().turns.queue(family, job, most);
        if !queued {
            return Err(Fault::Busy);
        }
        self.shared.came.notify_one();
        Ok(())
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.shared.lock().over = true;
        self.shared.came.notify_all();
    }
}

fn work(shared: &Shared) {
    while let Some((family, job)) = shared.next() {
        let begun = Instant::now();
        job();
        shared.lock().turns.charge(&family, begun.elapsed());
    }
}

/// A bug around one call must not take a thread away from all others.
fn guarded<R>(call: impl FnOnce() -> Result<R, Fault>) -> Result<R, Fault> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        let words = panic
            .downcast_ref::<&str>()
            .map(|words| (*words).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned());
        Err(Fault::Host(format!("panic: {}", words.unwrap_or_default())))
    })
}

fn stopped() -> Fault {
    Fault::Host("the plugin threads have stopped".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_a_fault_and_the_thread_lives() {
        let threads = Threads::start("test", 1).unwrap();
        let fault = threads.run::<()>("a", || panic!("boom")).await.unwrap_err();
        assert_eq!(fault, Fault::Host("panic: boom".to_owned()));
        assert_eq!(threads.run("a", || Ok(7)).await, Ok(7));
        assert_eq!(threads.run_blocking("a", || Ok(8)), Ok(8));
    }

    #[tokio::test]
    async fn a_full_queue_says_busy_at_once_to_its_own_family() {
        let threads = Threads::start("test", 1).unwrap();
        let (go, wait) = bounded::<()>(0);
        let (started, running) = bounded::<()>(1);
        let hold: Job = Box::new(move || {
            let _ = started.send(());
            let _ = wait.recv();
        });
        threads.queue("a", hold, QUEUE).unwrap();
        running.recv().unwrap();
        for _ in 0..QUEUE {
            threads.queue("a", Box::new(|| {}), QUEUE).unwrap();
        }
        assert_eq!(threads.run("a", || Ok(())).await, Err(Fault::Busy));
        let mut other = Box::pin(threads.run("b", || Ok(())));
        let mut quiet = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(other.as_mut().poll(&mut quiet).is_pending(), "another family has its own queue");
        drop(go);
        assert_eq!(other.await, Ok(()));
        assert_eq!(threads.run_blocking("a", || Ok(())), Ok(()));
    }

    #[tokio::test]
    async fn a_caller_that_left_is_not_served() {
        let threads = Threads::start("test", 1).unwrap();
        let (go, wait) = bounded::<()>(0);
        threads.queue("a", Box::new(move || wait.recv().unwrap_or(())), QUEUE).unwrap();
        let (tell, told) = bounded::<()>(1);
        let mut left = Box::pin(threads.run("a", move || {
            let _ = tell.send(());
            Ok(())
        }));
        let mut quiet = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(left.as_mut().poll(&mut quiet).is_pending());
        drop(left);
        drop(go);
        threads.run_blocking("a", || Ok(())).unwrap();
        assert!(told.try_recv().is_err());
    }
}
