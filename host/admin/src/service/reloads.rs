//! The configuration in effect: shown, and read again. Owns nothing but the way to it; has what a reload changed written by the
//! histories of prices and of deployments.

use std::sync::Arc;

use super::configuration::Configuration;
use super::job::on_blocking_thread;
use super::money::Prices;
use super::plugins::Deployments;
use super::price_history::PriceCause;
use crate::api::error::OperationError;
use crate::api::system::{EffectiveView, ReloadView};

/// Shows the configuration in effect, and has it read again.
pub struct Reloads {
    pub(super) configuration: Arc<dyn Configuration>,
    pub(super) deployments: Arc<Deployments>,
    pub(super) prices: Arc<Prices>,
}

impl Reloads {
    /// The configuration, secrets by their origin alone.
    pub(crate) async fn effective(&self) -> Result<EffectiveView, OperationError> {
        let configuration = Arc::clone(&self.configuration);
        on_blocking_thread(move || configuration.effective()).await?
    }

    /// Reads the configuration again and switches to it, or changes nothing.
    pub(crate) async fn reload(&self) -> Result<ReloadView, OperationError> {
        let (configuration, cause) = (Arc::clone(&self.configuration), PriceCause::present("reload"));
        let outcome = on_blocking_thread(move || configuration.reload(&cause)).await?;
        self.prices.keep().await;
        for deployed in self.configuration.take_deployed() {
            self.deployments.keep(&deployed).await;
        }
        outcome
    }
}
