//! What the reading of an answer needs to know of its request, also of one that is an error.

use gatehouse_text_protocols::failures::{Failures, TooLong};
use gatehouse_text_protocols::field_names::FieldNames;
use gatehouse_text_protocols::incoming::{ChatClient, Incoming, speaks_chat};
use gatehouse_text_protocols::responses::Echo;
use gatehouse_text_protocols::rules::VectorEncoding;
use serde::{Deserialize, Serialize};

const TOO_LONG: TooLong =
    TooLong { words: "maximum context length", sentence: "This model's maximum context length is exceeded" };

/// Kept between a request and its answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The public name of the model.
    pub(crate) model: String,
    /// The provider's name of the model; clients never read it.
    pub(crate) upstream: String,
    /// The provider speaks Messages.
    pub(crate) translated: bool,
    /// The client asked for the chunk with the token counts.
    pub(crate) counted: bool,
    /// The client asked for a response, which is made of the completion.
    #[serde(default)]
    pub(crate) response: Option<Echo>,
    /// The beginning of the answer that the client has already.
    #[serde(default)]
    pub(crate) lead: String,
    /// Names of tools as the provider knows them, and as the client does, where they differ.
    #[serde(default)]
    pub(crate) names: Vec<(String, String)>,
    /// Where the fields of the provider's request came from.
    #[serde(default)]
    pub(crate) fields: FieldNames,
    /// The client asked with `functions`, and reads `function_call`.
    #[serde(default)]
    pub(crate) legacy: bool,
    /// The client asked for several answers.
    #[serde(default)]
    pub(crate) several: bool,
    /// The client asked for embeddings.
    #[serde(default)]
    pub(crate) embeddings: Option<EmbeddingsAsked>,
}

impl State {
    /// The reader of what the provider sends.
    pub(crate) fn incoming(&self) -> Incoming {
        if self.translated {
            return Incoming::new(false, &self.lead);
        }
        let reads_completions = self.response.is_none();
        let is_legacy = self.legacy && reads_completions;
        Incoming::of_chat(&self.lead, ChatClient { is_legacy, has_several: self.several, reads_completions })
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

    /// The state of the same request to a provider of the other protocol, where that is the one of its answer.
    pub(crate) fn turned(&self, answer: &str) -> Option<Self> {
        let is_chat = !self.translated;
        let is_other = self.embeddings.is_none() && speaks_chat(answer, is_chat) == Some(!is_chat);
        is_other.then(|| Self { translated: !self.translated, ..self.clone() })
    }
}

/// What a request for embeddings asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EmbeddingsAsked {
    /// Vectors, one for each input.
    pub(crate) inputs: usize,
    pub(crate) encoding: VectorEncoding,
}
