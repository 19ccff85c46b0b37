//! One call: build, send, read, and tell the account what came of it.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{Call, Outage, Payload, Reading, Replay, Reply, UnixMs, metric};
use tokio::time::{Instant, timeout_at};

use crate::auth::credential::{CallCredential, Proof};
use crate::auth::redact::Redactor;
use crate::auth::token_endpoint::TokenError;
use crate::client::exchange::{self, ExchangeError};
use crate::pool::account::HealthSignal;
use crate::pool::permits::CallPermit;
use crate::provider::Provider;
use crate::request::body::Blobs;
use crate::request::build::{self, RequestError};
use crate::response::decoded::Decoded;
use crate::response::reply::{self, AnswerBody, BodyError};
use crate::response::retry_after::retry_after;

/// An outage with its cause, which goes to the log only.
pub(crate) struct CallFailure {
    outage: Outage,
    detail: String,
    /// What it says about the account; nothing, where it is about us or the plugin.
    signal: Option<HealthSignal>,
}

impl CallFailure {
    /// One that says nothing about the account.
    fn ours(outage: Outage, detail: impl Into<String>) -> Self {
        Self { outage, detail: detail.into(), signal: None }
    }
}

impl CallPermit {
    /// Makes a call through the account of this permit.
    ///
    /// The time it may take is the least of what the call, the provider's configuration and `deadline` allow.
    /// Every answered request is an `Ok`, whatever its status. What went wrong in detail is logged here, without
    /// credentials; redirects are not followed but handed on.
    ///
    /// # Errors
    /// [`Outage::Unreachable`] only when nothing was sent; [`Outage::Refused`] when the call is not one the
    /// plugin may make.
    pub async fn call(&self, call: &Call, blobs: &dyn Blobs, deadline: UnixMs) -> Result<Reply, Outage> {
        let reply = self.observed(self.exchange(call, blobs, deadline), |reply: &Reply| reply.status).await?;
        self.report_reply(&reply);
        Ok(reply)
    }

    /// Reads an answer that neither streams nor passes.
    pub(super) async fn read<B: AnswerBody>(
        &self,
        response: http::Response<B>,
        end: Instant,
    ) -> Result<Reply, Outage> {
        let max = self.origin().checked.max_reply;
        match reply::read(response, &self.redactor(), max, None, end, self.affinity()).await {
            Ok(reply) => {
                self.report_reply(&reply);
                Ok(reply)
            }
            Err(cut) => Err(self.lost(cut.into())),
        }
    }

    /// The head of the answer, and when the exchange must be over. Counts the exchange and logs its failure.
    pub(super) async fn respond(
        &self,
        call: &Call,
        blobs: &dyn Blobs,
        deadline: UnixMs,
    ) -> Result<(http::Response<Decoded>, Instant), Outage> {
        self.observed(self.head(call, blobs, deadline), |(response, _)| response.status().as_u16()).await
    }

    async fn observed<T>(
        &self,
        exchange: impl Future<Output = Result<T, CallFailure>>,
        status: impl FnOnce(&T) -> u16,
    ) -> Result<T, Outage> {
        let began = std::time::Instant::now();
        let outcome = exchange.await;
        let seconds = began.elapsed().as_secs_f64();
        let (provider, account) = (|| self.provider().to_owned(), || self.account().to_owned());
        metrics::histogram!(metric::CALL_SECONDS, "provider" => provider(), "account" => account())
            .record(seconds);
        let label = outcome
            .as_ref()
            .map_or_else(|failure| failure.outage.as_str(), |answer| status_label(status(answer)));
        metrics::counter!(metric::CALLS, "provider" => provider(), "account" => account(), "outcome" => label)
            .increment(1);
        outcome.map_err(|failure| self.lost(failure))
    }

    /// No answer: reports it to the account and to the log.
    pub(super) fn lost(&self, failure: CallFailure) -> Outage {
        let CallFailure { outage, detail, signal } = failure;
        // Some error may quote the URL or a header.
        let detail = self.redactor().clean(detail.into_bytes());
        let detail = String::from_utf8_lossy(&detail);
        if let Some(signal) = signal {
            self.report_error(format!("{}: {detail}", outage.as_str()), signal);
        }
        tracing::warn!(provider = self.provider(), account = self.account(), ?outage, %detail, "no reply");
        outage
    }

