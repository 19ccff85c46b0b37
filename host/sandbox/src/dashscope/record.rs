//! The record of the simulated DashScope: tasks and refusals. Tests compare it with what clients asked for.
//!
//! Plain data, kept by `tasks`. Also served as JSON on a listener of its own.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Every task and refusal since the start, within the limits of the table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DashscopeRecord {
    /// Tasks accepted since the start, dropped ones included.
    pub accepted: u64,
    /// The accepted tasks, oldest first: the latest 100,000.
    pub tasks: Vec<CreatedVideo>,
    /// Refused creations, oldest first: the latest 10,000.
    pub declined: Vec<DeclinedVideo>,
}

/// One accepted task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CreatedVideo {
    /// The task's id.
    pub id: String,
    /// Index into the settings' keys.
    pub account: usize,
    /// As sent, but for `data:` URIs: `data:<type>;<bytes> bytes`.
    pub body: Value,
    /// When, in milliseconds since the Unix epoch.
    pub at: u64,
    /// The client got the id; `false` under the markers that lose the reply.
    pub answered: bool,
    /// Polls of it.
    pub polls: u32,
    /// Whether it was cancelled by its client.
    pub cancelled: bool,
    /// Complete deliveries of its file.
    pub deliveries: u32,
}

/// One refused creation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeclinedVideo {
    /// The HTTP status of the refusal.
    pub status: u16,
    /// Its code.
    pub code: String,
    /// The body as sent, when it was JSON.
    pub body: Value,
}
