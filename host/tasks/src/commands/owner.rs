//! Whose rows a command changes.

use gatehouse_model::{CustomerId, DeliveryId, KeyId, RequestId, TaskId, WebhookId};

use crate::commands::command::Command;
use crate::commands::webhook_change::WebhookChange;

/// A customer, by id or by what belongs to it, or nobody. No command changes rows of two customers; lines of the audit record
/// are nobody's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner<'c> {
    /// This one.
    Customer(&'c CustomerId),
    /// The one that the delivery is for.
    OfDelivery(DeliveryId),
    /// The one with that key.
    OfKey(&'c KeyId),
    /// The one with that request's hold.
    OfRequest(RequestId),
    /// The one with that task.
    OfTask(TaskId),
    /// The one with that webhook.
    OfWebhook(WebhookId),
    /// None.
    Nobody,
}

impl Command {
    /// Whose rows it changes. An operator's request is its change's, and remembered with nobody's rows.
    #[must_use]
    pub fn customer(&self) -> Owner<'_> {
        match self {
            Self::AddCustomer { id, .. } | Self::EditCustomer { id, .. } => Owner::Customer(id),
            Self::AddKey { key } => Owner::Customer(&key.customer),
            Self::Administer { change, .. } => {
                change.as_ref().map_or(Owner::Nobody, |change| change.customer())
            }
            Self::Advance { id, .. } | Self::Finish { id, .. } | Self::Reconcile { id, .. } => {
                Owner::OfTask(*id)
            }
            Self::Audit { .. } | Self::KeepRecord { .. } | Self::MarkLedger { .. } => Owner::Nobody,
            Self::Deposit { customer, .. } | Self::ForgetResponse { customer, .. } => {
                Owner::Customer(customer)
            }
            Self::EditKey { id, .. } | Self::RevokeKey { id, .. } | Self::RotateKey { id, .. } => {
                Owner::OfKey(id)
            }
            Self::Forget { customer, .. } => customer.as_ref().map_or(Owner::Nobody, Owner::Customer),
            Self::Hold { key, .. } => Owner::OfKey(key),
            Self::Join { request, .. } => Owner::OfKey(&request.key),
            Self::KeepResponse { record, .. } => Owner::Customer(&record.customer),
            Self::Logged { change, .. } => change.customer(),
            Self::Release { id, .. } | Self::Settle { id, .. } => Owner::OfRequest(*id),
            Self::Submit { task, .. } => Owner::Customer(&task.customer),
            Self::Webhook { change, .. } => match &**change {
                WebhookChange::Add(webhook) => Owner::Customer(&webhook.customer),
                WebhookChange::Edit { id, .. }
                | WebhookChange::Remove { id }
                | WebhookChange::ResendAll { id, .. }
                | WebhookChange::Retire { id }
                | WebhookChange::Rotate { id, .. }
                | WebhookChange::Test { id, .. } => Owner::OfWebhook(*id),
                WebhookChange::Record { delivery, .. } | WebhookChange::Resend { delivery } => {
                    Owner::OfDelivery(*delivery)
                }
            },
        }
    }
}
