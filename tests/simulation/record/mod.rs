//! The simulated provider as a plan and the oracle know it: where it is, how it answers (outcomes), and what it remembers. The
//! system under test never sees it. Imports nothing of this crate but itself and its randomness.

pub(crate) mod hook_record;
pub(crate) mod outcomes;
pub(crate) mod provider_record;
pub(crate) mod text_outcomes;

use crate::record::text_outcomes::Protocol;

/// Accounts at the provider and their concurrency, in order of priority.
pub(crate) const ACCOUNT_LIMITS: [(&str, usize); 2] = [("main", 3), ("spare", 2)];

/// Where webhooks are posted to.
pub(crate) const HOOK_HOST: &str = "hooks.customer.test";

/// The key of an account: this, and its name.
pub(crate) const KEY_OF: &str = "the key of ";

/// What an endpoint serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Submit,
    Poll,
    Delivery,
    Text(Protocol),
    /// No provider: where a customer hears of its tasks.
    Hook,
}

/// Each endpoint has a name; its address follows from its number.
pub(crate) const ENDPOINTS: [(&str, Endpoint); 6] = [
    ("api.provider.test", Endpoint::Submit),
    ("region.provider.test", Endpoint::Poll),
    ("delivery.provider.test", Endpoint::Delivery),
    ("messages.provider.test", Endpoint::Text(Protocol::Messages)),
    ("chat.provider.test", Endpoint::Text(Protocol::Chat)),
    (HOOK_HOST, Endpoint::Hook),
];
