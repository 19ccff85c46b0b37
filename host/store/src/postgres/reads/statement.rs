//! Pages of a statement, newest first, by the index of its customer or key. A moment is a position: rows are in the order of time.

use std::ops::Range;

use gatehouse_model::{Credits, Customer, CustomerId, Digest, KeyId, RequestId, Tags, TaskId, UnixMs};
use gatehouse_tasks::{EntryKind, HoldId, JournalEntry, Movement};
use tokio_postgres::{GenericClient, Row};
use uuid::Uuid;

use crate::error::StoreError;
use crate::postgres::sql::{column, count, decoded, first, limit, moment, number, query as ask, text};
use crate::statement::read::{StatementOf, StatementPage, StatementQuery, StatementRow};

/// Entries with what is behind `from`.
macro_rules! entries {
    ($($rest:literal)+) => {
        concat!(
            "
    select
        position, customer, seq, (extract(epoch from at) * 1000)::bigint, key, hold_of_task, hold, kind,
        available, reserved, spent, external, memo, exact_memo, chain, available_after, used_after,
        tags::text
    from ledger",
            $($rest),+
        )
    };
}

/// All of them.
pub(in crate::postgres) const ENTRIES: &str = entries!(
    "
    order by position"
);
const ENTRY: &str = entries!(
    "
    where position = $1"
);
const PAGE_OF_ALL: &str = entries!(
    "
    where position >= $1 and position < $2
    order by position desc
    limit $3"
);
const PAGE_OF_CUSTOMER: &str = entries!(
    "
    where position >= $1 and position < $2 and customer = $4
    order by position desc
    limit $3"
);
const PAGE_OF_KEY: &str = entries!(
    "
    where position >= $1 and position < $2 and key = $4
    order by position desc
    limit $3"
);
const BEHIND: &str = entries!(
    "
    where customer = $1 and position >= $2
    order by position
    limit $3"
);
const COUNT_ALL: &str = "
    select count(*)
    from (select from ledger where position >= $1 and position < $2 limit $3) counted";
const COUNT_OF_CUSTOMER: &str = "
    select count(*)
    from (select from ledger where position >= $1 and position < $2 and customer = $4 limit $3) counted";
const COUNT_OF_KEY: &str = "
    select count(*)
    from (select from ledger where position >= $1 and position < $2 and key = $4 limit $3) counted";
const FIRST_SINCE: &str = "
    select position
    from ledger
    where at >= to_timestamp($1 / 1000.0::float8)
    order by at, position
    limit 1";
const CUSTOMER: &str = "select row from customer where id = $1";

/// The entry of that position.
pub(crate) async fn journal_entry(
    client: &impl GenericClient,
    position: u64,
) -> Result<Option<JournalEntry>, StoreError> {
    let row = first(client, ENTRY, vec![number(position)]).await?;
    row.map(|row| entry(&row)).transpose()
}

/// A page of a statement.
pub(crate) async fn statement(
    client: &impl GenericClient,
    query: &StatementQuery,
) -> Result<StatementPage, StoreError> {
    let mut page = StatementPage::default();
    if query.limit == 0 {
        return Ok(page);
    }
    page.rows = shown(client, query).await?;
    page.rows_read = page.rows.len();
    if page.rows.len() > query.limit {
        page.rows.truncate(query.limit);
        page.next = page.rows.last().map(|row| row.position);
    }
    Ok(page)
}

/// How many rows a statement has, its limit left out; no more than `most` are counted.
pub(crate) async fn count_statement(
    client: &impl GenericClient,
    query: &StatementQuery,
    most: usize,
) -> Result<usize, StoreError> {
    let span = span(client, query).await?;
    let mut values = vec![number(span.start), number(span.end), limit(most)];
    let sql = match &query.of {
        StatementOf::All => COUNT_ALL,
        StatementOf::Customer(customer) => {
            values.push(text(&customer.0));
            COUNT_OF_CUSTOMER
        }
        StatementOf::Key(key) => {
            values.push(text(&key.0));
            COUNT_OF_KEY
        }
    };
    let counted = first(client, sql, values).await?.map_or(Ok(0), |row| count(&row, 0))?;
    Ok(usize::try_from(counted).unwrap_or(most))
}

/// A customer's ledger rows behind a position, oldest first, and in the same snapshot the customer.
pub(crate) async fn statement_behind(
    client: &impl GenericClient,
    id: &CustomerId,
    position: Option<u64>,
    most: usize,
) -> Result<Option<(Customer, Vec<StatementRow>)>, StoreError> {
    let Some(customer) = first(client, CUSTOMER, vec![text(&id.0)]).await? else { return Ok(None) };
    let customer = decoded("customer", &customer, 0)?;
    let from = position.map_or(0, |position| position.saturating_add(1));
    let rows = ask(client, BEHIND, vec![text(&id.0), number(from), limit(most)]).await?;
    let rows = rows.iter().map(|row| statement_row(row, AVAILABLE_AFTER)).collect::<Result<_, _>>()?;
    Ok(Some((customer, rows)))
}

