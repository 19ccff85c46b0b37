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
    /// What each account has left, in the provider's credits, in the order of the settings' keys.
    pub credits: Vec<u64>,
}

/// One accepted job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// Whether the client was told the id; `false` under the markers that lose the answer.
    pub answered: bool,
    /// What it cost the account; moderated and failed jobs cost nothing.
    pub cost: u64,
    /// Times its result was asked for.
    pub polls: u32,
    /// Times its file was handed out whole.
    pub deliveries: u32,
}

/// One refused submit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Declined {
    /// The HTTP status it was refused with.
    pub status: u16,
    /// The prompt, when the body had one.
    pub prompt: Option<String>,
    /// When, in milliseconds since the Unix epoch.
    pub at: u64,
}
