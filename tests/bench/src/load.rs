//! The load generator: connections that are kept open, each with one request under way, until all are done. Runs on a thread
//! of its own and sends bytes that others wrote, so that it takes little of the processor the gateway needs.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bytes::{Buf as _, Bytes, BytesMut};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::gateway::pause;
use crate::http1;

/// One request, by its number, as it is sent.
pub(crate) type Make = dyn Fn(usize) -> Bytes + Send + Sync;

/// How long it took, all in all and one by one.
pub(crate) struct Load {
    took: Duration,
    latencies: Vec<Duration>,
    firsts: Vec<Duration>,
}

impl Load {
    /// Sends requests 0 to `count` over `connections`; every answer must be a good one.
    pub(crate) async fn run(address: SocketAddr, connections: usize, count: usize, make: Arc<Make>) -> Self {
        let (done, ended) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().expect("a runtime");
        let thread = thread::Builder::new().name("load".to_owned()).spawn(move || {
            // One that nobody waits for is not missed.
            let _ = done.send(runtime.block_on(Self::all(address, connections, count, make)));
        });
        let thread = thread.expect("a thread");
        match ended.await {
            Ok(load) => load,
            Err(_) => {
                std::panic::resume_unwind(thread.join().expect_err("a thread that ends early has failed"))
            }
        }
    }

