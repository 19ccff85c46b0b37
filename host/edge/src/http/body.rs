//! Request bodies: read once, bounded in bytes, time and rate, and counted against what all clients together
//! may make us hold. What the bytes mean is for `CheckedBody` of the driver.

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
use crate::errors::{Kind, Problem};

/// A body this short is taken off the connection even when nobody wants it, so that the connection lives.
const WORTH_DRAINING: u64 = 64 * 1024;
const DRAIN: Duration = Duration::from_secs(1);

/// One permit of the common allowance.
const PERMIT: usize = 1024;

/// The permits of an allowance of this many bytes.
pub(crate) fn allowance(bytes: usize) -> Semaphore {
    Semaphore::new((bytes / PERMIT).min(Semaphore::MAX_PERMITS))
}

/// A request's body before anybody has read it.
pub(crate) struct Unread {
    incoming: Incoming,
    finished: bool,
    failed: bool,
    received: u64,
    awaits_continue: bool,
}

/// A body in memory; its share of the allowance is given back when the last of its `Bytes` is dropped.
struct Counted {
    bytes: Bytes,
    _share: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Unread {
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
        allowance: &Arc<Semaphore>,
        clock: &dyn Clock,
    ) -> Result<Bytes, Problem> {
        let most = mib(limits.body_mib);
        if self.incoming.size_hint().lower() > most as u64 {
            return Err(too_large(most));
        }
        let started = clock.now();
        let mut pieces = Pieces::default();
        let mut share: Option<OwnedSemaphorePermit> = None;
        while let Some(frame) = self.frame(limits, clock, started).await? {
            let Ok(piece) = frame.into_data() else { continue };
            self.received += piece.len() as u64;
            if self.received > most as u64 {
                return Err(too_large(most));
            }
            reserve(&mut share, self.received, allowance)?;
            pieces.push(piece);
        }
        let bytes = pieces.join();
        Ok(match share {
            Some(share) => Bytes::from_owner(Counted { bytes, _share: share }),
            None => bytes,
        })
    }

    /// The next frame, as long as the client keeps its pace.
    async fn frame(
        &mut self,
        limits: &Limits,
        clock: &dyn Clock,
        started: UnixMs,
    ) -> Result<Option<Frame<Bytes>>, Problem> {
        // What has arrived already costs no timer.
        let frame = match self.incoming.frame().now_or_never() {
            Some(frame) => frame,
            None => {
                let span = patience(limits, clock.now().since(started), self.received);
                tokio::select! {
                    frame = self.incoming.frame() => frame,
                    () = clock.pause(span) => {
                        self.failed = true;
                        let message = "the request body did not arrive in time";
                        return Err(Problem::new(Kind::RequestTimeout, message));
                    }
                }
            }
        };
        match frame {
            Some(Ok(frame)) => Ok(Some(frame)),
            Some(Err(error)) => {
                self.failed = true;
                Err(Problem::new(Kind::Invalid, format!("the request body could not be read: {error}")))
            }
            None => {
                self.finished = true;
                Ok(None)
            }
        }
    }

    /// Takes a short unwanted body off the connection. False when the rest of it is still to come, so that
    /// the connection cannot be used again.
    pub(crate) async fn drain(mut self, clock: &dyn Clock) -> bool {
        if self.finished {
            return true;
        }
        let short = self.incoming.size_hint().upper().is_some_and(|upper| upper <= WORTH_DRAINING);
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
            () = clock.pause(DRAIN) => false,
        }
    }
}

/// How long the next bytes may take: the shortest of the pause allowed, the time left altogether, and the
/// time the bytes so far have earned at the minimum rate.
fn patience(limits: &Limits, elapsed: Duration, received: u64) -> Duration {
    let idle = seconds(limits.body_idle_seconds);
    let left = seconds(limits.body_seconds).saturating_sub(elapsed);
    let earned = Duration::from_secs(received / u64::from(limits.body_bytes_per_second.get()));
    idle.min(left).min((idle + earned).saturating_sub(elapsed))
}

fn reserve(
    share: &mut Option<OwnedSemaphorePermit>,
    received: u64,
    allowance: &Arc<Semaphore>,
) -> Result<(), Problem> {
    let needed = usize::try_from(received).unwrap_or(usize::MAX).div_ceil(PERMIT);
    let more = needed - share.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
    let Ok(more) = u32::try_from(more) else { return Err(busy()) };
    let more = Arc::clone(allowance).try_acquire_many_owned(more).map_err(|_| busy())?;
    match share {
        Some(share) => share.merge(more),
        None => *share = Some(more),
    }
    Ok(())
}

fn busy() -> Problem {
    Problem::new(Kind::Busy, "the gateway holds too many request bodies, retry in a moment")
}

fn too_large(most: usize) -> Problem {
    Problem::new(Kind::TooLarge, format!("the request body is larger than {most} bytes"))
}

/// Pieces of a body; one piece alone is never copied.
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

/// Whether the head announces plain JSON.
pub(crate) fn check_type(headers: &HeaderMap) -> Result<(), Problem> {
    let encoding = headers.get(header::CONTENT_ENCODING).map(|value| value.as_bytes());
    if encoding.is_some_and(|encoding| !encoding.eq_ignore_ascii_case(b"identity")) {
        let message = "Content-Encoding: compressed request bodies are not accepted";
        return Err(Problem::new(Kind::WrongMediaType, message));
    }
    let announced = headers.get(header::CONTENT_TYPE).map(|value| value.to_str().unwrap_or_default());
    let essence = announced.and_then(|text| text.split(';').next()).unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let came = announced.map_or_else(|| "none".to_owned(), crate::http::query::quoted);
    let message = format!("Content-Type: expected application/json, not {came}");
    Err(Problem::new(Kind::WrongMediaType, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_is_the_shortest_of_three() {
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
            let span = patience(&limits, Duration::from_secs(elapsed), received);
            assert_eq!(span, Duration::from_secs(expected), "{elapsed} s, {received} bytes");
        }
    }

    #[test]
    fn shares_grow_with_the_body_and_return() {
        let allowance = Arc::new(allowance(4096));
        let mut share = None;
        for (received, left) in [(1, 3), (1024, 3), (1025, 2), (4096, 0)] {
            reserve(&mut share, received, &allowance).unwrap();
            assert_eq!(allowance.available_permits(), left);
        }
        assert_eq!(reserve(&mut share, 4097, &allowance).unwrap_err().kind(), Kind::Busy);
        drop(share);
        assert_eq!(allowance.available_permits(), 4);
    }

    #[test]
    fn only_plain_json_is_announced() {
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
