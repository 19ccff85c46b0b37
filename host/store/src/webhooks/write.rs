//! The tables of webhooks in a write transaction. They are opened only where a command needs them, so that no other commit
//! pays for them.

use std::collections::BTreeSet;
use std::mem;

use gatehouse_model::{CustomerId, DeliveryId, WebhookId};
use gatehouse_tasks::{WebhookDelivery, WebhookEndpoint};
use redb::{ReadableTable as _, WriteTransaction};

use crate::error::StoreError;
use crate::layout::{
    ALL_DELIVERIES, DELIVERIES, DELIVERY_DUE, DELIVERY_INDEX, PENDING_DELIVERIES, TROUBLED_WEBHOOKS,
    WEBHOOK_OWNERS, WEBHOOKS,
};
use crate::row::encode;
use crate::tables::find;

const ROWS: &str = "webhooks";
const DELIVERY_ROWS: &str = "deliveries";

/// The tables, and what was written into them.
pub(crate) struct WebhookTables<'txn> {
    txn: &'txn WriteTransaction,
    written: BTreeSet<WebhookId>,
}

impl<'txn> WebhookTables<'txn> {
    pub(crate) fn new(txn: &'txn WriteTransaction) -> Self {
        Self { txn, written: BTreeSet::new() }
    }

    /// Makes those that are missing.
    pub(crate) fn make(txn: &WriteTransaction) -> Result<(), StoreError> {
        txn.open_table(WEBHOOKS)?;
        txn.open_table(WEBHOOK_OWNERS)?;
        txn.open_table(DELIVERIES)?;
        txn.open_table(DELIVERY_INDEX)?;
        txn.open_table(DELIVERY_DUE)?;
        txn.open_table(TROUBLED_WEBHOOKS)?;
        Ok(())
    }

    /// The webhooks whose rows or deliveries were written since the last call of this.
    pub(crate) fn take_written(&mut self) -> BTreeSet<WebhookId> {
        mem::take(&mut self.written)
    }

    pub(crate) fn find(&self, id: WebhookId) -> Result<Option<WebhookEndpoint>, StoreError> {
        find(ROWS, &self.txn.open_table(WEBHOOKS)?, id.bits())
    }

    pub(crate) fn of(&self, customer: &CustomerId) -> Result<Vec<WebhookEndpoint>, StoreError> {
        let customer = customer.0.as_str();
        let owners = self.txn.open_table(WEBHOOK_OWNERS)?;
        let mut rows = owners.range((customer, 0)..=(customer, u128::MAX))?.peekable();
        if rows.peek().is_none() {
            return Ok(Vec::new());
        }
        let webhooks = self.txn.open_table(WEBHOOKS)?;
        let mut found = Vec::new();
        for row in rows {
            found.extend(find(ROWS, &webhooks, row?.0.value().1)?);
        }
        Ok(found)
    }

    pub(crate) fn put(&mut self, webhook: &WebhookEndpoint) -> Result<(), StoreError> {
        let row = encode(ROWS, webhook)?;
        self.txn.open_table(WEBHOOKS)?.insert(webhook.id.bits(), row.as_slice())?;
        self.txn.open_table(WEBHOOK_OWNERS)?.insert((webhook.customer.0.as_str(), webhook.id.bits()), ())?;
        let mut troubled = self.txn.open_table(TROUBLED_WEBHOOKS)?;
        match webhook.is_troubled() {
            true => drop(troubled.insert(webhook.id.bits(), ())?),
            false => drop(troubled.remove(webhook.id.bits())?),
        }
        self.written.insert(webhook.id);
        Ok(())
    }

    pub(crate) fn remove(&mut self, webhook: &WebhookEndpoint) -> Result<(), StoreError> {
        self.txn.open_table(WEBHOOKS)?.remove(webhook.id.bits())?;
        self.txn.open_table(WEBHOOK_OWNERS)?.remove((webhook.customer.0.as_str(), webhook.id.bits()))?;
        self.txn.open_table(TROUBLED_WEBHOOKS)?.remove(webhook.id.bits())?;
        self.written.insert(webhook.id);
        Ok(())
    }

    pub(crate) fn delivery(&self, id: DeliveryId) -> Result<Option<WebhookDelivery>, StoreError> {
        find(DELIVERY_ROWS, &self.txn.open_table(DELIVERIES)?, id.bits())
    }

    pub(crate) fn oldest_pending(&self, webhook: WebhookId) -> Result<Option<WebhookDelivery>, StoreError> {
        let index = self.txn.open_table(DELIVERY_INDEX)?;
        let of = |id| (webhook.bits(), PENDING_DELIVERIES, id);
        let Some(row) = index.range(of(0)..=of(u128::MAX))?.next() else { return Ok(None) };
        self.delivery(DeliveryId::from_bits(row?.0.value().2))
    }

    pub(crate) fn put_delivery(&mut self, delivery: &WebhookDelivery) -> Result<(), StoreError> {
        let (webhook, id) = (delivery.webhook.bits(), delivery.id.bits());
        // A callback's queue has no row of its own that would tell the sender to look.
        self.written.insert(delivery.webhook);
        let before = self.delivery(delivery.id)?;
        let row = encode(DELIVERY_ROWS, delivery)?;
        self.txn.open_table(DELIVERIES)?.insert(id, row.as_slice())?;
        let mut index = self.txn.open_table(DELIVERY_INDEX)?;
        let (old, new) = (before.as_ref().and_then(WebhookDelivery::due), delivery.due());
        if before.is_none() {
            index.insert((webhook, ALL_DELIVERIES, id), ())?;
        }
        if old == new {
            return Ok(());
        }
        let mut due = self.txn.open_table(DELIVERY_DUE)?;
        if let Some(old) = old {
            due.remove((webhook, old.0, id))?;
        }
        match new {
            Some(new) => {
                due.insert((webhook, new.0, id), ())?;
                index.insert((webhook, PENDING_DELIVERIES, id), ())?;
            }
            None => drop(index.remove((webhook, PENDING_DELIVERIES, id))?),
        }
        Ok(())
    }

    pub(crate) fn remove_delivery(&mut self, delivery: &WebhookDelivery) -> Result<(), StoreError> {
        let (webhook, id) = (delivery.webhook.bits(), delivery.id.bits());
        self.txn.open_table(DELIVERIES)?.remove(id)?;
        let mut index = self.txn.open_table(DELIVERY_INDEX)?;
        index.remove((webhook, ALL_DELIVERIES, id))?;
        if let Some(due) = delivery.due() {
            index.remove((webhook, PENDING_DELIVERIES, id))?;
            self.txn.open_table(DELIVERY_DUE)?.remove((webhook, due.0, id))?;
        }
        Ok(())
    }
}