    async fn exchange(&self, call: &Call, blobs: &dyn Blobs, deadline: UnixMs) -> Result<Reply, CallFailure> {
        let limits = &self.provider_of(call)?.checked;
        let deadline = if hands_over(call) {
            deadline.min(self.clock().now().plus(limits.submit_timeout))
        } else {
            deadline
        };
        let (response, end) = self.head(call, blobs, deadline).await?;
        let (max, saved) = match call.reading {
            Reading::Whole => (limits.max_reply, None),
            Reading::Saved => (limits.max_reply, Some((blobs, limits.max_saved))),
            // Its files are cut out of it before a plugin sees it.
            Reading::Cut => (limits.max_saved, None),
        };
        Ok(reply::read(response, &self.redactor(), max, saved, end, self.affinity()).await?)
    }

    /// The head of the answer, and when the exchange must be over; neither counted nor logged.
    ///
    /// A 401 for a token that was issued a while ago is no answer yet: by RFC 9110, section 15.5.2, the request has not
    /// been applied, so it goes once more with the next token, whatever its [`Replay`].
    async fn head(
        &self,
        call: &Call,
        blobs: &dyn Blobs,
        deadline: UnixMs,
    ) -> Result<(http::Response<Decoded>, Instant), CallFailure> {
        let provider = self.provider_of(call)?;
        let end = self.end_of(provider, call, deadline)?;
        let (mut is_first, began) = (true, std::time::Instant::now());
        loop {
            let credential = if self.is_anonymous {
                CallCredential::none(&self.credential().redactor)
            } else {
                self.credential().for_call(&provider.tokens, end).await?
            };
            self.redact_with(Arc::clone(&credential.redactor));
            let request = self.request(provider, &credential.proof, call, blobs).await?;
            if timeout_at(end, provider.gate.opened()).await.is_err() {
                let detail = "this gateway may not send before another one is known not to";
                return Err(CallFailure::ours(Outage::Unreachable, detail));
            }
            let response = exchange::send_marked(&provider.calls, request, end, self.progress()).await?;
            let is_refused = response.status() == http::StatusCode::UNAUTHORIZED;
            if !(is_first && is_refused && credential.is_renewed_after_refusal(self.clock().now())) {
                self.progress().answered_after(began.elapsed());
                return Ok((Decoded::of(response), end));
            }
            let (provider, account) = (self.provider(), self.account());
            tracing::warn!(
                provider,
                account,
                "the provider refuses the account's token; the next one is tried"
            );
            is_first = false;
        }
    }

    /// The provider the permit and the call agree on.
    fn provider_of(&self, call: &Call) -> Result<&Provider, CallFailure> {
        if call.provider == self.provider() {
            return Ok(self.origin());
        }
        Err(CallFailure::ours(Outage::Refused, format!("a call to {} came with {self:?}", call.provider)))
    }

    /// The request, signed where the account signs.
    async fn request(
        &self,
        provider: &Provider,
        proof: &Proof,
        call: &Call,
        blobs: &dyn Blobs,
    ) -> Result<http::Request<exchange::Payload>, RequestError> {
        let boundary = if matches!(call.body, Payload::Form(_)) { self.seed().next_u64() } else { 0 };
        let (checked, credential) = (&provider.checked, self.credential());
        let extra = (!self.is_anonymous).then_some(&checked.extra);
        let mut request = build::build(checked, extra, credential, proof, call, blobs, boundary).await?;
        if let Some(place) = self.trace().filter(|_| checked.is_traced) {
            build::add_trace(request.headers_mut(), place);
        }
        if let Proof::Signature(key) = proof {
            let digest = build::digest(call, blobs, boundary).await?;
            let signature = key.sign(&mut request, digest.as_ref(), self.clock().now());
            let signature = signature.ok_or(RequestError::CredentialTaken)?;
            self.redact_with(Arc::new(Redactor::of([&key.secret, &signature])));
        }
        Ok(request)
    }

