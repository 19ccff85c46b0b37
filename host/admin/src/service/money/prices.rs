//! Prices for operators: those in effect by family, what a request would cost, and the versions of the book, with what was in effect
//! since when and what changed it.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use gatehouse_driver::{ModelPrices, PriceList, TokenPrices, VariantPrices};
use gatehouse_model::{Credits, CustomerId, FamilyListing, Price};
use gatehouse_store::Store;
use gatehouse_tasks::{MAX_PRICE_BOOKS, PricePart, PriceVersion, price_changes};
use serde_json::Value;

use crate::api::error::OperationError;
use crate::api::price::{
    FamilyPrices, PreviewUnit, PriceChangeView, PriceChanges, PricePreview, PriceVariantView, PricesView,
    TokenPrice, UnitPrice,
};
use crate::service::configuration::Configuration;
use crate::service::gateway::Gateway;
use crate::service::price_history::key_in_variant;

/// What stands between a price key and a more specific one.
const MORE_SPECIFIC: [char; 2] = ['-', '@'];

/// Shows prices, and what a request would cost; writes versions of the price book, and compares them.
pub struct Prices {
    pub(in crate::service) store: Store,
    pub(in crate::service) gateway: Arc<Gateway>,
    pub(in crate::service) configuration: Arc<dyn Configuration>,
}

impl Prices {
    /// All prices of the configuration that is in effect.
    ///
    /// # Errors
    /// [`OperationError::Refused`] without a running gateway: the configuration is its.
    pub(crate) fn in_effect(&self) -> Result<PricesView, OperationError> {
        let driver = self.gateway.running("prices are known to a running gateway only")?;
        Ok(book(driver.models.prices(), &driver.models.loaded_families()))
    }

    /// Whether customers can point to that variant of the price book.
    ///
    /// # Errors
    /// The names there are; [`OperationError::Refused`] without a running gateway.
    pub(crate) fn check_variant(&self, name: Option<&str>) -> Result<(), OperationError> {
        let Some(name) = name else { return Ok(()) };
        let driver =
            self.gateway.running("variants of the price book are known to a running gateway only")?;
        let variants = driver.models.prices().variants;
        if variants.contains_key(name) {
            return Ok(());
        }
        let known = match variants.is_empty() {
            true => "nothing, as the configuration has no price_variants".to_owned(),
            false => format!("one of {}", variants.into_keys().collect::<Vec<_>>().join(", ")),
        };
        Err(OperationError::Invalid(format!("price_variant: expected {known}, got {name:?}")))
    }

    /// What a request would cost: `target` is the path of its endpoint or its surface, `body` what a client would send.
    /// Needs no key and no money, and makes nothing. Tasks and names that it refers to are those of `customer`. With `book`
    /// it is priced by that version of the price book. The customer's variant counts in both.
    ///
    /// # Errors
    /// What a client would be refused with; [`OperationError::Refused`] without a running gateway, and for a version that
    /// lacks a price which the request needs.
    pub(crate) async fn preview(
        &self,
        target: String,
        body: &Value,
        customer: Option<CustomerId>,
        book: Option<u64>,
    ) -> Result<PricePreview, OperationError> {
        let book = match book {
            Some(number) => Some(self.version(number).await?),
            None => None,
        };
        let of_customer = match &customer {
            Some(customer) => self.store.customer(customer).await?,
            None => None,
        };
        let variant = of_customer.and_then(|customer| customer.price_variant);
        let body = Bytes::from(body.to_string());
        let found = self.gateway.public_api()?.price(target, body, customer).await?;
        let preview = PricePreview::from(found);
        match book {
            Some(book) => priced_by(preview, &book, variant.as_deref()),
            None => Ok(preview),
        }
    }

    /// Writes versions of the price book that wait. What cannot be written is logged and waits on.
    pub async fn keep(&self) {
        let Some(history) = self.configuration.price_history() else { return };
        if let Err(error) = history.write(&self.store).await {
            tracing::error!(%error, "a version of the price book is not written yet");
        }
    }

