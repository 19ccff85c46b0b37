//! A call answered by server-sent events: the head, then batches of events as they arrive.
//!
//! Time counts between events, not over the whole: a model may write for an hour, and an hour of silence
//! is an outage. Everything else is as for any call.

use std::time::Duration;

use futures_util::FutureExt as _;
use gatehouse_model::{Call, Header, Outage, Reply, Sse, UnixMs};
use http::Response;
use http::header::CONTENT_TYPE;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::time::{Instant, timeout};

use crate::accounts::{Sign, Slot};
use crate::call::{Trouble, judge};
use crate::exchange::{self, chain};
use crate::sse::Decoder;
use crate::upstream::Upstream;
use crate::{Blobs, headers, reply};

/// Bytes looked at before a batch is handed on; more wait for the next one.
const BATCH: usize = 64 << 10;

/// What a call that asks for a stream is answered with.
#[derive(Debug)]
pub enum Opening {
    /// No stream: an error, or a provider that answers whole.
    Reply(Reply),
    /// A stream.
    Events(Box<Events>),
}

/// A provider's events, as they come.
#[derive(Debug)]
pub struct Events {
    body: Incoming,
    decoder: Decoder,
    slot: Slot,
    idle: Duration,
    headers: Vec<Header>,
    received: u64,
    over: bool,
}

impl Upstream {
    /// Makes a call whose answer may be a stream; `idle` is the longest silence within it.
    ///
    /// Until the head of the answer has come, all is as with [`Upstream::call`].
    ///
    /// # Errors
    /// As [`Upstream::call`].
    pub async fn open(
        &self,
        slot: Slot,
        call: &Call,
        blobs: &dyn Blobs,
        deadline: UnixMs,
        idle: Duration,
    ) -> Result<Opening, Outage> {
        let outcome = self.observed(&slot, call, self.head(&slot, call, blobs, deadline)).await?;
        let (response, end) = outcome;
        if !is_stream(&response) {
            let max = self.provider(slot.provider()).map_or(0, |provider| provider.checked.max_reply);
            let read = reply::read(response, slot.mask(), max, None, end).await;
            return match read {
                Ok(reply) => {
                    judge(&slot, &reply);
                    Ok(Opening::Reply(reply))
                }
                Err(cut) => Err(self.lost(&slot, cut.into())),
            };
        }
        slot.judge(Sign::Well);
        let limit = self.provider(slot.provider()).map_or(0, |provider| provider.checked.max_reply);
        let (head, body) = response.into_parts();
        Ok(Opening::Events(Box::new(Events {
            body,
            decoder: Decoder::new(usize::try_from(limit).unwrap_or(usize::MAX)),
            headers: headers::incoming(&head.headers, slot.mask()),
            slot,
            idle,
            received: 0,
            over: false,
        })))
    }

    /// The head of the answer, and when the exchange must be over.
    async fn head(
        &self,
        slot: &Slot,
        call: &Call,
        blobs: &dyn Blobs,
        deadline: UnixMs,
    ) -> Result<(Response<Incoming>, Instant), Trouble> {
        let provider = self.provider_of(slot, call)?;
        let (request, end) = self.request(provider, slot, call, blobs, deadline).await?;
        Ok((exchange::send(&provider.calls, request, end).await?, end))
    }
}

fn is_stream(response: &Response<Incoming>) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    response.status().is_success()
        && kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("text/event-stream")
}

impl Events {
    /// The answer's headers, stripped as those of a reply.
    #[must_use]
    pub fn headers(&self) -> &[Header] {
        &self.headers
    }

    /// Bytes received so far.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.received
    }

    /// The next events, all that are here already; `None` when the provider has closed the stream in order.
    ///
    /// # Errors
    /// The stream broke, fell silent or grew an event beyond the limit; it is over then.
    pub async fn next(&mut self) -> Result<Option<Vec<Sse>>, Outage> {
        let mut events = vec![];
        let mut taken = 0;
        while !self.over {
            let frame = if events.is_empty() {
                timeout(self.idle, self.body.frame())
                    .await
                    .map_err(|_| self.cut(Outage::Timeout, "silence"))?
            } else if taken < BATCH
                && let Some(frame) = self.body.frame().now_or_never()
            {
                frame
            } else {
                break;
            };
            match frame {
                None => self.over = true,
                Some(Err(error)) => return Err(self.cut(Outage::Broken, &chain(&error))),
                Some(Ok(frame)) => {
                    let Ok(data) = frame.into_data() else { continue };
                    self.received += data.len() as u64;
                    taken += data.len();
                    if let Err(large) = self.decoder.feed(&data, &mut events) {
                        return Err(self.cut(Outage::TooLarge, &large.to_string()));
                    }
                }
            }
        }
        if events.is_empty() {
            return Ok(None);
        }
        for event in &mut events {
            self.mask(event);
        }
        Ok(Some(events))
    }

    fn mask(&self, event: &mut Sse) {
        let data = std::mem::take(&mut event.data).into_bytes();
        let masked = self.slot.mask().clean(data);
        event.data = String::from_utf8(masked)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    }

    fn cut(&mut self, outage: Outage, detail: &str) -> Outage {
        self.over = true;
        // Who has begun to answer works; a breaker opened by answers cut later would fail all the others too.
        if outage != Outage::TooLarge && self.received == 0 {
            self.slot.judge(Sign::Failing);
        }
        let (provider, account) = (self.slot.provider(), self.slot.account());
        tracing::warn!(provider, account, ?outage, detail, received = self.received, "a stream was cut");
        outage
    }
}
