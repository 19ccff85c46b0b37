//! How a row becomes bytes: one byte naming the encoding, then MessagePack with field names.
//!
//! Named fields let a later release add one with a default and still read old rows; a change that this cannot
//! bear takes the next version byte.

mod deserialize;
mod reader;

use serde::Serialize;
use serde::de::DeserializeOwned;

use self::reader::{Reader, RowError};
use crate::error::StoreError;

/// The encoding this release writes.
const VERSION: u8 = 1;
/// Room from the start, in bytes: the rows of a text have up to 290, to which a vector of one grows in seven steps.
const USUAL: usize = 512;

/// The bytes of a row.
pub(crate) fn encode<T: Serialize>(table: &str, row: &T) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::with_capacity(USUAL);
    bytes.push(VERSION);
    rmp_serde::encode::write_named(&mut bytes, row)
        .map_err(|error| StoreError::failed(format_args!("a row for {table} cannot be encoded: {error}")))?;
    Ok(bytes)
}

/// The row of these bytes.
pub(crate) fn decode<T: DeserializeOwned>(table: &str, bytes: &[u8]) -> Result<T, StoreError> {
    let unreadable = |problem: String| StoreError::Unreadable { table: table.to_owned(), problem };
    match bytes.split_first() {
        Some((&VERSION, row)) => read(row).map_err(|error| unreadable(error.to_string())),
        Some((other, _)) => Err(unreadable(format!("expected encoding {VERSION}, not {other}"))),
        None => Err(unreadable("the row is empty".into())),
    }
}

fn read<T: DeserializeOwned>(row: &[u8]) -> Result<T, RowError> {
    let mut reader = Reader::new(row);
    let value = T::deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

#[cfg(test)]
mod tests;
