//! Values as the admin API writes them: moments, secrets, lists.

use std::fmt;

use gatehouse_model::{QuotaPeriod, UnixMs};
use gatehouse_tasks::JournalEntry;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A moment: RFC 3339 in UTC with milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub UnixMs);

impl Moment {
    /// Reads RFC 3339 in UTC.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("expected a moment such as 2026-11-21T09:30:00Z, got {text:?}");
        let time = humantime::parse_rfc3339(text).map_err(|_| wrong())?;
        let since = time.duration_since(std::time::UNIX_EPOCH).map_err(|_| wrong())?;
        u64::try_from(since.as_millis()).map(|ms| Self(UnixMs(ms))).map_err(|_| wrong())
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Moment {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Moment".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "format": "date-time",
            "description": "RFC 3339 in UTC, with milliseconds.",
            "examples": ["2026-11-21T09:30:00.000Z"],
        })
    }
}

impl From<UnixMs> for Moment {
    fn from(at: UnixMs) -> Self {
        Self(at)
    }
}

/// A secret in a result: it serialises, and its `Debug` form hides it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Revealed(pub String);

impl fmt::Debug for Revealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

/// How often a quota resets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Period(pub(crate) QuotaPeriod);

impl JsonSchema for Period {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "QuotaPeriod".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^(day|week|month)([+-][01][0-9]:[0-5][0-9])?$",
            "description": "`day`, `week` (from Monday) or `month`, at midnight of UTC or of an offset from it.",
            "examples": ["month", "day+02:00"],
        })
    }
}

/// What an entry of the ledger is called: no other has the same id, in whatever store it is kept.
pub(crate) fn entry_id(entry: &JournalEntry) -> String {
    format!("{}/{}", entry.customer, entry.seq)
}

/// A page of a list.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "{T}List")]
pub(crate) struct List<T> {
    /// The rows.
    pub(crate) data: Vec<T>,
    /// `cursor` of the next page; null after the last one. A page may be short although there is a next one.
    pub(crate) next: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_reads_back_from_its_text() {
        let moment = Moment(UnixMs(1_771_000_000_123));
        let text = serde_json::to_string(&moment).unwrap();
        assert_eq!(text, "\"2026-02-13T16:26:40.123Z\"");
        assert_eq!(serde_json::from_str::<Moment>(&text).unwrap(), moment);
        for wrong in ["", "2026", "1771000000123", "1969-12-31T00:00:00Z", "2026-02-13T16:26:40+01:00"] {
            assert!(Moment::parse(wrong).is_err(), "{wrong}");
        }
    }
}
