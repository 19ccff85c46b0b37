//! What operators watch of a store, and the check value of its pepper.

use gatehouse_model::{Customer, DeliveryId, RequestId, TaskId, UnixMs};
use gatehouse_tasks::LedgerMark;
use tokio_postgres::GenericClient;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::length;
use crate::error::StoreError;
use crate::file::pepper::PepperFit;
use crate::gauges::StoreGauges;
use crate::postgres::sql::{column, each, first, limit, query, text, value};
use crate::postgres::write::{TROUBLED_WEBHOOKS, WAITING_DELIVERIES, WITHOUT_CREDIT};

/// The oldest holds of requests and of tasks, and the oldest delivery that waits, of a thousand webhooks.
const OLDEST: &str = "
    with recursive waiting (webhook, place) as (
        (
            select webhook, 1
            from delivery
            where due is not null
            order by webhook
            limit 1
        )
        union all
        select next.webhook, waiting.place + 1
        from waiting
        cross join lateral (
            select webhook
            from delivery
            where due is not null and delivery.webhook > waiting.webhook
            order by webhook
            limit 1
        ) next
        where waiting.place < 1000
    )
    select
        (select id from hold where not of_task order by id limit 1),
        (select id from hold where of_task order by id limit 1),
        (
            select oldest.id
            from waiting
            cross join lateral (
                select id
                from delivery
                where delivery.webhook = waiting.webhook and due is not null
                order by id
                limit 1
            ) oldest
            order by oldest.id
            limit 1
        )";
const CUSTOMERS_BEHIND: &str = "
    select row
    from customer
    where id > $1
    order by id
    limit $2";
const HAS_ROWS: &str = "
    select
        exists (select from meta where key = 'pepper-check')
        or exists (select from api_key)";
const FIT_PEPPER: &str = "
    insert into meta (key, value)
    values ('pepper-check', $1)
    on conflict (key) do update set value = meta.value
    returning value";
/// Customers that one statement answers.
const PIECE: usize = 1_000;

/// What there is now.
pub(crate) async fn gauges(client: &impl GenericClient) -> Result<StoreGauges, StoreError> {
    let oldest = first(client, OLDEST, vec![]).await?;
    let id = |index| match &oldest {
        Some(row) => Ok::<_, StoreError>(column::<Option<Uuid>>(row, index)?.map(|id| id.as_u128())),
        None => Ok(None),
    };
    Ok(StoreGauges {
        customers_without_credit: length(client, WITHOUT_CREDIT).await?,
        oldest_request_hold: id(0)?.map(|bits| RequestId::from_bits(bits).timestamp()),
        oldest_task_hold: id(1)?.map(|bits| TaskId::from_bits(bits).timestamp()),
        deliveries_waiting: length(client, WAITING_DELIVERIES).await?,
        oldest_delivery: id(2)?.map(|bits| -> UnixMs { DeliveryId::from_bits(bits).timestamp() }),
        webhooks_failing: length(client, TROUBLED_WEBHOOKS).await?,
    })
}

/// The heads of all chains.
pub(crate) async fn ledger_mark(client: &impl GenericClient) -> Result<LedgerMark, StoreError> {
    let (mut mark, mut last) = (LedgerMark::default(), String::new());
    loop {
        let rows = query(client, CUSTOMERS_BEHIND, vec![text(&last), limit(PIECE)]).await?;
        let customers: Vec<Customer> = each("customer", &rows)?;
        mark = customers.iter().fold(mark, |mark, customer| mark.with(&customer.id, customer.head));
        match customers.last() {
            Some(customer) if customers.len() == PIECE => last.clone_from(&customer.id.0),
            _ => return Ok(mark),
        }
    }
}

/// Whether the rows need the pepper they were made with: without it no key works.
pub(crate) async fn needs_its_pepper(client: &impl GenericClient) -> Result<bool, StoreError> {
    first(client, HAS_ROWS, vec![]).await?.map_or(Ok(false), |row| column(&row, 0))
}

/// Compares the check value of a pepper with the one that is kept; the first one is kept.
pub(crate) async fn fit_pepper(client: &impl GenericClient, check: u64) -> Result<PepperFit, StoreError> {
    let check = check.cast_signed();
    let row = first(client, FIT_PEPPER, vec![value(check, Type::INT8)]).await?;
    let known = row.map_or(Ok(check), |row| column::<i64>(&row, 0))?;
    Ok(if known == check { PepperFit::Fits } else { PepperFit::Foreign })
}
