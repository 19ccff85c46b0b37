//! Charges: lines of units, and what they come to at the prices that were in force when a request was accepted.

use serde::{Deserialize, Serialize};

use crate::credits::Credits;
use crate::price::Price;

/// One line of a charge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Price keys, most specific first. The last one is in the manifest's `price_keys`; each earlier one begins with
    /// it, followed by `-` or `@`.
    pub keys: Vec<String>,
    /// Units of the price.
    pub quantity: u64,
    /// What one unit is; empty where the plugin does not say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
}

/// What to bill: one line or more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Charge(pub Vec<Line>);

impl Charge {
    /// So many units of the first of `keys` that has a price.
    #[must_use]
    pub fn of<K: Into<String>>(keys: impl IntoIterator<Item = K>, quantity: u64) -> Self {
        let keys = keys.into_iter().map(Into::into).collect();
        Self(vec![Line { keys, quantity, unit: String::new() }])
    }
}

/// An accepted charge and its limit, with the prices of that moment: of the lines of `charge`, then of those of `at_most`.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// What it costs without a settlement.
    pub charge: &'a Charge,
    /// The most it may cost; without lines where that is the charge.
    pub at_most: &'a Charge,
    /// One a line.
    pub prices: &'a [Price],
}

impl<'a> Terms<'a> {
    /// What it costs without a settlement. `None` where a line has no price, or the sum does not fit.
    #[must_use]
    pub fn cost(&self) -> Option<Credits> {
        sum(&self.charge.0, self.prices.get(..self.charge.0.len())?)
    }

    /// What is to be held: the dearer of charge and limit. `None` as of [`Self::cost`], or where there are more prices than lines.
    #[must_use]
    pub fn hold(&self) -> Option<Credits> {
        Some(self.cost()?.max(sum(&self.at_most.0, self.prices.get(self.charge.0.len()..)?)?))
    }

    /// What a settlement comes to, each line at the price of the accepted line with its keys, else of the first one with its last
    /// key. `None` where a line has neither, or the sum does not fit.
    #[must_use]
    pub fn settled(&self, settle: &Charge) -> Option<Credits> {
        settle.0.iter().try_fold(Credits::ZERO, |sum, line| {
            let same = self.lines().find(|(known, _)| known.keys == line.keys);
            let last = || self.lines().find(|(known, _)| known.keys.last() == line.keys.last());
            let (_, price) = same.or_else(last)?;
            sum.checked_add(price.times(line.quantity)?)
        })
    }

    /// The lines with their prices.
    pub fn lines(&self) -> impl Iterator<Item = (&'a Line, Price)> + use<'a> {
        self.charge.0.iter().chain(&self.at_most.0).zip(self.prices.iter().copied())
    }
}

/// `None` where lines and prices are not equally many, or the sum does not fit.
fn sum(lines: &[Line], prices: &[Price]) -> Option<Credits> {
    if lines.len() != prices.len() {
        return None;
    }
    let mut each = lines.iter().zip(prices);
    each.try_fold(Credits::ZERO, |sum, (line, price)| sum.checked_add(price.times(line.quantity)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn charge(lines: &[(&[&str], u64)]) -> Charge {
        let line = |&(keys, quantity): &(&[&str], u64)| Line {
            keys: keys.iter().map(|&key| key.to_owned()).collect(),
            quantity,
            unit: String::new(),
        };
        Charge(lines.iter().map(line).collect())
    }

    /// Without it a task bills by the price of another line, or a limit holds nothing.
    #[test]
    fn a_settlement_has_the_prices_of_what_was_accepted() {
        let accepted = charge(&[(&["film@hd", "film"], 5), (&["sound"], 300)]);
        let at_most = charge(&[(&["film@hd", "film"], 8), (&["sound"], 300), (&["extra"], 1)]);
        let [film, sound, extra] =
            [(10, 1), (7, 1_000), (100, 1)].map(|(credits, per)| Price { credits: Credits(credits), per });
        let prices = [film, sound, film, sound, extra];
        let terms = Terms { charge: &accepted, at_most: &at_most, prices: &prices };
        assert_eq!((terms.cost(), terms.hold()), (Some(Credits(53)), Some(Credits(183))));
        for (settle, expected) in [
            (charge(&[(&["film@hd", "film"], 2)]), Some(20)),
            (charge(&[(&["film"], 2), (&["sound"], 1_001)]), Some(28)),
            (charge(&[(&["extra"], 3)]), Some(300)),
            (charge(&[(&["other"], 0)]), None),
            (charge(&[(&["film"], u64::MAX), (&["film"], u64::MAX)]), None),
            (Charge::default(), Some(0)),
        ] {
            assert_eq!(terms.settled(&settle), expected.map(Credits), "{settle:?}");
        }
        let less = Charge::default();
        let terms = Terms { charge: &accepted, at_most: &less, prices: &prices[..2] };
        assert_eq!(terms.hold(), Some(Credits(53)));
        assert_eq!(Terms { prices: &prices[..1], ..terms }.cost(), None);
        assert_eq!(Terms { prices: &prices[..3], ..terms }.hold(), None);
    }
}
