//! Prices: what one unit of a price key costs.

use std::collections::BTreeMap;

use gatehouse_model::{Charge, Credits, Line, Price};

/// The operator's prices, all zero or more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PriceTable(BTreeMap<String, Price>);

/// What a charge comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quote {
    /// One for each of its lines.
    pub lines: Vec<QuotedLine>,
    /// Of all lines.
    pub total: Credits,
}

/// What a line comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotedLine {
    /// The price key that had a price.
    pub key: String,
    /// Its price.
    pub price: Price,
    /// Of all units.
    pub total: Credits,
}

impl Quote {
    /// The prices of its lines.
    #[must_use]
    pub fn prices(&self) -> Vec<Price> {
        self.lines.iter().map(|line| line.price).collect()
    }
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
    /// The amount of a line does not fit.
    #[error("{quantity} units at the price of {key:?} are more than can be counted")]
    Overflow {
        /// The price key.
        key: String,
        /// Units.
        quantity: u64,
    },
    /// The sum of the lines does not fit.
    #[error("the sum of {0} lines is more than can be counted")]
    Sum(usize),
    /// None of a line's keys is in the book.
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
    pub fn new(prices: BTreeMap<String, Price>) -> Result<Self, NegativePrice> {
        match prices.iter().find(|(_, price)| price.credits < Credits::ZERO) {
            Some((key, price)) => Err(NegativePrice { key: key.clone(), price: price.credits }),
            None => Ok(Self(prices)),
        }
    }

    /// Every price, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Price)> {
        self.0.iter().map(|(key, price)| (key.as_str(), *price))
    }

    /// The price of that very key.
    #[must_use]
    pub fn price(&self, key: &str) -> Option<Price> {
        self.0.get(key).copied()
    }

    /// The price of a charge: of each line, the first key that has a price wins (spec/decisions.md, "Money").
    ///
    /// # Errors
    /// [`NoPrice`] when no key of a line has a price, or an amount does not fit.
    pub fn quote(&self, charge: &Charge) -> Result<Quote, NoPrice> {
        let lines: Vec<_> = charge.0.iter().map(|line| self.line(line)).collect::<Result<_, _>>()?;
        let total = lines.iter().try_fold(Credits::ZERO, |sum, line| sum.checked_add(line.total));
        Ok(Quote { total: total.ok_or(NoPrice::Sum(lines.len()))?, lines })
    }

    fn line(&self, line: &Line) -> Result<QuotedLine, NoPrice> {
        let priced = line.keys.iter().find_map(|key| Some((key, self.price(key)?)));
        let (key, price) = priced.ok_or_else(|| NoPrice::Unknown { keys: line.keys.clone() })?;
        let total = price
            .times(line.quantity)
            .ok_or_else(|| NoPrice::Overflow { key: key.clone(), quantity: line.quantity })?;
        Ok(QuotedLine { key: key.clone(), price, total })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn book(prices: &[(&str, i64)]) -> Result<PriceTable, NegativePrice> {
        let priced = |(key, price): &(&str, i64)| ((*key).to_owned(), Price::each(Credits(*price)));
        PriceTable::new(prices.iter().map(priced).collect())
    }

    fn line(keys: &[&str], quantity: u64) -> Line {
        Line { keys: keys.iter().map(|key| (*key).to_owned()).collect(), quantity, unit: String::new() }
    }

    fn check(keys: &[&str], quantity: u64, expected: Result<(&str, i64), &str>) {
        let book = book(&[("image", 5), ("image.large", 9), ("free", 0), ("dear", i64::MAX)]).unwrap();
        match (book.quote(&Charge(vec![line(keys, quantity)])), expected) {
            (Ok(quote), Ok((key, total))) => {
                assert_eq!((quote.lines[0].key.as_str(), quote.total), (key, Credits(total)), "{keys:?}");
                assert_eq!(book.price(key), Some(quote.lines[0].price));
            }
            (Err(error), Err(text)) => assert_eq!(error.to_string(), text),
            (got, wanted) => panic!("{keys:?}: {got:?}, not {wanted:?}"),
        }
    }

    /// Without it only the first line of a charge is paid, or the sum wraps.
    #[test]
    fn lines_are_summed_within_the_range() {
        let book = book(&[("image", 5), ("dear", i64::MAX)]).unwrap();
        let quote = book.quote(&Charge(vec![line(&["image"], 2), line(&["image@hd", "image"], 3)])).unwrap();
        assert_eq!((quote.lines.len(), quote.total), (2, Credits(25)));
        let error = book.quote(&Charge(vec![line(&["dear"], 1), line(&["image"], 1)])).unwrap_err();
        assert_eq!(error.to_string(), "the sum of 2 lines is more than can be counted");
        let error = book.quote(&Charge(vec![line(&["image"], 1), line(&["none"], 1)])).unwrap_err();
        assert_eq!(error.to_string(), "no price for any of [\"none\"]");
    }

    #[test]
    fn the_first_key_with_a_price_wins() {
        check(&["image.large", "image"], 2, Ok(("image.large", 18)));
        check(&["image.small", "image"], 3, Ok(("image", 15)));
        check(&["image", "image.large"], 1, Ok(("image", 5)));
        check(&["image"], 0, Ok(("image", 0)));
        check(&["free"], u64::MAX, Ok(("free", 0)));
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
