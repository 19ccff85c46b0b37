//! What Google answers: `GenerateContentResponse`, whole or as one frame of a stream.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::forms;
use crate::usage::UsageMetadata;

/// An answer, or a piece of one. What is missing in any of these is as in Google's own libraries: nothing. Servers between write
/// the names as Google's descriptions have them, with underscores.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct GenerateContentResponse<'a> {
    #[serde(borrow)]
    pub(crate) candidates: Option<Vec<Candidate<'a>>>,
    #[serde(alias = "prompt_feedback")]
    pub(crate) prompt_feedback: Option<PromptFeedback>,
    #[serde(alias = "usage_metadata")]
    pub(crate) usage_metadata: Option<UsageMetadata>,
    #[serde(alias = "response_id")]
    pub(crate) response_id: Option<String>,
    #[serde(borrow)]
    pub(crate) error: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Candidate<'a> {
    #[serde(borrow)]
    pub(crate) content: Option<Content<'a>>,
    #[serde(alias = "finish_reason")]
    pub(crate) finish_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Content<'a> {
    #[serde(borrow)]
    pub(crate) parts: Option<Vec<Part<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Part<'a> {
    pub(crate) text: Option<String>,
    pub(crate) thought: Option<bool>,
    #[serde(alias = "thought_signature")]
    pub(crate) thought_signature: Option<String>,
    #[serde(borrow, alias = "function_call")]
    pub(crate) function_call: Option<FunctionCall<'a>>,
    /// A picture or a sound in base64.
    #[serde(borrow, alias = "inline_data")]
    pub(crate) inline_data: Option<&'a RawValue>,
    /// The same by its address.
    #[serde(borrow, alias = "file_data")]
    pub(crate) file_data: Option<&'a RawValue>,
    /// Code that Google ran, and what it printed.
    #[serde(borrow, alias = "executable_code")]
    pub(crate) executable_code: Option<&'a RawValue>,
    #[serde(borrow, alias = "code_execution_result")]
    pub(crate) code_execution_result: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct FunctionCall<'a> {
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    #[serde(borrow)]
    pub(crate) args: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PromptFeedback {
    #[serde(alias = "block_reason")]
    pub(crate) block_reason: Option<String>,
}

impl<'a> GenerateContentResponse<'a> {
    /// Reads an answer, if need be in the form of Google's descriptions, which `standard` keeps.
    pub(crate) fn read(json: &'a str, standard: &'a mut Option<String>) -> Option<Self> {
        if let Ok(read) = serde_json::from_str(json) {
            return Some(read);
        }
        *standard = forms::standard(json);
        serde_json::from_str(standard.as_deref()?).ok()
    }

    /// The one candidate that was asked for.
    pub(crate) fn candidate(&mut self) -> Option<Candidate<'a>> {
        self.candidates.take()?.into_iter().next()
    }

    /// Whether the prompt was not answered at all.
    pub(crate) fn is_blocked(&self) -> bool {
        self.prompt_feedback.as_ref().is_some_and(|feedback| feedback.block_reason.is_some())
    }
}
