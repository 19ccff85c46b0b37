//! A fixed set of threads that run plugins, behind one bounded queue.
//!
//! Calls are synchronous: a pure function has nothing to await, and a guest's endless loop may hold a
//! plugin thread but never a thread that serves sockets. The threads are outside any async runtime, as
//! wasmtime-wasi's synchronous half requires.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use tokio::sync::oneshot;

use crate::engine::THREAD_STACK;
use crate::fault::Fault;

type Job = Box<dyn FnOnce() + Send>;

/// Jobs waiting; at 20 us a call the last one waits some 10 ms for two threads.
const QUEUE: usize = 1024;

/// The threads end when this is dropped.
pub(crate) struct Threads {
    jobs: Sender<Job>,
    /// A caller is held up until its call is done, so that calls and everything else happen in one order.
    in_turn: bool,
}

impl Threads {
    pub(crate) fn start(name: &str, count: usize) -> std::io::Result<Self> {
        let (jobs, queue) = bounded(QUEUE);
        for number in 0..count {
            let queue = queue.clone();
            thread::Builder::new()
                .name(format!("{name}-{number}"))
                .stack_size(THREAD_STACK)
                .spawn(move || work(&queue))?;
        }
        Ok(Self { jobs, in_turn: false })
    }

    /// The same threads, with each call holding up the thread that asks for it.
    pub(crate) fn in_turn(self) -> Self {
        Self { in_turn: true, ..self }
    }

    /// Runs `call` on a thread as soon as one is free. When the caller goes away first, the call is not
    /// begun.
    pub(crate) async fn run<R: Send + 'static>(
        &self,
        call: impl FnOnce() -> Result<R, Fault> + Send + 'static,
    ) -> Result<R, Fault> {
        if self.in_turn {
            return self.run_blocking(call);
        }
        let (tell, told) = oneshot::channel();
        let job = move || {
            if !tell.is_closed() {
                let _ = tell.send(guarded(call));
            }
        };
        self.jobs.try_send(Box::new(job)).map_err(refused)?;
        told.await.unwrap_or_else(|_| Err(stopped()))
    }

    /// The same for a caller that is no future; waits its turn even when the queue is full.
    pub(crate) fn run_blocking<R: Send + 'static>(
        &self,
        call: impl FnOnce() -> Result<R, Fault> + Send + 'static,
    ) -> Result<R, Fault> {
        let (tell, told) = bounded(1);
        let job = move || {
            let _ = tell.send(guarded(call));
        };
        self.jobs.send(Box::new(job)).map_err(|_| stopped())?;
        told.recv().unwrap_or_else(|_| Err(stopped()))
    }
}

fn work(queue: &Receiver<Job>) {
    while let Ok(job) = queue.recv() {
        job();
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

fn refused(why: TrySendError<Job>) -> Fault {
    match why {
        TrySendError::Full(_) => Fault::Busy,
        TrySendError::Disconnected(_) => stopped(),
    }
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
        let fault = threads.run::<()>(|| panic!("boom")).await.unwrap_err();
        assert_eq!(fault, Fault::Host("panic: boom".to_owned()));
        assert_eq!(threads.run(|| Ok(7)).await, Ok(7));
        assert_eq!(threads.run_blocking(|| Ok(8)), Ok(8));
    }

    #[tokio::test]
    async fn a_full_queue_says_busy_at_once() {
        let threads = Threads::start("test", 1).unwrap();
        let (go, wait) = bounded::<()>(0);
        let (started, running) = bounded::<()>(1);
        let hold: Job = Box::new(move || {
            let _ = started.send(());
            let _ = wait.recv();
        });
        threads.jobs.send(hold).unwrap();
        running.recv().unwrap();
        for _ in 0..QUEUE {
            threads.jobs.send(Box::new(|| {})).unwrap();
        }
        assert_eq!(threads.run(|| Ok(())).await, Err(Fault::Busy));
        drop(go);
        assert_eq!(threads.run_blocking(|| Ok(())), Ok(()));
    }

    #[tokio::test]
    async fn a_caller_that_left_is_not_served() {
        let threads = Threads::start("test", 1).unwrap();
        let (go, wait) = bounded::<()>(0);
        threads.jobs.send(Box::new(move || wait.recv().unwrap_or(()))).unwrap();
        let (tell, told) = bounded::<()>(1);
        let mut left = Box::pin(threads.run(move || {
            let _ = tell.send(());
            Ok(())
        }));
        let mut quiet = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(left.as_mut().poll(&mut quiet).is_pending());
        drop(left);
        drop(go);
        threads.run_blocking(|| Ok(())).unwrap();
        assert!(told.try_recv().is_err());
    }
}
