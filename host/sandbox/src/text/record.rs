//! The record of a text provider: each request and its bill. Tests compare it with the gateway's ledger.
//!
//! Plain data, kept by `request_log`. Also served as JSON on a listener of its own.

use serde::{Deserialize, Serialize};

/// Every request since the start, within the limits of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextRecord {
    /// Requests since the start, dropped ones included.
    pub count: u64,
    /// Answers held at this moment.
    pub held: usize,
    /// Oldest first: the latest 10,000.
    pub requests: Vec<Received>,
}

/// One request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Received {
    /// Counted from 0 since the start.
    pub number: u64,
    /// With its query.
    pub path: String,
    /// Names in lower case, in the order they came; values that are not text are left out.
    pub headers: Vec<(String, String)>,
    /// Index into the settings' keys: the account whose key the request carried.
    pub account: Option<usize>,
    /// The body exactly as it came; `None` when it was dropped to make room (64 MiB of bodies are kept) or was
    /// larger than the provider reads.
    #[serde(with = "base64_text")]
    pub body: Option<Vec<u8>>,
    /// When, in milliseconds since the Unix epoch.
    pub at: u64,
    /// The status of the reply; `None` while the request runs, or when no reply was sent.
    pub status: Option<u16>,
    /// The bill. An answer is billed in full once it begins, even when the client leaves.
    pub usage: Option<Usage>,
    /// The provider sent the whole reply, or broke it off on purpose.
    pub finished: bool,
    /// The client left before that.
    pub hung_up: bool,
    /// Bytes of the body given to the socket.
    pub sent: u64,
}

impl Received {
    /// A header's value; of several the first.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

/// The bill of one answer, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Input that the next three fields do not count.
    pub input: u64,
    /// Input read from the cache.
    pub cache_read: u64,
    /// Input written to the cache for five minutes.
    pub cache_write_5m: u64,
    /// Input written to the cache for an hour.
    pub cache_write_1h: u64,
    /// All output, thinking included.
    pub output: u64,
    /// The part of the output that is thinking.
    pub thinking: u64,
}

impl Usage {
    /// All input, cached or not.
    #[must_use]
    pub fn all_input(&self) -> u64 {
        self.input + self.cache_read + self.cache_write_5m + self.cache_write_1h
    }
}

/// Bytes as base64, since a body need not be text.
mod base64_text {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer, de};

    #[expect(clippy::ref_option, reason = "the form serde asks for")]
    pub(crate) fn serialize<S: Serializer>(bytes: &Option<Vec<u8>>, to: S) -> Result<S::Ok, S::Error> {
        bytes.as_ref().map(|bytes| STANDARD.encode(bytes)).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<u8>>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| STANDARD.decode(text)).transpose().map_err(de::Error::custom)
    }
}
