//! The prices in effect: of units by price key, and of tokens by text model.

use std::collections::BTreeMap;

use gatehouse_model::{Credits, Digest, Price};

use crate::config::variants::VariantTables;
use crate::models::{PassPrice, TokenPrices};
use crate::read::models::Models;

/// All prices of one moment.
#[derive(Clone, Debug)]
pub struct PriceList {
    /// Changes whenever a price does: a digest of all of them.
    pub version: Digest,
    /// Of units, by price key.
    pub units: BTreeMap<String, Price>,
    /// Of a million tokens, by text model.
    pub tokens: BTreeMap<String, ModelPrices>,
    /// What differs for the customers that point to a variant, by its name.
    pub variants: BTreeMap<String, VariantPrices>,
}

/// The prices of a variant that are its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VariantPrices {
    /// Of units, by price key.
    pub units: BTreeMap<String, Price>,
    /// Of a million tokens, by text model, where the target that answers has no others.
    pub tokens: BTreeMap<String, TokenPrices>,
    /// The targets that have others: model and target, with its prices.
    pub targets: BTreeMap<(String, String), TokenPrices>,
}

/// The prices of a text model.
#[derive(Clone, Debug)]
pub struct ModelPrices {
    /// Its other names.
    pub aliases: Vec<String>,
    /// The provider that is asked first.
    pub provider: String,
    /// Credits for a million tokens of each kind, where the target that answers has no others.
    pub prices: TokenPrices,
    /// Its targets in order, as `provider/upstream`, each with its prices.
    pub targets: Vec<(String, TokenPrices)>,
    /// What fields cost that its `pass` names, by `field` or `field=value`; the same in every variant.
    pub pass_prices: BTreeMap<String, PassPrice>,
}

impl Models {
    /// The prices of everything that begins now.
    #[must_use]
    pub fn prices(&self) -> PriceList {
        let tables = self.shared.tables.load();
        let units: BTreeMap<String, Price> =
            tables.prices.iter().map(|(key, price)| (key.to_owned(), price)).collect();
        let mut tokens: BTreeMap<String, ModelPrices> = BTreeMap::new();
        for (name, id) in tables.models.names() {
            let Some(model) = tables.models.find(id) else { continue };
            let listed = tokens.entry(id.to_owned()).or_insert_with(|| ModelPrices {
                aliases: Vec::new(),
                provider: tables.models.provider(id).to_owned(),
                prices: model.prices.clone(),
                targets: model
                    .targets
                    .iter()
                    .map(|target| (target.name.clone(), target.prices.clone()))
                    .collect(),
                pass_prices: model.pass_prices.clone(),
            });
            if name != id {
                listed.aliases.push(name.to_owned());
            }
        }
        let variants = tables.variants.iter().map(|(name, book)| (name.clone(), of_variant(book))).collect();
        PriceList { version: version(&units, &tokens, &variants), units, tokens, variants }
    }
}

/// The prices of a book that are not those of the base.
fn of_variant(book: &VariantTables) -> VariantPrices {
    let (keys, ids) = &book.own;
    let units = keys.iter().filter_map(|key| Some((key.clone(), book.prices.price(key)?))).collect();
    let models = || ids.iter().filter_map(|id| book.models.find(id));
    let tokens = models().map(|model| (model.id.clone(), model.prices.clone())).collect();
    let others = models().flat_map(|model| {
        let others = model.targets.iter().filter(|target| target.prices != model.prices);
        others.map(|target| ((model.id.clone(), target.name.clone()), target.prices.clone()))
    });
    VariantPrices { units, tokens, targets: others.collect() }
}

fn version(
    units: &BTreeMap<String, Price>,
    tokens: &BTreeMap<String, ModelPrices>,
    variants: &BTreeMap<String, VariantPrices>,
) -> Digest {
    let mut fields: Vec<String> = units.iter().map(|(key, price)| told_unit(key, *price)).collect();
    for (model, ModelPrices { prices, targets, pass_prices, .. }) in tokens {
        fields.push(format!("tokens {model} {}", told(prices)));
        // What a target costs that has no prices of its own stands there already. Releases that wrote "at" kept versions without
        // rows of targets: by another word the same prices make a version that has them.
        let others = targets.iter().filter(|(_, own)| own != prices);
        fields.extend(others.map(|(target, own)| format!("tokens {model} of {target} {}", told(own))));
        fields.extend(pass_prices.iter().map(|(field, price)| told_passed(model, field, *price)));
    }
    for (name, VariantPrices { units, tokens, targets }) in variants {
        // A variant without prices of its own is a price list, too: customers may point to it.
        fields.push(format!("variant {name}"));
        fields.extend(units.iter().map(|(key, price)| told_unit(key, *price)));
        fields.extend(tokens.iter().map(|(model, prices)| format!("tokens {model} {}", told(prices))));
        let others =
            targets.iter().map(|((model, at), prices)| format!("tokens {model} at {at} {}", told(prices)));
        fields.extend(others);
    }
    let fields: Vec<&[u8]> = fields.iter().map(String::as_bytes).collect();
    Digest::of_fields(&fields)
}

