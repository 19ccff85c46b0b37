//! The requests of a plan: submissions of tasks, and text requests of both client APIs.

use gatehouse_driver::CheckedBody;
use serde_json::json;

use crate::record::text_outcomes::{Protocol, TextOutcome};

/// A submission.
#[derive(Clone, Debug)]
pub(crate) struct Submission {
    pub(crate) key: usize,
    pub(crate) kind: SubmissionKind,
    /// Identifies the task; the provider reads it too.
    pub(crate) prompt: String,
    /// The `Idempotency-Key`.
    pub(crate) token: Option<String>,
    /// What only quilts have.
    pub(crate) quilt: QuiltFields,
}

/// What a request for a quilt may say besides.
#[derive(Clone, Debug, Default)]
pub(crate) struct QuiltFields {
    /// The name that its task claims at its end.
    pub(crate) name: Option<&'static str>,
    /// A name that it refers to.
    pub(crate) uses: Option<&'static str>,
    /// The prompt of an earlier quilt that it follows up.
    pub(crate) follows: Option<String>,
}

/// A patch: a request that joins a quilt.
#[derive(Clone, Debug)]
pub(crate) struct PatchCall {
    pub(crate) key: usize,
    /// Identifies the patch; the provider reads it too.
    pub(crate) prompt: String,
    /// The prompt of the quilt.
    pub(crate) joins: String,
    /// The `Idempotency-Key`.
    pub(crate) token: Option<String>,
    /// Another request brings the same patch: one of the two joins.
    pub(crate) has_rival: bool,
}

/// What kind of submission it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SubmissionKind {
    Good(&'static str),
    /// Accepted, and fails later.
    Doomed,
    /// Refused.
    Invalid,
    /// For a model that does not exist.
    Unknown,
}

/// The API a text client uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Client {
    Messages,
    Chat,
}

pub(crate) const CLIENTS: [Client; 2] = [Client::Messages, Client::Chat];

impl Client {
    pub(crate) fn surface(self) -> &'static str {
        match self {
            Self::Messages => "messages.create",
            Self::Chat => "chat.completions",
        }
    }

    pub(crate) fn body(self, model: &str, prompt: &str, streaming: bool) -> CheckedBody {
        let mut body = json!({
            "model": model, "max_tokens": 400, "stream": streaming,
            "messages": [{"role": "user", "content": prompt}],
        });
        if self == Self::Chat && streaming {
            body["stream_options"] = json!({"include_usage": true});
        }
        CheckedBody::parse(body.to_string().into(), None).expect("a JSON object")
    }

    /// Whether an event tells the client that its answer is complete.
    pub(crate) fn is_last(self, name: Option<&str>, data: &str) -> bool {
        match self {
            Self::Messages => name == Some("message_stop"),
            Self::Chat => data == "[DONE]",
        }
    }
}

/// A text request of a client.
#[derive(Clone, Debug)]
pub(crate) struct TextCall {
    pub(crate) key: usize,
    /// Identifies the request; the provider reads it too.
    pub(crate) prompt: String,
    pub(crate) client: Client,
    /// The protocol of the model's provider.
    pub(crate) protocol: Protocol,
    pub(crate) streaming: bool,
    /// The client leaves after so many milliseconds.
    pub(crate) leaves: Option<u64>,
}

impl TextCall {
    /// The first text of the first key, whose client stays.
    pub(crate) fn plain(client: Client, protocol: Protocol, streaming: bool) -> Self {
        Self { key: 0, prompt: "prompt 1".to_owned(), client, protocol, streaming, leaves: None }
    }

    /// Whether such an answer delivers anything that must be paid.
    pub(crate) fn is_delivered(&self, outcome: TextOutcome) -> bool {
        outcome.delivers(self.protocol, self.streaming)
    }
}
