//! Prices on standard output: the book by family, and what one request would cost.

use std::io::{self, Write};

use gatehouse_admin::{PriceChanges, PricePreview, PriceVersionView, PricesView};
use gatehouse_model::Credits;

use super::table::{rfc3339, table};

/// Every price with its family, then the text models, then what is wrong.
pub(super) fn book(out: &mut dyn Write, book: &PricesView) -> io::Result<()> {
    let of_family = |key: &str| {
        let owns = book.families.iter().filter(|family| family.units.iter().any(|unit| unit.key == key));
        owns.map(|family| family.family.as_str()).next().unwrap_or("-").to_owned()
    };
    let units = book.units.iter();
    let units = units.map(|unit| vec![of_family(&unit.key), unit.key.clone(), credits(unit.price_micro)]);
    table(out, &["FAMILY", "PRICE KEY", "CREDITS"], units)?;
    writeln!(out)?;
    let tokens = book.tokens.iter().map(|row| {
        let output = row.output_micro.map_or_else(|| "-".to_owned(), credits);
        let [input, cached, write, hour] =
            [row.input_micro, row.cached_micro, row.cache_write_micro, row.cache_write_1h_micro].map(credits);
        vec![row.model.clone(), row.provider.clone(), input, output, cached, write, hour]
    });
    let head = ["TEXT MODEL", "PROVIDER", "INPUT", "OUTPUT", "CACHED", "CACHE WRITE", "FOR AN HOUR"];
    table(out, &head, tokens)?;
    for family in &book.families {
        for key in &family.missing {
            writeln!(out, "error: family {}: price key {key:?} has no price", family.family)?;
        }
    }
    Ok(())
}

/// Its charges and their sum.
pub(super) fn preview(out: &mut dyn Write, preview: &PricePreview) -> io::Result<()> {
    let rows = preview.charges.iter().map(|charge| {
        vec![
            charge.price_key.clone(),
            format!("{} {}", charge.quantity, charge.unit.as_str()),
            credits(charge.unit_price_micro),
            credits(charge.sum_micro),
            charge.price_keys.join(", "),
        ]
    });
    table(out, &["PRICE KEY", "QUANTITY", "PRICE", "SUM", "KEYS TRIED"], rows)?;
    let most = if preview.at_most { "at most " } else { "" };
    writeln!(out, "\n{}: {most}{} credits", preview.model, credits(preview.sum_micro))?;
    match &preview.failure {
        Some(failure) => writeln!(out, "It would be accepted and fail: {failure}"),
        None => Ok(()),
    }
}

/// The versions of the book, newest first.
pub(super) fn history(out: &mut dyn Write, books: &[PriceVersionView]) -> io::Result<()> {
    let row = |book: &PriceVersionView| {
        vec![
            book.number.to_string(),
            rfc3339(book.at.0),
            book.prices.to_string(),
            book.changed.to_string(),
            book.cause.clone(),
            book.who.clone(),
        ]
    };
    table(out, &["VERSION", "SINCE", "PRICES", "CHANGED", "CAUSE", "WHO"], books.iter().map(row))
}

/// What differs between two versions.
pub(super) fn changes(out: &mut dyn Write, changes: &PriceChanges) -> io::Result<()> {
    let price = |micro: Option<i64>| micro.map_or_else(|| "-".to_owned(), credits);
    let rows = changes.changes.iter().map(|one| {
        let part = one.part.as_str().to_owned();
        vec![one.key.clone(), part, price(one.before_micro), price(one.after_micro)]
    });
    table(out, &["PRICE KEY", "OF", "BEFORE", "AFTER"], rows)?;
    let number = changes.number;
    match changes.against {
        Some(before) => {
            let count = changes.changes.len();
            writeln!(out, "\n{count} of version {number} differ from {before}")?;
        }
        None => writeln!(out, "\nno version before {number} is kept")?,
    }
    if changes.incomplete {
        writeln!(out, "prices that are not kept may differ, too")?;
    }
    Ok(())
}

fn credits(micro: i64) -> String {
    Credits(micro).to_string()
}
