//! The rows of kept responses. Data only.

use gatehouse_model::{CustomerId, UnixMs};
use serde::{Deserialize, Serialize};

/// One response: what was asked and what was answered. What came before it is another row, found by `previous`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseRecord {
    /// Who owns it; nobody else ever reads it.
    pub customer: CustomerId,
    /// Its id.
    pub id: String,
    /// The response that this one goes on from.
    pub previous: Option<String>,
    /// When it was kept.
    pub kept: UnixMs,
    /// From when on it counts as absent.
    pub expires: UnixMs,
    /// Ids of the items of its output.
    pub items: Vec<String>,
    /// The items of its request, JSON of an array.
    #[serde(with = "serde_bytes")]
    pub input: Vec<u8>,
    /// The response as the client read it, JSON.
    #[serde(with = "serde_bytes")]
    pub response: Vec<u8>,
    /// What else its stream takes to be told again, as the driver writes it; empty where it was answered whole.
    #[serde(with = "serde_bytes", default)]
    pub outline: Vec<u8>,
}

impl ResponseRecord {
    /// Bytes that count against a customer's limit.
    #[must_use]
    pub fn size(&self) -> u64 {
        [&self.input, &self.response, &self.outline]
            .iter()
            .fold(0, |size, part| size.saturating_add(part.len() as u64))
    }
}

/// What one customer may keep; the oldest make room for a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseLimits {
    /// Responses.
    pub count: u64,
    /// Bytes of all of them together.
    pub bytes: u64,
}

/// What one customer keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseTotals {
    /// Responses.
    pub count: u64,
    /// Bytes of all of them together.
    pub bytes: u64,
}

impl ResponseTotals {
    /// With one more.
    #[must_use]
    pub fn with(self, record: &ResponseRecord) -> Self {
        Self { count: self.count.saturating_add(1), bytes: self.bytes.saturating_add(record.size()) }
    }

    /// With one less.
    #[must_use]
    pub fn without(self, record: &ResponseRecord) -> Self {
        Self { count: self.count.saturating_sub(1), bytes: self.bytes.saturating_sub(record.size()) }
    }
}
