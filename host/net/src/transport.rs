//! The byte stream of one connection, with what hyper lacks: a timer for a head that never ends, a timer for
//! a client that never takes its response, and a lingering close.
//!
//! Never parses beyond [`Framing`], never closes a healthy connection. [`ConnectionFlags`] carries facts
//! between the two sides of hyper: this stream below it, the listener's service above it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use gatehouse_model::{Clock, Pause};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;

use crate::activity::{Activity, Flushes};
use crate::connection::Observed;
use crate::framing::Framing;

/// Time and bytes for a client to finish writing and read the response that refused its request, and no more.
/// Many clients read nothing before they have written a whole body, and a body that is too large is seldom
/// twice the limit.
const LINGER: Duration = Duration::from_secs(30);
const LINGER_BYTES: usize = 64 << 20;
/// HTTP/2 refuses one stream and goes on with the others. A whole connection ends because its peer broke the
/// protocol; of such a peer no more is read than may have been under way when the error was sent.
const LINGER_HTTP2: Duration = Duration::from_secs(2);
const LINGER_HTTP2_BYTES: usize = 1 << 20;

/// An accepted connection: a socket, or TLS over one, whose state is much larger.
pub type AcceptedStream = Either<TcpStream, Box<TlsStream<TcpStream>>>;

/// Facts about one connection, shared by its byte stream and its service.
#[derive(Debug, Default)]
pub struct ConnectionFlags {
    ambiguous: AtomicBool,
    untracked: AtomicBool,
    linger: AtomicBool,
    mid_head: AtomicBool,
    writing: AtomicBool,
    end: Notify,
}

impl ConnectionFlags {
    /// The last head carried both a length and an encoding.
    #[must_use]
    pub fn is_ambiguous(&self) -> bool {
        self.ambiguous.load(Ordering::Acquire)
    }

    /// The request under way must be the last of this HTTP/1 connection.
    #[must_use]
    pub(crate) fn is_last(&self) -> bool {
        self.untracked.load(Ordering::Acquire)
    }

    /// Part of a head has come. hyper counts a request only from its head's end.
    #[must_use]
    pub fn is_mid_head(&self) -> bool {
        self.mid_head.load(Ordering::Acquire)
    }

    /// Bytes wait for room in the socket: the time limit of a client that takes none of them runs.
    pub(crate) fn is_writing(&self) -> bool {
        self.writing.load(Ordering::Acquire)
    }

    /// A response was sent before the request's body was read: closing at once would destroy the response.
    pub(crate) fn linger(&self) {
        self.linger.store(true, Ordering::Release);
    }

    /// The connection takes no more requests: it ends with the last answer under way.
    pub fn end(&self) {
        self.end.notify_one();
    }

    /// Waits for that.
    pub(crate) async fn ended(&self) {
        self.end.notified().await;
    }
}

/// A connection's byte stream, observed.
pub(crate) struct Transport<IO> {
    io: IO,
    clock: Arc<dyn Clock>,
    flags: Arc<ConnectionFlags>,
    activity: Activity,
    flushes: Flushes,
    framing: Option<Framing>,
    head: Timer,
    write: Timer,
    closing: Option<Closing>,
}

/// A timeout that runs only while something is awaited.
struct Timer {
    span: Duration,
    running: Option<Pause>,
}

struct Closing {
    until: Pause,
    left: usize,
}

impl<IO> Transport<IO> {
    /// `head` is the time for one HTTP/1 head, `None` where HTTP/2 was agreed on; `write` the longest time
    /// a client may take no bytes.
    pub(crate) fn new(
        io: IO,
        clock: Arc<dyn Clock>,
        observed: Observed,
        head: Option<Duration>,
        write: Duration,
    ) -> Self {
        let Observed { flags, activity, flushes } = observed;
        let mut timer = Timer { span: head.unwrap_or_default(), running: None };
        if head.is_some() {
            // The first head is due from the first moment: a connection without a request is not kept.
            timer.start(&*clock);
        }
        let write = Timer { span: write, running: None };
        let framing = head.map(|_| Framing::new());
        Self { io, clock, flags, activity, flushes, framing, head: timer, write, closing: None }
    }

