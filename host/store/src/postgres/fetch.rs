//! Rows that commands work on, as of the last commit: those of many keys in one trip, and the first of ordered lists.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::mem;

use futures_util::future::try_join_all;
use gatehouse_model::{CustomerId, DeliveryId, Digest, KeyId, RequestId, TaskId, WebhookId};
use gatehouse_tasks::{HoldId, List, ResponseTotals, Row, RowKey, Series};
use tokio_postgres::{Client, Row as Answer};

use super::sql::{
    Value, column, count, days as day_values, digests, id, limit, number, query, text, texts, uuid,
};
use super::stored::{Stored, key_cells};
use crate::error::StoreError;

const KEY_DIGESTS: &str = "select digest, id from api_key where digest = any($1)";
const NEWEST: &str = "
    select
        (select max(number) from audit),
        (select max(number) from deployment),
        (select max(position) from ledger),
        (select max(number) from price_book)";
const RESPONSE_TOTALS: &str = "select customer, count, bytes from response_total where customer = any($1)";
const STEP_COUNTS: &str = "select day, rows from step_count where day = any($1)";
const WEBHOOKS_OF: &str = "select customer, id from webhook where customer = any($1) order by customer, id";

const FIRST_LIVE: &str = "
    select id
    from task
    where live and id >= $1
    order by id
    limit $2";
const FIRST_PENDING: &str = "
    select id
    from delivery
    where webhook = $1 and due is not null and id >= $2
    order by id
    limit $3";
const FIRST_RESPONSES: &str = "
    select kept, id
    from response
    where customer = $1 and (kept, id) >= ($2, $3)
    order by kept, id
    limit $4";
const OPEN_HOLDS: &str = "select of_task, id from hold";
const DAYS: &str = "select day from days() day";

/// The rows of these keys, absent ones with them, in the order asked.
pub(crate) async fn fetch(
    client: &Client,
    keys: &[RowKey],
) -> Result<Vec<(RowKey, Option<Row>)>, StoreError> {
    let mut kinds: HashMap<_, Vec<&RowKey>> = HashMap::new();
    for key in keys {
        kinds.entry(mem::discriminant(key)).or_default().push(key);
    }
    // All are sent before the first is answered.
    let groups = try_join_all(kinds.values().map(|kind| of_kind(client, kind))).await?;
    let mut found: HashMap<RowKey, Row> = groups.into_iter().flatten().collect();
    Ok(keys.iter().map(|key| (key.clone(), found.remove(key))).collect())
}

type Found = Result<Vec<(RowKey, Row)>, StoreError>;

async fn of_kind(client: &Client, keys: &[&RowKey]) -> Found {
    if let Some(table) = Stored::known(keys[0]) {
        let asked: Vec<_> = keys.iter().map(|key| key_cells(key)).collect();
        let found = query(client, table.fetch(), table.arrays(&asked)?).await?;
        return found.iter().map(|answer| table.read(answer)).collect();
    }
    let Some((sql, values, read)) = question(keys) else { return Ok(Vec::new()) };
    read(&query(client, sql, values).await?)
}

/// A statement, its values, and how its answer is read.
type Question<'a> = (&'static str, Vec<Value<'a>>, fn(&[Answer]) -> Found);

/// What is asked for keys of one kind that the rows of a table do not know, and how the answer is read; nothing for kinds that are only ever
/// written.
fn question<'a>(keys: &[&'a RowKey]) -> Option<Question<'a>> {
    /// What the keys of one kind hold.
    macro_rules! of {
        ($kind:pat => $part:expr) => {
            keys.iter().filter_map(|key| if let $kind = key { Some($part) } else { None })
        };
    }
    Some(match keys[0] {
        RowKey::KeyDigest(_) => {
            (KEY_DIGESTS, vec![digests(of!(RowKey::KeyDigest(Digest(digest)) => digest))], key_digests)
        }
        RowKey::Newest(_) => (NEWEST, vec![], newest),
        RowKey::ResponseTotals(_) => {
            let customers = texts(of!(RowKey::ResponseTotals(customer) => customer.0.as_str()));
            (RESPONSE_TOTALS, vec![customers], response_totals)
        }
        RowKey::StepCount(_) => {
            (STEP_COUNTS, vec![day_values(of!(RowKey::StepCount(day) => *day))], step_counts)
        }
        RowKey::WebhooksOf(_) => {
            let customers = texts(of!(RowKey::WebhooksOf(customer) => customer.0.as_str()));
            (WEBHOOKS_OF, vec![customers], webhooks_of)
        }
        _ => return None,
    })
}

