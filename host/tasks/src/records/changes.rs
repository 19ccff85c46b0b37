//! What differs between two versions of the price book.

use std::cmp::Ordering;

use gatehouse_model::Credits;

use crate::records::operator::{PricePart, PriceRow};

/// One price that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriceChange {
    /// The price key, or the text model; of a target its model, ` at ` and its name.
    pub key: String,
    /// What it is the price of.
    pub part: PricePart,
    /// Before; none where it is new.
    pub before: Option<Credits>,
    /// Afterwards; none where it is gone.
    pub after: Option<Credits>,
}

/// What differs, by key and part. Both lists are in that order.
#[must_use]
pub fn price_changes(before: &[PriceRow], after: &[PriceRow]) -> Vec<PriceChange> {
    let (mut old, mut new) = (before.iter().peekable(), after.iter().peekable());
    let mut changes = Vec::new();
    let change =
        |row: &PriceRow, before, after| PriceChange { key: row.key.clone(), part: row.part, before, after };
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return changes,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(old), Some(new)) => (&old.key, old.part).cmp(&(&new.key, new.part)),
        };
        let gone = if order.is_gt() { None } else { old.next() };
        let come = if order.is_lt() { None } else { new.next() };
        let (before, after) = (gone.map(|row| row.price), come.map(|row| row.price));
        if let Some(row) = come.or(gone).filter(|_| before != after) {
            changes.push(change(row, before, after));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(prices: &[(&str, PricePart, i64)]) -> Vec<PriceRow> {
        let row = |&(key, part, price): &(&str, PricePart, i64)| PriceRow {
            key: key.to_owned(),
            part,
            price: Credits(price),
        };
        prices.iter().map(row).collect()
    }

    #[test]
    fn every_price_that_differs_is_told_once() {
        let check = |before: &[_], after: &[_], expected: &[(&str, Option<i64>, Option<i64>)]| {
            let changes = price_changes(&rows(before), &rows(after));
            let told: Vec<_> = changes
                .iter()
                .map(|one| {
                    (one.key.as_str(), one.before.map(|price| price.0), one.after.map(|price| price.0))
                })
                .collect();
            assert_eq!(told, expected);
        };
        use PricePart::{Input, Output, Unit};
        check(&[], &[], &[]);
        check(&[("a", Unit, 1)], &[("a", Unit, 1)], &[]);
        check(&[("a", Unit, 1)], &[], &[("a", Some(1), None)]);
        check(&[], &[("a", Unit, 1)], &[("a", None, Some(1))]);
        check(
            &[("a", Unit, 1), ("c", Input, 3), ("c", Output, 4)],
            &[("b", Unit, 2), ("c", Input, 3), ("c", Output, 5)],
            &[("a", Some(1), None), ("b", None, Some(2)), ("c", Some(4), Some(5))],
        );
    }
}
