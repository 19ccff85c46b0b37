//! What can change about webhooks: one value for each.

use gatehouse_model::{DeliveryId, WebhookId};
use serde::{Deserialize, Serialize};

use crate::records::webhook::{SealedSecret, WebhookAttempt, WebhookEndpoint, WebhookPolicy};

/// One change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WebhookChange {
    /// Makes a webhook.
    Add(Box<WebhookEndpoint>),
    /// Replaces what may be set. Enabling it forgets why it was disabled.
    Edit {
        /// The webhook.
        id: WebhookId,
        /// The revision that the policy is based on.
        revision: u64,
        /// All of it.
        policy: WebhookPolicy,
        /// Whether its customer does it, and not an operator.
        #[serde(default)]
        by_customer: bool,
        /// Whether an operator asks for it to be disabled, which counts where it is disabled already.
        #[serde(default)]
        by_word: bool,
    },
    /// Forgets a webhook. What waits for it is never sent.
    Remove {
        /// The webhook.
        id: WebhookId,
    },
    /// Another secret; the one before signs too for a day.
    Rotate {
        /// The webhook.
        id: WebhookId,
        /// The new secret.
        secret: SealedSecret,
    },
    /// Ends the secret before at once. Without one it changes nothing.
    Retire {
        /// The webhook.
        id: WebhookId,
    },
    /// Sends an event that only tries the webhook out.
    Test {
        /// The webhook.
        id: WebhookId,
        /// The id of the event.
        delivery: DeliveryId,
    },
    /// Sends an event again, or now instead of later, under its id.
    Resend {
        /// The event.
        delivery: DeliveryId,
    },
    /// Sends events of one webhook again, as [`WebhookChange::Resend`] does each. Those that are forgotten by now are left
    /// out.
    ResendAll {
        /// The webhook.
        id: WebhookId,
        /// The events, at most [`MAX_RESENT`](crate::MAX_RESENT).
        deliveries: Vec<DeliveryId>,
    },
    /// What became of an attempt; decides what follows.
    Record {
        /// The event.
        delivery: DeliveryId,
        /// The attempt.
        attempt: WebhookAttempt,
        /// What the receiver asked for.
        retry_after_ms: Option<u64>,
        /// Spreads retries: 0 to 1000.
        chance: u32,
    },
}
