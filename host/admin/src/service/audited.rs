//! What a change of the store is called in the audit record, and what it is about. The names are those of
//! the admin API's operations, so that one filter finds a change whichever way it came. Pure.

use gatehouse_tasks::{Command, FieldChange, WebhookChange};
use serde_json::Value;

use crate::api::error::OperationError;
use crate::http::error::ApiError;
use crate::http::request::merge_patch::created;

/// The path of a provider's account.
pub(crate) fn account_object(provider: &str, account: &str) -> String {
    format!("providers/{provider}/accounts/{account}")
}

/// What somebody wrote may be long.
pub(super) fn shortened(text: String) -> String {
    text.chars().take(200).collect()
}

/// The same of a change of the store, with the fields that the change itself tells of.
pub(super) fn line_of_change(command: &Command) -> (&'static str, String, Vec<FieldChange>) {
    match command {
        Command::AddCustomer { id, .. } => ("createCustomer", format!("customers/{id}"), Vec::new()),
        Command::AddKey { key } => ("createKey", format!("keys/{}", key.id), created(&key.policy())),
        Command::Deposit { customer, amount, memo, .. } => {
            let name = if amount.0 < 0 { "withdraw" } else { "deposit" };
            let changes = vec![told("amount_micro", amount.0), told("memo", memo.as_str())];
            (name, format!("customers/{customer}"), changes)
        }
        Command::EditCustomer { id, .. } => ("editCustomer", format!("customers/{id}"), Vec::new()),
        Command::EditKey { id, .. } => ("editKey", format!("keys/{id}"), Vec::new()),
        Command::RevokeKey { id, at } => {
            ("revokeKey", format!("keys/{id}"), vec![told("revoked", at.to_string())])
        }
        Command::RotateKey { id, new, until, .. } => {
            let changes = vec![told("rotated_to", new.0.as_str()), told("expires", until.to_string())];
            ("rotateKey", format!("keys/{id}"), changes)
        }
        Command::Webhook { change, .. } => {
            let (name, object) = line_of_webhook_change(change);
            let changes = match &**change {
                WebhookChange::ResendAll { deliveries, .. } => {
                    vec![told("deliveries", deliveries.len())]
                }
                _ => Vec::new(),
            };
            (name, object, changes)
        }
        // No operator sends another one.
        _ => ("changeStore", String::new(), Vec::new()),
    }
}

fn line_of_webhook_change(change: &WebhookChange) -> (&'static str, String) {
    match change {
        WebhookChange::Add(webhook) => ("createWebhook", format!("webhooks/{}", webhook.id)),
        WebhookChange::Edit { id, .. } => ("editWebhook", format!("webhooks/{id}")),
        WebhookChange::Remove { id } => ("removeWebhook", format!("webhooks/{id}")),
        WebhookChange::Rotate { id, .. } => ("rotateWebhookSecret", format!("webhooks/{id}")),
        WebhookChange::Retire { id } => ("retireWebhookSecret", format!("webhooks/{id}")),
        WebhookChange::Test { id, .. } => ("testWebhook", format!("webhooks/{id}")),
        WebhookChange::Resend { delivery } => ("resendDelivery", format!("deliveries/{delivery}")),
        WebhookChange::ResendAll { id, .. } => ("resendDeliveries", format!("webhooks/{id}")),
        WebhookChange::Record { .. } | WebhookChange::Sweep { .. } => ("changeStore", String::new()),
    }
}

/// What a change sets, where nothing is told of what was there before.
pub(crate) fn told(field: &str, value: impl Into<Value>) -> FieldChange {
    FieldChange { field: field.to_owned(), before: None, after: Some(value.into().to_string()) }
}

/// The status that the admin API answers with for an error.
pub(super) fn status_of(error: &OperationError) -> u16 {
    ApiError::from(error.clone()).status()
}