fn told_unit(key: &str, price: Price) -> String {
    // As versions without other units had it.
    let per = if price.per == 1 { String::new() } else { format!(" per {}", price.per) };
    format!("unit {key} {}{per}", price.credits.0)
}

fn told_passed(model: &str, field: &str, price: PassPrice) -> String {
    let PassPrice { factor, request } = price;
    format!("passed {model} {field} {} {}", or_none(factor), or_none(request))
}

fn or_none(price: Option<Credits>) -> String {
    price.map_or_else(|| "none".to_owned(), |price| price.0.to_string())
}

fn told(prices: &TokenPrices) -> String {
    let TokenPrices { input, output, cached, counters, .. } = prices;
    let cached = cached.unwrap_or(*input).0;
    let (cache_write, hour) = (prices.cache_write().0, prices.cache_write_1h().0);
    // Embeddings write nothing.
    let output = or_none(*output);
    let counters: String = counters.iter().map(|(name, price)| format!(" {name} {}", price.0)).collect();
    format!("{} {output} {cached} {cache_write} {hour}{counters}", input.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_changes_with_every_price() {
        let units = |price| BTreeMap::from([("image".to_owned(), Price::each(Credits(price)))]);
        let tokens = |cached: Option<i64>, output| {
            let cached = cached.map(Credits);
            let prices = TokenPrices {
                input: Credits(1),
                output: Some(Credits(output)),
                cached,
                ..TokenPrices::default()
            };
            let targets = vec![("p/m".to_owned(), prices.clone())];
            let (aliases, provider, pass_prices) = (vec![], "p".into(), BTreeMap::new());
            let listed = ModelPrices { aliases, provider, prices, targets, pass_prices };
            BTreeMap::from([("m".to_owned(), listed)])
        };
        let with_target = |price| {
            let mut listed = tokens(None, 2);
            let model = listed.get_mut("m").unwrap();
            let prices = TokenPrices { input: Credits(price), ..model.prices.clone() };
            model.targets.push(("q/m".to_owned(), prices));
            listed
        };
        let passing = |field: &str, factor: Option<i64>, request: Option<i64>| {
            let mut listed = tokens(None, 2);
            let price = PassPrice { factor: factor.map(Credits), request: request.map(Credits) };
            listed.get_mut("m").unwrap().pass_prices.insert(field.to_owned(), price);
            listed
        };
        let none = BTreeMap::new;
        let variant = |price: Option<i64>| {
            let units =
                price.map(|price| ("image".to_owned(), Price::each(Credits(price)))).into_iter().collect();
            BTreeMap::from([("partner".to_owned(), VariantPrices { units, ..VariantPrices::default() })])
        };
        let first = version(&units(1), &tokens(None, 2), &none());
        // An absent price is that of the input.
        assert_eq!(version(&units(1), &tokens(Some(1), 2), &none()), first);
        let thousand = Price { credits: Credits(1), per: 1_000 };
        let mut seen = vec![first];
        for other in [
            version(&BTreeMap::from([("image".to_owned(), thousand)]), &tokens(None, 2), &none()),
            version(&units(2), &tokens(None, 2), &none()),
            version(&units(1), &tokens(None, 3), &none()),
            version(&units(1), &tokens(Some(0), 2), &none()),
            version(&units(1), &with_target(7), &none()),
            version(&units(1), &passing("tier=fast", Some(2), None), &none()),
            version(&units(1), &passing("tier=fast", Some(3), None), &none()),
            version(&units(1), &passing("tier=fast", None, Some(2)), &none()),
            version(&units(1), &passing("tier", Some(2), None), &none()),
            version(&BTreeMap::new(), &tokens(None, 2), &none()),
            version(&units(1), &BTreeMap::new(), &none()),
            version(&units(1), &tokens(None, 2), &variant(None)),
            version(&units(1), &tokens(None, 2), &variant(Some(1))),
            version(&units(1), &tokens(None, 2), &variant(Some(2))),
        ] {
            assert!(!seen.contains(&other));
            seen.push(other);
        }
    }
}
