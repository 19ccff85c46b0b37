//! Variants of the price book: prices that an operator lays over it under a name, for the customers that point to it.
//!
//! A variant is kept as a whole book of its own, checked as the book itself is. A request is priced by one book from its hold to its
//! bill; a name that is not there any more is the book itself.

use std::collections::BTreeMap;

use gatehouse_model::{Credits, Price, is_kebab_case};
use gatehouse_tasks::{MAX_VARIANT_NAME, PriceTable};
use serde::Deserialize;

use crate::models::table::{ModelConfig, TextModels};
use crate::models::{TokenPrices, check_models};

/// Variants of one configuration. Each is a book in memory.
const MAX_VARIANTS: usize = 64;

/// One entry of `[price_variants]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PriceVariantConfig {
    /// Price keys and their prices, in place of those of `[prices]`.
    pub prices: BTreeMap<String, Price>,
    /// What other tokens of text models cost, by the model's id.
    pub models: BTreeMap<String, OtherTokenPrices>,
}

/// Credits for a million tokens of each kind, whatever target of the model answers. What is absent costs what it costs there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OtherTokenPrices {
    input: Option<Credits>,
    output: Option<Credits>,
    cached: Option<Credits>,
    cache_write: Option<Credits>,
    cache_write_1h: Option<Credits>,
    counters: BTreeMap<String, Credits>,
}

/// A book of prices.
#[derive(Default)]
pub(crate) struct VariantTables {
    pub(crate) prices: PriceTable,
    pub(crate) models: TextModels,
    /// Of a variant: the keys and models whose prices are its own.
    pub(crate) own: (Vec<String>, Vec<String>),
}

/// What is wrong: the path below `price_variants`, and what was expected.
type Wrong = (String, String);

impl OtherTokenPrices {
    fn over(&self, prices: &TokenPrices) -> TokenPrices {
        let own = self.counters.iter().map(|(name, price)| (name.clone(), *price));
        TokenPrices {
            input: self.input.unwrap_or(prices.input),
            output: self.output.or(prices.output),
            cached: self.cached.or(prices.cached),
            cache_write: self.cache_write.or(prices.cache_write),
            cache_write_1h: self.cache_write_1h.or(prices.cache_write_1h),
            counters: prices.counters.clone().into_iter().chain(own).collect(),
        }
    }
}

impl PriceVariantConfig {
    /// All price keys, with these prices over those.
    fn prices_over(&self, base: &BTreeMap<String, Price>) -> BTreeMap<String, Price> {
        let own = self.prices.iter().map(|(key, price)| (key.clone(), *price));
        base.clone().into_iter().chain(own).collect()
    }

    /// All text models, with these prices over theirs.
    fn models_over(&self, base: &BTreeMap<String, ModelConfig>) -> BTreeMap<String, ModelConfig> {
        let mut models = base.clone();
        for (id, other) in &self.models {
            // A model whose provider is off is not there, and costs nobody anything.
            let Some(model) = models.get_mut(id) else { continue };
            model.prices = other.over(&model.prices);
            for own in model.targets.iter_mut().flatten().filter_map(|target| target.prices.as_mut()) {
                *own = other.over(own);
            }
        }
        models
    }
}

/// Whether every variant can be used. `models` are all there are, also those whose provider is off.
///
/// # Errors
/// The first value that cannot, as the path below `price_variants`, and what was expected.
pub fn check_price_variants(
    variants: &BTreeMap<String, PriceVariantConfig>,
    models: &BTreeMap<String, ModelConfig>,
) -> Result<(), Wrong> {
    for (name, variant) in variants {
        if let Some(id) = variant.models.keys().find(|id| !models.contains_key(*id)) {
            let known = models.keys().take(20).map(String::as_str).collect::<Vec<_>>().join(", ");
            let why = format!("expected the id of a text model of [models] ({known}), got {id:?}");
            return Err((format!("{name}.models.{id}"), why));
        }
        for (id, other) in &variant.models {
            let Some(model) = models.get(id) else { continue };
            let one = BTreeMap::from([(id.clone(), model.clone())]);
            if check_models(&one).is_err() {
                // It says so itself.
                continue;
            }
            let alone = PriceVariantConfig {
                models: [(id.clone(), other.clone())].into(),
                ..PriceVariantConfig::default()
            };
            check_models(&alone.models_over(&one)).map_err(|(path, why)| {
                let field = path.strip_prefix(&format!("{id}.")).unwrap_or(&path);
                let field = field.rsplit("prices.").next().unwrap_or(field);
                (format!("{name}.models.{id}.{field}"), why)
            })?;
        }
    }
    books(variants, &BTreeMap::new(), &BTreeMap::new()).map(drop)
}

