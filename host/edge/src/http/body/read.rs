//! One request's body: read once, limited in bytes, time and pace, and counted against the budget of all bodies.
//!
//! A client's patience is a bucket that empties with time and fills with bytes, and holds `body_idle_seconds` at
//! most. So every span in which a body arrives brings at least `body_bytes_per_second` for each second beyond
//! `body_idle_seconds`: a fast start earns nothing for later.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use gatehouse_driver::{MemoryShortage, RequestMemory};
use gatehouse_model::{Clock, Key, UnixMs};
use http::{HeaderMap, header};
use http_body::Body as _;
use http_body_util::{BodyExt, Either, Full};
use hyper::body::{Frame, Incoming};

use crate::config::{Limits, seconds};
use crate::errors::{Kind, Refusal};
use crate::http::body::budget::{BodyBudget, Reservation, StreamedBody, WORKED_ON};
use crate::http::body::encoding::{Decoder, Encoding, Undecodable};

/// An unread body up to this length is read and dropped, so that the connection can be used again.
const MAX_DRAINED: u64 = 64 * 1024;
const DRAIN_TIME: Duration = Duration::from_secs(1);
/// Bytes that a part of a compressed body may become without others having a turn on this thread.
const MAX_LEAP: usize = 256 * 1024;

/// What tools of Windows write before a text. RFC 8259, section 8.1: a reader of JSON may pass over it.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// The body without the mark at its beginning.
fn unmarked(bytes: Bytes) -> Bytes {
    if bytes.starts_with(MARK) { bytes.slice(MARK.len()..) } else { bytes }
}

/// A request's body: on its connection, or whole where none came over one.
pub(crate) struct RequestBody {
    incoming: Either<Incoming, Full<Bytes>>,
    /// Whose part of the budget it takes.
    key: Option<Arc<Key>>,
    /// What it takes, once it is read: until the request is over, also where the driver works on a copy of the bytes.
    held: Option<Arc<Reservation>>,
    finished: bool,
    failed: bool,
    received: u64,
    awaits_continue: bool,
    /// `None` where it is not accepted.
    encoding: Option<Encoding>,
}

/// Bytes, and what is held until the last of them is dropped.
struct Holding<T> {
    bytes: Bytes,
    _held: T,
}

impl<T> AsRef<[u8]> for Holding<T> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The same bytes, which keep what they hold until the last of them is dropped.
pub(crate) fn holding<T: Send + 'static>(bytes: Bytes, held: T) -> Bytes {
    Bytes::from_owner(Holding { bytes, _held: held })
}

impl RequestBody {
    pub(crate) fn new(incoming: Incoming, headers: &HeaderMap) -> Self {
        let awaits_continue = headers.contains_key(header::EXPECT);
        Self { awaits_continue, encoding: Encoding::of(headers).ok(), ..Self::of(Either::Left(incoming)) }
    }

    /// A body that is in memory already.
    pub(crate) fn whole(bytes: Bytes) -> Self {
        Self::of(Either::Right(Full::new(bytes)))
    }

    fn of(incoming: Either<Incoming, Full<Bytes>>) -> Self {
        Self {
            finished: incoming.is_end_stream(),
            incoming,
            key: None,
            held: None,
            failed: false,
            received: 0,
            awaits_continue: false,
            encoding: Some(Encoding::Identity),
        }
    }

    /// The key that the body is counted for.
    pub(crate) fn count_for(&mut self, key: &Arc<Key>) {
        self.key = Some(Arc::clone(key));
    }

    /// What is left of it while its answer is streamed.
    pub(crate) fn while_streamed(&mut self) -> Option<StreamedBody> {
        self.held.take().map(StreamedBody::new)
    }

    /// Where it counts, once it is read: what its request brings along counts there as well.
    pub(crate) fn memory(&self) -> Option<Arc<dyn RequestMemory>> {
        let held = Arc::clone(self.held.as_ref()?);
        Some(held)
    }

