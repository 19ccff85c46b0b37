//! What a connection has under way, as the code above hyper sees it: its requests, by which is decided when an idle one ends, and
//! what is written and not yet flushed. hyper drops the bytes of an answer when they are written, which inside TLS is before
//! they leave. Never touches a stream.

use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Written bytes that count as one piece of a response. The pings to a silent HTTP/2 peer are shorter: they keep no connection open.
const PIECE: usize = 4096;

/// Requests of one connection under way; without any the connection is idle. A connection is also idle when
/// its peer takes none of the responses that are ready: HTTP/2 lets it close its window without the socket
/// ever being full. Bytes that the socket takes are progress, too: hyper may still hold a response whole when
/// its request is over for the code above.
#[derive(Clone, Debug, Default)]
pub struct Activity(Arc<Counters>);

#[derive(Debug, Default)]
struct Counters {
    under_way: AtomicUsize,
    awaiting_client: AtomicUsize,
    progress: AtomicUsize,
    /// Bytes given to the socket.
    written: AtomicUsize,
}

impl Activity {
    /// No request is under way, or every one waits for nothing but its client.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.0.under_way.load(Ordering::Acquire) == self.0.awaiting_client.load(Ordering::Acquire)
    }

    /// Requests begun and response pieces taken so far, by hyper and by the socket. Two equal readings mean that nothing happened
    /// in between, except for less than `PIECE` bytes.
    #[must_use]
    pub fn progress(&self) -> usize {
        self.0.progress.load(Ordering::Acquire) + self.0.written.load(Ordering::Relaxed) / PIECE
    }

    /// Bytes were given to the socket.
    pub(crate) fn record_written(&self, bytes: usize) {
        self.0.written.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts a request and, until it ends, whether it waits for nothing but its client.
    #[must_use]
    pub fn begin_request(&self) -> RequestActivity {
        self.0.under_way.fetch_add(1, Ordering::AcqRel);
        let request = RequestActivity { counters: Arc::clone(&self.0), awaits_client: false };
        request.record_progress();
        request
    }
}

/// One counted request; ends when dropped.
#[derive(Debug)]
pub struct RequestActivity {
    counters: Arc<Counters>,
    awaits_client: bool,
}

impl RequestActivity {
    /// The request began, or a piece of its response was taken.
    pub fn record_progress(&self) {
        self.counters.progress.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether the request waits for nothing but its client.
    pub fn set_awaiting_client(&mut self, awaits: bool) {
        match (self.awaits_client, awaits) {
            (false, true) => self.counters.awaiting_client.fetch_add(1, Ordering::AcqRel),
            (true, false) => self.counters.awaiting_client.fetch_sub(1, Ordering::AcqRel),
            _ => return,
        };
        self.awaits_client = awaits;
    }
}

impl Drop for RequestActivity {
    fn drop(&mut self) {
        self.set_awaiting_client(false);
        self.counters.under_way.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The flushes of one connection, shared by its byte stream and its service.
#[derive(Clone, Default)]
pub struct Flushes(Arc<Mutex<Unflushed>>);

#[derive(Default)]
struct Unflushed {
    /// Bytes were written after the last flush.
    any: bool,
    /// Dropped by the next flush.
    kept: Vec<Box<dyn Send>>,
}

impl Flushes {
    /// Drops `value` once all bytes written until now are flushed, or the connection has ended: at once where nothing waits.
    pub fn drop_after(&self, value: Box<dyn Send>) {
        let mut over = Some(value);
        self.change(|unflushed| {
            if unflushed.any {
                unflushed.kept.extend(over.take());
            }
        });
        // Outside of the lock, as below.
        drop(over);
    }

    /// Bytes were written.
    pub(crate) fn wrote(&self) {
        self.change(|unflushed| unflushed.any = true);
    }

    /// All bytes have left, or none ever will.
    pub(crate) fn flushed(&self) {
        let kept = self.change(|unflushed| mem::take(unflushed).kept);
        // Outside of the lock: what is dropped may end a connection.
        drop(kept);
    }

    fn change<T>(&self, change: impl FnOnce(&mut Unflushed) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pings that counted would keep a connection without requests open for ever.
    #[test]
    fn written_bytes_are_progress_and_a_few_pings_do_not_count() {
        let activity = Activity::default();
        let begun = activity.progress();
        for _ in 0..100 {
            activity.record_written(17);
        }
        assert_eq!(activity.progress(), begun);
        activity.record_written(PIECE);
        assert_ne!(activity.progress(), begun);
        assert!(activity.is_idle(), "no request is under way");
    }

    #[test]
    fn a_value_is_kept_until_what_was_written_has_left() {
        let (flushes, value) = (Flushes::default(), Arc::new(()));
        let others = || Arc::strong_count(&value) - 1;
        flushes.drop_after(Box::new(Arc::clone(&value)));
        assert_eq!(others(), 0, "nothing was written");
        flushes.wrote();
        flushes.drop_after(Box::new(Arc::clone(&value)));
        flushes.drop_after(Box::new(Arc::clone(&value)));
        assert_eq!(others(), 2);
        flushes.flushed();
        assert_eq!(others(), 0);
        flushes.drop_after(Box::new(Arc::clone(&value)));
        assert_eq!(others(), 0, "nothing was written since");
    }
}
