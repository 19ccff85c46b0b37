//! One call: build, send, read, and tell the account what came of it.

use std::time::Duration;

use gatehouse_model::{Call, Outage, Payload, Reply, UnixMs, metric};
use tokio::time::Instant;

use crate::Blobs;
use crate::accounts::{Sign, Slot};
use crate::exchange::{self, ExchangeError};
use crate::reply::{self, Cut};
use crate::request::{self, Refused};
use crate::upstream::{Provider, Upstream};

/// An outage with its cause, which goes to the log only.
pub(crate) struct Trouble {
    outage: Outage,
    detail: String,
    /// Says something about the provider, not about us or the plugin.
    theirs: bool,
}

impl Upstream {
    /// Makes a call through the slot's account.
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
        slot: &Slot,
        call: &Call,
        blobs: &dyn Blobs,
        deadline: UnixMs,
    ) -> Result<Reply, Outage> {
        let reply = self.observed(slot, call, self.exchange(slot, call, blobs, deadline)).await?;
        judge(slot, &reply);
        Ok(reply)
    }

    /// Counts an exchange and says what is to be said about its failure.
    pub(crate) async fn observed<T: Answer>(
        &self,
        slot: &Slot,
        call: &Call,
        exchange: impl Future<Output = Result<T, Trouble>>,
    ) -> Result<T, Outage> {
        let began = std::time::Instant::now();
        let outcome = exchange.await;
        let seconds = began.elapsed().as_secs_f64();
        metrics::histogram!(metric::CALL_SECONDS, "provider" => call.provider.clone()).record(seconds);
        let label = outcome
            .as_ref()
            .map_or_else(|trouble| outage_label(trouble.outage), |answer| status_label(answer.status()));
        metrics::counter!(metric::CALLS, "provider" => call.provider.clone(), "outcome" => label)
            .increment(1);
        outcome.map_err(|trouble| self.lost(slot, trouble))
    }

    /// No answer: the account is judged, the operator told.
    pub(crate) fn lost(&self, slot: &Slot, trouble: Trouble) -> Outage {
        let Trouble { outage, detail, theirs } = trouble;
        if theirs {
            slot.judge(Sign::Failing);
        }
        let detail = clean(slot, detail);
        tracing::warn!(provider = slot.provider(), account = slot.account(), ?outage, detail, "no reply");
        outage
    }

    async fn exchange(
        &self,
        slot: &Slot,
        call: &Call,
        blobs: &dyn Blobs,
        deadline: UnixMs,
    ) -> Result<Reply, Trouble> {
        let provider = self.provider_of(slot, call)?;
        let (request, end) = self.request(provider, slot, call, blobs, deadline).await?;
        let response = exchange::send(&provider.calls, request, end).await?;
        let saved = call.save_body.then_some((blobs, provider.checked.max_saved));
        Ok(reply::read(response, slot.mask(), provider.checked.max_reply, saved, end).await?)
    }

    /// The provider the slot and the call agree on.
    pub(crate) fn provider_of(&self, slot: &Slot, call: &Call) -> Result<&Provider, Trouble> {
        self.provider(slot.provider()).filter(|_| call.provider == slot.provider()).ok_or_else(|| {
            let detail = format!("a call to {} came with {slot:?}", call.provider);
            Trouble { outage: Outage::Refused, detail, theirs: false }
        })
    }

    /// The request, and when its exchange must be over.
    pub(crate) async fn request(
        &self,
        provider: &Provider,
        slot: &Slot,
        call: &Call,
        blobs: &dyn Blobs,
        deadline: UnixMs,
    ) -> Result<(http::Request<exchange::Payload>, Instant), Trouble> {
        let checked = &provider.checked;
        let left = deadline.since(self.clock().now());
        if left.is_zero() {
            let detail = "the task's time is over".to_owned();
            return Err(Trouble { outage: Outage::Unreachable, detail, theirs: false });
        }
        let boundary = if matches!(call.body, Payload::Form(_)) { self.seed().next_u64() } else { 0 };
        let request = request::build(checked, slot.secret(), call, blobs, boundary).await?;
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

impl From<Refused> for Trouble {
    fn from(refused: Refused) -> Self {
        // Our own store's failure is no judgement on the call.
        let outage = if let Refused::Broken(_) = refused { Outage::Unreachable } else { Outage::Refused };
        Self { outage, detail: refused.to_string(), theirs: false }
    }
}

impl From<ExchangeError> for Trouble {
    fn from(error: ExchangeError) -> Self {
        let outage = match &error {
            ExchangeError::NotSent(_) | ExchangeError::NoConnection(_) => Outage::Unreachable,
            ExchangeError::Timeout => Outage::Timeout,
            ExchangeError::Broken(_) => Outage::Broken,
        };
        Self { outage, detail: error.to_string(), theirs: true }
    }
}

impl From<Cut> for Trouble {
    fn from(cut: Cut) -> Self {
        Self { outage: cut.outage, detail: cut.detail.to_string(), theirs: cut.theirs }
    }
}

pub(crate) fn judge(slot: &Slot, reply: &Reply) {
    match reply.status {
        429 => {
            // The date form of Retry-After is rare on 429; without a number the pause is our own.
            let seconds = reply.header("retry-after").and_then(|text| text.trim().parse::<f64>().ok());
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "`as` saturates, the pool clamps"
            )]
            slot.judge(Sign::TooMany(seconds.filter(|s| s.is_finite()).map(|s| s.ceil() as u64)));
        }
        401..=403 => {
            let (provider, account, status) = (slot.provider(), slot.account(), reply.status);
            tracing::error!(
                provider,
                account,
                status,
                "the provider refuses this account's credentials or credit"
            );
            slot.judge(Sign::Trouble);
        }
        500.. => slot.judge(Sign::Failing),
        _ => slot.judge(Sign::Well),
    }
}

/// A log text without the secret, should some error quote the URL or a header.
fn clean(slot: &Slot, detail: String) -> String {
    String::from_utf8_lossy(&slot.mask().clean(detail.into_bytes())).into_owned()
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