/// The book of each variant.
pub(crate) fn books(
    variants: &BTreeMap<String, PriceVariantConfig>,
    prices: &BTreeMap<String, Price>,
    models: &BTreeMap<String, ModelConfig>,
) -> Result<BTreeMap<String, VariantTables>, Wrong> {
    if variants.len() > MAX_VARIANTS {
        return Err((
            String::new(),
            format!("expected at most {MAX_VARIANTS} variants, got {}", variants.len()),
        ));
    }
    let book = |(name, variant): (&String, &PriceVariantConfig)| {
        if !is_kebab_case(name) || name.len() > MAX_VARIANT_NAME {
            let why = format!(
                "expected a name of small letters, digits and hyphens, at most {MAX_VARIANT_NAME} bytes, got {name:?}"
            );
            return Err((name.clone(), why));
        }
        let at = |path: String| format!("{name}.{path}");
        let wrong =
            |error: gatehouse_tasks::NegativePrice| (at(format!("prices.{}", error.key)), error.to_string());
        let prices = PriceTable::new(variant.prices_over(prices)).map_err(wrong)?;
        let models = TextModels::new(&variant.models_over(models));
        let models = models.map_err(|(path, why)| (at(format!("models.{path}")), why))?;
        let own = (variant.prices.keys().cloned().collect(), variant.models.keys().cloned().collect());
        Ok((name.clone(), VariantTables { prices, models, own }))
    };
    variants.iter().map(book).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn models() -> BTreeMap<String, ModelConfig> {
        let target = |provider: &str, more: Value| {
            let mut target = json!({"provider": provider, "protocol": "chat"});
            target.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
            target
        };
        let own = json!({"prices": {"input": "7", "output": "8", "cached": "1"}});
        let json = json!({
            "m": {"targets": [target("p", json!({})), target("q", own)], "prices": {"input": "3", "output": "15"}},
            "other": {"provider": "p", "protocol": "chat", "prices": {"input": "1", "output": "2"}},
        });
        serde_json::from_value(json).expect("models")
    }

    fn variants(json: Value) -> BTreeMap<String, PriceVariantConfig> {
        serde_json::from_value(json).expect("variants")
    }

    /// Without it a customer with prices of its own pays the book's where its model has several providers, or nothing at all.
    #[test]
    fn a_variant_lies_over_the_book_part_by_part() {
        let base = BTreeMap::from([
            ("a".to_owned(), Price::each(Credits(1))),
            ("b".to_owned(), Price::each(Credits(2))),
        ]);
        let config = json!({"partner": {
            "prices": {"b": "0.5", "b@4k": "9"},
            "models": {"m": {"input": "2", "counters": {"input-audio": "40"}}, "gone": {"input": "1"}},
        }});
        let books = books(&variants(config), &base, &models()).expect("usable");
        let book = &books["partner"];
        let prices: Vec<_> = book.prices.iter().map(|(key, price)| (key, price.credits.0)).collect();
        assert_eq!(prices, [("a", 1), ("b", 500_000), ("b@4k", 9_000_000)]);
        let model = book.models.find("m").expect("there");
        let of = |prices: &TokenPrices| {
            (prices.input.0, prices.output.unwrap_or_default().0, prices.cached.map(|price| price.0))
        };
        assert_eq!(of(&model.prices), (2_000_000, 15_000_000, None));
        let targets: Vec<_> = model.targets.iter().map(|target| of(&target.prices)).collect();
        assert_eq!(targets, [(2_000_000, 15_000_000, None), (2_000_000, 8_000_000, Some(1_000_000))]);
        assert!(
            model.targets.iter().all(|target| target.prices.counters["input-audio"] == Credits(40_000_000))
        );
        assert_eq!(book.models.find("other").expect("there").prices.input.0, 1_000_000);
        assert!(book.models.find("gone").is_none());
    }

    #[test]
    fn what_cannot_be_used_is_named_by_its_place() {
        for (config, path, why) in [
            (json!({"Partner": {}}), "Partner", "small letters"),
            (json!({"p".repeat(33): {}}), &"p".repeat(33), "at most 32 bytes"),
            (json!({"p": {"prices": {"a": "-1"}}}), "p.prices.a", "zero or more credits"),
            (json!({"p": {"models": {"n": {"input": "1"}}}}), "p.models.n", "(m, other), got \"n\""),
            (json!({"p": {"models": {"m": {"output": "-1"}}}}), "p.models.m.output", "zero or more credits"),
        ] {
            let (found, said) = check_price_variants(&variants(config), &models()).expect_err("unusable");
            assert!(found == path && said.contains(why), "{found}: {said}");
        }
        assert!(serde_json::from_value::<PriceVariantConfig>(json!({"units": {}})).is_err());
    }
}
