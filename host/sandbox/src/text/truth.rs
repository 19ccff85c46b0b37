//! What a text provider knows to have happened, for tests that compare it with the gateway's own books.
//!
//! Served as JSON on a listener of its own, so that a test can ask after it has killed the gateway.

use std::sync::Arc;

use http::{Method, Request, StatusCode};
use hyper::body::Incoming;
use serde::{Deserialize, Serialize};

use super::desk::Desk;
use crate::server::{Answer, Site, reply};

/// Everything that was asked since the start, as far as it is remembered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextTruth {
    /// Requests since the start, also those forgotten since.
    pub count: u64,
    /// Answers held up at this moment.
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
    /// Index into the settings' keys of the account whose key was shown.
    pub account: Option<usize>,
    /// The body exactly as it came; `None` when it was dropped to make room (64 MiB of bodies are kept) or was
    /// larger than the provider reads.
    #[serde(with = "base64_text")]
    pub body: Option<Vec<u8>>,
    /// When, in milliseconds since the Unix epoch.
    pub at: u64,
    /// The status it was answered with; `None` while under way, or when no reply was given.
    pub status: Option<u16>,
    /// What was billed. Once an answer begins it is billed whole, whether it arrives or not.
    pub usage: Option<Usage>,
    /// The provider has said all it wanted to say, or broke off on purpose.
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

/// What an answer cost, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// All input but what the next three count.
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

/// The truth listener: one path for each desk.
pub(crate) struct TruthSite(pub(crate) Vec<Arc<Desk>>);

impl Site for TruthSite {
    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Answer {
        let path = request.uri().path();
        let Some(desk) = self.0.iter().find(|desk| {
            let truth = &desk.addresses.truth;
            truth.rfind("/truth/").is_some_and(|at| &truth[at..] == path)
        }) else {
            return Ok(reply(StatusCode::NOT_FOUND, "text/plain", "no such truth"));
        };
        if request.method() != Method::GET {
            return Ok(reply(StatusCode::METHOD_NOT_ALLOWED, "text/plain", "GET it"));
        }
        let text = serde_json::to_vec(&desk.truth()).expect("plain data with text keys");
        Ok(reply(StatusCode::OK, "application/json", text))
    }
}

/// Bytes as base64, since a body need not be text.
mod base64_text {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer, de};

    #[expect(clippy::ref_option, reason = "the form serde asks for")]
    pub(super) fn serialize<S: Serializer>(bytes: &Option<Vec<u8>>, to: S) -> Result<S::Ok, S::Error> {
        bytes.as_ref().map(|bytes| STANDARD.encode(bytes)).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<u8>>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| STANDARD.decode(text)).transpose().map_err(de::Error::custom)
    }
}
