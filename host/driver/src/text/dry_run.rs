//! The price of a text request that only asks: the upper estimate that a real one would hold.

use gatehouse_model::Credits;

use crate::api::{ChargeUnit, DryRun, DryRunCharge};
use crate::errors::SubmitError;
use crate::rates::RateUse;
use crate::submit::dry_run::check_funds;
use crate::text::api::{CompletionRequest, TextError};
use crate::text::estimates::Estimates;
use crate::text::request::Texts;

impl Texts {
    pub(super) async fn text_dry_run(
        &self,
        request: &CompletionRequest,
        name: &str,
        estimates: Estimates,
    ) -> Result<DryRun, TextError> {
        let Estimates { dearest, amount: sum, tokens, .. } = estimates;
        if !request.body.is_price_only() {
            let now = self.shared.now();
            let (rates, outcome) = RateUse::ask(&self.holds.rates, &request.key, name, Some(tokens), now);
            request.report.count(&rates);
            outcome.map_err(SubmitError::RateLimited)?;
            check_funds(&self.shared.store, &request.key, sum, Some(name), now).await?;
        }
        let parts = dearest.parts().ok_or_else(|| SubmitError::too_dear(name))?;
        let units = [ChargeUnit::InputTokens, ChargeUnit::OutputTokens];
        let charges = units.into_iter().zip(parts).map(|(unit, (quantity, unit_price, sum))| DryRunCharge {
            keys: vec![name.to_owned()],
            key: name.to_owned(),
            unit,
            quantity,
            unit_price,
            per: 1_000_000,
            sum,
        });
        let request =
            Some(dearest.request()).filter(|price| *price > Credits::ZERO).map(|price| DryRunCharge {
                keys: vec![name.to_owned()],
                key: name.to_owned(),
                unit: ChargeUnit::Unit(String::new()),
                quantity: 1,
                unit_price: price,
                per: 1,
                sum: price,
            });
        let charges = charges.chain(request).collect();
        Ok(DryRun { model: name.to_owned(), charges, sum, at_most: true, expected_ms: None, failure: None })
    }
}
