//! Webhooks, and deliveries to them.

use gatehouse_tasks::{RowChange, RowKey, WebhookDelivery, WebhookEndpoint};

use super::{Split, TROUBLED_WEBHOOKS, WAITING_DELIVERIES, Writes, split};
use crate::engine::write::sides;
use crate::error::StoreError;
use crate::postgres::sql::{flags, optional_numbers, rows, texts, uuids};

const PUT_WEBHOOKS: &str = "
    insert into webhook (id, customer, troubled, row)
    select * from unnest($1, $2, $3, $4)
    on conflict (id) do update set
        customer = excluded.customer,
        troubled = excluded.troubled,
        row = excluded.row";
const DELETE_WEBHOOKS: &str = "delete from webhook where id = any($1)";
const PUT_DELIVERIES: &str = "
    insert into delivery (id, webhook, due, row)
    select * from unnest($1, $2, $3, $4)
    on conflict (id) do update set webhook = excluded.webhook, due = excluded.due, row = excluded.row";
const DELETE_DELIVERIES: &str = "delete from delivery where id = any($1)";

pub(super) fn webhooks<'a>(writes: &mut Writes<'a>, group: &'a [RowChange]) -> Result<(), StoreError> {
    for change in group {
        let (before, after) = sides(change);
        let troubled = WebhookEndpoint::is_troubled;
        writes.list(TROUBLED_WEBHOOKS, before.is_some_and(troubled), after.is_some_and(troubled));
    }
    let of = |key: &'a RowKey| if let RowKey::Webhook(id) = key { Some(id.bits()) } else { None };
    let Split::<_, WebhookEndpoint> { kept, gone } = split(group, of);
    let values = vec![
        uuids(kept.iter().map(|(id, _)| *id)),
        texts(kept.iter().map(|(_, row)| row.customer.0.as_str())),
        flags(kept.iter().map(|(_, row)| row.is_troubled())),
        rows("webhook", kept.iter().map(|(_, row)| *row))?,
    ];
    writes.add(kept.len(), PUT_WEBHOOKS, values);
    writes.add(gone.len(), DELETE_WEBHOOKS, vec![uuids(gone.iter().copied())]);
    Ok(())
}

pub(super) fn deliveries<'a>(writes: &mut Writes<'a>, group: &'a [RowChange]) -> Result<(), StoreError> {
    for change in group {
        let (before, after) = sides::<WebhookDelivery>(change);
        let waits = |row: &WebhookDelivery| row.due().is_some();
        writes.list(WAITING_DELIVERIES, before.is_some_and(waits), after.is_some_and(waits));
    }
    let of = |key: &'a RowKey| if let RowKey::Delivery(id) = key { Some(id.bits()) } else { None };
    let Split::<_, WebhookDelivery> { kept, gone } = split(group, of);
    let values = vec![
        uuids(kept.iter().map(|(id, _)| *id)),
        uuids(kept.iter().map(|(_, row)| row.webhook.bits())),
        optional_numbers(kept.iter().map(|(_, row)| row.due().map(|due| due.0))),
        rows("delivery", kept.iter().map(|(_, row)| *row))?,
    ];
    writes.add(kept.len(), PUT_DELIVERIES, values);
    writes.add(gone.len(), DELETE_DELIVERIES, vec![uuids(gone.iter().copied())]);
    Ok(())
}
