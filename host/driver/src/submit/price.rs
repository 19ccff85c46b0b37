//! What a submission would cost, of which nobody is known who pays: judged by its plugin like every other, then dropped.
//! Rates, balance and quota do not matter, and no source is looked at.

use std::sync::Arc;

use gatehouse_tasks::Quote;

use crate::api::{ChargeUnit, DryRun, DryRunCharge, SubmitRequest};
use crate::detached::detached;
use crate::driver::Driver;
use crate::errors::SubmitError;
use crate::state::{DriverState, ShutdownState};

impl Driver {
    /// What a submission would cost. The key of the request names the customer whose tasks and names it refers to; it need
    /// not exist.
    ///
    /// # Errors
    /// [`SubmitError`], as for the submission itself.
    pub async fn price(&self, request: SubmitRequest) -> Result<DryRun, SubmitError> {
        if self.state.has_reached(ShutdownState::Stopped) {
            return Err(SubmitError::Draining);
        }
        let (state, body) = (Arc::clone(&self.state), request.body.bytes().clone());
        detached(body, Box::pin(async move { state.price_of(request).await })).await
    }
}

impl DriverState {
    async fn price_of(&self, request: SubmitRequest) -> Result<DryRun, SubmitError> {
        let now = self.now();
        let found = self.resolve(&request)?;
        let cut = self.cut(request.body.json().clone()).await?;
        let refers = self.references(&request, &found, &cut.json).await?;
        let adopted = refers.adopted.clone();
        let judged = async {
            let joins = found.version.surface(request.surface).is_some_and(|surface| surface.joins);
            let found = if joins { self.version_of_parent(&request, found, &refers).await? } else { found };
            self.ask_plugin(&request, found, refers, cut, self.seed.next_u64(), now).await
        };
        let judged = judged.await;
        self.media.drop_blobs(&adopted).await;
        let (_, accepted, _) = judged?;
        let Quote { key, unit, total } = self.quote(&accepted)?;
        let charge = DryRunCharge {
            keys: accepted.charge.keys,
            key,
            unit: ChargeUnit::Unit,
            quantity: accepted.charge.quantity.into(),
            unit_price: unit,
            sum: total,
        };
        Ok(DryRun {
            model: accepted.model,
            charges: vec![charge],
            sum: total,
            at_most: false,
            expected_ms: accepted.expected_ms,
            failure: accepted.doomed.map(Into::into),
        })
    }
}
