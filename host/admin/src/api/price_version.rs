//! Versions of the price book as operators read them, and what differs between two of them.

use gatehouse_store::PriceVersionSummary;
use gatehouse_tasks::{PriceChange, PricePart, PriceRow, PriceVersion};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::values::Moment;

/// A version of the price book.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PriceBookVersion")]
pub(crate) struct PriceVersionView {
    /// Counted from 1.
    pub number: u64,
    /// Since when its prices were in effect.
    pub at: Moment,
    /// Who caused the change: a token, a session, the gateway itself.
    pub who: String,
    /// What caused it: a start, a reload, a plugin that brought its prices.
    pub cause: String,
    /// A digest of all its prices.
    pub version: String,
    /// How many prices it has.
    pub prices: u64,
    /// How many are new, gone or other than in the version before.
    pub changed: u64,
}

/// A version of the price book with its prices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct PriceVersionDetails {
    /// The version.
    pub book: PriceVersionView,
    /// By key and part.
    pub prices: Vec<PriceView>,
    /// Prices that were too many to be kept.
    pub left_out: u64,
}

/// One price of a version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Price")]
pub(crate) struct PriceView {
    /// The price key, or the text model.
    pub key: String,
    /// What it is the price of.
    pub part: PricePartView,
    /// How much.
    pub price_micro: i64,
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

/// One price that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PriceChange")]
pub(crate) struct PriceChangeView {
    /// The price key, or the text model.
    pub key: String,
    /// What it is the price of.
    pub part: PricePartView,
    /// Before; null where it is new.
    pub before_micro: Option<i64>,
    /// Afterwards; null where it is gone.
    pub after_micro: Option<i64>,
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
        }
    }
}

impl From<PriceVersionSummary> for PriceVersionView {
    fn from(summary: PriceVersionSummary) -> Self {
        let PriceVersionSummary { number, at, who, cause, digest, prices, changed } = summary;
        Self { number, at: Moment(at), who, cause, version: digest.to_string(), prices, changed }
    }
}

impl From<PriceVersion> for PriceVersionDetails {
    fn from(book: PriceVersion) -> Self {
        let view = |row: &PriceRow| PriceView {
            key: row.key.clone(),
            part: row.part.into(),
            price_micro: row.price.0,
        };
        let (prices, left_out) = (book.prices.iter().map(view).collect(), book.left_out);
        Self { book: PriceVersionSummary::from(book).into(), prices, left_out }
    }
}

impl From<PriceChange> for PriceChangeView {
    fn from(change: PriceChange) -> Self {
        let micro = |price: gatehouse_model::Credits| price.0;
        Self {
            key: change.key,
            part: change.part.into(),
            before_micro: change.before.map(micro),
            after_micro: change.after.map(micro),
        }
    }
}
