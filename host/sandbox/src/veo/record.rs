//! The record of the simulated Veo: operations, refusals, tokens. Tests compare it with what clients asked for.
//!
//! Plain data, kept by `operations`. Also served as JSON on a listener of its own.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Every operation and refusal since the start, within the limits of the table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct VeoRecord {
    /// Operations begun since the start, dropped ones included.
    pub accepted: u64,
    /// Those operations, oldest first: the latest 100,000.
    pub operations: Vec<BegunVideo>,
    /// Refused submissions, oldest first: the latest 10,000.
    pub declined: Vec<DeclinedVideo>,
    /// Tokens issued.
    pub tokens: u64,
}

/// One operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BegunVideo {
    /// Its name.
    pub name: String,
    /// Index of the service account.
    pub account: usize,
    /// The model of the path.
    pub model: String,
    /// As sent, but for bytes in base64: `<N> bytes`.
    pub body: Value,
    /// When, in milliseconds since the Unix epoch.
    pub at: u64,
    /// The client got the name; `false` under the markers that lose the reply.
    pub answered: bool,
    /// Polls of it.
    pub polls: u32,
    /// Complete downloads of its files.
    pub downloads: u32,
}

/// One refused submission.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeclinedVideo {
    /// The HTTP status of the refusal.
    pub status: u16,
    /// The name of its gRPC code.
    pub code: String,
    /// The text.
    pub message: String,
    /// The body, as in [`BegunVideo`].
    pub body: Value,
}
