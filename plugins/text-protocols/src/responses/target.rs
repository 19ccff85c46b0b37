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
