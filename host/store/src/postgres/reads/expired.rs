//! Rows whose time is over: of each kind the oldest, at most so many.

use gatehouse_model::{DeliveryId, Digest, KeyId, UnixMs};
use gatehouse_tasks::{ExpiredRow, ExpiredRows, Hold, HoldId, WebhookDelivery, is_old};
use tokio_postgres::GenericClient;

use crate::error::StoreError;
use crate::postgres::sql::{column, decoded, id, limit, number, query, uuids};

const HOLDS: &str = "
    select row
    from hold
    where not of_task and expires <= $1
    order by expires, id
    limit $2";
/// The row of a customer's key stays for ever.
const IDEMPOTENCY: &str = "
    select oldest.key, oldest.token, api_key.customer
    from (
        select key, token, expires
        from idempotency
        where expires <= $1
        order by expires, key, token
        limit $2
    ) oldest
    join api_key on api_key.id = oldest.key
    order by oldest.expires, oldest.key, oldest.token";
const ADMIN_IDEMPOTENCY: &str = "
    select token
    from admin_idempotency
    where expires <= $1
    order by expires, token
    limit $2";
const RESPONSES: &str = "
    select customer, id
    from response
    where expires <= $1
    order by expires, customer, id
    limit $2";
/// Ids begin with the moment, so the oldest are the first.
const OLDEST_DELIVERIES: &str = "
    select id
    from delivery
    order by id
    limit $1";
const DELIVERIES: &str = "
    select row
    from delivery
    where id = any($1)
    order by id";

/// Of each kind the oldest, at most so many.
pub(crate) async fn expired(
    client: &impl GenericClient,
    now: UnixMs,
    most: usize,
) -> Result<ExpiredRows, StoreError> {
    let mut expired = ExpiredRows::new();
    let until = || vec![number(now.0), limit(most)];
    for row in query(client, HOLDS, until()).await? {
        let hold: Hold = decoded("hold", &row, 0)?;
        if let HoldId::Request(id) = hold.id {
            expired.push((Some(hold.customer), ExpiredRow::Hold(id)));
        }
    }
    for row in query(client, IDEMPOTENCY, until()).await? {
        let token = digest(column(&row, 1)?)?;
        let customer: &str = column(&row, 2)?;
        let row = ExpiredRow::Idempotency { key: KeyId(column(&row, 0)?), token };
        expired.push((Some(customer.into()), row));
    }
    for row in query(client, ADMIN_IDEMPOTENCY, until()).await? {
        expired.push((None, ExpiredRow::AdminIdempotency(digest(column(&row, 0)?)?)));
    }
    for row in query(client, RESPONSES, until()).await? {
        let customer: &str = column(&row, 0)?;
        expired.push((Some(customer.into()), ExpiredRow::Response(column(&row, 1)?)));
    }
    for row in old_deliveries(client, now, most).await? {
        expired.push((Some(row.customer), ExpiredRow::Delivery(row.id)));
    }
    Ok(expired)
}

async fn old_deliveries(
    client: &impl GenericClient,
    now: UnixMs,
    most: usize,
) -> Result<Vec<WebhookDelivery>, StoreError> {
    let mut old = Vec::new();
    for row in query(client, OLDEST_DELIVERIES, vec![limit(most)]).await? {
        let id = id(&row, 0)?;
        if !is_old(DeliveryId::from_bits(id), now) {
            break;
        }
        old.push(id);
    }
    if old.is_empty() {
        return Ok(Vec::new());
    }
    let rows = query(client, DELIVERIES, vec![uuids(old)]).await?;
    rows.iter().map(|row| decoded("delivery", row, 0)).collect()
}

fn digest(bytes: &[u8]) -> Result<Digest, StoreError> {
    Ok(Digest(bytes.try_into().map_err(StoreError::failed)?))
}
