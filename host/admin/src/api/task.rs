//! An operator's ruling about an ambiguous call.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatehouse_model::words;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

words! {
    /// What an operator says of an ambiguous call.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum RulingWord {
        /// It is sent once more.
        Resend = "resend",
        /// It is given up: the task fails and is refunded.
        Fail = "fail",
        /// The provider answered so: the task goes on with `reply`.
        Adopt = "adopt",
    }
}

/// What the provider answered, as its own records show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdoptedReply {
    /// The HTTP status, 200 to 599.
    pub status: u16,
    /// The type of the body, such as "text/html"; "application/json" without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// The body where it is JSON. Of `body`, `text` and `base64` one is given.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// The body as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The bytes of the body as base64, where they are no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
}

/// `null` is a body too.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

/// A ruling about the ambiguous call of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskRuling {
    /// "resend", "fail" or "adopt".
    pub ruling: RulingWord,
    /// For the audit record; the client of a task that fails reads it too. 1 to 500 bytes.
    pub reason: String,
    /// The provider's reply; with "adopt" only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<AdoptedReply>,
    /// Only if the task has this revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
}

impl AdoptedReply {
    /// A body of JSON.
    #[must_use]
    pub const fn json(status: u16, body: Value) -> Self {
        Self { status, content_type: None, body: Some(body), text: None, base64: None }
    }

    /// A body of that type: its text, or its base64 where it is none.
    #[must_use]
    pub fn of_type(status: u16, content_type: String, body: Vec<u8>) -> Self {
        let (text, base64) = match String::from_utf8(body) {
            Ok(text) => (Some(text), None),
            Err(binary) => (None, Some(STANDARD.encode(binary.as_bytes()))),
        };
        Self { status, content_type: Some(content_type), body: None, text, base64 }
    }
}
