//! What the provider remembers of every task, press, read and list, for tests to compare with what the gateway says.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Everything the proxy saw.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MidjourneyRecord {
    /// By account, in the order of the settings' keys.
    pub accounts: Vec<AccountRecord>,
    /// Tasks, oldest first: the latest 100,000.
    pub tasks: Vec<TaskRecord>,
    /// Submits that were refused, oldest first: the latest 10,000.
    pub declined: Vec<Declined>,
    /// Reads by list, oldest first: the latest 10,000.
    pub lists: Vec<ListRead>,
}

/// Numbers of one account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountRecord {
    /// Accepted submits; a modal counts apart from the press before it.
    pub submits: u64,
    /// Reads of one task.
    pub fetches: u64,
    /// Reads by list.
    pub lists: u64,
}

/// One task of the proxy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// The task's id at the proxy.
    pub id: String,
    /// Index into the settings' keys.
    pub account: usize,
    /// `imagine`, `blend`, `describe`, `edits`, `action`, `change`, `simple-change` or `video`.
    pub route: String,
    /// `RELAX`, `FAST` or `TURBO`.
    pub mode: String,
    /// The task's prompt, as it is now; a modal replaces it.
    pub prompt: String,
    /// As sent, but for input images: `{"sha256", "bytes", "width", "height"}`, or `{"url"}`.
    pub body: Value,
    /// The body of the modal, in the same form; its mask also tells `repainted`, the share of white pixels in percent.
    pub modal: Option<Value>,
    /// The task it follows up.
    pub parent: Option<String>,
    /// The button that made it.
    pub custom_id: Option<String>,
    /// When, in milliseconds since the Unix epoch.
    pub at: u64,
    /// The client got the id; `false` under the markers that lose the reply.
    pub answered: bool,
    /// Reads by fetch.
    pub fetches: u32,
    /// Reads by list.
    pub listed: u32,
    /// Accepted modals.
    pub modals: u32,
    /// Presses of its buttons, by custom id.
    pub presses: BTreeMap<String, u32>,
    /// The colour of each tile, single or film, first tile first.
    pub colours: Vec<[u8; 3]>,
    /// Width and height of one tile, single or film.
    pub size: (u32, u32),
    /// Complete deliveries of its files.
    pub deliveries: u32,
}

/// One refused submit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declined {
    /// The path without its speed.
    pub route: String,
    /// The HTTP status.
    pub status: u16,
    /// The code in the body, where it has one.
    pub code: Option<i32>,
    /// When, in milliseconds since the Unix epoch.
    pub at: u64,
}

/// One read by list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListRead {
    /// Index into the settings' keys.
    pub account: usize,
    /// Tasks asked for.
    pub ids: usize,
    /// When, in milliseconds since the Unix epoch.
    pub at: u64,
}
