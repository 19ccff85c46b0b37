//! What a charge and its limit come to at the prices of now, for tasks and for answers at once.

use gatehouse_model::{Charge, Credits, CustomerId, Price};
use gatehouse_store::StoreError;
use gatehouse_tasks::Quote;

use crate::api::{ChargeUnit, DryRunCharge};
use crate::errors::SubmitError;
use crate::state::DriverState;

/// A charge and its limit with their prices.
pub(crate) struct QuotedTerms {
    /// Of the charge alone.
    pub(crate) quote: Quote,
    /// Of the lines of the charge, then of those of its limit.
    pub(crate) prices: Vec<Price>,
    /// What is held.
    pub(crate) hold: Credits,
}

impl DriverState {
    /// The variant of the price book that a customer's requests are priced by. Without variants nobody is looked up.
    pub(crate) async fn variant_of(&self, customer: &CustomerId) -> Result<Option<String>, StoreError> {
        if self.tables.load().variants.is_empty() {
            return Ok(None);
        }
        let customer = self.store.customer(customer).await?;
        Ok(customer.and_then(|customer| customer.price_variant))
    }

    /// The prices of a charge and its limit in a variant of the book, and what is held for them.
    pub(crate) fn quote_terms(
        &self,
        (variant, model): (Option<&str>, &str),
        charge: &Charge,
        at_most: &Charge,
    ) -> Result<QuotedTerms, SubmitError> {
        let (quote, limit) =
            (self.quote_of((variant, model), charge)?, self.quote_of((variant, model), at_most)?);
        let prices = [quote.prices(), limit.prices()].concat();
        Ok(QuotedTerms { hold: quote.total.max(limit.total), quote, prices })
    }

    /// The price of what a request for `model` is charged for.
    pub(crate) fn quote_of(
        &self,
        (variant, model): (Option<&str>, &str),
        charge: &Charge,
    ) -> Result<Quote, SubmitError> {
        self.tables.load().prices_of(variant).quote(charge).map_err(|error| {
            tracing::error!(model, %error, "a model has no usable price");
            SubmitError::Internal(format!("model {model:?} has no usable price in this gateway"))
        })
    }
}

impl QuotedTerms {
    /// Whether more is held than the charge comes to.
    pub(crate) fn is_limit(&self) -> bool {
        self.hold > self.quote.total
    }

    /// The lines of `charge`, of which it is the quote, as a dry run tells them.
    pub(crate) fn dry_run(&self, charge: &Charge) -> Vec<DryRunCharge> {
        let lines = charge.0.iter().zip(&self.quote.lines);
        let told = lines.map(|(line, quoted)| DryRunCharge {
            keys: line.keys.clone(),
            key: quoted.key.clone(),
            unit: ChargeUnit::Unit(line.unit.clone()),
            quantity: line.quantity,
            unit_price: quoted.price.credits,
            per: quoted.price.per,
            sum: quoted.total,
        });
        told.collect()
    }
}
