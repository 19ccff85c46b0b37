//! Reads of kept responses, for their owner alone.

use std::collections::HashMap;
use std::sync::Arc;

use gatehouse_model::{CustomerId, UnixMs};
use gatehouse_tasks::{ResponseRecord, RowKey};
use tokio_postgres::GenericClient;

use crate::error::StoreError;
use crate::listing::kept_responses::of_items;
use crate::postgres::sql::{column, decoded, each, limit, query, storable, text, texts};
use crate::postgres::stored::find;

const RESPONSES: &str = "select row from response where customer = $1 and id = any($2)";
const ITEMS: &str = "select item, id from response_item where customer = $1 and item = any($2)";
/// A response and those that it goes on from, the newest first.
const CONVERSATION: &str = "
    with recursive conversation (place, previous, row) as (
        select 1::bigint, previous, row
        from response
        where customer = $1 and id = $2
        union all
        select conversation.place + 1, before.previous, before.row
        from conversation
        join response before on before.customer = $1 and before.id = conversation.previous
        where conversation.place < $3
    )
    select row
    from conversation
    order by place";

/// A customer's kept response and all that it goes on from, the oldest first.
pub(crate) async fn conversation(
    client: &impl GenericClient,
    customer: &CustomerId,
    id: &str,
    now: UnixMs,
    most: usize,
) -> Result<Option<Vec<ResponseRecord>>, StoreError> {
    if most == 0 {
        return Ok(None);
    }
    let values = vec![text(&customer.0), text(id), limit(most)];
    let mut chain: Vec<ResponseRecord> = each("response", &query(client, CONVERSATION, values).await?)?;
    let is_whole = chain.last().is_some_and(|oldest| oldest.previous.is_none())
        && chain.iter().all(|record| record.expires > now);
    chain.reverse();
    Ok(is_whole.then_some(chain))
}

/// A customer's kept response; `None` once it has expired at `now`.
pub(crate) async fn response(
    client: &impl GenericClient,
    customer: &CustomerId,
    id: &str,
    now: UnixMs,
) -> Result<Option<ResponseRecord>, StoreError> {
    let key = RowKey::Response(customer.clone(), id.to_owned());
    let record: Option<ResponseRecord> = find(client, &key).await?;
    Ok(record.filter(|record| record.expires > now))
}

/// The customer's kept response in whose output each of the items is, in the order asked; `None` for an item of none. It is read
/// once, however many of its items are asked for.
pub(crate) async fn responses_with_items(
    client: &impl GenericClient,
    customer: &CustomerId,
    items: &[String],
    now: UnixMs,
) -> Result<Vec<Option<Arc<ResponseRecord>>>, StoreError> {
    let values = vec![text(&customer.0), texts(items.iter().map(String::as_str))];
    let found = query(client, ITEMS, values).await?;
    let ids = found.iter().map(|row| Ok((column(row, 0)?, column(row, 1)?)));
    let ids: HashMap<&str, &str> = ids.collect::<Result<_, StoreError>>()?;
    let values = vec![text(&customer.0), texts(ids.values().copied())];
    let mut responses = HashMap::new();
    for row in query(client, RESPONSES, values).await? {
        let record: ResponseRecord = decoded("response", &row, 0)?;
        if record.expires > now {
            responses.insert(record.id.clone(), Arc::new(of_items(record)));
        }
    }
    let of = |item: &String| responses.get(*ids.get(&*storable(item))?).cloned();
    Ok(items.iter().map(of).collect())
}
