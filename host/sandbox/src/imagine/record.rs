//! The record of the provider: every call and what came of it. Tests compare it with the gateway's ledger.
//!
//! Plain data, kept by `table`. Also served as JSON on a listener of its own.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Calls since the start, within the limits of the table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImagineRecord {
    /// Calls since the start, dropped ones included.
    pub count: u64,
    /// Oldest first: the latest 10,000.
    pub calls: Vec<ImageCall>,
}

/// One call of generations or edits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImageCall {
    /// Counted from 0 since the start.
    pub number: u64,
    /// `generations` or `edits`.
    pub route: String,
    /// Index into the settings' keys; `None` without a valid key.
    pub account: Option<usize>,
    /// As sent, but for a reference in the body: `{"sha256", "bytes", "width", "height", "mime"}` in place of its
    /// URL. Null when the body was not read.
    pub body: Value,
    /// When, in milliseconds since the Unix epoch.
    pub at: u64,
    /// The status of the reply; `None` while the call lasts, or when no reply was sent.
    pub status: Option<u16>,
    /// Images that were made and handed over; filtered ones are not.
    pub images: u32,
    /// The bill, 10^10 ticks a dollar.
    pub cost_in_usd_ticks: u64,
    /// Complete deliveries of its files.
    pub deliveries: u32,
}
