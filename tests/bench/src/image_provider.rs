//! An image provider that only answers: submissions, polls, pictures. Speaks as much of the wire format as the
//! context-image family reads, and shares no code with a plugin.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::sync::Notify;

use crate::http1;
use crate::server::{self, Received, Service};

const JSON: &str = "application/json";

/// What a poll is told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Jobs {
    /// Never ready.
    Endless,
    /// Ready when first counts.
    Instant,
}

/// The requests so far.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) submissions: Counter,
    pub(crate) polls: Counter,
    pub(crate) pictures: Counter,
}

/// A number that one may wait for. To count wakes nobody until it is reached.
pub(crate) struct Counter {
    count: AtomicUsize,
    target: AtomicUsize,
    reached: Notify,
}

/// A running provider; it ends with the process.
pub(crate) struct Provider {
    origin: String,
    answers: Arc<Answers>,
}

/// What it answers, written beforehand.
struct Answers {
    origin: String,
    poll: Vec<u8>,
    picture: Vec<u8>,
    counts: Counts,
}

impl Provider {
    /// Listens on a free port.
    pub(crate) fn start(jobs: Jobs) -> Self {
        let (address, answers) = server::start(|address| Answers::new(jobs, format!("http://{address}")));
        Self { origin: format!("http://{address}"), answers }
    }

    /// Its addresses in the form the gateway reads.
    pub(crate) fn addresses(&self) -> Value {
        let origin = &self.origin;
        json!({ "submit": origin, "poll": origin, "delivery": origin, "samples": origin })
    }

    /// The requests so far.
    pub(crate) fn counts(&self) -> &Counts {
        &self.answers.counts
    }
}

impl Answers {
    fn new(jobs: Jobs, origin: String) -> Self {
        let poll = match jobs {
            Jobs::Endless => r#"{"id":"1","status":"Pending","result":null}"#.to_owned(),
            Jobs::Instant => {
                format!(r#"{{"id":"1","status":"Ready","result":{{"sample":"{origin}/picture","seed":1}}}}"#)
            }
        };
        Self {
            poll: http1::answer(JSON, poll.as_bytes()),
            picture: http1::answer("image/png", &png(2048)),
            origin,
            counts: Counts::default(),
        }
    }
}

impl Service for Answers {
    const READS_BODIES: bool = false;

    async fn answer(&self, request: &Received, stream: &mut TcpStream) -> io::Result<()> {
        if request.is_post {
            let (number, origin) = (self.counts.submissions.add(), &self.origin);
            let job = format!(r#"{{"id":"{number}","polling_url":"{origin}/v1/get_result?id={number}"}}"#);
            return stream.write_all(&http1::answer(JSON, job.as_bytes())).await;
        }
        if request.path == "/picture" {
            self.counts.pictures.add();
            return stream.write_all(&self.picture).await;
        }
        self.counts.polls.add();
        stream.write_all(&self.poll).await
    }
}

impl Default for Counter {
    fn default() -> Self {
        Self { count: AtomicUsize::new(0), target: AtomicUsize::new(usize::MAX), reached: Notify::new() }
    }
}

impl Counter {
    /// The number now.
    pub(crate) fn get(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    /// Returns once it is at least `target`. One may wait at a time.
    pub(crate) async fn reach(&self, target: usize) {
        // Either the number is seen here, or the one that counts sees the target and leaves a permit.
        self.target.store(target, Ordering::SeqCst);
        while self.get() < target {
            self.reached.notified().await;
        }
        self.target.store(usize::MAX, Ordering::SeqCst);
    }

    /// Counts one more, and returns the number.
    fn add(&self) -> usize {
        let number = self.count.fetch_add(1, Ordering::SeqCst) + 1;
        if number >= self.target.load(Ordering::SeqCst) {
            self.reached.notify_one();
        }
        number
    }
}

/// A file of `length` bytes that says of itself it is a PNG of 1024x1024; nobody on the way decodes one.
pub(crate) fn png(length: usize) -> Bytes {
    let mut file = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x04\0\0\0\x04\0\x08\x02\0\0\0\0\0\0\0".to_vec();
    // Bytes that differ, so that nothing along the way has an easy time with them.
    let filler = (0_u32..).map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()[3]);
    let end = b"IEND\xae\x42\x60\x82";
    let missing = length.saturating_sub(file.len() + end.len());
    file.extend(filler.take(missing));
    file.extend(end);
    file.into()
}

/// The same as a `data:` URI.
pub(crate) fn png_uri(length: usize) -> String {
    format!("data:image/png;base64,{}", base64::engine::general_purpose::STANDARD.encode(png(length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_wakes_the_one_who_waits() {
        gatehouse_harness::run(async {
            for _ in 0..200 {
                let counter = Arc::new(Counter::default());
                let counting = Arc::clone(&counter);
                let thread = std::thread::spawn(move || {
                    for _ in 0..100 {
                        counting.add();
                    }
                });
                counter.reach(50).await;
                counter.reach(100).await;
                counter.reach(7).await;
                assert_eq!(counter.get(), 100);
                thread.join().unwrap();
            }
        });
    }
}
