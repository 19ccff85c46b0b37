//! The prices in effect, by family, and what a request would cost, for operators.

use bytes::Bytes;
use gatehouse_driver::{FamilyListing, PriceList, TokenPrices};
use gatehouse_model::CustomerId;
use serde_json::Value;

use super::super::admin_service::AdminService;
use super::price_versions::priced_by;
use crate::api::error::OperationError;
use crate::api::price::{FamilyPrices, PricePreview, PricesView, TokenPrice, UnitPrice};

/// What stands between a price key and a more specific one.
const MORE_SPECIFIC: [char; 2] = ['-', '@'];

impl AdminService {
    /// All prices of the configuration that is in effect.
    ///
    /// # Errors
    /// [`OperationError::Refused`] without a running gateway: the configuration is its.
    pub(crate) fn prices(&self) -> Result<PricesView, OperationError> {
        let driver = self.driver("prices are known to a running gateway only")?;
        Ok(book(driver.models.prices(), &driver.models.loaded_families()))
    }

    /// What a request would cost: `target` is the path of its endpoint or its surface, `body` what a client would send.
    /// Needs no key and no money, and makes nothing. Tasks and names that it refers to are those of `customer`. With `book`
    /// it is priced by that version of the price book.
    ///
    /// # Errors
    /// What a client would be refused with; [`OperationError::Refused`] without a running gateway, and for a version that
    /// lacks a price which the request needs.
    pub(crate) async fn preview_price(
        &self,
        target: String,
        body: &Value,
        customer: Option<CustomerId>,
        book: Option<u64>,
    ) -> Result<PricePreview, OperationError> {
        let book = match book {
            Some(number) => Some(self.price_book(number).await?),
            None => None,
        };
        let body = Bytes::from(body.to_string());
        let found = self.public_api()?.price(target, body, customer).await?;
        let preview = PricePreview::from(found);
        match book {
            Some(book) => priced_by(preview, &book),
            None => Ok(preview),
        }
    }
}

fn book(list: PriceList, families: &[FamilyListing]) -> PricesView {
    let PriceList { version, units, tokens } = list;
    let units: Vec<UnitPrice> = units
        .into_iter()
        .map(|(key, price)| UnitPrice { key, price_micro: price.credits.0, per: price.per })
        .collect();
    let belongs = |key: &str, least: &str| {
        key.strip_prefix(least).is_some_and(|rest| rest.is_empty() || rest.starts_with(MORE_SPECIFIC))
    };
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
            missing: missing(family, &units),
            models: if family.price_keys.is_empty() { models } else { Vec::new() },
        }
    };
    let by_family: Vec<FamilyPrices> = families.iter().map(of_family).collect();
    let is_used = |key: &str| by_family.iter().any(|family| family.units.iter().any(|unit| unit.key == key));
    let unused = units.iter().map(|unit| unit.key.clone()).filter(|key| !is_used(key)).collect();
    let tokens = tokens.into_iter().map(|(model, prices)| {
        let counters = prices.prices.counters.iter().map(|(name, price)| (name.clone(), price.0));
        let TokenPrices { input, output, cached, .. } = prices.prices;
        TokenPrice {
            model,
            aliases: prices.aliases,
            provider: prices.provider,
            input_micro: input.0,
            output_micro: output.map(|price| price.0),
            cached_micro: cached.unwrap_or(input).0,
            cache_write_micro: prices.prices.cache_write().0,
            cache_write_1h_micro: prices.prices.cache_write_1h().0,
            counters_micro: counters.collect(),
        }
    });
    PricesView { version: version.to_string(), tokens: tokens.collect(), units, families: by_family, unused }
}

/// Its least specific keys without a price.
fn missing(family: &FamilyListing, units: &[UnitPrice]) -> Vec<String> {
    let has_none = |key: &&String| !units.iter().any(|unit| unit.key == **key);
    family.price_keys.iter().filter(has_none).cloned().collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use gatehouse_model::{Credits, Digest, Price};

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
        let list = PriceList { version: Digest::of(b""), units: units.collect(), tokens: BTreeMap::new() };
        let book = book(list, &[family("clip", &["clip"]), family("film", &["clipper", "film"])]);
        let keys =
            |at: usize| book.families[at].units.iter().map(|unit| unit.key.as_str()).collect::<Vec<_>>();
        assert_eq!(keys(0), ["clip", "clip-hd", "clip@5"]);
        assert_eq!((keys(1), &book.families[1].missing[..]), (vec!["clipper"], &["film".to_owned()][..]));
        assert!(book.families[0].missing.is_empty());
        assert_eq!(book.unused, ["old"]);
    }
}
