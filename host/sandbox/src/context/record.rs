//! The record of the context-image provider: jobs, refusals, credits. Tests compare it with the gateway's ledger.
//!
//! Plain data, kept by `jobs`. Also served as JSON on a listener of its own.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Every job and refusal since the start, within the limits of the job table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ContextRecord {
    /// Jobs accepted since the start, dropped ones included.
    pub accepted: u64,
    /// The accepted jobs, oldest first: the latest 100,000.
    pub submits: Vec<Submit>,
    /// Submits that were refused, oldest first: the latest 10,000.
    pub declined: Vec<Declined>,
    /// Credits left to each account, in the provider's credits, in the order of the settings' keys.
    pub credits: Vec<u64>,
}

/// One accepted job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Submit {
    /// The job's id.
    pub id: String,
    /// Index into the settings' keys.
    pub account: usize,
    /// `flux-kontext-pro` or `flux-kontext-max`.
    pub model: String,
    /// As sent.
    pub prompt: String,
    /// As sent, but for input images: `{"sha256", "bytes", "width", "height"}`, or `{"url"}`.
    pub body: Value,
    /// When, in milliseconds since the Unix epoch.
    pub at: u64,
    /// The client got the id; `false` under the markers that lose the reply.
    pub answered: bool,
    /// Credits charged; moderated and failed jobs cost nothing.
    pub cost: u64,
    /// Polls of its result.
    pub polls: u32,
    /// Complete deliveries of its file.
    pub deliveries: u32,
}

/// One refused submit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Declined {
    /// The HTTP status of the refusal.
    pub status: u16,
    /// The prompt, when the body had one.
    pub prompt: Option<String>,
    /// When, in milliseconds since the Unix epoch.
    pub at: u64,
}
