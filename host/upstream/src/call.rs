//! One call: build, send, read, and tell the account what came of it.

use std::time::Duration;

use gatehouse_model::{Call, Outage, Payload, Reply, UnixMs, metric};
use tokio::time::Instant;

use crate::client::exchange::{self, ExchangeError};
use crate::pool::accounts::{CallPermit, HealthSignal};
use crate::provider::Provider;
use crate::request::blobs::Blobs;
use crate::request::build::{self, RequestError};
use crate::response::reply::{self, BodyError};
use crate::response::retry_after::retry_after;
use crate::upstream::Upstream;

/// An outage with its cause, which goes to the log only.
pub(crate) struct CallFailure {
    outage: Outage,
    detail: String,
    /// Says something about the provider, not about us or the plugin.
    blames_provider: bool,
}

impl Upstream {
    /// Makes a call through the permit's account.
    ///
    /// The time it may take is the least of what the call, the provider's configuration and `deadline` allow.
    /// Every answered request is an `Ok`, whatever its status. What went wrong in detail is logged here, without
    /// credentials; redirects are not followed but handed on.
    ///
    /// # Errors
    /// [`Outage::Unreachable`] only when nothing was sent; [`Outage::Refused`] when the call is not one the
    /// plugin may make.
    pub async fn call(
        &self,
        permit: &CallPermit,
        call: &Call,
        blobs: &dyn Blobs,
        deadline: UnixMs,
    ) -> Result<Reply, Outage> {
        let reply = self.observed(permit, call, self.exchange(permit, call, blobs, deadline)).await?;
        report(permit, &reply, self.clock().now());
        Ok(reply)
    }

    /// Counts an exchange and logs its failure.
    pub(crate) async fn observed<T: Answer>(
        &self,
        permit: &CallPermit,
        call: &Call,
        exchange: impl Future<Output = Result<T, CallFailure>>,
    ) -> Result<T, Outage> {
        let began = std::time::Instant::now();
        let outcome = exchange.await;
        let seconds = began.elapsed().as_secs_f64();
        metrics::histogram!(metric::CALL_SECONDS, "provider" => call.provider.clone()).record(seconds);
        let label = outcome
            .as_ref()
            .map_or_else(|failure| outage_label(failure.outage), |answer| status_label(answer.status()));
        metrics::counter!(metric::CALLS, "provider" => call.provider.clone(), "outcome" => label)
            .increment(1);
        outcome.map_err(|failure| self.lost(permit, failure))
    }

    /// No answer: reports it to the account and to the log.
    pub(crate) fn lost(&self, permit: &CallPermit, failure: CallFailure) -> Outage {
        let CallFailure { outage, detail, blames_provider } = failure;
        if blames_provider {
            permit.report(HealthSignal::Failing);
        }
        let detail = clean(permit, detail);
        tracing::warn!(provider = permit.provider(), account = permit.account(), ?outage, detail, "no reply");
        outage
    }

    async fn exchange(
        &self,
        permit: &CallPermit,
        call: &Call,
        blobs: &dyn Blobs,
        deadline: UnixMs,
    ) -> Result<Reply, CallFailure> {
        let provider = self.provider_of(permit, call)?;
        let (request, end) = self.request(provider, permit, call, blobs, deadline).await?;
        let response = exchange::send(&provider.calls, request, end).await?;
        let saved = call.save_body.then_some((blobs, provider.checked.max_saved));
        Ok(reply::read(response, permit.redactor(), provider.checked.max_reply, saved, end).await?)
    }

    /// The provider the permit and the call agree on.
    pub(crate) fn provider_of<'a>(
        &self,
        permit: &'a CallPermit,
        call: &Call,
    ) -> Result<&'a Provider, CallFailure> {
        if call.provider == permit.provider() {
            return Ok(permit.origin());
        }
        let detail = format!("a call to {} came with {permit:?}", call.provider);
        Err(CallFailure { outage: Outage::Refused, detail, blames_provider: false })
    }

    /// The request, and when its exchange must be over.
    pub(crate) async fn request(
        &self,
        provider: &Provider,
        permit: &CallPermit,
        call: &Call,
        blobs: &dyn Blobs,
        deadline: UnixMs,
    ) -> Result<(http::Request<exchange::Payload>, Instant), CallFailure> {
        let checked = &provider.checked;
        let left = deadline.since(self.clock().now());
        if left.is_zero() {
            let detail = "the task's time is over".to_owned();
            return Err(CallFailure { outage: Outage::Unreachable, detail, blames_provider: false });
        }
        let boundary = if matches!(call.body, Payload::Form(_)) { self.seed().next_u64() } else { 0 };
        let request = build::build(checked, permit.secret(), call, blobs, boundary).await?;
        let asked = Some(call.timeout_ms).filter(|&ms| ms > 0).map(|ms| Duration::from_millis(ms.into()));
        let within = asked.unwrap_or(checked.total_timeout).min(checked.total_timeout).min(left);
        Ok((request, Instant::now() + within))
    }
}

/// What an exchange ends with, for the count.
pub(crate) trait Answer {
    fn status(&self) -> u16;
}

impl Answer for Reply {
    fn status(&self) -> u16 {
        self.status
    }
}

impl Answer for (http::Response<hyper::body::Incoming>, Instant) {
    fn status(&self) -> u16 {
        self.0.status().as_u16()
    }
}

impl From<RequestError> for CallFailure {
    fn from(error: RequestError) -> Self {
        // Our own store's failure is no judgement on the call.
        let outage = if let RequestError::Broken(_) = error { Outage::Unreachable } else { Outage::Refused };
        Self { outage, detail: error.to_string(), blames_provider: false }
    }
}

impl From<ExchangeError> for CallFailure {
    fn from(error: ExchangeError) -> Self {
        let outage = match &error {
            ExchangeError::NotSent(_) | ExchangeError::NoConnection(_) => Outage::Unreachable,
            ExchangeError::Timeout => Outage::Timeout,
            ExchangeError::Broken(_) => Outage::Broken,
        };
        Self { outage, detail: error.to_string(), blames_provider: true }
    }
}

impl From<BodyError> for CallFailure {
    fn from(cut: BodyError) -> Self {
        Self { outage: cut.outage, detail: cut.detail.to_string(), blames_provider: cut.blames_provider }
    }
}

/// Tells the account what a reply says about it.
pub(crate) fn report(permit: &CallPermit, reply: &Reply, now: UnixMs) {
    match reply.status {
        429 => permit.report(HealthSignal::RateLimited(retry_after(reply, now))),
        401..=403 => {
            let (provider, account, status) = (permit.provider(), permit.account(), reply.status);
            tracing::error!(
                provider,
                account,
                status,
                "the provider refuses this account's credentials or credit"
            );
            permit.report(HealthSignal::AccountRefused);
        }
        500.. => permit.report(HealthSignal::Failing),
        _ => permit.report(HealthSignal::Healthy),
    }
}

/// A log text without the secret, should some error quote the URL or a header.
fn clean(permit: &CallPermit, detail: String) -> String {
    String::from_utf8_lossy(&permit.redactor().clean(detail.into_bytes())).into_owned()
}

const fn outage_label(outage: Outage) -> &'static str {
    match outage {
        Outage::Unreachable => "unreachable",
        Outage::Timeout => "timeout",
        Outage::Broken => "broken",
        Outage::TooLarge => "too_large",
        Outage::Refused => "refused",
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
