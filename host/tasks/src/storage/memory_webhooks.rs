//! Rows of webhooks in memory, for [`MemoryLedgerStorage`](crate::MemoryLedgerStorage).

use std::collections::BTreeMap;

use gatehouse_model::{CustomerId, DeliveryId, WebhookId};

use crate::webhooks::record::{WebhookDelivery, WebhookEndpoint};

/// The rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MemoryWebhooks {
    pub(crate) webhooks: BTreeMap<WebhookId, WebhookEndpoint>,
    pub(crate) deliveries: BTreeMap<DeliveryId, WebhookDelivery>,
}

impl MemoryWebhooks {
    pub(crate) fn of(&self, customer: &CustomerId) -> Vec<WebhookEndpoint> {
        self.webhooks.values().filter(|webhook| webhook.customer == *customer).cloned().collect()
    }

    pub(crate) fn oldest_pending(&self, webhook: WebhookId) -> Option<WebhookDelivery> {
        let waits = |row: &&WebhookDelivery| row.webhook == webhook && row.due().is_some();
        self.deliveries.values().find(waits).cloned()
    }
}
