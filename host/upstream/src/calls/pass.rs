//! A call whose successful answer goes to a client as it comes: the head, then pieces as they arrive. An answer of another
//! type, and every error, is read whole.
//!
//! Time counts between pieces, as with a stream of events. The secret of the account is taken out, should it be echoed.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gatehouse_contract::passes;
use gatehouse_model::{Call, Outage, Reply, UnixMs};
use http::header::CONTENT_TYPE;
use http_body_util::BodyExt as _;
use hyper::body::Body as _;
use tokio::time::timeout;

use crate::auth::redact::StreamRedactor;
use crate::client::exchange::chain;
use crate::pool::account::HealthSignal;
use crate::pool::permits::CallPermit;
use crate::request::body::Blobs;
use crate::response::decoded::Decoded;

/// What a call is answered with whose answer may pass.
pub enum Passing {
    /// An error, or an answer of another type.
    Reply(Reply),
    /// An answer that passes.
    Pieces(Box<Pieces>),
}

/// An answer that passes, as it comes.
pub struct Pieces {
    /// The type that the provider named.
    pub mime: String,
    body: Decoded,
    redactor: StreamRedactor,
    permit: CallPermit,
    idle: Duration,
    /// Bytes that may still come.
    left: u64,
    is_over: bool,
}

impl CallPermit {
    /// Makes a call whose answer passes if it is a success of one of the types in `patterns`; `idle` is the longest silence
    /// within it.
    ///
    /// # Errors
    /// As [`CallPermit::call`].
    pub async fn pass(
        self,
        call: &Call,
        patterns: &[String],
        blobs: &dyn Blobs,
        deadline: UnixMs,
        idle: Duration,
    ) -> Result<Passing, Outage> {
        let (response, end) = self.respond(call, blobs, deadline).await?;
        let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let mime = kind.unwrap_or_default().to_owned();
        if !response.status().is_success() || !passes(patterns, &mime) {
            return self.read(response, end).await.map(Passing::Reply);
        }
        self.report(HealthSignal::Healthy);
        let redactor = StreamRedactor::new(Arc::clone(&self.redactor()));
        let (body, left) = (response.into_body(), self.origin().checked.max_saved);
        let announced = body.size_hint().lower();
        let mut pieces = Pieces { mime, body, redactor, permit: self, idle, left, is_over: false };
        if announced > left {
            return Err(pieces.cut(Outage::TooLarge, "it is announced as larger than `max_saved_mib` allows"));
        }
        Ok(Passing::Pieces(Box::new(pieces)))
    }
}

impl Pieces {
    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// The answer broke off, fell silent or is larger than the provider's `max_saved_mib`; it is over then.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Outage> {
        while !self.is_over {
            let frame = match timeout(self.idle, self.body.frame()).await {
                Err(_) => return Err(self.cut(Outage::Timeout, "silence")),
                Ok(Some(Err(error))) => return Err(self.cut(Outage::Broken, &chain(&error))),
                Ok(None) => {
                    self.is_over = true;
                    let rest = self.redactor.end();
                    return Ok((!rest.is_empty()).then_some(rest));
                }
                Ok(Some(Ok(frame))) => frame,
            };
            let Ok(piece) = frame.into_data() else { continue };
            let Some(left) = self.left.checked_sub(piece.len() as u64) else {
                return Err(self.cut(Outage::TooLarge, "it is larger than `max_saved_mib` allows"));
            };
            self.left = left;
            let clean = self.redactor.feed(piece);
            if !clean.is_empty() {
                return Ok(Some(clean));
            }
        }
        Ok(None)
    }

    fn cut(&mut self, outage: Outage, detail: &str) -> Outage {
        self.is_over = true;
        let (provider, account) = (self.permit.provider(), self.permit.account());
        tracing::warn!(provider, account, ?outage, detail, "an answer that passes was cut");
        outage
    }
}
