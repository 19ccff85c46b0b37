//! The rows of webhooks and of their deliveries. Data only.

use gatehouse_model::{CustomerId, DeliveryId, KeyId, TaskId, UnixMs, WebhookId, words};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a webhook is disabled that an operator disabled.
pub const BY_OPERATOR: &str = "an operator disabled it";
/// The same of its customer.
pub(crate) const BY_CUSTOMER: &str = "its owner disabled it";
/// Events that one command sends again.
pub const MAX_RESENT: usize = 500;
/// Webhooks that operators make for one customer, at most.
pub const MAX_WEBHOOKS: usize = 10;
/// Webhooks that one customer makes with its own keys, at most.
pub const MAX_OWN_WEBHOOKS: usize = 10;
/// Webhooks of one customer, at most: those of its operators and its own.
pub const MAX_CUSTOMER_WEBHOOKS: usize = MAX_WEBHOOKS + MAX_OWN_WEBHOOKS;
/// Deliveries that wait for one webhook, at most. The oldest fails to make room for the next.
pub const MAX_PENDING: u32 = 10_000;
/// Attempts that a delivery's row keeps: the last ones.
pub(crate) const MAX_ATTEMPTS: usize = 16;
/// Bytes of a URL, at most.
pub const MAX_URL: usize = 2_048;
/// Bytes of a description, at most.
pub const MAX_DESCRIPTION: usize = 200;
/// Bytes of a receiver's answer that are kept of an attempt.
pub const MAX_ANSWER: usize = 1_024;

// Rows and the admin API have this one type.
words! {
    /// An event that a webhook may be told of.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
    pub enum WebhookEvent {
        /// A task completed.
        #[serde(rename = "task.completed")]
        Completed = "task.completed",
        /// A task failed, by its time limit too.
        #[serde(rename = "task.failed")]
        Failed = "task.failed",
        /// Its client stopped it.
        #[serde(rename = "task.cancelled")]
        Cancelled = "task.cancelled",
        /// What the customer has not spent fell below its `low_balance_micro`.
        #[serde(rename = "balance.low")]
        BalanceLow = "balance.low",
        /// The customer's quota, or that of one of its keys, is used up to its `quota_alert_percent`.
        #[serde(rename = "quota.reached")]
        QuotaReached = "quota.reached",
        /// An account of a provider cannot be used. Of the operators' own webhooks, as are those below.
        #[serde(rename = "account.down")]
        AccountDown = "account.down",
        /// It can be used again.
        #[serde(rename = "account.up")]
        AccountUp = "account.up",
        /// A canary was rolled back.
        #[serde(rename = "canary.rolled_back")]
        CanaryRolledBack = "canary.rolled_back",
        /// An operator tries the webhook out. No webhook chooses it.
        #[serde(rename = "webhook.test")]
        #[schemars(skip)]
        Test = "webhook.test",
    }
}

impl WebhookEvent {
    /// Those that the webhooks of a customer can choose.
    pub const OF_CUSTOMERS: [Self; 5] =
        [Self::Completed, Self::Failed, Self::Cancelled, Self::BalanceLow, Self::QuotaReached];
    /// Those that the operators' own webhooks can choose.
    pub const OF_OPERATORS: [Self; 3] = [Self::AccountDown, Self::AccountUp, Self::CanaryRolledBack];

    /// Those that some webhook can choose.
    pub fn choosable() -> impl Iterator<Item = Self> {
        Self::OF_CUSTOMERS.into_iter().chain(Self::OF_OPERATORS)
    }

    /// Those that a webhook of that owner can choose.
    #[must_use]
    pub fn all_of(owner: &CustomerId) -> &'static [Self] {
        if owner.0.is_empty() { &Self::OF_OPERATORS } else { &Self::OF_CUSTOMERS }
    }

    /// The event of that name, if a customer's webhook can choose it.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::OF_CUSTOMERS.into_iter().find(|event| event.as_str() == name)
    }
}

/// What an edit of a webhook may change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookPolicy {
    /// Where events are posted to: https, without a user name, at most 2048 bytes.
    pub url: String,
    /// Which events; empty for all.
    #[serde(default)]
    pub events: Vec<WebhookEvent>,
    /// For people; at most 200 bytes.
    #[serde(default)]
    pub description: String,
    /// Whether anything is sent. What waits meanwhile is sent when it is enabled again.
    #[serde(default = "enabled")]
    pub enabled: bool,
}

const fn enabled() -> bool {
    true
}

/// A signing secret, encrypted under a key of the data folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedSecret {
    /// When it was made.
    pub created: UnixMs,
    /// Nonce, ciphertext and tag.
    #[serde(with = "serde_bytes")]
    pub sealed: Vec<u8>,
}

/// A secret that was replaced and signs beside its successor for a while.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OldSecret {
    /// The secret.
    pub secret: SealedSecret,
    /// From when on it signs no more.
    pub until: UnixMs,
}

/// Why nothing is sent, and since when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disabled {
    /// Since when.
    pub at: UnixMs,
    /// Why, a sentence.
    pub reason: String,
}

/// One address of a customer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookEndpoint {
    /// Its id.
    pub id: WebhookId,
    /// Whose tasks it hears of; nobody's for one of the operators' own.
    pub customer: CustomerId,
    /// The key that it was made with; `None` for one that an operator made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<KeyId>,
    /// Where events are posted to.
    pub url: String,
    /// Which events; empty for all.
    pub events: Vec<WebhookEvent>,
    /// For people.
    pub description: String,
    /// When it was made.
    pub created: UnixMs,
    /// Counts what people change, not deliveries.
    pub revision: u64,
    /// Signs.
    pub secret: SealedSecret,
    /// Signs too, until its time.
    pub old_secret: Option<OldSecret>,
    /// Nothing is sent.
    pub disabled: Option<Disabled>,
    /// Deliveries that wait.
    pub pending: u32,
    /// The first failure since the last success.
    pub failing_since: Option<UnixMs>,
    /// The last success.
    pub last_success: Option<UnixMs>,
    /// The last attempt of any delivery.
    pub last_attempt: Option<WebhookAttempt>,
}

