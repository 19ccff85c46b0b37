//! The price of a text request that only asks: the upper estimate that a real one would hold, at the prices in effect or at
//! others.

use std::collections::BTreeMap;

use gatehouse_model::Credits;

use crate::api::{ChargeUnit, DryRun, DryRunCharge, PriceBasis};
use crate::errors::SubmitError;
use crate::models::bill::Bill;
use crate::models::{PassPrice, TokenPrices, passed};
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
        let Estimates { dearest, amount: sum, tokens, basis, .. } = estimates;
        if !request.body.is_price_only() {
            let now = self.shared.now();
            let (rates, outcome) = RateUse::ask(&self.holds.rates, &request.key, name, Some(tokens), now);
            request.report.count(&rates);
            outcome.map_err(SubmitError::RateLimited)?;
            check_funds(&self.shared.store, &request.key, sum, Some(name), now).await?;
        }
        let charges = charges(&dearest, name).ok_or_else(|| SubmitError::too_dear(name))?;
        let (model, at_most, expected_ms, failure) = (name.to_owned(), true, None, None);
        let basis = request.body.is_price_only().then_some(PriceBasis::Text(basis));
        Ok(DryRun { model, charges, sum, at_most, expected_ms, failure, basis })
    }
}

impl DryRun {
    /// The same text at other prices: of tokens, at each target of its basis in that order, and of the fields that it passes. What
    /// costs no tokens stays as it is. `None` where it is more than can be counted.
    #[must_use]
    pub fn at_token_prices(
        self,
        prices: Vec<TokenPrices>,
        pass_prices: &BTreeMap<String, PassPrice>,
    ) -> Option<Self> {
        let Some(PriceBasis::Text(targets)) = &self.basis else { return Some(self) };
        let bills = targets.iter().zip(prices);
        let bills = bills.map(|(target, prices)| passed::bill(pass_prices, prices, &target.prepared));
        let (sum, dearest) = Bill::dearest(bills.collect::<Option<_>>()?)?;
        let charges = charges(&dearest, &self.model)?;
        Some(Self { charges, sum, ..self })
    }
}

/// What is held for a text: its tokens, and where that costs something, the request itself.
fn charges(bill: &Bill, model: &str) -> Option<Vec<DryRunCharge>> {
    let charge = |unit, quantity, unit_price, per, sum| {
        let (keys, key) = (vec![model.to_owned()], model.to_owned());
        DryRunCharge { keys, key, unit, quantity, unit_price, per, sum }
    };
    let tokens = [ChargeUnit::InputTokens, ChargeUnit::OutputTokens].into_iter().zip(bill.parts()?);
    let tokens = tokens.map(|(unit, (count, price, sum))| charge(unit, count, price, 1_000_000, sum));
    let request = Some(bill.request).filter(|price| *price > Credits::ZERO);
    let request = request.map(|price| charge(ChargeUnit::Unit(String::new()), 1, price, 1, price));
    Some(tokens.chain(request).collect())
}
