//! The tables that an operator may replace while the gateway runs: prices, text models, and the providers they name.
//!
//! Replaced as a whole. A request reads them once and keeps what it read, so it is served and billed by one
//! configuration. A task keeps the price of its submission in its own row.

use std::collections::BTreeMap;

use gatehouse_model::Price;
use gatehouse_tasks::PriceTable;
use gatehouse_upstream::Upstream;

use crate::config::variants::{PriceVariantConfig, VariantTables, books};
use crate::errors::StartError;
use crate::models::table::{ModelConfig, TextModels};
use crate::money;

/// The tables of one moment.
pub(crate) struct Tables {
    pub(crate) prices: PriceTable,
    pub(crate) models: TextModels,
    /// Of the customers that point to one of them, by name.
    pub(crate) variants: BTreeMap<String, VariantTables>,
    /// The providers that belong to `models`.
    pub(crate) upstream: Upstream,
}

/// Prices and text models that were checked and can be switched to.
pub struct PreparedTables {
    prices: PriceTable,
    models: TextModels,
    variants: BTreeMap<String, VariantTables>,
}

impl Tables {
    /// The prices of a variant; of one that is not there, those of the book.
    pub(crate) fn prices_of(&self, variant: Option<&str>) -> &PriceTable {
        variant.and_then(|name| self.variants.get(name)).map_or(&self.prices, |book| &book.prices)
    }

    /// The text models with the prices of a variant; likewise.
    pub(crate) fn models_of(&self, variant: Option<&str>) -> &TextModels {
        variant.and_then(|name| self.variants.get(name)).map_or(&self.models, |book| &book.models)
    }
}

impl PreparedTables {
    /// Checks all tables.
    ///
    /// # Errors
    /// The first price, model or variant that cannot be used.
    pub fn new(
        prices: &BTreeMap<String, Price>,
        models: &BTreeMap<String, ModelConfig>,
        variants: &BTreeMap<String, PriceVariantConfig>,
    ) -> Result<Self, StartError> {
        let of_variants = |(path, why)| StartError::PriceVariants { path, why };
        let variants = books(variants, prices, models).map_err(of_variants);
        let prices =
            PriceTable::new(prices.clone()).map_err(|error| StartError::Prices(error.to_string()))?;
        let models = TextModels::new(models).map_err(|(path, why)| StartError::Models { path, why })?;
        // What is wrong with the book itself is told first.
        Ok(Self { prices, models, variants: variants? })
    }

    pub(crate) fn over(self, upstream: &Upstream) -> Tables {
        self.models.ids().for_each(money::begin_counting_texts);
        let Self { prices, models, variants } = self;
        Tables { prices, models, variants, upstream: upstream.snapshot() }
    }
}