/// The balance after the last row of a statement: none of all customers together, zero before any row.
pub(super) async fn last_balance(
    client: &impl GenericClient,
    query: &StatementQuery,
) -> Result<Option<Credits>, StoreError> {
    if query.of == StatementOf::All {
        return Ok(None);
    }
    let last = shown(client, query).await?.into_iter().next();
    Ok(Some(last.and_then(|row| row.after).unwrap_or_default()))
}

/// The rows to show, one more than the limit where there are more.
async fn shown(client: &impl GenericClient, query: &StatementQuery) -> Result<Vec<StatementRow>, StoreError> {
    let span = span(client, query).await?;
    if span.is_empty() {
        return Ok(Vec::new());
    }
    let mut values = vec![number(span.start), number(span.end), limit(query.limit.saturating_add(1))];
    let (sql, after) = match &query.of {
        StatementOf::All => (PAGE_OF_ALL, None),
        StatementOf::Customer(customer) => {
            values.push(text(&customer.0));
            (PAGE_OF_CUSTOMER, AVAILABLE_AFTER)
        }
        StatementOf::Key(key) => {
            values.push(text(&key.0));
            (PAGE_OF_KEY, USED_AFTER)
        }
    };
    ask(client, sql, values).await?.iter().map(|row| statement_row(row, after)).collect()
}

/// The positions of the rows in the range of a query.
async fn span(client: &impl GenericClient, query: &StatementQuery) -> Result<Range<u64>, StoreError> {
    let start = match query.created.start {
        UnixMs(0) => 0,
        start => first_since(client, start).await?,
    };
    let end = match query.created.end {
        UnixMs(u64::MAX) => u64::MAX,
        end => first_since(client, end).await?,
    };
    Ok(start..query.before.map_or(end, |before| before.min(end)))
}

/// The position of the first row that is not before that moment.
async fn first_since(client: &impl GenericClient, at: UnixMs) -> Result<u64, StoreError> {
    let row = first(client, FIRST_SINCE, vec![moment(at)]).await?;
    row.map_or(Ok(u64::MAX), |row| count(&row, 0))
}

/// Columns with a balance.
const AVAILABLE_AFTER: Option<usize> = Some(15);
const USED_AFTER: Option<usize> = Some(16);

fn statement_row(row: &Row, after: Option<usize>) -> Result<StatementRow, StoreError> {
    let after = match after {
        Some(index) => column::<Option<i64>>(row, index)?.map(Credits),
        None => None,
    };
    Ok(StatementRow { position: count(row, 0)?, entry: entry(row)?, after })
}

pub(in crate::postgres) fn entry(row: &Row) -> Result<JournalEntry, StoreError> {
    let unreadable = |problem: String| StoreError::Unreadable { table: "ledger".to_owned(), problem };
    let word: &str = column(row, 7)?;
    let kinds = [EntryKind::Deposit, EntryKind::Hold, EntryKind::Join, EntryKind::Release, EntryKind::Settle];
    let kind = kinds.into_iter().find(|kind| kind.as_str() == word);
    let memo = match column::<Option<&[u8]>>(row, 13)? {
        Some(exact) => String::from_utf8_lossy(exact).into_owned(),
        None => column(row, 12)?,
    };
    let chain: &[u8] = column(row, 14)?;
    let hold = column::<Option<Uuid>>(row, 6)?.map(|id| id.as_u128());
    let of_task = column::<Option<bool>>(row, 5)?.unwrap_or_default();
    let hold = hold.map(|id| match of_task {
        true => HoldId::Task(TaskId::from_bits(id)),
        false => HoldId::Request(RequestId::from_bits(id)),
    });
    let tags = column::<Option<&str>>(row, 17)?.map(serde_json::from_str::<Tags>);
    Ok(JournalEntry {
        seq: count(row, 2)?,
        at: UnixMs(count(row, 3)?),
        customer: CustomerId(column(row, 1)?),
        key: column::<Option<String>>(row, 4)?.map(KeyId),
        hold,
        kind: kind.ok_or_else(|| unreadable(format!("expected a kind of entry, found {word:?}")))?,
        movement: Movement {
            available: Credits(column(row, 8)?),
            reserved: Credits(column(row, 9)?),
            spent: Credits(column(row, 10)?),
            external: Credits(column(row, 11)?),
        },
        memo,
        tags: tags.transpose().map_err(|error| unreadable(error.to_string()))?.unwrap_or_default(),
        chain: Digest(chain.try_into().map_err(|_| unreadable("expected a chain of 32 bytes".to_owned()))?),
    })
}
