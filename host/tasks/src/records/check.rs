//! The check of these rows behind `gatehouse doctor`: numbers, order, bounds, and what a version says of the one before it.
//! Fed row by row in the order of numbers; trusts no row.

use crate::records::changes::price_changes;
use crate::records::operator::{
    DeploymentOutcome, DeploymentRecord, MAX_DEPLOYMENTS, MAX_PRICE_BOOKS, MAX_PRICES, MAX_STAGES, PricePart,
    PriceRow, PriceVersion,
};

/// What was seen so far.
#[derive(Debug, Default)]
pub(crate) struct RecordCheck {
    book: Option<PriceVersion>,
    deployment: Option<u64>,
}

impl RecordCheck {
    /// The next version, which stands under that number; `count` of them were seen, this one included.
    pub(crate) fn price_book(&mut self, number: u64, count: u64, book: PriceVersion) -> Vec<String> {
        let before = self.book.as_ref().map(|before| before.number);
        let mut wrong = numbering(before, Numbered { number, own: book.number, count }, MAX_PRICE_BOOKS);
        let order = |pair: &[_]| matches!(pair, [one, next] if key_of(one) < key_of(next));
        if !book.prices.windows(2).all(order) {
            wrong.push("its prices are not in order".to_owned());
        }
        if book.prices.len() > MAX_PRICES {
            wrong.push(format!("{} prices, expected at most {MAX_PRICES}", book.prices.len()));
        }
        let first: &[_] = &[];
        let base = match &self.book {
            Some(before) => Some(before.prices.as_slice()),
            // The first one of all is compared with nothing; the one before another first one is forgotten.
            None => (number == 1).then_some(first),
        };
        let changed = base.map(|base| price_changes(base, &book.prices).len() as u64);
        if let Some(changed) = changed.filter(|changed| *changed != book.changed) {
            wrong.push(format!("{} prices changed by its row, but {changed} differ", book.changed));
        }
        if self.book.as_ref().is_some_and(|before| before.digest == book.digest) {
            wrong.push("it has the digest of the version before".to_owned());
        }
        self.book = Some(book);
        wrong.into_iter().map(|what| format!("price book {number}: {what}")).collect()
    }

    /// The same of a report.
    pub(crate) fn deployment(&mut self, number: u64, count: u64, row: &DeploymentRecord) -> Vec<String> {
        let mut wrong =
            numbering(self.deployment, Numbered { number, own: row.number, count }, MAX_DEPLOYMENTS);
        if row.stages.len() > MAX_STAGES {
            wrong.push(format!("{} stages, expected at most {MAX_STAGES}", row.stages.len()));
        }
        if row.outcome != DeploymentOutcome::Refused && (row.digest.is_none() || row.family.is_empty()) {
            wrong.push("it was not refused, but names no version".to_owned());
        }
        self.deployment = Some(row.number);
        wrong.into_iter().map(|what| format!("deployment {number}: {what}")).collect()
    }
}

fn key_of(row: &PriceRow) -> (&str, PricePart) {
    (&row.key, row.part)
}

/// Where a row stands: under which number, the number it says itself, and as which of them.
struct Numbered {
    number: u64,
    own: u64,
    count: u64,
}

/// Rows stand under their numbers, which count up by one, and are not too many.
fn numbering(before: Option<u64>, row: Numbered, most: u64) -> Vec<String> {
    let Numbered { number, own, count } = row;
    let mut wrong = Vec::new();
    if own != number {
        wrong.push(format!("its row says {own}"));
    }
    match before {
        Some(before) if number != before.saturating_add(1) => {
            wrong.push(format!("it follows {before}"));
        }
        None if number == 0 => wrong.push("numbers begin with 1".to_owned()),
        _ => {}
    }
    if count == most + 1 {
        wrong.push(format!("more than {most} are kept"));
    }
    wrong
}
