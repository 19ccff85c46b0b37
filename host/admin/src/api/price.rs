//! Prices as operators see them: the book in effect by family, and what one request would cost.

use std::collections::BTreeMap;

use gatehouse_driver::{ChargeUnit, DryRun, DryRunCharge};
use gatehouse_model::TaskFailure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// All prices of the configuration in effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PriceBook")]
pub(crate) struct PricesView {
    /// A digest of all prices.
    pub version: String,
    /// By price key. A request is charged by the most specific of its keys that has a price.
    pub units: Vec<UnitPrice>,
    /// By text model.
    pub tokens: Vec<TokenPrice>,
    /// Every loaded family with its prices.
    pub families: Vec<FamilyPrices>,
    /// Keys with a price that no loaded family charges by.
    pub unused: Vec<String>,
    /// What costs something else for the customers that point to a variant of the book.
    #[serde(default)]
    pub variants: Vec<PriceVariantView>,
}

/// The prices of a variant that are its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PriceVariant")]
pub(crate) struct PriceVariantView {
    /// Its name, to which customers point.
    pub name: String,
    /// By price key.
    pub units: Vec<UnitPrice>,
    /// By text model.
    pub tokens: Vec<TokenPrice>,
}

/// What the units of a price key cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct UnitPrice {
    /// The price key.
    pub key: String,
    /// Of `per` units.
    pub price_micro: i64,
    /// 1, 1,000 or 1,000,000.
    pub per: u32,
}

/// What a million tokens of a text model cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct TokenPrice {
    /// The model.
    pub model: String,
    /// Its other names.
    pub aliases: Vec<String>,
    /// The provider that serves it.
    pub provider: String,
    /// Of a million tokens read.
    pub input_micro: i64,
    /// Of a million tokens written; null where the model writes none.
    pub output_micro: Option<i64>,
    /// Of a million tokens read from a cache.
    pub cached_micro: i64,
    /// Of a million tokens read and put into a cache.
    pub cache_write_micro: i64,
    /// Of a million tokens read and put into a cache that keeps them for an hour.
    #[serde(default)]
    pub cache_write_1h_micro: i64,
    /// Of a million of other counters that its provider tells, by name.
    #[serde(default)]
    pub counters_micro: BTreeMap<String, i64>,
}

/// The prices of one family.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct FamilyPrices {
    /// Its name.
    pub family: String,
    /// Its version.
    pub version: String,
    /// By its price keys.
    pub units: Vec<UnitPrice>,
    /// Keys that it needs a price for and has none: requests that come to them fail.
    pub missing: Vec<String>,
    /// Text models that it serves, which are paid by tokens.
    pub models: Vec<String>,
}

/// What a request would cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct PricePreview {
    /// The model's own id.
    pub model: String,
    /// What it would be charged for.
    pub charges: Vec<PreviewCharge>,
    /// What would be held.
    pub sum_micro: i64,
    /// Whether the sum is an upper estimate.
    pub at_most: bool,
    /// The usual duration of such a task; null for a text.
    pub expected_ms: Option<u32>,
    /// With this the task would fail after it was accepted, as far as its sources tell.
    pub failure: Option<String>,
}

/// One charge of a preview.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct PreviewCharge {
    /// The price keys from most to least specific; the model, for tokens.
    pub price_keys: Vec<String>,
    /// The first of them that has a price.
    pub price_key: String,
    /// What is counted.
    pub unit: PreviewUnit,
    /// What one unit is ("second"); empty where its family does not say.
    pub unit_name: String,
    /// How many units or single tokens.
    pub quantity: u64,
    /// Of `per` units, or of a million tokens.
    pub unit_price_micro: i64,
    /// For how many units or tokens the price is.
    pub per: u32,
    /// Of all.
    pub sum_micro: i64,
}

/// What a charge counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PreviewUnit {
    /// What the family charges by.
    Unit,
    /// Tokens read; the price is that of a million.
    InputTokens,
    /// Tokens written; the price is that of a million.
    OutputTokens,
}

impl From<DryRun> for PricePreview {
    fn from(found: DryRun) -> Self {
        let DryRun { model, charges, sum, at_most, expected_ms, failure } = found;
        let failure = failure.map(|TaskFailure { message, .. }| message);
        let charges = charges.into_iter().map(PreviewCharge::from).collect();
        Self { model, charges, sum_micro: sum.0, at_most, expected_ms, failure }
    }
}

impl From<DryRunCharge> for PreviewCharge {
    fn from(charge: DryRunCharge) -> Self {
        let DryRunCharge { keys, key, unit, quantity, unit_price, per, sum } = charge;
        let (unit, unit_name) = match unit {
            ChargeUnit::Unit(name) => (PreviewUnit::Unit, name),
            ChargeUnit::InputTokens => (PreviewUnit::InputTokens, String::new()),
            ChargeUnit::OutputTokens => (PreviewUnit::OutputTokens, String::new()),
        };
        let (price_keys, price_key) = (keys, key);
        let (unit_price_micro, sum_micro) = (unit_price.0, sum.0);
        Self { price_keys, price_key, unit, unit_name, quantity, unit_price_micro, per, sum_micro }
    }
}
