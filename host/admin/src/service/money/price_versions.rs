//! Versions of the price book: what was in effect since when, what changed it, and what a request would
//! have cost by it. Owns nothing; the configuration has the versions that wait to be written.

use std::sync::Arc;

use gatehouse_model::{Credits, Price};
use gatehouse_store::Store;
use gatehouse_tasks::{MAX_PRICE_BOOKS, PricePart, PriceVersion, price_changes};

use crate::api::error::OperationError;
use crate::api::price::{PreviewUnit, PricePreview};
use crate::api::price_version::{PriceChangeView, PriceChanges, PriceVersionDetails};
use crate::service::configuration::Configuration;
use crate::service::price_history::key_in_variant;

const MILLION: i128 = 1_000_000;

/// Writes versions of the price book, and compares them.
pub struct PriceVersions {
    pub(in crate::service) store: Store,
    pub(in crate::service) configuration: Arc<dyn Configuration>,
}

impl PriceVersions {
    /// Writes versions of the price book that wait. What cannot be written is logged and waits on.
    pub async fn keep(&self) {
        let Some(history) = self.configuration.price_history() else { return };
        if let Err(error) = history.write(&self.store).await {
            tracing::error!(%error, "a version of the price book is not written yet");
        }
    }

    /// A version with its prices.
    pub(crate) async fn details(&self, number: u64) -> Result<PriceVersionDetails, OperationError> {
        self.version(number).await.map(PriceVersionDetails::from)
    }

    pub(super) async fn version(&self, number: u64) -> Result<PriceVersion, OperationError> {
        let found = self.store.price_book(number).await?;
        found.ok_or_else(|| {
            let why = format!("no version {number} of the price book; the last {MAX_PRICE_BOOKS} are kept");
            OperationError::NotFound(why)
        })
    }

    /// What differs between a version and another: without `against`, the one before it.
    pub(crate) async fn changes(
        &self,
        number: u64,
        against: Option<u64>,
    ) -> Result<PriceChanges, OperationError> {
        let after = self.version(number).await?;
        let before = match against {
            Some(other) => Some(self.version(other).await?),
            // The first one has none before it; the oldest that is kept may have had one.
            None => match self.store.list_price_books(Some(number), 1).await?.rows.pop() {
                Some(before) => Some(self.version(before.number).await?),
                None => None,
            },
        };
        let lost = before.is_none() && number > 1;
        let prices = before.as_ref().map_or(&[][..], |book| &book.prices);
        let changes = price_changes(prices, &after.prices).into_iter().map(PriceChangeView::from).collect();
        let left_out = |book: &PriceVersion| book.left_out > 0;
        Ok(PriceChanges {
            against: before.as_ref().map(|book| book.number),
            number,
            changes,
            incomplete: lost || left_out(&after) || before.as_ref().is_some_and(left_out),
        })
    }
}

/// The same request at the prices of another version: what it needs and how much of it stay as they are.
pub(super) fn priced_by(
    preview: PricePreview,
    book: &PriceVersion,
    variant: Option<&str>,
) -> Result<PricePreview, OperationError> {
    let of_book = |key: &str, part: PricePart| {
        book.prices.iter().find(|row| row.key == key && row.part == part).map(|row| row.price.0)
    };
    let price_of = |key: &str, part: PricePart| {
        let own = variant.and_then(|variant| of_book(&key_in_variant(variant, key), part));
        own.or_else(|| of_book(key, part))
    };
    let refused = |text: String| Err(OperationError::Refused(text));
    let (mut preview, mut sum) = (preview, 0_i128);
    for charge in &mut preview.charges {
        let found = charge.price_keys.iter().find_map(|key| {
            let price = match charge.unit {
                PreviewUnit::Unit => {
                    let parts =
                        [(PricePart::Unit, 1), (PricePart::Thousand, 1_000), (PricePart::Million, 1_000_000)];
                    return parts
                        .into_iter()
                        .find_map(|(part, per)| Some((key.clone(), price_of(key, part)?, per)));
                }
                // What is read may come from a cache or go into one: the highest of these prices may apply.
                PreviewUnit::InputTokens => [PricePart::Input, PricePart::Cached, PricePart::CacheWrite]
                    .into_iter()
                    .filter_map(|part| price_of(key, part))
                    .max(),
                PreviewUnit::OutputTokens => price_of(key, PricePart::Output),
            };
            Some((key.clone(), price?, 1_000_000))
        });
        let Some((key, price, per)) = found else {
            // A model that writes nothing has no price for it.
            if charge.unit == PreviewUnit::OutputTokens && charge.quantity == 0 {
                continue;
            }
            let keys = charge.price_keys.join(", ");
            return refused(format!("version {} of the price book has no price for {keys}", book.number));
        };
        (charge.price_key, charge.unit_price_micro, charge.per) = (key, price, per);
        // Lines of units are rounded each, tokens once for all of them.
        let own = Price { credits: Credits(price), per }.times(charge.quantity);
        let Some(own) = own else { return refused("the price is more than can be counted".to_owned()) };
        charge.sum_micro = own.0;
        sum += match charge.unit {
            PreviewUnit::Unit => i128::from(own.0) * MILLION,
            _ => i128::from(price) * i128::from(charge.quantity),
        };
    }
    match rounded(sum) {
        Some(sum) => preview.sum_micro = sum,
        None => return refused("the price is more than can be counted".to_owned()),
    }
    Ok(preview)
}

/// Up, as everything is that is charged.
fn rounded(millionths: i128) -> Option<i64> {
    i64::try_from(millionths.checked_add(MILLION - 1)? / MILLION).ok()
}
