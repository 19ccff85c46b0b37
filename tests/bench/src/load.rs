//! The load generator: connections that are kept open, each with one request under way, until all are done.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// One request, by its number.
pub(crate) type Make = dyn Fn(usize) -> Request<Full<Bytes>> + Send + Sync;

/// How long it took, all in all and one by one.
pub(crate) struct Load {
    took: Duration,
    latencies: Vec<Duration>,
    firsts: Vec<Duration>,
}

impl Load {
    /// Sends requests 0 to `count` over `connections`; every answer must be a good one.
    pub(crate) async fn run(address: SocketAddr, connections: usize, count: usize, make: Arc<Make>) -> Self {
        let next = Arc::new(AtomicUsize::new(0));
        let started = Instant::now();
        let mut lines = JoinSet::new();
        for _ in 0..connections.min(count) {
            lines.spawn(line(address, count, Arc::clone(&next), Arc::clone(&make)));
        }
        let spans: Vec<Span> = lines.join_all().await.into_iter().flatten().collect();
        let took = started.elapsed();
        let sorted = |span: fn(&Span) -> Duration| {
            let mut all: Vec<Duration> = spans.iter().map(span).collect();
            all.sort_unstable();
            all
        };
        Self { took, latencies: sorted(|span| span.whole), firsts: sorted(|span| span.first) }
    }

    /// Requests a second.
    pub(crate) fn rate(&self) -> String {
        rate(self.latencies.len(), self.took)
    }

    /// The time that `share` of the requests stayed below.
    pub(crate) fn quantile(&self, share: f64) -> Duration {
        quantile(&self.latencies, share)
    }

    /// The same, until the first bytes of the body.
    pub(crate) fn first(&self, share: f64) -> Duration {
        quantile(&self.firsts, share)
    }
}

/// One request, until the first bytes of its answer's body and until the last ones.
struct Span {
    first: Duration,
    whole: Duration,
}

#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn quantile(sorted: &[Duration], share: f64) -> Duration {
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * share) as usize).copied().unwrap_or_default()
}

/// Things a second.
#[expect(clippy::cast_precision_loss, reason = "no digit behind the point is shown")]
pub(crate) fn rate(count: usize, took: Duration) -> String {
    format!("{:.0}/s", count as f64 / took.as_secs_f64())
}

/// One connection's requests, one after the other.
async fn line(address: SocketAddr, count: usize, next: Arc<AtomicUsize>, make: Arc<Make>) -> Vec<Span> {
    let stream = TcpStream::connect(address).await.expect("the gateway listens");
    stream.set_nodelay(true).expect("a fresh socket");
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.expect("a connection");
    tokio::spawn(connection);
    let mut spans = Vec::new();
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= count {
            return spans;
        }
        let request = make(number);
        let started = Instant::now();
        sender.ready().await.expect("the connection is kept");
        let answer = sender.send_request(request).await.expect("an answer");
        let status = answer.status();
        let mut body = answer.into_body();
        let begun = body.frame().await;
        let first = started.elapsed();
        let mut text = Vec::new();
        let mut frame = begun;
        while let Some(piece) = frame {
            let piece = piece.expect("a whole answer");
            // An answer in order is only counted; one that is not is shown.
            if !status.is_success() {
                text.extend_from_slice(piece.data_ref().map_or(&[], |data| data.as_ref()));
            }
            frame = body.frame().await;
        }
        spans.push(Span { first, whole: started.elapsed() });
        assert!(status.is_success(), "request {number}: {status} {}", String::from_utf8_lossy(&text));
    }
}