    async fn all(address: SocketAddr, connections: usize, count: usize, make: Arc<Make>) -> Self {
        let next = Arc::new(AtomicUsize::new(0));
        let started = Instant::now();
        let mut lines = JoinSet::new();
        for _ in 0..connections.min(count) {
            lines.spawn(line(address, count, Arc::clone(&next), Arc::clone(&make), is_success));
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

/// Requests that go on until they are stopped; each of them must be refused as a mistake.
pub(crate) struct Flood {
    stop: oneshot::Sender<()>,
    thread: thread::JoinHandle<usize>,
}

impl Flood {
    /// Starts it, and waits until each connection has had an answer.
    pub(crate) async fn start(address: SocketAddr, connections: usize, make: Arc<Make>) -> Self {
        let (stop, stopped) = oneshot::channel();
        let (begin, begun) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let flood = async move {
            let next = Arc::new(AtomicUsize::new(0));
            let mut lines = JoinSet::new();
            for _ in 0..connections {
                let (next, make) = (Arc::clone(&next), Arc::clone(&make));
                lines.spawn(line(address, usize::MAX, next, make, |status| status == 400));
            }
            let answered = || next.load(Ordering::Relaxed).saturating_sub(connections);
            while answered() < connections && lines.try_join_next().is_none() {
                pause(Duration::from_millis(10)).await;
            }
            // A figure that has failed stops nothing.
            let _ = begin.send(());
            tokio::select! {
                _ = stopped => answered(),
                ended = lines.join_next() => panic!("a connection ended: {ended:?}"),
            }
        };
        let thread = thread::Builder::new().name("flood".to_owned()).spawn(move || runtime.block_on(flood));
        begun.await.expect("a flood");
        Self { stop, thread: thread.expect("a thread") }
    }

    /// Ends it; how many requests were answered.
    pub(crate) fn stop(self) -> usize {
        // A thread that has failed says so below.
        let _ = self.stop.send(());
        self.thread.join().unwrap_or_else(|failure| std::panic::resume_unwind(failure))
    }
}

/// One request, until the first bytes of its answer's body and until the last ones.
#[derive(Debug)]
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
async fn line(
    address: SocketAddr,
    count: usize,
    next: Arc<AtomicUsize>,
    make: Arc<Make>,
    is_expected: fn(u16) -> bool,
) -> Vec<Span> {
    let mut stream = TcpStream::connect(address).await.expect("the gateway listens");
    stream.set_nodelay(true).expect("a fresh socket");
    let (mut incoming, mut outgoing) = stream.split();
    let (mut buffer, mut spans) = (BytesMut::new(), Vec::new());
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= count {
            return spans;
        }
        let request = make(number);
        let started = Instant::now();
        // Both at once: a refusal may come before the whole of a large request is sent.
        let (status, text, span) = tokio::select! {
            biased;
            never = send(&mut outgoing, &request) => match never {},
            answer = receive(&mut incoming, &mut buffer, started) => answer,
        };
        assert!(is_expected(status), "request {number}: {status} {}", String::from_utf8_lossy(&text));
        spans.push(span);
    }
}

/// Never returns: the answer ends it.
async fn send(outgoing: &mut WriteHalf<'_>, request: &[u8]) -> Infallible {
    // Where it fails, the answer or its lack says why.
    let _ = outgoing.write_all(request).await;
    std::future::pending().await
}

/// Reads one answer. One in order is only counted; of one that is not, the body is kept to be shown.
async fn receive(
    incoming: &mut ReadHalf<'_>,
    buffer: &mut BytesMut,
    started: Instant,
) -> (u16, Vec<u8>, Span) {
    let mut head = loop {
        match http1::answer_head(buffer) {
            Some(head) => {
                buffer.advance(head.length);
                // An interim answer is followed by the final one.
                if head.status >= 200 {
                    break head;
                }
            }
            None => more(incoming, buffer).await,
        }
    };
    let (mut first, mut text) = (None, Vec::new());
    loop {
        let mut begun = false;
        let taken = head.body.take(buffer, |data| {
            begun = true;
            if !is_success(head.status) {
                text.extend_from_slice(data);
            }
        });
        buffer.advance(taken);
        let over = head.body.is_over();
        if begun || over {
            first.get_or_insert_with(|| started.elapsed());
        }
        if over {
            let whole = started.elapsed();
            return (head.status, text, Span { first: first.unwrap_or(whole), whole });
        }
        more(incoming, buffer).await;
    }
}

async fn more(incoming: &mut ReadHalf<'_>, buffer: &mut BytesMut) {
    let open = http1::fill(incoming, buffer).await.expect("an answer");
    assert!(open, "the connection is kept until the whole answer came");
}

fn is_success(status: u16) -> bool {
    (200..300).contains(&status)
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;
    use crate::text_provider::TextProvider;

    #[test]
    fn every_request_is_answered_whole_and_streamed() {
        gatehouse_harness::run(async {
            let provider = TextProvider::start(false);
            for stream in [false, true] {
                let json = format!(r#"{{"stream":{stream}}}"#);
                let request = http1::post("/v1/messages", "gate.test", "Bearer k", json.as_bytes());
                let load = Load::run(provider.address, 3, 100, Arc::new(move |_| request.clone())).await;
                assert_eq!((load.latencies.len(), load.firsts.len()), (100, 100));
                assert!(load.first(0.5) <= load.quantile(0.5));
            }
        });
    }

    #[test]
    fn a_closed_gate_holds_streams() {
        gatehouse_harness::run(async {
            let provider = TextProvider::start(true);
            let request = http1::post("/v1/messages", "gate.test", "Bearer k", br#"{"stream":true}"#);
            let load = Load::run(provider.address, 5, 5, Arc::new(move |_| request.clone()));
            let (load, ()) = tokio::join!(load, async {
                provider.wait_for(5).await;
                provider.open();
            });
            assert_eq!(load.latencies.len(), 5);
        });
    }

    #[test]
    fn a_refusal_ends_the_run_though_its_request_is_not_read() {
        gatehouse_harness::run(async {
            let refuse = |mut stream: TcpStream| async move {
                stream.read_u8().await.expect("a request");
                let refusal = b"HTTP/1.1 413 Too Large\r\ncontent-length: 5\r\n\r\nlarge";
                stream.write_all(refusal).await.expect("a client");
                std::future::pending::<()>().await;
            };
            let address = gatehouse_harness::serve_connections(refuse).await;
            let request = http1::post("/", "gate.test", "Bearer k", &vec![b'x'; 50_000_000]);
            let load = Load::run(address, 2, 2, Arc::new(move |_| request.clone()));
            let failure = tokio::spawn(async { drop(load.await) }).await.unwrap_err().into_panic();
            let message = failure.downcast::<String>().unwrap();
            assert!(message.ends_with(": 413 large"), "{message}");
        });
    }
}