    /// Bytes read so far.
    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    /// Reads all of it, as it was before it was compressed. A request without a key has no part of the budget, so its body is not
    /// read.
    ///
    /// A long body is read in turns of customers, piece by piece: however many connections of one customer bring such
    /// bodies, a request of another waits for a few pieces, not for all of them.
    pub(crate) async fn read(
        &mut self,
        limits: &Limits,
        budget: &Arc<BodyBudget>,
        clock: &dyn Clock,
    ) -> Result<Bytes, Refusal> {
        let max = budget.longest();
        if self.incoming.size_hint().lower() > max as u64 {
            return Err(too_large(max));
        }
        let key = self.key.clone().ok_or_else(|| Refusal::internal("a body is read without a key"))?;
        let customer = key.customer.clone();
        let reservation = budget.reserve(key);
        let mut pace = Pace::new(limits, clock.now());
        let mut decoder = self.decoder(max)?;
        let mut decoded = 0;
        while let Some(frame) = self.frame(&pace, clock).await? {
            let Ok(mut piece) = frame.into_data() else { continue };
            self.received += piece.len() as u64;
            if self.received > max as u64 {
                return Err(too_large(max));
            }
            pace.record(clock.now(), piece.len());
            let waits = clock.now();
            // A few compressed bytes may be many: what they have become is counted before more of them are decoded.
            while !piece.is_empty() {
                let part = piece.split_to(piece.len().min(decoder.longest_part()));
                let before = decoded;
                decoded = decoder.push(part).map_err(|error| undecodable(error, max))?;
                reservation.grow_to(decoded.saturating_mul(WORKED_ON)).map_err(refuse)?;
                if !piece.is_empty() && decoded - before > MAX_LEAP {
                    tokio::task::yield_now().await;
                }
            }
            let turn = budget.turn(&customer, decoded).await;
            pace.wait(clock.now().since(waits));
            if turn.is_some() {
                // The turn ends after all others that are ready had theirs on this thread.
                tokio::task::yield_now().await;
            }
        }
        let bytes = decoder.finish().map_err(|error| undecodable(error, max))?;
        let bytes = unmarked(bytes);
        reservation.grow_to(bytes.len().saturating_mul(WORKED_ON)).map_err(refuse)?;
        if bytes.is_empty() {
            return Ok(bytes);
        }
        let held = Arc::new(reservation);
        self.held = Some(Arc::clone(&held));
        // Its part of the budget stays taken: the driver may work on after its client has left.
        Ok(holding(bytes, held))
    }

    /// The same body as the JSON that it stands for, and counted as that from now on. What it was read from is gone.
    pub(crate) fn became(&self, json: Bytes, budget: &BodyBudget) -> Result<Bytes, Refusal> {
        let Some(held) = &self.held else { return Ok(json) };
        let max = budget.longest();
        if json.len() > max {
            let message = format!(
                "the form is {} bytes as JSON, in which files are base64: expected at most {max}",
                json.len()
            );
            return Err(Refusal::new(Kind::TooLarge, message));
        }
        held.grow_to(json.len().saturating_mul(WORKED_ON)).map_err(refuse)?;
        Ok(holding(json, Arc::clone(held)))
    }

    fn decoder(&self, max: usize) -> Result<Decoder, Refusal> {
        let encoding =
            self.encoding.ok_or_else(|| Refusal::internal("a body of an unknown encoding is read"))?;
        Decoder::new(encoding, max).map_err(Refusal::internal)
    }

    /// The next frame, within the time the client has for it.
    async fn frame(&mut self, pace: &Pace, clock: &dyn Clock) -> Result<Option<Frame<Bytes>>, Refusal> {
        // A frame that has arrived already needs no timer.
        let frame = match self.incoming.frame().now_or_never() {
            Some(frame) => frame,
            None => {
                let span = pace.time_left(clock.now());
                tokio::select! {
                    frame = self.incoming.frame() => frame,
                    () = clock.pause(span) => {
                        self.failed = true;
                        let message = "the request body did not arrive in time";
                        return Err(Refusal::new(Kind::RequestTimeout, message));
                    }
                }
            }
        };
        match frame {
            Some(Ok(frame)) => Ok(Some(frame)),
            Some(Err(error)) => {
                self.failed = true;
                Err(Refusal::new(Kind::Invalid, format!("the request body could not be read: {error}")))
            }
            None => {
                self.finished = true;
                Ok(None)
            }
        }
    }

    /// Reads and drops the rest of a short body. False when bytes are still to come: the connection cannot be
    /// used again.
    pub(crate) async fn drain(mut self, clock: &dyn Clock) -> bool {
        if self.finished {
            return true;
        }
        let short = self.incoming.size_hint().upper().is_some_and(|upper| upper <= MAX_DRAINED);
        if self.failed || self.awaits_continue || !short {
            return false;
        }
        let rest = async {
            while let Some(frame) = self.incoming.frame().await {
                if frame.is_err() {
                    return false;
                }
            }
            true
        };
        tokio::select! {
            biased;
            drained = rest => drained,
            () = clock.pause(DRAIN_TIME) => false,
        }
    }
}

