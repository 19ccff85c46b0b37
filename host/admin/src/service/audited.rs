//! What an operation, or a change of the store, is called in the audit record, and what it is about. The names are those of
//! the admin API's operations, so that one filter finds a change whichever way it came. Pure.

use gatehouse_tasks::{Command, FieldChange, WebhookChange};
use serde_json::Value;

use crate::api::error::OperationError;
use crate::api::operation::Operation;
use crate::api::webhook::WebhookRequest;
use crate::http::error::ApiError;
use crate::http::request::merge_patch::created;

/// The name of an operation that leaves a line, and what it is about as far as its text says; none for one that only reads.
pub(super) fn line_of(operation: &Operation) -> Option<(&'static str, String)> {
    use Operation as O;
    let about = match operation {
        O::CustomerOpen { customer } => ("createCustomer", format!("customers/{customer}")),
        O::CustomerDeposit { customer, .. } => ("deposit", format!("customers/{customer}")),
        O::CustomerWithdraw { customer, .. } => ("withdraw", format!("customers/{customer}")),
        O::KeyCreate(_) => ("createKey", "keys".to_owned()),
        O::KeyEdit { key, .. } => ("editKey", format!("keys/{key}")),
        O::KeyRotate { key, .. } => ("rotateKey", format!("keys/{key}")),
        O::KeyRevoke { key } => ("revokeKey", format!("keys/{key}")),
        O::Webhook { request } => return webhook_line(request),
        O::ConsoleLink { role } => ("createLoginLink", format!("console/{role}")),
        O::TaskReconcile { task, .. } => ("reconcileTask", format!("tasks/{task}")),
        O::TaskCancel { task, .. } => ("cancelTask", format!("tasks/{task}")),
        O::TaskSteps { task } => ("listTaskSteps", format!("tasks/{task}/steps")),
        O::Reload => ("reloadConfig", "config".to_owned()),
        O::ProviderDrain { provider, account } => ("drainAccount", account_object(provider, account)),
        O::ProviderResume { provider, account } => ("resumeAccount", account_object(provider, account)),
        O::PluginInstall(offer) => ("deployPlugin", plugin(&offer.component.digest().to_string())),
        O::PluginCheck(offer) => ("checkPlugin", plugin(&offer.component.digest().to_string())),
        O::PluginActivate { version, .. } => ("activatePlugin", plugin(version)),
        O::PluginRemove { version } => ("removePlugin", plugin(version)),
        O::PluginRollback { family } => ("rollBackFamily", format!("families/{family}")),
        O::PluginDisable { family } => ("disableFamily", format!("families/{family}")),
        O::PluginEnable { family } => ("enableFamily", format!("families/{family}")),
        O::PluginUninstall { family } => ("uninstallFamily", format!("families/{family}")),
        O::CustomerList
        | O::CustomerShow { .. }
        | O::KeyList { .. }
        | O::KeyShow { .. }
        | O::Doctor
        | O::Audit { .. }
        | O::Prices
        | O::PriceHistory { .. }
        | O::PriceDiff { .. }
        | O::PricePreview { .. }
        | O::ProviderList
        | O::TaskList { .. }
        | O::PluginList
        | O::DeploymentList { .. }
        | O::DeploymentShow { .. } => return None,
    };
    Some((about.0, shortened(about.1)))
}

/// The path of a provider's account.
pub(crate) fn account_object(provider: &str, account: &str) -> String {
    format!("providers/{provider}/accounts/{account}")
}

fn plugin(version: &str) -> String {
    format!("plugins/{version}")
}

/// What somebody wrote may be long.
fn shortened(text: String) -> String {
    text.chars().take(200).collect()
}

fn webhook_line(request: &WebhookRequest) -> Option<(&'static str, String)> {
    let webhook = |id: &gatehouse_model::WebhookId| format!("webhooks/{id}");
    Some(match request {
        WebhookRequest::Create(_) => ("createWebhook", "webhooks".to_owned()),
        WebhookRequest::Enable { id, .. } => ("editWebhook", webhook(id)),
        WebhookRequest::Rotate(id) => ("rotateWebhookSecret", webhook(id)),
        WebhookRequest::Retire(id) => ("retireWebhookSecret", webhook(id)),
        WebhookRequest::Remove(id) => ("removeWebhook", webhook(id)),
        WebhookRequest::Test(id) => ("testWebhook", webhook(id)),
        WebhookRequest::Resend(id) => ("resendDelivery", format!("deliveries/{id}")),
        WebhookRequest::ResendRange { id, .. } => ("resendDeliveries", webhook(id)),
        WebhookRequest::List { .. } | WebhookRequest::Show(_) => return None,
    })
}

/// The same of a change of the store, with the fields that the change itself tells of.
pub(super) fn line_of_change(command: &Command) -> (&'static str, String, Vec<FieldChange>) {
    match command {
        Command::AddCustomer { id, .. } => ("createCustomer", format!("customers/{id}"), Vec::new()),
        Command::AddKey { key } => ("createKey", format!("keys/{}", key.id), created(&key.policy())),
        Command::Deposit { customer, amount, memo, .. } => {
            let name = if amount.0 < 0 { "withdraw" } else { "deposit" };
            let changes = vec![after("amount_micro", amount.0.into()), after("memo", memo.as_str().into())];
            (name, format!("customers/{customer}"), changes)
        }
        Command::EditKey { id, .. } => ("editKey", format!("keys/{id}"), Vec::new()),
        Command::RevokeKey { id, at } => {
            ("revokeKey", format!("keys/{id}"), vec![after("revoked", at.to_string().into())])
        }
        Command::RotateKey { id, new, until, .. } => {
            let changes =
                vec![after("rotated_to", new.0.as_str().into()), after("expires", until.to_string().into())];
            ("rotateKey", format!("keys/{id}"), changes)
        }
        Command::Webhook { change, .. } => {
            let (name, object) = line_of_webhook_change(change);
            let changes = match &**change {
                WebhookChange::ResendAll { deliveries, .. } => {
                    vec![after("deliveries", deliveries.len().into())]
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

fn after(field: &str, value: Value) -> FieldChange {
    FieldChange { field: field.to_owned(), before: None, after: Some(value.to_string()) }
}

/// The status that the admin API answers with for an error.
pub(super) fn status_of(error: &OperationError) -> u16 {
    ApiError::from(error.clone()).status()
}
