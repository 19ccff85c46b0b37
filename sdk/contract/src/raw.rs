//! Fields that hold JSON as its text, byte for byte as the author wrote it: `#[serde(with = "raw")]`.

use serde::de::Deserialize as _;
use serde::ser::{Error as _, Serialize as _};
use serde::{Deserializer, Serializer};
use serde_json::value::RawValue;

pub(crate) fn serialize<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    RawValue::from_string(text.to_owned()).map_err(S::Error::custom)?.serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(Box::<RawValue>::deserialize(deserializer)?.get().to_owned())
}

/// The same where the field may be absent.
pub(crate) mod optional {
    use super::{Deserializer, RawValue, Serializer};
    use serde::de::Deserialize as _;
    use serde::ser::Serialize as _;

    pub(crate) fn serialize<S: Serializer>(text: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
        match text {
            Some(text) => super::serialize(text, serializer),
            None => None::<()>.serialize(serializer),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<String>, D::Error> {
        Ok(Option::<Box<RawValue>>::deserialize(deserializer)?.map(|value| value.get().to_owned()))
    }
}
