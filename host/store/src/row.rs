//! How a row becomes bytes: one byte naming the encoding, then MessagePack with field names.
//!
//! Named fields let a later release add one with a default and still read old rows; a change that this cannot
//! bear takes the next version byte.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::StoreError;

/// The encoding this release writes.
const VERSION: u8 = 1;

/// The bytes of a row.
pub(crate) fn encode<T: Serialize>(table: &str, row: &T) -> Result<Vec<u8>, StoreError> {
    let mut bytes = vec![VERSION];
    rmp_serde::encode::write_named(&mut bytes, row)
        .map_err(|error| StoreError::failed(format_args!("a row for {table} cannot be encoded: {error}")))?;
    Ok(bytes)
}

/// The row of these bytes.
pub(crate) fn decode<T: DeserializeOwned>(table: &str, bytes: &[u8]) -> Result<T, StoreError> {
    let unreadable = |problem: String| StoreError::Unreadable { table: table.to_owned(), problem };
    match bytes.split_first() {
        Some((&VERSION, row)) => rmp_serde::from_slice(row).map_err(|error| unreadable(error.to_string())),
        Some((other, _)) => Err(unreadable(format!("expected encoding {VERSION}, not {other}"))),
        None => Err(unreadable("the row is empty".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_reads_back_from_its_bytes() {
        let bytes = encode("numbers", &vec![1_u64, 2, 3]).unwrap();
        assert_eq!(decode::<Vec<u64>>("numbers", &bytes), Ok(vec![1, 2, 3]));
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let check = |bytes: &[u8], expected: &str| {
            let error = decode::<Vec<u64>>("numbers", bytes).unwrap_err().to_string();
            assert!(error.contains("table numbers") && error.contains(expected), "{error}");
        };
        check(&[], "the row is empty");
        check(&[2, 0x90], "expected encoding 1, not 2");
        check(&[VERSION, 0xc3], "invalid type: boolean");
    }
}
