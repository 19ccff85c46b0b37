//! Prices: what one unit of a price key costs.

use std::collections::BTreeMap;

use gatehouse_model::{Charge, Credits};

/// The operator's prices, all zero or more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PriceTable(BTreeMap<String, Credits>);

/// What a charge amounts to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quote {
    /// The price key that had a price.
    pub key: String,
    /// The price of one unit.
    pub unit: Credits,
    /// Of all units.
    pub total: Credits,
}

/// A price below zero.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("price {key:?}: expected zero or more credits, not {price}")]
pub struct NegativePrice {
    /// The price key.
    pub key: String,
    /// What it was to cost.
    pub price: Credits,
}

/// Why a charge has no price.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPrice {
    /// The amount does not fit.
    #[error("{quantity} units at the price of {key:?} are more than can be counted")]
    Overflow {
        /// The price key.
        key: String,
        /// Units.
        quantity: u32,
    },
    /// None of the charge's keys is in the book.
    #[error("no price for any of {keys:?}")]
    Unknown {
        /// The keys tried, in order.
        keys: Vec<String>,
    },
}

impl PriceTable {
    /// Prices by key.
    ///
    /// # Errors
    /// [`NegativePrice`] names the first price below zero.
    pub fn new(prices: BTreeMap<String, Credits>) -> Result<Self, NegativePrice> {
        match prices.iter().find(|(_, price)| **price < Credits::ZERO) {
            Some((key, price)) => Err(NegativePrice { key: key.clone(), price: *price }),
            None => Ok(Self(prices)),
        }
    }

    /// Every price, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Credits)> {
        self.0.iter().map(|(key, price)| (key.as_str(), *price))
    }

    /// The price of one unit of that very key.
    #[must_use]
    pub fn price(&self, key: &str) -> Option<Credits> {
        self.0.get(key).copied()
    }

    /// The price of a charge: its first key that has a price wins (spec/decisions.md, "Money").
    ///
    /// # Errors
    /// [`NoPrice`] when no key has a price or the amount does not fit.
    pub fn quote(&self, charge: &Charge) -> Result<Quote, NoPrice> {
        let priced = charge.keys.iter().find_map(|key| Some((key, self.price(key)?)));
        let (key, unit) = priced.ok_or_else(|| NoPrice::Unknown { keys: charge.keys.clone() })?;
        let total = unit
            .checked_times(charge.quantity)
            .ok_or_else(|| NoPrice::Overflow { key: key.clone(), quantity: charge.quantity })?;
        Ok(Quote { key: key.clone(), unit, total })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn book(prices: &[(&str, i64)]) -> Result<PriceTable, NegativePrice> {
        PriceTable::new(prices.iter().map(|(key, price)| ((*key).to_owned(), Credits(*price))).collect())
    }

    fn check(keys: &[&str], quantity: u32, expected: Result<(&str, i64), &str>) {
        let book = book(&[("image", 5), ("image.large", 9), ("free", 0), ("dear", i64::MAX)]).unwrap();
        let charge = Charge { keys: keys.iter().map(|key| (*key).to_owned()).collect(), quantity };
        match (book.quote(&charge), expected) {
            (Ok(quote), Ok((key, total))) => {
                assert_eq!((quote.key.as_str(), quote.total), (key, Credits(total)), "{keys:?}");
                assert_eq!(book.price(key), Some(quote.unit));
            }
            (Err(error), Err(text)) => assert_eq!(error.to_string(), text),
            (got, wanted) => panic!("{keys:?}: {got:?}, not {wanted:?}"),
        }
    }

    #[test]
    fn the_first_key_with_a_price_wins() {
        check(&["image.large", "image"], 2, Ok(("image.large", 18)));
        check(&["image.small", "image"], 3, Ok(("image", 15)));
        check(&["image", "image.large"], 1, Ok(("image", 5)));
        check(&["image"], 0, Ok(("image", 0)));
        check(&["free"], u32::MAX, Ok(("free", 0)));
        check(&["dear"], 1, Ok(("dear", i64::MAX)));
    }

    #[test]
    fn what_has_no_price_says_so() {
        check(&["nothing", "at all"], 1, Err("no price for any of [\"nothing\", \"at all\"]"));
        check(&[], 1, Err("no price for any of []"));
        check(&["dear"], 2, Err("2 units at the price of \"dear\" are more than can be counted"));
    }

    #[test]
    fn a_negative_price_is_refused() {
        let error = book(&[("good", 1), ("gift", -1_000_000)]).unwrap_err();
        assert_eq!(error.to_string(), "price \"gift\": expected zero or more credits, not -1");
    }
}