    /// A version with its prices.
    pub(crate) async fn version(&self, number: u64) -> Result<PriceVersion, OperationError> {
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

fn book(list: PriceList, families: &[FamilyListing]) -> PricesView {
    let PriceList { version, units, tokens, variants } = list;
    let units = listed(units);
    let belongs = |key: &str, least: &str| {
        key.strip_prefix(least).is_some_and(|rest| rest.is_empty() || rest.starts_with(MORE_SPECIFIC))
    };
    let has_no_price = |key: &&String| !units.iter().any(|unit| unit.key == **key);
    let of_family = |family: &FamilyListing| {
        let own = |unit: &&UnitPrice| family.price_keys.iter().any(|least| belongs(&unit.key, least));
        let is_text = |name: &&String| {
            tokens.values().any(|model| model.aliases.contains(name)) || tokens.contains_key(*name)
        };
        let mut models: Vec<String> = family
            .surfaces
            .iter()
            .flat_map(|surface| surface.models.iter().filter(is_text).cloned())
            .collect();
        models.sort();
        models.dedup();
        FamilyPrices {
            family: family.family.clone(),
            version: family.version.clone(),
            units: units.iter().filter(own).cloned().collect(),
            missing: family.price_keys.iter().filter(has_no_price).cloned().collect(),
            models: if family.price_keys.is_empty() { models } else { Vec::new() },
        }
    };
    let by_family: Vec<FamilyPrices> = families.iter().map(of_family).collect();
    let is_used = |key: &str| by_family.iter().any(|family| family.units.iter().any(|unit| unit.key == key));
    let unused = units.iter().map(|unit| unit.key.clone()).filter(|key| !is_used(key)).collect();
    let of_variant = |(name, variant): (String, VariantPrices)| {
        let of_model = |(model, prices): (String, TokenPrices)| {
            let listed = tokens.get(&model).cloned()?;
            Some(TokenPrice::from((model, ModelPrices { prices, ..listed })))
        };
        let tokens = variant.tokens.into_iter().filter_map(of_model).collect();
        PriceVariantView { name, units: listed(variant.units), tokens }
    };
    let variants = variants.into_iter().map(of_variant).collect();
    let tokens = tokens.into_iter().map(TokenPrice::from).collect();
    PricesView { version: version.to_string(), tokens, units, families: by_family, unused, variants }
}

fn listed(units: BTreeMap<String, Price>) -> Vec<UnitPrice> {
    units.into_iter().map(UnitPrice::from).collect()
}

const MILLION: i128 = 1_000_000;

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

#[cfg(test)]
mod tests {
    use gatehouse_model::Digest;

    use super::*;

    #[test]
    fn a_price_belongs_to_the_family_that_charges_by_it() {
        let family = |name: &str, keys: &[&str]| FamilyListing {
            family: name.to_owned(),
            version: "1.0.0".to_owned(),
            digest: Digest::of(b""),
            views: Vec::new(),
            price_keys: keys.iter().map(|&key| key.to_owned()).collect(),
            surfaces: vec![],
        };
        let units = ["clip", "clip-hd", "clip@5", "clipper", "old"];
        let units = units.iter().zip(1..).map(|(&key, price)| (key.to_owned(), Price::each(Credits(price))));
        let list = PriceList {
            version: Digest::of(b""),
            units: units.collect(),
            tokens: BTreeMap::new(),
            variants: BTreeMap::new(),
        };
        let book = book(list, &[family("clip", &["clip"]), family("film", &["clipper", "film"])]);
        let keys =
            |at: usize| book.families[at].units.iter().map(|unit| unit.key.as_str()).collect::<Vec<_>>();
        assert_eq!(keys(0), ["clip", "clip-hd", "clip@5"]);
        assert_eq!((keys(1), &book.families[1].missing[..]), (vec!["clipper"], &["film".to_owned()][..]));
        assert!(book.families[0].missing.is_empty());
        assert_eq!(book.unused, ["old"]);
    }
}
