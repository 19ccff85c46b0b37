//! Webhooks as operators read and write them: over HTTP and on the command line alike. Never holds a secret but in the
//! answer that makes it.

use gatehouse_model::view;
use gatehouse_tasks::{
    DeliveryState, WebhookAttempt, WebhookDelivery, WebhookEndpoint, WebhookEvent, operators, shown_url,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::values::Moment;

view! {
    /// A webhook. Its secret is shown once, by the request that makes it.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[schemars(rename = "Webhook")]
    pub(crate) struct WebhookView of (row: &WebhookEndpoint) {
        /// Its id.
        pub id: String = row.id.to_string(),
        /// Whose tasks it hears of; null for one of the operators' own.
        pub customer: Option<String> = (row.customer != operators()).then(|| row.customer.0.clone()),
        /// The key that its customer made it with; null for one that an operator made.
        pub made_by: Option<String> = row.made_by.as_ref().map(|key| key.0.clone()),
        /// Where events are posted to.
        pub url: String = row.url.clone(),
        /// Which events; empty for all.
        pub events: Vec<WebhookEvent> = row.events.clone(),
        /// For people.
        pub description: String = row.description.clone(),
        /// Whether anything is sent.
        pub enabled: bool = row.disabled.is_none(),
        /// Since when nothing is sent.
        pub disabled_at: Option<Moment> = row.disabled.as_ref().map(|disabled| Moment(disabled.at)),
        /// Why nothing is sent.
        pub disabled_reason: Option<String> = row.disabled.as_ref().map(|disabled| disabled.reason.clone()),
        /// When it was made.
        pub created: Moment = row.created.into(),
        /// Counts what people change.
        pub revision: u64 = row.revision,
        /// When its secret was made.
        pub secret_created: Moment = row.secret.created.into(),
        /// Until when the secret before signs too.
        pub old_secret_until: Option<Moment> = row.old_secret.as_ref().map(|old| Moment(old.until)),
        /// Deliveries that wait.
        pub pending: u32 = row.pending,
        /// The first failure since the last success.
        pub failing_since: Option<Moment> = row.failing_since.map(Moment),
        /// The last success.
        pub last_success: Option<Moment> = row.last_success.map(Moment),
        /// The last attempt of any delivery.
        pub last_attempt: Option<AttemptView> = row.last_attempt.as_ref().map(AttemptView::from),
    }
}

view! {
    /// One attempt to deliver.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[schemars(rename = "WebhookAttempt")]
    pub(crate) struct AttemptView of (attempt: &WebhookAttempt) {
        /// When it began.
        pub at: Moment = attempt.at.into(),
        /// How long it took.
        pub took_ms: u64 = attempt.took_ms,
        /// The status of the answer.
        pub status: Option<u16> = attempt.status,
        /// Why it failed; empty where it did not.
        pub problem: String = if attempt.succeeded() { String::new() } else { attempt.problem() },
        /// The beginning of the answer's body, at most 1 KiB.
        pub answer: String = attempt.answer.clone(),
    }
}

/// How far a delivery is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "WebhookDeliveryState")]
pub(crate) enum DeliveryStatus {
    /// It waits for its next attempt.
    Pending,
    /// The receiver took it.
    Delivered,
    /// It is not tried any more.
    Failed,
}

view! {
    /// One event for one webhook.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[schemars(rename = "WebhookDelivery")]
    pub(crate) struct DeliveryView of (row: &WebhookDelivery) where {
        let (status, reason) = match &row.state {
            DeliveryState::Pending { .. } => (DeliveryStatus::Pending, None),
            DeliveryState::Delivered { .. } => (DeliveryStatus::Delivered, None),
            DeliveryState::Failed { reason, .. } => (DeliveryStatus::Failed, Some(reason.clone())),
        };
    } {
        /// Its id, `webhook-id` of every attempt.
        pub id: String = row.id.to_string(),
        /// The webhook; for a callback the queue it waits in.
        pub webhook: String = row.webhook.to_string(),
        /// Where a callback goes, without its query; null for a webhook's.
        pub callback: Option<String> = row.callback.as_ref().map(|callback| shown_url(&callback.url)),
        /// The task that ended; null for a test.
        pub task: Option<String> = row.task.map(|task| task.to_string()),
        /// The event, such as `task.completed`, or `webhook.test`.
        pub event: String = row.event.as_str().to_owned(),
        /// When it happened.
        pub created: Moment = row.created.into(),
        /// How far it is.
        pub status: DeliveryStatus = status,
        /// When the next attempt is due.
        pub due: Option<Moment> = row.due().map(Moment),
        /// Why it is not tried any more.
        pub reason: Option<String> = reason,
        /// The body, as it is signed and sent.
        pub body: String = String::from_utf8_lossy(&row.body).into_owned(),
        /// The last attempts, oldest first.
        pub attempts: Vec<AttemptView> = row.attempts.iter().map(AttemptView::from).collect(),
    }
}

/// A webhook to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewWebhook {
    /// Whose tasks it hears of; null for one of the operators' own, which hears of accounts and canaries.
    #[serde(default)]
    pub customer: Option<String>,
    /// Where events are posted to: https, without a user name, at most 2048 bytes.
    pub url: String,
    /// Which events; empty for all.
    #[serde(default)]
    pub events: Vec<WebhookEvent>,
    /// For people; at most 200 bytes.
    #[serde(default)]
    pub description: String,
}

/// Which deliveries of a webhook to send again. Deliveries are kept for seven days.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ResendRange {
    /// Only events that happened at or after this moment.
    pub from: Option<Moment>,
    /// Only events that happened before this moment.
    pub before: Option<Moment>,
    /// Delivered ones too; without it, failed ones only. What waits is sent by itself.
    pub delivered: bool,
    /// `next` of the answer before: goes on after the last event that was sent again.
    pub cursor: Option<String>,
}

/// What was sent again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ResentRange {
    /// How many events.
    pub resent: u64,
    /// `cursor` for the rest of the range; null where there is none.
    pub next: Option<String>,
}
