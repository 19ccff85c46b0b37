//! Work that runs once for all concurrent callers with the same key, on a blocking thread.
//!
//! A dropped caller does not stop the work. No lock is held while it runs.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex};

use tokio::sync::watch;

use crate::exec::lock;

type Running<K, V> = HashMap<K, watch::Receiver<Option<V>>>;

/// The keys with running work.
pub(crate) struct SingleFlight<K, V> {
    running: Arc<Mutex<Running<K, V>>>,
}

impl<K, V> Default for SingleFlight<K, V> {
    fn default() -> Self {
        Self { running: Arc::default() }
    }
}

/// Marks a key as running until it is dropped.
pub(crate) struct Reservation<K: Eq + Hash, V> {
    running: Arc<Mutex<Running<K, V>>>,
    key: K,
    result: watch::Sender<Option<V>>,
}

impl<K: Eq + Hash, V> Drop for Reservation<K, V> {
    fn drop(&mut self) {
        lock(&self.running).remove(&self.key);
    }
}

impl<K: Copy + Eq + Hash + Send + 'static, V: Clone + Send + Sync + 'static> SingleFlight<K, V> {
    /// The result of `work`, or of the work that runs for `key` already. `None` when that ended without a result: it
    /// panicked, or it was a reservation.
    pub(crate) async fn run(&self, key: K, work: impl FnOnce() -> V + Send + 'static) -> Option<V> {
        let mut result = match self.begin(key) {
            Ok(reservation) => {
                let (sender, receiver) = (reservation.result.clone(), reservation.result.subscribe());
                tokio::task::spawn_blocking(move || {
                    let value = work();
                    // First, so that a call after this result runs again.
                    drop(reservation);
                    sender.send_replace(Some(value));
                });
                receiver
            }
            Err(running) => running,
        };
        let value = result.wait_for(Option::is_some).await.ok()?.clone();
        // The channel keeps a copy until its sender is gone. Without this wait, a caller that drops its own copy would
        // often not drop the last; it still need not be, for the moment in which the sender's thread lets go.
        while result.changed().await.is_ok() {}
        value
    }

    /// Keeps others from beginning work for `key`; `None` when work runs already.
    pub(crate) fn reserve(&self, key: K) -> Option<Reservation<K, V>> {
        self.begin(key).ok()
    }

    fn begin(&self, key: K) -> Result<Reservation<K, V>, watch::Receiver<Option<V>>> {
        let mut running = lock(&self.running);
        if let Some(result) = running.get(&key) {
            return Err(result.clone());
        }
        let (sender, receiver) = watch::channel(None);
        running.insert(key, receiver);
        Ok(Reservation { running: Arc::clone(&self.running), key, result: sender })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn concurrent_callers_share_one_run() {
        let (flights, runs) = (SingleFlight::default(), Arc::new(AtomicU32::new(0)));
        let (go, wait) = mpsc::channel::<()>();
        let counter = Arc::clone(&runs);
        let first = flights.run(1, move || {
            wait.recv().unwrap();
            counter.fetch_add(1, Ordering::SeqCst) + 10
        });
        let counter = Arc::clone(&runs);
        let second = flights.run(1, move || counter.fetch_add(100, Ordering::SeqCst));
        let other = flights.run(2, || 7);
        // Polled in this order: the first caller begins, the second joins, the third lets the first go on.
        let last = async {
            assert_eq!(other.await, Some(7));
            go.send(()).unwrap();
        };
        let (first, second, ()) = tokio::join!(first, second, last);
        assert_eq!((first, second, runs.load(Ordering::SeqCst)), (Some(10), Some(10), 1));
        assert_eq!(flights.run(1, || 3).await, Some(3), "the next call runs again");
    }

    #[tokio::test]
    async fn a_panic_and_a_reservation_end_without_a_result() {
        let flights = SingleFlight::<u8, u8>::default();
        assert_eq!(flights.run(1, || panic!("on purpose")).await, None);
        let reserved = flights.reserve(1).expect("nothing runs");
        assert!(flights.reserve(1).is_none());
        let mut joined = Box::pin(flights.run(1, || 2));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(joined.as_mut().poll(&mut context).is_pending());
        drop(reserved);
        assert_eq!(joined.await, None);
        assert_eq!(flights.run(1, || 3).await, Some(3));
    }
}