    fn observe(&mut self, bytes: &[u8]) {
        let Some(framing) = &mut self.framing else { return };
        let head_ended = framing.observe(bytes);
        self.flags.ambiguous.store(framing.is_ambiguous(), Ordering::Release);
        self.flags.untracked.store(framing.is_untracked(), Ordering::Release);
        if head_ended {
            self.head.running = None;
        }
        self.flags.mid_head.store(framing.is_mid_head(), Ordering::Release);
        if framing.is_mid_head() && self.head.running.is_none() {
            self.head.start(&*self.clock);
        }
    }
}

impl<IO> Drop for Transport<IO> {
    fn drop(&mut self) {
        self.flushes.flushed();
    }
}

impl Timer {
    fn start(&mut self, clock: &dyn Clock) {
        self.running = Some(clock.pause(self.span));
    }

    /// Ready once a started timer has run out.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.running {
            Some(pause) => pause.as_mut().poll(cx),
            None => Poll::Pending,
        }
    }
}

fn timed_out(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, what)
}

impl<IO: AsyncRead + Unpin> AsyncRead for Transport<IO> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        match Pin::new(&mut self.io).poll_read(cx, buf) {
            Poll::Ready(Ok(())) => {
                self.observe(&buf.filled()[before..]);
                Poll::Ready(Ok(()))
            }
            Poll::Pending if self.head.poll(cx).is_ready() => {
                Poll::Ready(Err(timed_out("the request head did not end in time")))
            }
            other => other,
        }
    }
}

impl<IO: AsyncWrite + Unpin> Transport<IO> {
    /// Runs one write.
    fn write(
        &mut self,
        cx: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut IO>, &mut Context<'_>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let written = ready!(self.with_timeout(cx, write));
        if let Ok(bytes) = &written {
            self.flushes.wrote();
            self.activity.record_written(*bytes);
        }
        Poll::Ready(written)
    }

    /// Runs `write`, and its timer while it makes no progress.
    fn with_timeout<T>(
        &mut self,
        cx: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut IO>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let mut result = write(Pin::new(&mut self.io), cx);
        if result.is_pending() {
            if self.write.running.is_none() {
                self.write.start(&*self.clock);
            }
            if self.write.poll(cx).is_ready() {
                result = Poll::Ready(Err(timed_out("the client did not take its response in time")));
            }
        }
        if result.is_ready() {
            self.write.running = None;
        }
        self.flags.writing.store(result.is_pending(), Ordering::Release);
        result
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Transport<IO> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.write(cx, |io, cx| io.poll_write(cx, buf))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.write(cx, |io, cx| io.poll_write_vectored(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.with_timeout(cx, AsyncWrite::poll_flush))?;
        self.flushes.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.closing.is_none() {
            ready!(self.with_timeout(cx, AsyncWrite::poll_shutdown))?;
            // Still mid-head: hyper refused the head before it was complete.
            let incomplete_head = self.framing.as_ref().is_some_and(Framing::is_mid_head);
            if !incomplete_head && !self.flags.linger.load(Ordering::Acquire) {
                return Poll::Ready(Ok(()));
            }
            // Without HTTP/1 framing the peer speaks HTTP/2.
            let (span, left) = match &self.framing {
                Some(framing) if !framing.is_untracked() => (LINGER, LINGER_BYTES),
                _ => (LINGER_HTTP2, LINGER_HTTP2_BYTES),
            };
            self.closing = Some(Closing { until: self.clock.pause(span), left });
        }
        self.linger(cx).map(Ok)
    }
}

impl<IO: AsyncRead + Unpin> Transport<IO> {
    /// Reads and drops what the client still sends: otherwise the kernel sends a reset, which overtakes our
    /// last bytes.
    fn linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(closing) = &mut self.closing else { return Poll::Ready(()) };
        let mut scratch = [0; 8192];
        loop {
            if closing.left == 0 || closing.until.as_mut().poll(cx).is_ready() {
                return Poll::Ready(());
            }
            let mut buf = ReadBuf::new(&mut scratch);
            let read = ready!(Pin::new(&mut self.io).poll_read(cx, &mut buf));
            if read.is_err() || buf.filled().is_empty() {
                return Poll::Ready(());
            }
            closing.left = closing.left.saturating_sub(buf.filled().len());
        }
    }
}
