//! The price of a text request that only asks: the upper estimate that a real one would hold.

use gatehouse_model::{Credits, Prepared};

use crate::api::{ChargeUnit, DryRun, DryRunCharge};
use crate::errors::SubmitError;
use crate::rates::RateUse;
use crate::state::DriverState;
use crate::text::api::{CompletionRequest, TextError};
use crate::text::models::TextModel;

impl DriverState {
    pub(super) fn text_dry_run(
        &self,
        request: &CompletionRequest,
        model: &TextModel,
        prepared: &Prepared,
    ) -> Result<DryRun, TextError> {
        let name = &model.id;
        let too_much = || SubmitError::too_dear(name);
        let bill = model.dearest(prepared).ok_or_else(too_much)?;
        let sum = bill.max_cost().ok_or_else(too_much)?;
        if !request.body.is_price_only() {
            let (now, tokens) = (self.now(), bill.estimated_tokens());
            let (rates, outcome) = RateUse::ask(&self.rates, &request.key, name, Some(tokens), now);
            request.report.count(&rates);
            outcome.map_err(SubmitError::RateLimited)?;
            self.check_funds(&request.key, sum, Some(name), now)?;
        }
        let parts = bill.parts().ok_or_else(too_much)?;
        let units = [ChargeUnit::InputTokens, ChargeUnit::OutputTokens];
        let charges = units.into_iter().zip(parts).map(|(unit, (quantity, unit_price, sum))| DryRunCharge {
            keys: vec![name.clone()],
            key: name.clone(),
            unit,
            quantity,
            unit_price,
            per: 1_000_000,
            sum,
        });
        let request = Some(bill.request()).filter(|price| *price > Credits::ZERO).map(|price| DryRunCharge {
            keys: vec![name.clone()],
            key: name.clone(),
            unit: ChargeUnit::Unit(String::new()),
            quantity: 1,
            unit_price: price,
            per: 1,
            sum: price,
        });
        let charges = charges.chain(request).collect();
        Ok(DryRun { model: name.clone(), charges, sum, at_most: true, expected_ms: None, failure: None })
    }
}
