//! The tables that an operator may replace while the gateway runs: prices, text models, and the providers they name.
//!
//! Replaced as a whole. A request reads them once and keeps what it read, so it is served and billed by one
//! configuration. A task keeps the price of its submission in its own row.

use std::collections::BTreeMap;

use gatehouse_model::Price;
use gatehouse_tasks::PriceTable;
use gatehouse_upstream::Upstream;

use crate::config::settings::Config;
use crate::errors::StartError;
use crate::models::table::{ModelConfig, TextModels};
use crate::money;

/// The tables of one moment.
pub(crate) struct Tables {
    pub(crate) prices: PriceTable,
    pub(crate) models: TextModels,
    /// The providers that belong to `models`.
    pub(crate) upstream: Upstream,
}

/// Prices and text models that were checked and can be switched to.
pub struct PreparedTables {
    prices: PriceTable,
    models: TextModels,
}

impl PreparedTables {
    /// Checks both tables.
    ///
    /// # Errors
    /// The first price or model that cannot be used.
    pub fn new(
        prices: &BTreeMap<String, Price>,
        models: &BTreeMap<String, ModelConfig>,
    ) -> Result<Self, StartError> {
        let prices =
            PriceTable::new(prices.clone()).map_err(|error| StartError::Prices(error.to_string()))?;
        let models = TextModels::new(models).map_err(|(path, why)| StartError::Models { path, why })?;
        Ok(Self { prices, models })
    }

    pub(crate) fn of(config: &Config) -> Result<Self, StartError> {
        Self::new(&config.prices, &config.models)
    }

    pub(crate) fn over(self, upstream: &Upstream) -> Tables {
        self.models.ids().for_each(money::begin_counting_texts);
        Tables { prices: self.prices, models: self.models, upstream: upstream.snapshot() }
    }
}
