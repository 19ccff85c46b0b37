//! What the sender of webhooks reads, and the pages that operators read.

use std::collections::BTreeSet;
use std::ops::Bound;

use gatehouse_model::{CustomerId, DeliveryId, UnixMs, WebhookId};
use gatehouse_tasks::{MAX_CUSTOMER_WEBHOOKS, WebhookDelivery, WebhookEndpoint};
use redb::ReadTransaction;

use crate::administration::{RowPage, behind};
use crate::error::StoreError;
use crate::layout::{
    ALL_DELIVERIES, DELIVERIES, DELIVERY_DUE, DELIVERY_INDEX, PENDING_DELIVERIES, TROUBLED_WEBHOOKS,
    WEBHOOK_OWNERS, WEBHOOKS,
};

/// Which deliveries of a webhook to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryQuery {
    /// The webhook.
    pub webhook: WebhookId,
    /// Only those that wait.
    pub pending: bool,
}

/// Webhooks for which a delivery waits. Reads one row for each.
pub(crate) fn waiting_webhooks(txn: &ReadTransaction) -> Result<BTreeSet<WebhookId>, StoreError> {
    let due = DELIVERY_DUE.open(txn)?;
    let (mut found, mut from) = (BTreeSet::new(), Bound::Unbounded);
    while let Some(row) = due.range((from, Bound::Unbounded))?.next() {
        let (webhook, ..) = row?.key()?;
        found.insert(WebhookId::from_bits(webhook));
        from = Bound::Excluded((webhook, u64::MAX, u128::MAX));
    }
    Ok(found)
}

/// The delivery of a webhook that is due first, and when.
pub(crate) fn next_delivery(
    txn: &ReadTransaction,
    webhook: WebhookId,
) -> Result<Option<(UnixMs, DeliveryId)>, StoreError> {
    let due = DELIVERY_DUE.open(txn)?;
    let of = |moment, id| (webhook.bits(), moment, id);
    let first = due.keys(of(0, 0)..=of(u64::MAX, u128::MAX))?.next().transpose()?;
    Ok(first.map(|(_, moment, id)| (UnixMs(moment), DeliveryId::from_bits(id))))
}

/// A webhook.
pub(crate) fn webhook(txn: &ReadTransaction, id: WebhookId) -> Result<Option<WebhookEndpoint>, StoreError> {
    WEBHOOKS.find(txn, id.bits())
}

/// All webhooks of a customer by id.
pub(crate) fn webhooks_of(
    txn: &ReadTransaction,
    customer: &CustomerId,
) -> Result<Vec<WebhookEndpoint>, StoreError> {
    Ok(list_webhooks(txn, Some(customer), None, MAX_CUSTOMER_WEBHOOKS)?.rows)
}

/// A delivery.
pub(crate) fn delivery(txn: &ReadTransaction, id: DeliveryId) -> Result<Option<WebhookDelivery>, StoreError> {
    DELIVERIES.find(txn, id.bits())
}

/// A page of webhooks by id, of one customer or of all.
pub(crate) fn list_webhooks(
    txn: &ReadTransaction,
    customer: Option<&CustomerId>,
    after: Option<WebhookId>,
    limit: usize,
) -> Result<RowPage<WebhookEndpoint, WebhookId>, StoreError> {
    let rows = WEBHOOKS.open(txn)?;
    let Some(CustomerId(customer)) = customer else {
        return RowPage::of(rows.range(behind(after.map(WebhookId::bits)))?, limit, |row| {
            let row = row.row()?;
            Ok((row.id, Some(row)))
        });
    };
    let of = |id| (customer.as_str(), id);
    let from = after.map_or_else(|| Bound::Included(of(0)), |id| Bound::Excluded(of(id.bits())));
    let owners = WEBHOOK_OWNERS.open(txn)?;
    RowPage::of(owners.keys((from, Bound::Included(of(u128::MAX))))?, limit, |(_, id)| {
        Ok((WebhookId::from_bits(id), rows.get(id)?))
    })
}

/// The first `limit` webhooks that do not reach their receiver.
pub(crate) fn troubled_webhooks(
    txn: &ReadTransaction,
    limit: usize,
) -> Result<Vec<WebhookEndpoint>, StoreError> {
    let (troubled, rows) = (TROUBLED_WEBHOOKS.open(txn)?, WEBHOOKS.open(txn)?);
    let mut found = Vec::new();
    for row in troubled.range(..)?.take(limit) {
        found.extend(rows.get(row?.key()?)?);
    }
    Ok(found)
}

/// How many webhooks do not reach their receiver.
pub(crate) fn count_troubled_webhooks(txn: &ReadTransaction) -> Result<u64, StoreError> {
    TROUBLED_WEBHOOKS.len(txn)
}

/// A page of deliveries, newest first.
pub(crate) fn list_deliveries(
    txn: &ReadTransaction,
    query: &DeliveryQuery,
    before: Option<DeliveryId>,
    limit: usize,
) -> Result<RowPage<WebhookDelivery, DeliveryId>, StoreError> {
    let (index, rows) = (DELIVERY_INDEX.open(txn)?, DELIVERIES.open(txn)?);
    let kind = if query.pending { PENDING_DELIVERIES } else { ALL_DELIVERIES };
    let of = |id| (query.webhook.bits(), kind, id);
    let end = before.map_or_else(|| Bound::Included(of(u128::MAX)), |id| Bound::Excluded(of(id.bits())));
    RowPage::of(index.keys((Bound::Included(of(0)), end))?.rev(), limit, |(.., id)| {
        Ok((DeliveryId::from_bits(id), rows.get(id)?))
    })
}
