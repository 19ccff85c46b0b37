//! The decisions about a call that both protocols need.

use gatehouse_text_protocols::rules::Rules;

use super::thinking::ThinkingRequest;

/// What a translation needs besides the request.
pub(crate) struct CallPlan<'o> {
    pub(crate) rules: &'o Rules,
    /// The provider's name of the model.
    pub(crate) upstream: &'o str,
    /// The cap to be sent, if any.
    pub(crate) cap: Option<u32>,
    /// Whether `temperature` is sent.
    pub(crate) temperature: bool,
    /// Whether `top_p` is sent.
    pub(crate) top_p: bool,
    pub(crate) thinking: ThinkingRequest,
}
