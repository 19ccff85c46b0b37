//! How prices stand in the rows of a version of the price book, and how a request finds them there again.
//!
//! ```text
//! ctx-pro                          units, by price key
//! my-model                         tokens of a text model
//! my-model input-audio             a counter of it
//! my-model service_tier=priority   a field that it passes
//! my-model at openai/x             its tokens at a target with prices of its own, whose counters follow likewise
//! partner: ctx-pro                 any of them as a variant's own
//! ```
//! Names of models and counters have no white space.

use std::collections::BTreeMap;

use gatehouse_driver::{ModelPrices, PassPrice, PriceList, TokenPrices, VariantPrices};
use gatehouse_model::{Credits, Price};
use gatehouse_tasks::{NegativePrice, PricePart, PriceRow, PriceTable};

/// For how many units a price is.
const UNITS: [(PricePart, u32); 3] =
    [(PricePart::Unit, 1), (PricePart::Thousand, 1_000), (PricePart::Million, 1_000_000)];

/// Every price of a book, then what is its variants' own.
pub(super) fn rows(prices: PriceList) -> Vec<PriceRow> {
    let PriceList { units, tokens, variants, .. } = prices;
    let mut rows = of_units(units);
    for (model, ModelPrices { prices, targets, pass_prices, .. }) in tokens {
        for (target, own) in targets.into_iter().filter(|(_, own)| *own != prices) {
            rows.extend(of_tokens(&at_target(&model, &target), own));
        }
        rows.extend(of_tokens(&model, prices));
        for (field, PassPrice { factor, request }) in pass_prices {
            let parts = [(PricePart::PassFactor, factor), (PricePart::PassRequest, request)];
            rows.extend(of_parts(&format!("{model} {field}"), parts));
        }
    }
    for (name, VariantPrices { units, tokens, targets }) in variants {
        let mut own = of_units(units);
        own.extend(tokens.into_iter().flat_map(|(model, prices)| of_tokens(&model, prices)));
        for ((model, target), prices) in targets {
            own.extend(of_tokens(&at_target(&model, &target), prices));
        }
        rows.extend(own.into_iter().map(|row| PriceRow { key: in_variant(&name, &row.key), ..row }));
    }
    rows
}

fn in_variant(variant: &str, key: &str) -> String {
    format!("{variant}: {key}")
}

fn at_target(model: &str, target: &str) -> String {
    format!("{model} at {target}")
}

fn of_units(units: BTreeMap<String, Price>) -> Vec<PriceRow> {
    let row = |(key, price): (String, Price)| {
        let part = UNITS.iter().find(|(_, per)| *per == price.per).map_or(PricePart::Unit, |(part, _)| *part);
        PriceRow { key, part, price: price.credits }
    };
    units.into_iter().map(row).collect()
}

fn of_tokens(key: &str, prices: TokenPrices) -> Vec<PriceRow> {
    let (cache_write, hour) = (prices.cache_write(), prices.cache_write_1h());
    let TokenPrices { input, output, cached, counters, .. } = prices;
    let parts = [
        (PricePart::Input, Some(input)),
        (PricePart::Output, output),
        (PricePart::Cached, Some(cached.unwrap_or(input))),
        (PricePart::CacheWrite, Some(cache_write)),
        (PricePart::CacheWriteHour, Some(hour)),
    ];
    let counter = |(name, price)| PriceRow { key: format!("{key} {name}"), part: PricePart::Counter, price };
    of_parts(key, parts).chain(counters.into_iter().map(counter)).collect()
}

/// Those of the parts that have a price.
fn of_parts<const N: usize>(
    key: &str,
    parts: [(PricePart, Option<Credits>); N],
) -> impl Iterator<Item = PriceRow> {
    let row = move |(part, price): (PricePart, Option<Credits>)| {
        Some(PriceRow { key: key.to_owned(), part, price: price? })
    };
    parts.into_iter().filter_map(row)
}

/// The prices of a version, as they are for customers without a variant, or for those of a variant.
#[derive(Clone, Copy)]
pub(super) struct VersionPrices<'a> {
    pub(super) rows: &'a [PriceRow],
    pub(super) variant: Option<&'a str>,
}

impl VersionPrices<'_> {
    /// Of units. A variant's price of a key takes the place of the book's, for however many units either is.
    ///
    /// # Errors
    /// [`NegativePrice`], which no version has that a gateway kept.
    pub(super) fn units(self) -> Result<PriceTable, NegativePrice> {
        let own = self.variant.map(|variant| in_variant(variant, ""));
        let mut units = BTreeMap::new();
        for beginning in [Some(String::new()), own].into_iter().flatten() {
            for row in self.rows {
                let per = UNITS.iter().find(|(part, _)| *part == row.part);
                if let (Some((_, per)), Some(key)) = (per, row.key.strip_prefix(&beginning)) {
                    units.insert(key.to_owned(), Price { credits: row.price, per: *per });
                }
            }
        }
        PriceTable::new(units)
    }

    /// Of a million tokens of a model at that target: all of them the variant's, or all of them the book's.
    pub(super) fn tokens(self, model: &str, target: &str) -> Option<TokenPrices> {
        let of = |model: String| {
            let prices = self.of_key(&model)?;
            Some(self.of_key(&at_target(&model, target)).unwrap_or(prices))
        };
        let own = self.variant.and_then(|variant| of(in_variant(variant, model)));
        own.or_else(|| of(model.to_owned()))
    }

    fn of_key(self, key: &str) -> Option<TokenPrices> {
        let found = |part| self.rows.iter().find(|row| row.part == part && row.key == key);
        let price = |part| found(part).map(|row| row.price);
        let counter = |row: &PriceRow| {
            let name = row.key.strip_prefix(key)?.strip_prefix(' ')?;
            // A longer one is that of a target.
            let is_own = row.part == PricePart::Counter && !name.contains(' ');
            is_own.then(|| (name.to_owned(), row.price))
        };
        Some(TokenPrices {
            input: price(PricePart::Input)?,
            output: price(PricePart::Output),
            cached: price(PricePart::Cached),
            cache_write: price(PricePart::CacheWrite),
            cache_write_1h: price(PricePart::CacheWriteHour),
            counters: self.rows.iter().filter_map(counter).collect(),
        })
    }

    /// What the fields cost that a model passes; no variant has others.
    pub(super) fn passed(self, model: &str) -> BTreeMap<String, PassPrice> {
        let mut passed: BTreeMap<String, PassPrice> = BTreeMap::new();
        for row in self.rows {
            let field = row.key.strip_prefix(model).and_then(|rest| rest.strip_prefix(' '));
            let Some(field) = field.map(str::to_owned) else { continue };
            match row.part {
                PricePart::PassFactor => passed.entry(field).or_default().factor = Some(row.price),
                PricePart::PassRequest => passed.entry(field).or_default().request = Some(row.price),
                _ => {}
            }
        }
        passed
    }
}
