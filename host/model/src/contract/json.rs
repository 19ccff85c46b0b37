//! JSON as it crosses the contract: shared UTF-8 text. A clone copies no bytes; nothing here parses it.
//!
//! Stored as bytes: rows of earlier versions hold it so.

use serde::de::Error as _;
use serde::{Deserialize as _, Deserializer, Serializer};
use serde_bytes::ByteBuf;

/// JSON text.
pub type Json = bytestring::ByteString;

/// For `#[serde(with)]`.
pub(crate) fn serialize<S: Serializer>(json: &Json, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(json.as_bytes())
}

/// For `#[serde(with)]`.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
    let bytes = ByteBuf::deserialize(deserializer)?.into_vec();
    Json::try_from(bytes).map_err(|error| D::Error::custom(format!("expected UTF-8: {error}")))
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use super::Json;

    #[derive(Serialize, Deserialize)]
    struct Row(#[serde(with = "crate::contract::json")] Json);

    /// Without it rows of earlier versions lose what their families kept.
    #[test]
    fn a_row_has_bytes_and_reads_texts_too() {
        assert_eq!(serde_json::to_string(&Row("{}".into())).unwrap(), "[123,125]");
        for (row, expected) in
            [("[123,125]", Some("{}")), ("\"{}\"", Some("{}")), ("[255]", None), ("7", None)]
        {
            let read = serde_json::from_str(row).ok().map(|Row(json)| json);
            assert_eq!(read.as_deref(), expected, "{row}");
        }
    }
}
