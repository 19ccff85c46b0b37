//! Prices on standard output: the book by family, and what one request would cost.

use std::io::{self, Write};

use gatehouse_admin::{PricePreview, PricesView};
use gatehouse_model::Credits;

use super::table::table;

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
        let [input, cached, write] = [row.input_micro, row.cached_micro, row.cache_write_micro].map(credits);
        vec![row.model.clone(), row.provider.clone(), input, output, cached, write]
    });
    table(out, &["TEXT MODEL", "PROVIDER", "INPUT", "OUTPUT", "CACHED", "CACHE WRITE"], tokens)?;
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

fn credits(micro: i64) -> String {
    Credits(micro).to_string()
}
