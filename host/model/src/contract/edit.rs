//! What the host makes of a result before it keeps it. Shapes only; `media` cuts.

use serde::{Deserialize, Serialize};

/// The part of a product that is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Edit {
    /// One picture of a grid.
    Tile(Tile),
    /// A span of an mp4 video.
    Clip(Clip),
}

/// One picture of a grid, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tile {
    /// From the left.
    pub column: u8,
    /// From the top.
    pub row: u8,
    /// Columns of the grid.
    pub columns: u8,
    /// Rows of the grid.
    pub rows: u8,
}

/// A span of an mp4 video. It begins at the last sync sample that is not after `from_ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clip {
    /// Its begin, ms.
    pub from_ms: u64,
    /// Its end, ms; the end of the video when there is none.
    pub to_ms: Option<u64>,
}
