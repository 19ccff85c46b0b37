//! The rates and the money of one text request: taken before the call, corrected at its end. Rates come first: a request
//! that has to wait is told so whatever its customer owns.
//!
//! No end waits for the disk. A hold that its process does not end is released by the next one.

use std::sync::{Arc, Mutex, PoisonError};

use gatehouse_model::{Credits, Key, Purpose, RequestId, Tags, Usage, metric};
use gatehouse_store::Durability;
use gatehouse_tasks::{Applied, Command};

use crate::errors::SubmitError;
use crate::models::bill::{Bill, Count};
use crate::models::counters::UnpricedCounters;
use crate::money;
use crate::rates::{RateLimiter, RateUse};
use crate::request_report::{RequestReport, WorkGuard};
use crate::shared::Shared;
use crate::submit::refusal::{rejection_error, store_error};
use crate::text::api::{CompletionRequest, TextError};
use crate::text::estimates::Estimates;

/// A request's reserved money, and what it took of its key's rates.
pub(super) struct TextHold {
    /// By the price of the target that is asked, or has answered.
    bill: Mutex<Arc<Bill>>,
    pub(super) id: RequestId,
    amount: Credits,
    model: String,
    /// What the client noted down, for the settlement.
    tags: Option<Arc<Tags>>,
    rates: Arc<RateUse>,
    /// Where the maker of the request reads what it paid, until the last part of the work is done.
    work: WorkGuard,
}

impl TextHold {
    pub(super) fn bill(&self) -> Arc<Bill> {
        Arc::clone(&self.bill.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Another target is asked.
    pub(super) fn bill_by(&self, bill: Bill) {
        *self.bill.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(bill);
    }
}

/// Holds and settles the money of texts.
pub(crate) struct Holds {
    pub(crate) shared: Arc<Shared>,
    pub(crate) rates: Arc<RateLimiter>,
    /// What the log has told of counters without a price.
    pub(crate) unpriced_counters: UnpricedCounters,
}

impl Holds {
    /// Reserves what the request costs at the dearest target that may answer it. It is billed by the first one until
    /// another is asked.
    pub(super) async fn reserve(
        &self,
        request: &CompletionRequest,
        model_id: &str,
        estimates: Estimates,
        streaming: bool,
        work: WorkGuard,
    ) -> Result<TextHold, SubmitError> {
        let Estimates { first, amount, tokens, .. } = estimates;
        let now = self.shared.now();
        let (rates, outcome) = RateUse::take(&self.rates, &request.key, model_id, Some(tokens), now);
        request.report.count(&rates);
        outcome.map_err(SubmitError::RateLimited)?;
        let (id, key, report) = (request.id, &*request.key, &request.report);
        let (model, purpose) = (model_id, Purpose::Text);
        let reservation =
            Reservation { id, key, model, amount, purpose, streaming, report, rates: &rates, work: &work };
        reservation.hold(&self.shared).await?;
        Ok(TextHold {
            id: request.id,
            amount,
            bill: Mutex::new(Arc::new(first)),
            model: model_id.to_owned(),
            tags: request.body.tags().cloned(),
            rates,
            work,
        })
    }

    /// Spends the cost of the tokens and gives the rest back, before whatever the client asks for next. A cost above the hold
    /// is waited for: what of it the customer has is known when it is taken.
    pub(super) async fn settle(
        &self,
        held: &TextHold,
        usage: Usage,
        counters: &[(String, u64)],
        count: Count,
    ) -> Result<(), TextError> {
        let bill = held.bill();
        let amount = bill.cost(&usage, counters, held.amount);
        self.unpriced_counters.record(&held.model, &bill.prices, counters);
        held.rates.settle(bill.rated_tokens(&usage), self.shared.now());
        for (kind, tokens) in usage.kinds() {
            metrics::counter!(metric::TOKENS, "model" => held.model.clone(), "kind" => kind)
                .increment(tokens);
        }
        let memo = memo(&held.model, &usage, count);
        let tags = held.tags.as_deref().cloned().unwrap_or_default();
        let command =
            Command::Settle { id: held.id, amount, memo, tokens: usage, tags, at: self.shared.now() };
        if amount <= held.amount {
            held.work.charge_tokens(amount, &usage);
            money::settled(&held.model, Purpose::Text, held.amount, amount);
            return Ok(self.shared.store.post(command)?);
        }
        match self.shared.store.execute_when_free(command, Durability::Deferred).await? {
            Ok(Applied::Settled { paid, unpaid }) => {
                held.work.charge_tokens(paid, &usage);
                money::settled(&held.model, Purpose::Text, held.amount, paid);
                self.unpaid(held, unpaid);
            }
            refused => {
                held.work.charge(Credits::ZERO);
                tracing::error!(request = %held.id, ?refused, "a text could not be charged");
            }
        }
        Ok(())
    }

    /// Tells the operator of a cost that is its own; the audit record has it too.
    fn unpaid(&self, held: &TextHold, unpaid: Credits) {
        if unpaid > Credits::ZERO {
            let micro = u64::try_from(unpaid.0).unwrap_or_default();
            metrics::counter!(metric::UNPAID, "model" => held.model.clone()).increment(micro);
            tracing::warn!(request = %held.id, model = held.model, %unpaid, "a text cost more than its customer has");
        }
    }

    /// Gives everything back.
    pub(super) fn release(&self, held: &TextHold) {
        held.rates.settle(0, self.shared.now());
        if held.work.charge(Credits::ZERO) {
            money::released(&held.model, held.amount);
        }
        if let Err(error) = self.shared.store.post(Command::Release { id: held.id, at: self.shared.now() }) {
            tracing::error!(request = %held.id, %error, "a hold could not be released; it expires");
        }
    }
}

/// What a request takes of its key and its customer that is answered while its client waits.
pub(crate) struct Reservation<'a> {
    pub(crate) id: RequestId,
    pub(crate) key: &'a Key,
    pub(crate) model: &'a str,
    pub(crate) amount: Credits,
    pub(crate) purpose: Purpose,
    pub(crate) streaming: bool,
    pub(crate) report: &'a RequestReport,
    pub(crate) rates: &'a RateUse,
    pub(crate) work: &'a WorkGuard,
}

impl Reservation<'_> {
    /// Holds the amount. Where that is refused, the rates are given back.
    pub(crate) async fn hold(&self, shared: &Shared) -> Result<(), SubmitError> {
        let at = shared.now();
        let command = Command::Hold {
            id: self.id,
            key: self.key.id.clone(),
            model: self.model.to_owned(),
            amount: self.amount,
            expires: at.plus(shared.max_duration(self.streaming)),
            at,
        };
        let span = self.report.begin("hold");
        let held = shared.store.execute_deferred(command).await.map_err(store_error);
        drop(span);
        match held {
            Ok(Ok(_)) => {
                self.work.hold(self.amount);
                money::held(self.model, self.purpose, self.amount);
                Ok(())
            }
            refused => {
                self.rates.undo(shared.now());
                Err(refused.map_or_else(|error| error, |rejected| rejection_error(&rejected)))
            }
        }
    }
}

fn memo(model: &str, usage: &Usage, count: Count) -> String {
    let Usage { input, output, cached, cache_write, .. } = usage;
    format!("{model}: {input} in, {output} out, {cached} cached, {cache_write} cache written{}", count.mark())
}