fn key_digests(found: &[Answer]) -> Found {
    let row = |answer| {
        let digest: &[u8] = column(answer, 0)?;
        let digest = <[u8; 32]>::try_from(digest).map_err(StoreError::failed)?;
        Ok((RowKey::KeyDigest(Digest(digest)), KeyId(column(answer, 1)?).into()))
    };
    found.iter().map(row).collect()
}

fn newest(found: &[Answer]) -> Found {
    let mut newest = Vec::new();
    for answer in found {
        let series = [Series::Audit, Series::Deployments, Series::Ledger, Series::PriceBooks];
        for (index, series) in series.into_iter().enumerate() {
            if column::<Option<i64>>(answer, index)?.is_some() {
                newest.push((RowKey::Newest(series), count(answer, index)?.into()));
            }
        }
    }
    Ok(newest)
}

fn response_totals(found: &[Answer]) -> Found {
    let row = |answer| {
        let totals = ResponseTotals { count: count(answer, 1)?, bytes: count(answer, 2)? };
        Ok((RowKey::ResponseTotals(CustomerId(column(answer, 0)?)), totals.into()))
    };
    found.iter().map(row).collect()
}

fn step_counts(found: &[Answer]) -> Found {
    let row = |answer| {
        let day = u32::try_from(column::<i32>(answer, 0)?).map_err(StoreError::failed)?;
        Ok((RowKey::StepCount(day), count(answer, 1)?.into()))
    };
    found.iter().map(row).collect()
}

fn webhooks_of(found: &[Answer]) -> Found {
    let mut lists: Vec<(CustomerId, Vec<WebhookId>)> = Vec::new();
    for answer in found {
        let (customer, webhook) = (column::<&str>(answer, 0)?, WebhookId::from_bits(id(answer, 1)?));
        match lists.last_mut().filter(|(last, _)| last.0 == customer) {
            Some((_, list)) => list.push(webhook),
            None => lists.push((customer.into(), vec![webhook])),
        }
    }
    Ok(lists.into_iter().map(|(customer, list)| (RowKey::WebhooksOf(customer), list.into())).collect())
}

/// The first rows of a list with their places, at most `most`, from `from` on.
pub(crate) async fn first(
    client: &Client,
    list: &List,
    from: Option<&(u64, RowKey)>,
    most: usize,
) -> Result<Vec<(u64, RowKey)>, StoreError> {
    match list {
        List::Live => {
            let from = if let Some((_, RowKey::Task(id))) = from { id.bits() } else { 0 };
            let rows = query(client, FIRST_LIVE, vec![uuid(from), limit(most)]).await?;
            rows.iter().map(|row| Ok((0, RowKey::Task(TaskId::from_bits(id(row, 0)?))))).collect()
        }
        List::Pending(webhook) => {
            let from = if let Some((_, RowKey::Delivery(id))) = from { id.bits() } else { 0 };
            let values = vec![uuid(webhook.bits()), uuid(from), limit(most)];
            let rows = query(client, FIRST_PENDING, values).await?;
            rows.iter().map(|row| Ok((0, RowKey::Delivery(DeliveryId::from_bits(id(row, 0)?))))).collect()
        }
        List::Responses(customer) => {
            let from =
                if let Some((kept, RowKey::Response(_, id))) = from { (*kept, id.as_str()) } else { (0, "") };
            let values = vec![text(&customer.0), number(from.0), text(from.1), limit(most)];
            let rows = query(client, FIRST_RESPONSES, values).await?;
            let key = |row| Ok((count(row, 0)?, RowKey::Response(customer.clone(), column(row, 1)?)));
            rows.iter().map(key).collect()
        }
    }
}

/// The ids of all holds.
pub(crate) async fn open_holds(client: &Client) -> Result<HashSet<HoldId>, StoreError> {
    let rows = query(client, OPEN_HOLDS, vec![]).await?;
    let hold = |row| {
        let (of_task, bits) = (column(row, 0)?, id(row, 1)?);
        Ok(if of_task {
            HoldId::Task(TaskId::from_bits(bits))
        } else {
            HoldId::Request(RequestId::from_bits(bits))
        })
    };
    rows.iter().map(hold).collect()
}

/// The days in which tasks were created that are there.
pub(crate) async fn days(client: &Client) -> Result<BTreeSet<u32>, StoreError> {
    let rows = query(client, DAYS, vec![]).await?;
    let day = |row| u32::try_from(column::<i32>(row, 0)?).map_err(StoreError::failed);
    rows.iter().map(day).collect()
}
