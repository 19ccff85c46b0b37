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
        let charge = |unit, quantity, unit_price, per, sum| {
            let (keys, key) = (vec![name.to_owned()], name.to_owned());
            DryRunCharge { keys, key, unit, quantity, unit_price, per, sum }
        };
        let tokens = units.into_iter().zip(parts);
        let tokens = tokens.map(|(unit, (count, price, sum))| charge(unit, count, price, 1_000_000, sum));
        let request = Some(dearest.request).filter(|price| *price > Credits::ZERO);
        let request = request.map(|price| charge(ChargeUnit::Unit(String::new()), 1, price, 1, price));
        let charges = tokens.chain(request).collect();
        Ok(DryRun { model: name.to_owned(), charges, sum, at_most: true, expected_ms: None, failure: None })
    }
}
