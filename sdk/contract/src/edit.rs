//! What the host makes of a product's source before it keeps it: a tile of a grid picture, or a clip of a film.

use serde::{Deserialize, Serialize};

/// An edit of one product. Its serde form is that of the contract.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Edit {
    /// A part of a grid picture.
    Tile(Tile),
    /// A part of a film.
    Clip(Clip),
}

/// One picture of a grid. Columns and rows divide the picture evenly; the last of each takes the pixels that remain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tile {
    /// Which column, counted from 0, from the left.
    pub column: u8,
    /// Which row, counted from 0, from the top.
    pub row: u8,
    /// How many columns the grid has.
    pub columns: u8,
    /// How many rows the grid has.
    pub rows: u8,
}

/// A part of a film: from the sync sample at or before `from_ms` up to `to_ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Clip {
    /// Where it begins.
    #[serde(rename = "from")]
    pub from_ms: u64,
    /// Where it ends, exclusive; `None` for the end of the film.
    #[serde(rename = "to")]
    pub to_ms: Option<u64>,
}

impl Edit {
    /// Checks what can be said without the source.
    ///
    /// # Errors
    /// What was expected and what came, in words a client may read.
    pub fn check(&self) -> Result<(), String> {
        match *self {
            Self::Tile(Tile { columns, rows, .. }) if columns == 0 || rows == 0 => {
                Err(format!("a grid has at least one column and one row, got {columns} x {rows}"))
            }
            Self::Tile(Tile { column, row, columns, rows }) if column >= columns || row >= rows => {
                Err(format!(
                    "the tile must lie in the grid of {columns} x {rows}, counted from 0, got column {column}, row {row}"
                ))
            }
            Self::Clip(Clip { from_ms, to_ms: Some(to_ms) }) if to_ms <= from_ms => {
                Err(format!("a clip must end after it begins, got {from_ms} ms to {to_ms} ms"))
            }
            Self::Tile(_) | Self::Clip(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_is_checked_before_its_source_is_known() {
        let tile = |column, row, columns, rows| Edit::Tile(Tile { column, row, columns, rows });
        let clip = |from_ms, to_ms| Edit::Clip(Clip { from_ms, to_ms });
        for (edit, problem) in [
            (tile(0, 0, 1, 1), None),
            (tile(1, 2, 2, 3), None),
            (tile(254, 254, 255, 255), None),
            (tile(0, 0, 0, 2), Some("a grid has at least one column and one row, got 0 x 2")),
            (tile(0, 0, 2, 0), Some("a grid has at least one column and one row, got 2 x 0")),
            (
                tile(2, 1, 2, 2),
                Some("the tile must lie in the grid of 2 x 2, counted from 0, got column 2, row 1"),
            ),
            (
                tile(1, 2, 2, 2),
                Some("the tile must lie in the grid of 2 x 2, counted from 0, got column 1, row 2"),
            ),
            (clip(0, None), None),
            (clip(u64::MAX, None), None),
            (clip(0, Some(1)), None),
            (clip(5, Some(5)), Some("a clip must end after it begins, got 5 ms to 5 ms")),
            (clip(5, Some(4)), Some("a clip must end after it begins, got 5 ms to 4 ms")),
        ] {
            assert_eq!(edit.check().err().as_deref(), problem, "{edit:?}");
        }
    }
}
