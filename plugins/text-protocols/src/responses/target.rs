//! Who answers a request, and for whom. Data only.

use crate::rules::Rules;

/// Who answers the request, and for whom.
#[derive(Clone, Copy, Debug)]
pub struct Target<'t> {
    /// The provider's name of the model.
    pub upstream: &'t str,
    /// Whether the provider speaks Messages.
    pub is_messages: bool,
    /// The operator's rules for the model.
    pub rules: &'t Rules,
    /// The host's name of the customer.
    pub customer: &'t str,
    /// The present, in milliseconds.
    pub now: u64,
    /// Makes the ids.
    pub seed: u64,
}

impl Target<'_> {
    /// Whether a field that responses do not have goes to the provider: the model's `pass` lists it. Two that a Messages provider is
    /// sent are made of others.
    pub(super) fn passes(&self, field: &str) -> bool {
        if self.is_messages {
            self.rules.passes(field) && !matches!(field, "output_config" | "thinking")
        } else {
            self.rules.chat_passes(field)
        }
    }
}
