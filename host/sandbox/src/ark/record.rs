//! The record of the provider: tasks, refusals, groups, assets and calls of the control plane. Plain data for tests; also
//! served as JSON on a listener of its own.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Everything since the start, within the limits of the tables.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ArkRecord {
    /// Accepted tasks, oldest first.
    pub submits: Vec<ArkSubmit>,
    /// Refused creations, oldest first.
    pub declined: Vec<ArkDeclined>,
    /// Groups of assets, oldest first.
    pub groups: Vec<ArkGroup>,
    /// Assets, oldest first.
    pub assets: Vec<ArkAsset>,
    /// Calls of the control plane that were signed rightly: account and action.
    pub calls: Vec<(usize, String)>,
}

/// One accepted task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ArkSubmit {
    /// The task's id.
    pub id: String,
    /// Index into the settings' keys.
    pub account: usize,
    /// The text of the content; empty when there is none.
    pub prompt: String,
    /// As sent, but for `data:` URIs, which are cut.
    pub body: Value,
    /// When, in milliseconds since the Unix epoch.
    pub at: u64,
    /// The client got the id.
    pub answered: bool,
    /// It was taken out of the queue.
    pub cancelled: bool,
    /// Polls of it.
    pub polls: u32,
}

/// One refused creation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArkDeclined {
    /// The HTTP status.
    pub status: u16,
    /// The provider's code.
    pub code: String,
    /// The text of the content, as far as it could be read.
    pub prompt: String,
}

/// A group of assets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArkGroup {
    /// Its id.
    pub id: String,
    /// Index into the settings' keys.
    pub account: usize,
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Its project.
    pub project: String,
}

/// An asset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArkAsset {
    /// Its id.
    pub id: String,
    /// Its group.
    pub group: String,
    /// Index into the settings' keys.
    pub account: usize,
    /// Its name.
    pub name: String,
    /// Where its file is.
    pub url: String,
    /// `Image`, `Video` or `Audio`.
    pub asset_type: String,
    /// Its project.
    pub project: String,
    /// `Processing`, `Active` or `Failed`.
    pub status: String,
}
