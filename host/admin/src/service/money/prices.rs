//! The prices in effect, by family, and what a request would cost, for operators. Owns nothing; asks the
//! running gateway, and [`PriceVersions`] for other versions.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use gatehouse_driver::{FamilyListing, ModelPrices, PriceList, VariantPrices};
use gatehouse_model::{CustomerId, Price};
use gatehouse_store::Store;
use serde_json::Value;

use super::price_versions::{PriceVersions, priced_by};
use crate::api::error::OperationError;
use crate::api::price::{FamilyPrices, PricePreview, PriceVariantView, PricesView, TokenPrice, UnitPrice};
use crate::service::gateway::Gateway;

/// What stands between a price key and a more specific one.
const MORE_SPECIFIC: [char; 2] = ['-', '@'];

/// Shows prices, and what a request would cost.
pub struct Prices {
    pub(in crate::service) store: Store,
    pub(in crate::service) gateway: Arc<Gateway>,
    pub(in crate::service) price_versions: Arc<PriceVersions>,
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
        Err(OperationError::InvalidField {
            field: "price_variant".to_owned(),
            message: format!("price_variant: expected {known}, got {name:?}"),
        })
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
            Some(number) => Some(self.price_versions.version(number).await?),
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
}

fn book(list: PriceList, families: &[FamilyListing]) -> PricesView {
    let PriceList { version, units, tokens, variants } = list;
    let units = listed(units);
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
    let of_variant = |(name, variant): (String, VariantPrices)| {
        let of_model = |(model, prices)| {
            let listed = tokens.get(&model).cloned()?;
            Some(token_price(model, ModelPrices { prices, ..listed }))
        };
        let tokens = variant.tokens.into_iter().filter_map(of_model).collect();
        PriceVariantView { name, units: listed(variant.units), tokens }
    };
    let variants = variants.into_iter().map(of_variant).collect();
    let tokens = tokens.into_iter().map(|(model, prices)| token_price(model, prices)).collect();
    PricesView { version: version.to_string(), tokens, units, families: by_family, unused, variants }
}

fn listed(units: BTreeMap<String, Price>) -> Vec<UnitPrice> {
    let unit =
        |(key, price): (String, Price)| UnitPrice { key, price_micro: price.credits.0, per: price.per };
    units.into_iter().map(unit).collect()
}

fn token_price(model: String, listed: ModelPrices) -> TokenPrice {
    let ModelPrices { aliases, provider, prices, .. } = listed;
    TokenPrice {
        model,
        aliases,
        provider,
        input_micro: prices.input.0,
        output_micro: prices.output.map(|price| price.0),
        cached_micro: prices.cached.unwrap_or(prices.input).0,
        cache_write_micro: prices.cache_write().0,
        cache_write_1h_micro: prices.cache_write_1h().0,
        counters_micro: prices.counters.into_iter().map(|(name, price)| (name, price.0)).collect(),
    }
}

/// Its least specific keys without a price.
fn missing(family: &FamilyListing, units: &[UnitPrice]) -> Vec<String> {
    let has_none = |key: &&String| !units.iter().any(|unit| unit.key == **key);
    family.price_keys.iter().filter(has_none).cloned().collect()
}

#[cfg(test)]
mod tests {
    use gatehouse_model::{Credits, Digest};

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
