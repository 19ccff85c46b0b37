//! JSON as it crosses the contract: shared UTF-8 text. A clone copies no bytes; nothing here parses it.
//!
//! Stored as bytes: rows of earlier versions hold it so.

use bytes::Bytes;
use serde::de::{Error, Visitor};
use serde::{Deserializer, Serializer};

/// JSON text.
pub type Json = bytestring::ByteString;

/// For `#[serde(with)]`.
pub(crate) fn serialize<S: Serializer>(json: &Json, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(json.as_bytes())
}

/// For `#[serde(with)]`.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
    deserializer.deserialize_byte_buf(Text)
}

struct Text;

impl Text {
    fn read<E: Error>(bytes: Vec<u8>) -> Result<Json, E> {
        Json::try_from(Bytes::from(bytes)).map_err(|error| E::custom(format!("expected UTF-8: {error}")))
    }
}

impl<'de> Visitor<'de> for Text {
    type Value = Json;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON text as bytes")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Json, E> {
        Self::read(bytes.to_vec())
    }

    fn visit_byte_buf<E: Error>(self, bytes: Vec<u8>) -> Result<Json, E> {
        Self::read(bytes)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Json, E> {
        Ok(text.into())
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut bytes = Vec::with_capacity(items.size_hint().unwrap_or_default().min(1 << 16));
        while let Some(byte) = items.next_element()? {
            bytes.push(byte);
        }
        Self::read(bytes)
    }
}
