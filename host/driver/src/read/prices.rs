//! The prices in effect: of units by price key, and of tokens by text model.

use std::collections::BTreeMap;

use gatehouse_model::{Credits, Digest};

use crate::driver::Driver;
use crate::text::TokenPrices;

/// All prices of one moment.
#[derive(Clone, Debug)]
pub struct PriceList {
    /// Changes whenever a price does: a digest of all of them.
    pub version: Digest,
    /// Of one unit, by price key.
    pub units: BTreeMap<String, Credits>,
    /// Of a million tokens, by text model.
    pub tokens: BTreeMap<String, ModelPrices>,
}

/// The prices of a text model.
#[derive(Clone, Debug)]
pub struct ModelPrices {
    /// Its other names.
    pub aliases: Vec<String>,
    /// The provider that serves it.
    pub provider: String,
    /// Credits for a million tokens of each kind.
    pub prices: TokenPrices,
}

impl Driver {
    /// The prices of everything that begins now.
    #[must_use]
    pub fn prices(&self) -> PriceList {
        let tables = self.state.tables.load();
        let units: BTreeMap<String, Credits> =
            tables.prices.iter().map(|(key, price)| (key.to_owned(), price)).collect();
        let mut tokens: BTreeMap<String, ModelPrices> = BTreeMap::new();
        for (name, id) in tables.models.names() {
            let Some(model) = tables.models.find(id) else { continue };
            let listed = tokens.entry(id.to_owned()).or_insert_with(|| ModelPrices {
                aliases: Vec::new(),
                provider: model.route.provider.clone(),
                prices: model.prices,
            });
            if name != id {
                listed.aliases.push(name.to_owned());
            }
        }
        PriceList { version: version(&units, &tokens), units, tokens }
    }
}

fn version(units: &BTreeMap<String, Credits>, tokens: &BTreeMap<String, ModelPrices>) -> Digest {
    let mut fields = Vec::new();
    for (key, price) in units {
        fields.push(format!("unit {key} {}", price.0));
    }
    for (model, ModelPrices { prices, .. }) in tokens {
        let TokenPrices { input, output, cached, .. } = prices;
        let cached = cached.unwrap_or(*input).0;
        let (cache_write, hour) = (prices.cache_write().0, prices.cache_write_1h().0);
        // Embeddings write nothing.
        let output = output.map_or_else(|| "none".to_owned(), |price| price.0.to_string());
        fields.push(format!("tokens {model} {} {output} {cached} {cache_write} {hour}", input.0));
    }
    let fields: Vec<&[u8]> = fields.iter().map(String::as_bytes).collect();
    Digest::of_fields(&fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_changes_with_every_price() {
        let units = |price| BTreeMap::from([("image".to_owned(), Credits(price))]);
        let tokens = |cached: Option<i64>, output| {
            let cached = cached.map(Credits);
            let prices = TokenPrices {
                input: Credits(1),
                output: Some(Credits(output)),
                cached,
                cache_write: None,
                cache_write_1h: None,
            };
            BTreeMap::from([("m".to_owned(), ModelPrices { aliases: vec![], provider: "p".into(), prices })])
        };
        let first = version(&units(1), &tokens(None, 2));
        // An absent price is that of the input.
        assert_eq!(version(&units(1), &tokens(Some(1), 2)), first);
        for other in [
            version(&units(2), &tokens(None, 2)),
            version(&units(1), &tokens(None, 3)),
            version(&units(1), &tokens(Some(0), 2)),
            version(&BTreeMap::new(), &tokens(None, 2)),
            version(&units(1), &BTreeMap::new()),
        ] {
            assert_ne!(other, first);
        }
    }
}
