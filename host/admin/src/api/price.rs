//! Prices as operators see them: the book in effect by family, what one request would cost, the versions of the book, and what
//! differs between two of them.

use std::collections::BTreeMap;

use gatehouse_driver::{ChargeUnit, DryRun, DryRunCharge, ModelPrices};
use gatehouse_model::{Price, TaskFailure, view};
use gatehouse_store::PriceVersionSummary;
use gatehouse_tasks::{PriceChange, PricePart, PriceRow, PriceVersion};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::values::Moment;

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

view! {
    /// What the units of a price key cost.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub(crate) struct UnitPrice of ((key, price): (String, Price)) {
        /// The price key.
        pub key: String = key,
        /// Of `per` units.
        pub price_micro: i64 = price.credits.0,
        /// 1, 1,000 or 1,000,000.
        pub per: u32 = price.per,
    }
}

view! {
    /// What a million tokens of a text model cost.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub(crate) struct TokenPrice of ((model, listed): (String, ModelPrices)) where {
        let prices = listed.prices;
    } {
        /// The model.
        pub model: String = model,
        /// Its other names.
        pub aliases: Vec<String> = listed.aliases,
        /// The provider that serves it.
        pub provider: String = listed.provider,
        /// Of a million tokens read.
        pub input_micro: i64 = prices.input.0,
        /// Of a million tokens written; null where the model writes none.
        pub output_micro: Option<i64> = prices.output.map(|price| price.0),
        /// Of a million tokens read from a cache.
        pub cached_micro: i64 = prices.cached.unwrap_or(prices.input).0,
        /// Of a million tokens read and put into a cache.
        pub cache_write_micro: i64 = prices.cache_write().0,
        /// Of a million tokens read and put into a cache that keeps them for an hour.
        #[serde(default)]
        pub cache_write_1h_micro: i64 = prices.cache_write_1h().0,
        /// Of a million of other counters that its provider tells, by name.
        #[serde(default)]
        pub counters_micro: BTreeMap<String, i64> =
            prices.counters.into_iter().map(|(name, price)| (name, price.0)).collect(),
    }
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

view! {
    /// What a request would cost.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub(crate) struct PricePreview of (found: DryRun) where {
        let DryRun { model, charges, sum, at_most, expected_ms, failure, basis: _ } = found;
        let failure = failure.map(|TaskFailure { message, .. }| message);
        let charges = charges.into_iter().map(PreviewCharge::from).collect();
    } {
        /// The model's own id.
        pub model: String = model,
        /// What it would be charged for.
        pub charges: Vec<PreviewCharge> = charges,
        /// What would be held.
        pub sum_micro: i64 = sum.0,
        /// Whether the sum is an upper estimate.
        pub at_most: bool = at_most,
        /// The usual duration of such a task; null for a text.
        pub expected_ms: Option<u32> = expected_ms,
        /// With this the task would fail after it was accepted, as far as its sources tell.
        pub failure: Option<String> = failure,
    }
}

view! {
    /// One charge of a preview.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub(crate) struct PreviewCharge of (charge: DryRunCharge) where {
        let DryRunCharge { keys, key, unit, quantity, unit_price, per, sum } = charge;
        let (unit, unit_name) = match unit {
            ChargeUnit::Unit(name) => (PreviewUnit::Unit, name),
            ChargeUnit::InputTokens => (PreviewUnit::InputTokens, String::new()),
            ChargeUnit::OutputTokens => (PreviewUnit::OutputTokens, String::new()),
        };
        let (price_keys, price_key) = (keys, key);
        let (unit_price_micro, sum_micro) = (unit_price.0, sum.0);
    } {
        /// The price keys from most to least specific; the model, for tokens.
        pub price_keys: Vec<String> = price_keys,
        /// The first of them that has a price.
        pub price_key: String = price_key,
        /// What is counted.
        pub unit: PreviewUnit = unit,
        /// What one unit is ("second"); empty where its family does not say.
        pub unit_name: String = unit_name,
        /// How many units or single tokens.
        pub quantity: u64 = quantity,
        /// Of `per` units, or of a million tokens.
        pub unit_price_micro: i64 = unit_price_micro,
        /// For how many units or tokens the price is.
        pub per: u32 = per,
        /// Of all.
        pub sum_micro: i64 = sum_micro,
    }
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