/// The refusal of a request whose bytes are too many.
pub(crate) fn refuse(shortage: MemoryShortage) -> Refusal {
    let kind = match shortage {
        MemoryShortage::All => Kind::Busy,
        MemoryShortage::Customer | MemoryShortage::Key => Kind::RateLimited,
        MemoryShortage::TooLarge { .. } => Kind::TooLarge,
    };
    Refusal::new(kind, shortage.to_string())
}

fn undecodable(error: Undecodable, max: usize) -> Refusal {
    match error {
        Undecodable::TooLarge => too_large(max),
        Undecodable::Refused(refusal) => refusal,
    }
}

fn too_large(max: usize) -> Refusal {
    Refusal::new(Kind::TooLarge, format!("the request body is larger than {max} bytes"))
}

/// The pace of one body.
#[derive(Debug)]
struct Pace {
    started: UnixMs,
    /// The most that bytes can earn.
    idle: Duration,
    /// The time for the whole body.
    total: Duration,
    bytes_per_second: u64,
    /// When patience ends, counted from the start.
    patience: Duration,
}

impl Pace {
    pub(super) fn new(limits: &Limits, now: UnixMs) -> Self {
        let idle = seconds(limits.body_idle_seconds);
        Self {
            started: now,
            idle,
            total: seconds(limits.body_seconds),
            bytes_per_second: u64::from(limits.body_bytes_per_second.get()),
            patience: idle,
        }
    }

    /// Bytes that have arrived.
    pub(super) fn record(&mut self, now: UnixMs, bytes: usize) {
        let nanos = (bytes as u64).saturating_mul(1_000_000_000) / self.bytes_per_second;
        let most = now.since(self.started) + self.idle;
        self.patience = (self.patience + Duration::from_nanos(nanos)).min(most);
    }

    /// The gateway took nothing for so long: that is no delay of the client.
    pub(super) fn wait(&mut self, span: Duration) {
        self.started = self.started.plus(span);
    }

    /// The time left for the next bytes.
    fn time_left(&self, now: UnixMs) -> Duration {
        self.patience.min(self.total).saturating_sub(now.since(self.started))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes at these seconds; the seconds left at the last of them.
    fn check(arrivals: &[(u64, usize)], now: u64, expected: u64) {
        let at = |second: u64| UnixMs(1_000 + second * 1000);
        let mut pace = Pace::new(&Limits::default(), at(0));
        for (second, bytes) in arrivals {
            pace.record(at(*second), *bytes);
        }
        assert_eq!(pace.time_left(at(now)).as_secs(), expected, "{arrivals:?} at {now}");
    }

    #[test]
    fn patience_is_what_the_latest_bytes_earned() {
        check(&[], 0, 15);
        check(&[], 5, 10);
        check(&[], 15, 0);
        // Slower than the minimum: less and less.
        check(&[(5, 0), (10, 10 * 1024)], 10, 15);
        check(&[(10, 5 * 1024)], 10, 10);
        // At the minimum: never less than at the start.
        let steady: Vec<_> = (1..=100).map(|second| (second, 1024)).collect();
        check(&steady, 100, 15);
        // The whole body has its own end.
        check(&[(115, 1 << 20)], 115, 5);
        check(&[(119, 1 << 20)], 200, 0);
    }

    #[test]
    fn a_fast_start_earns_no_more_than_a_pause() {
        check(&[(0, 30 << 20)], 0, 15);
        let trickle: Vec<_> = std::iter::once((0, 30 << 20)).chain((1..4).map(|n| (n * 4, 1))).collect();
        check(&trickle, 14, 1);
        check(&trickle, 16, 0);
    }

    #[test]
    fn a_wait_of_the_gateway_costs_the_client_nothing() {
        let at = |second: u64| UnixMs(1_000 + second * 1000);
        let mut pace = Pace::new(&Limits::default(), at(0));
        pace.wait(Duration::from_secs(40));
        assert_eq!(pace.time_left(at(45)).as_secs(), 10);
    }

    #[test]
    fn single_bytes_earn_their_part() {
        let at = |ms: u64| UnixMs(1_000 + ms);
        let mut pace = Pace::new(&Limits::default(), at(0));
        // Two bytes a millisecond, one by one: twice the minimum.
        for ms in 0..10_000 {
            pace.record(at(ms), 1);
            pace.record(at(ms), 1);
        }
        assert!(pace.time_left(at(10_000)) > Duration::from_secs(14));
    }
}
