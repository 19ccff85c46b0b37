//! What the sender of webhooks reads, and the pages that operators read.

use std::collections::BTreeSet;

use gatehouse_model::{CustomerId, DeliveryId, UnixMs, WebhookId};
use gatehouse_tasks::{MAX_CUSTOMER_WEBHOOKS, RowKey, WebhookDelivery, WebhookEndpoint};
use tokio_postgres::GenericClient;

use super::length;
use crate::administration::RowPage;
use crate::error::StoreError;
use crate::postgres::sql::{count, each, first, id, limit, query as ask, text, uuid};
use crate::postgres::stored::find;
use crate::postgres::write::TROUBLED_WEBHOOKS;
use crate::webhooks::DeliveryQuery;

/// Looks one row up for each webhook.
const WAITING: &str = "
    with recursive waiting (webhook) as (
        (
            select webhook
            from delivery
            where due is not null
            order by webhook
            limit 1
        )
        union all
        select next.webhook
        from waiting
        cross join lateral (
            select webhook
            from delivery
            where due is not null and delivery.webhook > waiting.webhook
            order by webhook
            limit 1
        ) next
    )
    select webhook
    from waiting";
const NEXT_DELIVERY: &str = "
    select due, id
    from delivery
    where webhook = $1 and due is not null
    order by due, id
    limit 1";
const ALL_WEBHOOKS: &str = "
    select row
    from webhook
    where id > $1
    order by id
    limit $2";
const WEBHOOKS_OF: &str = "
    select row
    from webhook
    where id > $1 and customer = $3
    order by id
    limit $2";
const TROUBLED: &str = "
    select row
    from webhook
    where troubled
    order by id
    limit $1";
const DELIVERIES: &str = "
    select row
    from delivery
    where webhook = $1 and id < $2
    order by id desc
    limit $3";
const PENDING_DELIVERIES: &str = "
    select row
    from delivery
    where webhook = $1 and due is not null and id < $2
    order by id desc
    limit $3";

/// Webhooks for which a delivery waits.
pub(crate) async fn waiting_webhooks(client: &impl GenericClient) -> Result<BTreeSet<WebhookId>, StoreError> {
    let rows = ask(client, WAITING, vec![]).await?;
    rows.iter().map(|row| Ok(WebhookId::from_bits(id(row, 0)?))).collect()
}

/// The delivery of a webhook that is due first, and when.
pub(crate) async fn next_delivery(
    client: &impl GenericClient,
    webhook: WebhookId,
) -> Result<Option<(UnixMs, DeliveryId)>, StoreError> {
    let row = first(client, NEXT_DELIVERY, vec![uuid(webhook.bits())]).await?;
    row.map(|row| Ok((UnixMs(count(&row, 0)?), DeliveryId::from_bits(id(&row, 1)?)))).transpose()
}

/// A webhook.
pub(crate) async fn webhook(
    client: &impl GenericClient,
    id: WebhookId,
) -> Result<Option<WebhookEndpoint>, StoreError> {
    find(client, &RowKey::Webhook(id)).await
}

/// All webhooks of a customer by id.
pub(crate) async fn webhooks_of(
    client: &impl GenericClient,
    customer: &CustomerId,
) -> Result<Vec<WebhookEndpoint>, StoreError> {
    Ok(list_webhooks(client, Some(customer), None, MAX_CUSTOMER_WEBHOOKS).await?.rows)
}

/// A delivery.
pub(crate) async fn delivery(
    client: &impl GenericClient,
    id: DeliveryId,
) -> Result<Option<WebhookDelivery>, StoreError> {
    find(client, &RowKey::Delivery(id)).await
}

/// A page of webhooks by id, of one customer or of all, after the one of id `after`.
pub(crate) async fn list_webhooks(
    client: &impl GenericClient,
    customer: Option<&CustomerId>,
    after: Option<WebhookId>,
    most: usize,
) -> Result<RowPage<WebhookEndpoint, WebhookId>, StoreError> {
    // No id is zero.
    let mut values = vec![uuid(after.map_or(0, WebhookId::bits)), limit(most.saturating_add(1))];
    values.extend(customer.map(|customer| text(&customer.0)));
    let sql = if customer.is_some() { WEBHOOKS_OF } else { ALL_WEBHOOKS };
    let rows: Vec<WebhookEndpoint> = each("webhook", &ask(client, sql, values).await?)?;
    Ok(RowPage::cut(rows, most, |last| last.id))
}

/// Webhooks that do not reach their receiver, by id; the first `most` of them.
pub(crate) async fn troubled_webhooks(
    client: &impl GenericClient,
    most: usize,
) -> Result<Vec<WebhookEndpoint>, StoreError> {
    each("webhook", &ask(client, TROUBLED, vec![limit(most)]).await?)
}

/// How many webhooks do not reach their receiver.
pub(crate) async fn count_troubled_webhooks(client: &impl GenericClient) -> Result<u64, StoreError> {
    length(client, TROUBLED_WEBHOOKS).await
}

/// A page of deliveries, newest first, before the one of id `before`.
pub(crate) async fn list_deliveries(
    client: &impl GenericClient,
    query: &DeliveryQuery,
    before: Option<DeliveryId>,
    most: usize,
) -> Result<RowPage<WebhookDelivery, DeliveryId>, StoreError> {
    let sql = if query.pending { PENDING_DELIVERIES } else { DELIVERIES };
    let before = before.map_or(u128::MAX, DeliveryId::bits);
    let values = vec![uuid(query.webhook.bits()), uuid(before), limit(most.saturating_add(1))];
    let rows: Vec<WebhookDelivery> = each("delivery", &ask(client, sql, values).await?)?;
    Ok(RowPage::cut(rows, most, |last| last.id))
}
