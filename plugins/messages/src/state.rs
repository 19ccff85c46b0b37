//! What the reading of an answer needs to know of its request, also of one that is an error or does not follow the protocol.

use gatehouse_sdk::{Protocol, TextFailure, Usage};
use gatehouse_text_protocols::failures::{Failures, TooLong};
use gatehouse_text_protocols::field_names::FieldNames;
use gatehouse_text_protocols::incoming::speaks_chat;
use serde::{Deserialize, Serialize};

const TOO_LONG: TooLong = TooLong { words: "prompt is too long", sentence: "prompt is too long" };

/// Kept between a request and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The public name of the model.
    pub(crate) model: String,
    /// The provider's name of the model; clients never read it. Empty in states of earlier versions.
    #[serde(default)]
    pub(crate) upstream: String,
    /// The protocol of the provider.
    pub(crate) wire: Wire,
    /// Whether the client asked for thinking, and so reads that of a chat provider.
    pub(crate) shown: bool,
    /// The beginning of the answer that the client has already.
    #[serde(default)]
    pub(crate) lead: String,
    /// The client's stop sequences, for providers that name the one they stopped at.
    #[serde(default)]
    pub(crate) stops: Vec<String>,
    /// Names of tools as a chat provider knows them, and as the client does, where they differ.
    #[serde(default)]
    pub(crate) names: Vec<(String, String)>,
    /// Where the fields of the provider's request came from.
    #[serde(default)]
    pub(crate) fields: FieldNames,
    /// Tokens that the input may have, until the provider counts them.
    #[serde(default)]
    pub(crate) input_estimate: u64,
}

impl State {
    /// The state of the same request to a provider of the other protocol.
    pub(crate) fn other(&self) -> Self {
        let wire = if self.wire == Wire::Chat { Wire::Messages } else { Wire::Chat };
        Self { wire, ..self.clone() }
    }

    /// The same, where that is the protocol of an answer.
    pub(crate) fn turned(&self, answer: &str) -> Option<Self> {
        let is_chat = self.wire == Wire::Chat;
        (speaks_chat(answer, is_chat) == Some(!is_chat)).then(|| self.other())
    }

    /// The reader of errors in the answer to a request.
    pub(crate) fn failures(&self) -> Failures<'_> {
        Failures {
            model: &self.model,
            upstream: &self.upstream,
            fields: &self.fields,
            renamed: &self.names,
            too_long: TOO_LONG,
        }
    }

    /// The counts at the beginning of a stream. Clients that read no later ones would show that nothing was read.
    pub(crate) fn begun(&self, counted: Usage) -> Usage {
        let is_read = (counted.input, counted.cached, counted.cache_write) != (0, 0, 0);
        if is_read { counted } else { Usage { input: self.input_estimate, ..counted } }
    }
}

/// The answer does not follow the protocol.
pub(crate) fn unreadable() -> TextFailure {
    TextFailure::upstream("the provider's answer does not read")
}

/// [`Protocol`], in a form that can be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Wire {
    Messages,
    Chat,
}

impl From<Protocol> for Wire {
    fn from(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Messages => Self::Messages,
            Protocol::Chat => Self::Chat,
        }
    }
}