    /// When the exchange must be over.
    fn end_of(&self, provider: &Provider, call: &Call, deadline: UnixMs) -> Result<Instant, CallFailure> {
        let longest = provider.checked.total_timeout;
        let left = deadline.since(self.clock().now());
        if left.is_zero() {
            return Err(CallFailure::ours(Outage::Unreachable, "the task's time is over"));
        }
        let asked = Some(call.timeout_ms).filter(|&ms| ms > 0).map(|ms| Duration::from_millis(ms.into()));
        Ok(Instant::now() + asked.unwrap_or(longest).min(longest).min(left))
    }

    /// Tells the account what a reply says about it.
    fn report_reply(&self, reply: &Reply) {
        let status = reply.status;
        // What the body says may be a client's own text, so no error quotes it.
        match status {
            429 => {
                let pause = retry_after(reply, self.clock().now());
                self.report_error("429: too many requests".to_owned(), HealthSignal::RateLimited(pause));
            }
            401 | 402 if !self.is_anonymous => {
                let (provider, account) = (self.provider(), self.account());
                tracing::error!(
                    provider,
                    account,
                    status,
                    "the provider refuses this account's credentials or credit"
                );
                let error = format!("{status}: the account's credentials or credit are refused");
                self.report_error(error, HealthSignal::AccountRefused);
            }
            500.. => self.report_error(format!("{status}: the provider failed"), HealthSignal::Failing),
            // A 403 may be about what the client sent: the reader of the answer says whose it is.
            _ => self.report(HealthSignal::Healthy),
        }
    }
}

/// Whether a call only hands a job over: it may not be repeated, and no file comes with its reply. A provider that leaves
/// it without an answer holds a permit for nothing.
fn hands_over(call: &Call) -> bool {
    call.replay != Replay::Safe && call.reading == Reading::Whole
}

impl From<RequestError> for CallFailure {
    fn from(error: RequestError) -> Self {
        // Our own store's failure is no judgement on the call.
        let outage = if let RequestError::Broken(_) = error { Outage::Unreachable } else { Outage::Refused };
        Self::ours(outage, error.to_string())
    }
}

/// Nothing was sent to the provider. A refusal is the account's, like one by the provider itself.
impl From<TokenError> for CallFailure {
    fn from(error: TokenError) -> Self {
        let signal = if error.refused { HealthSignal::TokenRefused } else { HealthSignal::Failing };
        Self { outage: Outage::Unreachable, detail: error.to_string(), signal: Some(signal) }
    }
}

impl From<ExchangeError> for CallFailure {
    fn from(error: ExchangeError) -> Self {
        let outage = match &error {
            ExchangeError::NotSent(_) | ExchangeError::NoHost(_) | ExchangeError::NoConnection(_) => {
                Outage::Unreachable
            }
            ExchangeError::Timeout => Outage::Timeout,
            // A provider may act on the beginning of a request, so one whose rest is missing is sent again only where any
            // call is that broke.
            ExchangeError::Broken(_) | ExchangeError::Unread(_) => Outage::Broken,
        };
        let is_ours = matches!(error, ExchangeError::Unread(_));
        Self { outage, detail: error.to_string(), signal: (!is_ours).then_some(HealthSignal::Failing) }
    }
}

impl From<BodyError> for CallFailure {
    fn from(cut: BodyError) -> Self {
        let signal = cut.blames_provider.then_some(HealthSignal::Failing);
        Self { outage: cut.outage, detail: cut.detail.to_string(), signal }
    }
}

const fn status_label(status: u16) -> &'static str {
    match status {
        429 => "rate_limited",
        200..=299 => "ok",
        300..=399 => "redirect",
        400..=499 => "client_error",
        _ => "server_error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::account::OUTCOMES;

    /// A label that is not among them would be born with its first call, which an alert does not see.
    #[test]
    fn every_label_is_counted_from_the_start() {
        for outage in
            [Outage::Unreachable, Outage::Timeout, Outage::Broken, Outage::TooLarge, Outage::Refused]
        {
            assert!(OUTCOMES.contains(&outage.as_str()), "{outage:?}");
        }
        for status in [200, 204, 301, 400, 404, 429, 500, 503] {
            assert!(OUTCOMES.contains(&status_label(status)), "{status}");
        }
    }
}
