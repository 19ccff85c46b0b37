//! Counters of one connection, shared by its service and by the code that decides when an idle connection
//! ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Requests of one connection under way; without any the connection is idle. A connection is also idle when
/// its peer takes none of the responses that are ready: HTTP/2 lets it close its window without the socket
/// ever being full.
#[derive(Clone, Debug, Default)]
pub struct Activity(Arc<Counters>);

#[derive(Debug, Default)]
struct Counters {
    under_way: AtomicUsize,
    awaiting_client: AtomicUsize,
    progress: AtomicUsize,
}

impl Activity {
    /// No request is under way, or every one waits for nothing but its client.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.0.under_way.load(Ordering::Acquire) == self.0.awaiting_client.load(Ordering::Acquire)
    }

    /// Requests begun and response pieces taken so far; two equal readings mean that neither happened in
    /// between.
    #[must_use]
    pub fn progress(&self) -> usize {
        self.0.progress.load(Ordering::Acquire)
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
