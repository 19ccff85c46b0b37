//! The parents of self-tests as the manifest's document writes them. What a request really follows up comes from the host, in types
//! of its own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::raw;

/// A task that a request follows up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Parent")]
pub struct ParentWritten {
    /// Its id; an id of no task when it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The family that made it.
    pub family: String,
    /// Its model's own id.
    pub model: String,
    /// What the client reads as `status`; completed when it is left out.
    #[serde(default)]
    pub status: StatusWritten,
    /// What the client reads as `result`.
    #[serde(default = "null", with = "raw")]
    #[schemars(with = "Value")]
    pub public: String,
    /// What the family kept for follow-ups.
    #[serde(default = "null", with = "raw")]
    #[schemars(with = "Value")]
    pub private: String,
    /// Its results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<FactsWritten>,
    /// The account that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub affinity: Option<String>,
    /// Briefs of the requests that joined it, as text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joining: Vec<String>,
}

#[expect(missing_docs, reason = "the words of the API")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Status")]
pub enum StatusWritten {
    Submitted,
    Pending,
    Processing,
    #[default]
    Completed,
    Failed,
}

#[expect(missing_docs, reason = "the words of the contract")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "MediaKind")]
pub enum KindWritten {
    Image,
    Video,
    Audio,
    Other,
}

/// Facts about a piece of media.
#[expect(missing_docs, reason = "those of the contract")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Facts")]
pub struct FactsWritten {
    pub kind: KindWritten,
    pub mime: String,
    pub bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub height: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub milliseconds: Option<u64>,
    /// Frames per 1000 seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fps_milli: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_audio: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_alpha: Option<bool>,
    /// `blob:<id>`, when the host keeps the bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
}

/// The id of no task, for parents that need none.
pub const SOME_TASK: &str = "task_01KDWFAMDV000000000000000B";

fn null() -> String {
    "null".to_owned()
}