/// One attempt to deliver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookAttempt {
    /// When it began.
    pub at: UnixMs,
    /// How long it took.
    pub took_ms: u64,
    /// The status of the answer.
    pub status: Option<u16>,
    /// Why there was no answer; empty where there was one.
    pub error: String,
    /// The beginning of the answer's body, at most [`MAX_ANSWER`] bytes.
    pub answer: String,
}

/// How far a delivery is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeliveryState {
    /// It waits for its next attempt.
    Pending {
        /// When that is due.
        due: UnixMs,
    },
    /// The receiver took it.
    Delivered {
        /// When.
        at: UnixMs,
    },
    /// It is not tried any more.
    Failed {
        /// Since when.
        at: UnixMs,
        /// Why, a sentence.
        reason: String,
    },
}

/// An address as records and pages show it: a query may hold a secret of its owner.
#[must_use]
pub fn shown_url(url: &str) -> String {
    match url.find(['?', '#']) {
        Some(end) => format!("{}?...", &url[..end]),
        None => url.to_owned(),
    }
}

/// Where a submission wants its task's end told, beside all webhooks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Callback {
    /// The address.
    pub url: String,
    /// The key that the task was submitted with; its secret signs.
    pub key: KeyId,
}

/// One event for one webhook, or for the address that its task was submitted with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookDelivery {
    /// Its id, `webhook-id` of every attempt.
    pub id: DeliveryId,
    /// Where it goes. For a callback the queue it waits in, which has no row.
    pub webhook: WebhookId,
    /// Where it goes instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callback: Option<Callback>,
    /// Who owns the webhook.
    pub customer: CustomerId,
    /// The task that ended.
    pub task: Option<TaskId>,
    /// What is told.
    pub event: WebhookEvent,
    /// The body, signed and sent as these bytes.
    #[serde(with = "serde_bytes")]
    pub body: Vec<u8>,
    /// When it happened.
    pub created: UnixMs,
    /// How far it is.
    pub state: DeliveryState,
    /// Attempts since it was made, or sent again by hand. They decide about the next.
    pub tries: u32,
    /// The last attempts, oldest first.
    pub attempts: Vec<WebhookAttempt>,
}

impl WebhookEndpoint {
    /// One that has sent nothing yet.
    #[must_use]
    pub fn new(
        id: WebhookId,
        customer: CustomerId,
        policy: WebhookPolicy,
        secret: SealedSecret,
        made_by: Option<KeyId>,
    ) -> Self {
        let WebhookPolicy { url, events, description, enabled } = policy;
        let (created, by) = (secret.created, if made_by.is_some() { BY_CUSTOMER } else { BY_OPERATOR });
        let disabled = (!enabled).then(|| Disabled { at: created, reason: by.to_owned() });
        Self {
            id,
            customer,
            made_by,
            url,
            events,
            description,
            created,
            revision: 0,
            secret,
            old_secret: None,
            disabled,
            pending: 0,
            failing_since: None,
            last_success: None,
            last_attempt: None,
        }
    }

    /// Whether it does not reach its receiver: disabled by the gateway, or failing since its last success. One that somebody
    /// disabled is as it should be.
    #[must_use]
    pub fn is_troubled(&self) -> bool {
        match &self.disabled {
            Some(disabled) => ![BY_OPERATOR, BY_CUSTOMER].contains(&disabled.reason.as_str()),
            None => self.failing_since.is_some(),
        }
    }

    /// Whether an operator disabled it, which its customer cannot undo.
    #[must_use]
    pub fn is_disabled_by_operator(&self) -> bool {
        self.disabled.as_ref().is_some_and(|disabled| disabled.reason == BY_OPERATOR)
    }

    /// What was set.
    #[must_use]
    pub fn policy(&self) -> WebhookPolicy {
        WebhookPolicy {
            url: self.url.clone(),
            events: self.events.clone(),
            description: self.description.clone(),
            enabled: self.disabled.is_none(),
        }
    }

    /// Whether it is told of that event.
    #[must_use]
    pub fn takes(&self, event: WebhookEvent) -> bool {
        self.disabled.is_none() && (self.events.is_empty() || self.events.contains(&event))
    }

    /// The secrets that sign at a moment, the new one first.
    pub fn secrets(&self, at: UnixMs) -> impl Iterator<Item = &SealedSecret> {
        let old = self.old_secret.iter().filter(move |old| at < old.until).map(|old| &old.secret);
        std::iter::once(&self.secret).chain(old)
    }
}

impl WebhookAttempt {
    /// Whether the receiver took the event: 2xx alone. A redirect is none.
    #[must_use]
    pub fn succeeded(&self) -> bool {
        self.status.is_some_and(|status| (200..300).contains(&status))
    }

    /// Why it failed, in words.
    #[must_use]
    pub fn problem(&self) -> String {
        match self.status {
            Some(status) => format!("the receiver answered {status}"),
            None => self.error.clone(),
        }
    }
}

impl WebhookDelivery {
    /// When its next attempt is due.
    #[must_use]
    pub fn due(&self) -> Option<UnixMs> {
        match self.state {
            DeliveryState::Pending { due } => Some(due),
            _ => None,
        }
    }
}
