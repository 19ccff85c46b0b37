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
        let mut latencies: Vec<Duration> = lines.join_all().await.into_iter().flatten().collect();
        let took = started.elapsed();
        latencies.sort_unstable();
        Self { took, latencies }
    }

    /// Requests a second.
    pub(crate) fn rate(&self) -> String {
        rate(self.latencies.len(), self.took)
    }

    /// The time that `share` of the requests stayed below.
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub(crate) fn quantile(&self, share: f64) -> Duration {
        let last = self.latencies.len().saturating_sub(1);
        self.latencies.get((last as f64 * share) as usize).copied().unwrap_or_default()
    }
}

/// Things a second.
#[expect(clippy::cast_precision_loss, reason = "no digit behind the point is shown")]
pub(crate) fn rate(count: usize, took: Duration) -> String {
    format!("{:.0}/s", count as f64 / took.as_secs_f64())
}

/// One connection's requests, one after the other.
async fn line(address: SocketAddr, count: usize, next: Arc<AtomicUsize>, make: Arc<Make>) -> Vec<Duration> {
    let stream = TcpStream::connect(address).await.expect("the gateway listens");
    stream.set_nodelay(true).expect("a fresh socket");
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.expect("a connection");
    tokio::spawn(connection);
    let mut latencies = Vec::new();
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= count {
            return latencies;
        }
        let request = make(number);
        let started = Instant::now();
        sender.ready().await.expect("the connection is kept");
        let answer = sender.send_request(request).await.expect("an answer");
        let status = answer.status();
        let body = answer.into_body().collect().await.expect("a whole answer").to_bytes();
        latencies.push(started.elapsed());
        assert!(status.is_success(), "request {number}: {status} {}", String::from_utf8_lossy(&body));
    }
}
