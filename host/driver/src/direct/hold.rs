//! The rates and the money of one request that is answered at once: taken before the call, settled or given back at its end. A
//! hold that nobody settles is given back when it is dropped, so that a panic costs nobody a credit.

use std::sync::Arc;

use gatehouse_model::{Credits, Purpose, RequestId, Tags, Usage};
use gatehouse_tasks::Command;

use crate::direct::api::AnswerRequest;
use crate::direct::request::Answers;
use crate::errors::SubmitError;
use crate::money;
use crate::rates::RateUse;
use crate::request_report::WorkGuard;
use crate::shared::Shared;
use crate::submit::judge::QuotedTerms;
use crate::text::hold::Reservation;

/// A request's reserved money, if it has a price, and what it took of its key's rates.
pub(super) struct DirectHold {
    shared: Arc<Shared>,
    id: RequestId,
    model: String,
    /// What the client noted down, for the settlement.
    tags: Option<Arc<Tags>>,
    /// `None` once it is settled or given back, and where the answer is free.
    held: Option<Credits>,
    /// What the answer costs where it does not settle; no more than what is held.
    pub(super) cost: Credits,
    _rates: Arc<RateUse>,
    work: WorkGuard,
}

impl Answers {
    /// Takes from the key's rates and reserves what the answer costs. Of a request that reads, the key's rates alone count.
    pub(super) async fn hold_answer(
        &self,
        request: &AnswerRequest,
        model: &str,
        quoted: Option<&QuotedTerms>,
        streaming: bool,
        work: WorkGuard,
    ) -> Result<DirectHold, SubmitError> {
        let now = self.shared.now();
        let (rates, outcome) = RateUse::take(&self.rates, &request.key, model, None, now);
        request.report.count(&rates);
        outcome.map_err(SubmitError::RateLimited)?;
        if let Some(quoted) = quoted {
            let reservation = Reservation {
                id: request.id,
                key: &request.key,
                model,
                amount: quoted.hold,
                purpose: Purpose::Answer,
                streaming,
                report: &request.report,
                rates: &rates,
                work: &work,
            };
            reservation.hold(&self.shared).await?;
        }
        Ok(DirectHold {
            shared: Arc::clone(&self.shared),
            id: request.id,
            model: model.to_owned(),
            tags: request.body.tags().cloned(),
            held: quoted.map(|quoted| quoted.hold),
            cost: quoted.map_or(Credits::ZERO, |quoted| quoted.quote.total),
            _rates: rates,
            work,
        })
    }
}

impl DirectHold {
    /// What is held.
    pub(super) fn amount(&self) -> Credits {
        self.held.unwrap_or(Credits::ZERO)
    }

    /// Spends `amount`, which is no more than what is held, and gives the rest back.
    pub(super) fn settle(mut self, amount: Credits) -> Result<(), SubmitError> {
        let Some(held) = self.held.take() else {
            self.work.charge(Credits::ZERO);
            return Ok(());
        };
        let amount = amount.min(held);
        self.work.charge(amount);
        money::settled(&self.model, Purpose::Answer, held, amount);
        let (memo, tokens, at) = (self.model.clone(), Usage::default(), self.shared.now());
        let tags = self.tags.as_deref().cloned().unwrap_or_default();
        Ok(self.shared.store.post(Command::Settle { id: self.id, amount, memo, tokens, tags, at })?)
    }
}

impl Drop for DirectHold {
    fn drop(&mut self) {
        let Some(held) = self.held.take() else { return };
        self.work.charge(Credits::ZERO);
        money::released(&self.model, held);
        let command = Command::Release { id: self.id, at: self.shared.now() };
        if let Err(error) = self.shared.store.post(command) {
            tracing::error!(request = %self.id, %error, "a hold could not be released; it expires");
        }
    }
}
