//! Tables with columns in line, and moments.

use std::io::{self, Write};
use std::time::{Duration, UNIX_EPOCH};

use gatehouse_model::UnixMs;
use gatehouse_runtime::escape_control;

/// Columns as wide as their widest cell.
pub(super) fn table(
    out: &mut dyn Write,
    heads: &[&str],
    rows: impl Iterator<Item = Vec<String>>,
) -> io::Result<()> {
    let heads = heads.iter().map(|head| (*head).to_owned()).collect();
    // A cell is one line.
    let shown = |row: Vec<String>| row.iter().map(|cell| escape_control(cell).into_owned()).collect();
    let rows: Vec<Vec<String>> = std::iter::once(heads).chain(rows).map(shown).collect();
    let wide = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(wide).collect();
    for row in &rows {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        writeln!(out, "{}", cells.join("  ").trim_end())?;
    }
    Ok(())
}

/// The moment to the second.
pub(super) fn rfc3339(at: UnixMs) -> String {
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_millis(at.0)).to_string()
}
