//! Request bodies: read once, limited in bytes, time and rate, and counted against a common budget of all
//! clients. Never parses the bytes: that is `CheckedBody` of the driver.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::FutureExt;
use gatehouse_model::{Clock, UnixMs};
use http::{HeaderMap, header};
use http_body::Body as _;
use http_body_util::BodyExt;
use hyper::body::{Frame, Incoming};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::{Limits, mib, seconds};
use crate::errors::{Kind, Refusal};

/// An unread body up to this length is read and dropped, so that the connection can be used again.
const MAX_DRAINED: u64 = 64 * 1024;
const DRAIN_TIME: Duration = Duration::from_secs(1);

/// Bytes of one permit of the common budget.
const PERMIT_BYTES: usize = 1024;

/// The permits of a common budget of this many bytes.
pub(crate) fn budget(bytes: usize) -> Semaphore {
    Semaphore::new((bytes / PERMIT_BYTES).min(Semaphore::MAX_PERMITS))
}

/// A request's body on its connection.
pub(crate) struct RequestBody {
    incoming: Incoming,
    finished: bool,
    failed: bool,
    received: u64,
    awaits_continue: bool,
}

/// A body in memory; its permits are released when the last of its `Bytes` is dropped.
struct Counted {
    bytes: Bytes,
    _permits: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl RequestBody {
    pub(crate) fn new(incoming: Incoming, headers: &HeaderMap) -> Self {
        Self {
            finished: incoming.is_end_stream(),
            incoming,
            failed: false,
            received: 0,
            awaits_continue: headers.contains_key(header::EXPECT),
        }
    }

    /// Bytes read so far.
    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    /// Reads all of it.
    pub(crate) async fn read(
        &mut self,
        limits: &Limits,
        budget: &Arc<Semaphore>,
        clock: &dyn Clock,
    ) -> Result<Bytes, Refusal> {
        let max = mib(limits.body_mib);
        if self.incoming.size_hint().lower() > max as u64 {
            return Err(too_large(max));
        }
        let started = clock.now();
        let mut pieces = Pieces::default();
        let mut permits: Option<OwnedSemaphorePermit> = None;
        while let Some(frame) = self.frame(limits, clock, started).await? {
            let Ok(piece) = frame.into_data() else { continue };
            self.received += piece.len() as u64;
            if self.received > max as u64 {
                return Err(too_large(max));
            }
            reserve(&mut permits, self.received, budget)?;
            pieces.push(piece);
        }
        let bytes = pieces.join();
        Ok(match permits {
            Some(permits) => Bytes::from_owner(Counted { bytes, _permits: permits }),
            None => bytes,
        })
    }

    /// The next frame, within the time the client has for it.
    async fn frame(
        &mut self,
        limits: &Limits,
        clock: &dyn Clock,
        started: UnixMs,
    ) -> Result<Option<Frame<Bytes>>, Refusal> {
        // A frame that has arrived already needs no timer.
        let frame = match self.incoming.frame().now_or_never() {
            Some(frame) => frame,
            None => {
                let span = time_limit(limits, clock.now().since(started), self.received);
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

/// The time for the next bytes: the shortest of the allowed pause, the time left in total, and the time that
/// the bytes so far allow at the minimum rate.
fn time_limit(limits: &Limits, elapsed: Duration, received: u64) -> Duration {
    let idle = seconds(limits.body_idle_seconds);
    let left = seconds(limits.body_seconds).saturating_sub(elapsed);
    let by_rate = Duration::from_secs(received / u64::from(limits.body_bytes_per_second.get()));
    idle.min(left).min((idle + by_rate).saturating_sub(elapsed))
}

fn reserve(
    permits: &mut Option<OwnedSemaphorePermit>,
    received: u64,
    budget: &Arc<Semaphore>,
) -> Result<(), Refusal> {
    let needed = usize::try_from(received).unwrap_or(usize::MAX).div_ceil(PERMIT_BYTES);
    let more = needed - permits.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
    let Ok(more) = u32::try_from(more) else { return Err(busy()) };
    let more = Arc::clone(budget).try_acquire_many_owned(more).map_err(|_| busy())?;
    match permits {
        Some(permits) => permits.merge(more),
        None => *permits = Some(more),
    }
    Ok(())
}

fn busy() -> Refusal {
    Refusal::new(Kind::Busy, "the gateway holds too many request bodies, retry in a moment")
}

fn too_large(max: usize) -> Refusal {
    Refusal::new(Kind::TooLarge, format!("the request body is larger than {max} bytes"))
}

/// Pieces of a body; a single piece is never copied.
#[derive(Default)]
struct Pieces {
    first: Bytes,
    rest: BytesMut,
}

impl Pieces {
    fn push(&mut self, piece: Bytes) {
        if self.first.is_empty() {
            self.first = piece;
        } else {
            if self.rest.is_empty() {
                self.rest.extend_from_slice(&self.first);
            }
            self.rest.extend_from_slice(&piece);
        }
    }

    fn join(self) -> Bytes {
        if self.rest.is_empty() { self.first } else { self.rest.freeze() }
    }
}

/// Refuses a head that does not announce plain JSON.
pub(crate) fn check_type(headers: &HeaderMap) -> Result<(), Refusal> {
    let encoding = headers.get(header::CONTENT_ENCODING).map(|value| value.as_bytes());
    if encoding.is_some_and(|encoding| !encoding.eq_ignore_ascii_case(b"identity")) {
        let message = "Content-Encoding: compressed request bodies are not accepted";
        return Err(Refusal::new(Kind::WrongMediaType, message));
    }
    let announced = headers.get(header::CONTENT_TYPE).map(|value| value.to_str().unwrap_or_default());
    let essence = announced.and_then(|text| text.split(';').next()).unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let received = announced.map_or_else(|| "none".to_owned(), crate::http::query::quoted);
    let message = format!("Content-Type: expected application/json, not {received}");
    Err(Refusal::new(Kind::WrongMediaType, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_limit_is_the_shortest_of_three() {
        let limits = Limits::default();
        for (elapsed, received, expected) in [
            (0, 0, 15),
            (5, 0, 10),
            (15, 0, 0),
            (10, 10 * 1024, 15),
            (30, 20 * 1024, 5),
            (115, 1 << 20, 5),
            (200, 1 << 20, 0),
        ] {
            let span = time_limit(&limits, Duration::from_secs(elapsed), received);
            assert_eq!(span, Duration::from_secs(expected), "{elapsed} s, {received} bytes");
        }
    }

    #[test]
    fn permits_grow_with_the_body_and_are_released() {
        let budget = Arc::new(budget(4096));
        let mut permits = None;
        for (received, left) in [(1, 3), (1024, 3), (1025, 2), (4096, 0)] {
            reserve(&mut permits, received, &budget).unwrap();
            assert_eq!(budget.available_permits(), left);
        }
        assert_eq!(reserve(&mut permits, 4097, &budget).unwrap_err().kind(), Kind::Busy);
        drop(permits);
        assert_eq!(budget.available_permits(), 4);
    }

    #[test]
    fn only_plain_json_is_accepted() {
        for (kind, encoding, fits) in [
            (Some("application/json"), None, true),
            (Some("Application/JSON ; charset=utf-8"), None, true),
            (Some("application/json"), Some("identity"), true),
            (Some("application/json"), Some("gzip"), false),
            (Some("text/json"), None, false),
            (Some("application/jsonl"), None, false),
            (Some("multipart/form-data; boundary=x"), None, false),
            (Some(""), None, false),
            (None, None, false),
        ] {
            let mut headers = HeaderMap::new();
            kind.map(|kind| headers.insert(header::CONTENT_TYPE, kind.parse().unwrap()));
            encoding.map(|encoding| headers.insert(header::CONTENT_ENCODING, encoding.parse().unwrap()));
            assert_eq!(check_type(&headers).is_ok(), fits, "{kind:?} {encoding:?}");
        }
    }

    #[test]
    fn pieces_join_in_order() {
        for pieces in [&[][..], &["abc"], &["abc", "", "d", "ef"]] {
            let mut joined = Pieces::default();
            pieces.iter().for_each(|piece| joined.push(Bytes::from_static(piece.as_bytes())));
            assert_eq!(joined.join(), pieces.concat().as_bytes());
        }
    }
}