view! {
    /// A version of the price book.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[schemars(rename = "PriceBookVersion")]
    pub(crate) struct PriceVersionView of (summary: PriceVersionSummary) where {
        let PriceVersionSummary { number, at, who, cause, digest, prices, changed } = summary;
    } {
        /// Counted from 1.
        pub number: u64 = number,
        /// Since when its prices were in effect.
        pub at: Moment = Moment(at),
        /// Who caused the change: a token, a session, the gateway itself.
        pub who: String = who,
        /// What caused it: a start, a takeover, a reload, a plugin that brought its prices.
        pub cause: String = cause,
        /// A digest of all its prices.
        pub version: String = digest.to_string(),
        /// How many prices it has.
        pub prices: u64 = prices,
        /// How many are new, gone or other than in the version before.
        pub changed: u64 = changed,
    }
}

view! {
    /// A version of the price book with its prices.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub(crate) struct PriceVersionDetails of (book: PriceVersion) where {
        let (prices, left_out) = (book.prices.iter().map(PriceView::from).collect(), book.left_out);
    } {
        /// The version.
        pub book: PriceVersionView = PriceVersionSummary::from(book).into(),
        /// By key and part.
        pub prices: Vec<PriceView> = prices,
        /// Prices that were too many to be kept.
        pub left_out: u64 = left_out,
    }
}

view! {
    /// One price of a version.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[schemars(rename = "Price")]
    pub(crate) struct PriceView of (row: &PriceRow) {
        /// The price key, or the text model; of a target with prices of its own the model, ` at ` and its name.
        pub key: String = row.key.clone(),
        /// What it is the price of.
        pub part: PricePartView = row.part.into(),
        /// How much. Of a factor, in millionths: 2,000,000 is twice.
        pub price_micro: i64 = row.price.0,
    }
}

/// What a price is the price of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "PricePart")]
pub(crate) enum PricePartView {
    /// One unit.
    Unit,
    /// A thousand units.
    ThousandUnits,
    /// A million units.
    MillionUnits,
    /// A million tokens read.
    InputTokens,
    /// A million tokens written.
    OutputTokens,
    /// A million tokens read from a cache.
    CachedTokens,
    /// A million tokens read and put into a cache.
    CacheWriteTokens,
    /// A million tokens read and put into a cache that keeps them for an hour.
    CacheWriteHourTokens,
    /// A million of a counter of a text model; the key names both.
    Counter,
    /// By how much every price of tokens is multiplied where a field is passed; the key names model and field.
    PassFactor,
    /// A request that passes a field; the key names both.
    PassRequest,
}

/// What differs between two versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct PriceChanges {
    /// The earlier one of the comparison; null where the other is the first.
    pub against: Option<u64>,
    /// The version asked for.
    pub number: u64,
    /// By key and part.
    pub changes: Vec<PriceChangeView>,
    /// Whether prices that were not kept may differ, too.
    pub incomplete: bool,
}

view! {
    /// One price that differs.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[schemars(rename = "PriceChange")]
    pub(crate) struct PriceChangeView of (change: PriceChange) where {
        let micro = |price: gatehouse_model::Credits| price.0;
    } {
        /// The price key, or the text model; of a target with prices of its own the model, ` at ` and its name.
        pub key: String = change.key,
        /// What it is the price of.
        pub part: PricePartView = change.part.into(),
        /// Before; null where it is new.
        pub before_micro: Option<i64> = change.before.map(micro),
        /// Afterwards; null where it is gone.
        pub after_micro: Option<i64> = change.after.map(micro),
    }
}

impl From<PricePart> for PricePartView {
    fn from(part: PricePart) -> Self {
        match part {
            PricePart::Unit => Self::Unit,
            PricePart::Thousand => Self::ThousandUnits,
            PricePart::Million => Self::MillionUnits,
            PricePart::Input => Self::InputTokens,
            PricePart::Output => Self::OutputTokens,
            PricePart::Cached => Self::CachedTokens,
            PricePart::CacheWrite => Self::CacheWriteTokens,
            PricePart::CacheWriteHour => Self::CacheWriteHourTokens,
            PricePart::Counter => Self::Counter,
            PricePart::PassFactor => Self::PassFactor,
            PricePart::PassRequest => Self::PassRequest,
        }
    }
}
