//! Reads the sums of usage of a range of hours or days: of all customers together, of one, of one key, or of each.
//!
//! A statement looks the next customer or key up, then its rows in the range, and so on, and answers a row for a customer or key
//! without rows as well: so many rows are read at most, and the next read goes on where this one ended.

use std::ops::Range;

use gatehouse_model::{Credits, CustomerId, KeyId};
use gatehouse_tasks::UsageSums;
use tokio_postgres::types::Type;
use tokio_postgres::{GenericClient, Row};

use crate::error::StoreError;
use crate::postgres::sql::{column, day, first, limit, query as ask, text, value};
use crate::usage::read::{UsagePeriod, UsagePosition, UsageQuery, UsageRow, UsageRows, UsageScope};

const HOURS_PER_DAY: u32 = 24;

/// Rows of one customer and key from `($3, $4)` on and before `$5`.
macro_rules! rows_of_one {
    ($table:literal, $unit:literal) => {
        concat!(
            "
    select
        customer, key, ",
            $unit,
            ", model, requests::text, failures::text, input::text, output::text,
        cached::text, cache_write::text, settled, refunded
    from ",
            $table,
            "
    where customer = $1 and key = $2 and (",
            $unit,
            ", model) >= ($3, $4) and ",
            $unit,
            " < $5
    order by ",
            $unit,
            ", model
    limit $6"
        )
    };
}

/// Rows of every customer and key from `($1, $2)` on: of that one from `($3, $4)` on, of others from `$5` on, all before `$6`. Behind a
/// customer and key come those that are greater than the key with `$7` behind it.
macro_rules! rows_of_each {
    ($table:literal, $unit:literal) => {
        concat!(
            "
    with recursive owner (customer, key) as (
        (
            select customer, key
            from ",
            $table,
            "
            where (customer, key) >= ($1, $2)
            order by customer, key
            limit 1
        )
        union all
        select next.customer, next.key
        from owner
        cross join lateral (
            select sums.customer, sums.key
            from ",
            $table,
            " sums
            where (sums.customer, sums.key) > (owner.customer, owner.key || $7)
            order by sums.customer, sums.key
            limit 1
        ) next
        where $8::text is null or owner.customer = $8
    )
    select
        owner.customer, owner.key, found.",
            $unit,
            ", found.model, found.requests::text,
        found.failures::text, found.input::text, found.output::text, found.cached::text,
        found.cache_write::text, found.settled, found.refunded
    from owner
    left join lateral (
        select *
        from ",
            $table,
            " sums
        where
            sums.customer = owner.customer
            and sums.key = owner.key
            and (sums.",
            $unit,
            ", sums.model) >= (
                case when (owner.customer, owner.key) = ($1, $2) then $3 else $5 end,
                case when (owner.customer, owner.key) = ($1, $2) then $4 else '' end
            )
            and sums.",
            $unit,
            " < $6
            and (owner.key = '') = $9
            and owner.customer <> ''
        order by sums.",
            $unit,
            ", sums.model
    ) found on true
    where $8 is null or owner.customer = $8
    limit $10"
        )
    };
}

const DAYS_OF_ONE: &str = rows_of_one!("usage_day", "day");
const HOURS_OF_ONE: &str = rows_of_one!("usage_hour", "hour");
const DAYS_OF_EACH: &str = rows_of_each!("usage_day", "day");
const HOURS_OF_EACH: &str = rows_of_each!("usage_hour", "hour");
const FIRST_AND_LAST_HOUR: &str = "select min(hour), max(hour) from usage_hour";

/// Whose sums: a key's, a customer's, or without both everybody's.
struct Owner<'a> {
    customer: &'a str,
    key: &'a str,
}

/// Sums of usage.
pub(crate) async fn usage(client: &impl GenericClient, query: &UsageQuery) -> Result<UsageRows, StoreError> {
    let mut found = UsageRows::default();
    let only = match &query.scope {
        UsageScope::All => Some(Owner { customer: "", key: "" }),
        UsageScope::Customer(customer) => Some(Owner { customer: &customer.0, key: "" }),
        UsageScope::Key(customer, key) => Some(Owner { customer: &customer.0, key: &key.0 }),
        UsageScope::EachCustomer | UsageScope::EachKey(_) => None,
    };
    if let Some(one) = only {
        of_one(client, query, one, &mut found).await?;
    } else if query.period == UsagePeriod::Day {
        of_each(client, query, query.range.clone(), query.after.as_ref(), &mut found).await?;
    } else {
        let after = query.after.as_ref();
        for day in days(client, query).await? {
            let hours = day * HOURS_PER_DAY..day.saturating_add(1).saturating_mul(HOURS_PER_DAY);
            let hours = hours.start.max(query.range.start)..hours.end.min(query.range.end);
            let after = after.filter(|row| row.period / HOURS_PER_DAY == day);
            of_each(client, query, hours, after, &mut found).await?;
            if found.next.is_some() {
                break;
            }
        }
    }
    Ok(found)
}

/// The days whose hours are kept and asked for, from where the read before ended.
async fn days(client: &impl GenericClient, query: &UsageQuery) -> Result<Range<u32>, StoreError> {
    let Some(row) = first(client, FIRST_AND_LAST_HOUR, vec![]).await? else { return Ok(0..0) };
    let hour = |index| Ok::<_, StoreError>(column::<Option<i32>>(&row, index)?.map(wide));
    let (Some(oldest), Some(newest)) = (hour(0)?, hour(1)?) else { return Ok(0..0) };
    let first = query.range.start.max(oldest).max(query.after.as_ref().map_or(0, |after| after.period));
    let end = query.range.end.min(newest.saturating_add(1));
    Ok(first / HOURS_PER_DAY..end.div_ceil(HOURS_PER_DAY))
}

async fn of_one(
    client: &impl GenericClient,
    query: &UsageQuery,
    Owner { customer, key }: Owner<'_>,
    found: &mut UsageRows,
) -> Result<(), StoreError> {
    let after = query.after.as_ref().filter(|after| after.customer.0 == customer && after.key.0 == key);
    let (start, model) = bound(after, query.range.start);
    let sql = if query.period == UsagePeriod::Day { DAYS_OF_ONE } else { HOURS_OF_ONE };
    let most = query.max_rows.saturating_add(1);
    let values = vec![
        text(customer),
        text(key),
        day(start),
        text(&model),
        day(query.range.end),
        limit(most.saturating_add(1)),
    ];
    let rows = ask(client, sql, values).await?;
    take(&rows, most, query.range.start, found)
}

async fn of_each(
    client: &impl GenericClient,
    query: &UsageQuery,
    range: Range<u32>,
    after: Option<&UsagePosition>,
    found: &mut UsageRows,
) -> Result<(), StoreError> {
    let (is_of_customers, only) = match &query.scope {
        UsageScope::EachKey(only) => (false, only.as_ref()),
        _ => (true, None),
    };
    // No id is empty, and none begins with a control character.
    let from = match (after, only) {
        (Some(after), _) => (after.customer.0.as_str(), after.key.0.as_str()),
        (None, Some(customer)) => (customer.0.as_str(), "\u{1}"),
        (None, None) => ("\u{1}", ""),
    };
    let (start, model) = bound(after, range.start);
    let most = query.max_rows.saturating_add(1).saturating_sub(found.rows_read);
    let values = vec![
        text(from.0),
        text(from.1),
        day(start),
        text(&model),
        day(range.start),
        day(range.end),
        text(if is_of_customers { "\u{10ffff}" } else { "" }),
        value(only.map(|customer| customer.0.as_str()), Type::TEXT),
        value(is_of_customers, Type::BOOL),
        limit(most.saturating_add(1)),
    ];
    let sql = if query.period == UsagePeriod::Day { DAYS_OF_EACH } else { HOURS_OF_EACH };
    let rows = ask(client, sql, values).await?;
    take(&rows, most, range.start, found)
}

/// Where the rows of the customer and key begin at which the read before ended.
fn bound(after: Option<&UsagePosition>, first: u32) -> (u32, String) {
    match after {
        // The first text that is greater.
        Some(UsagePosition { period, model: Some(model), .. }) if *period >= first => {
            (*period, format!("{model}\u{1}"))
        }
        _ => (first, String::new()),
    }
}

/// Takes at most `most` of the rows. The one behind them tells where the next read goes on.
fn take(rows: &[Row], most: usize, first: u32, found: &mut UsageRows) -> Result<(), StoreError> {
    let mut last: Option<UsagePosition> = None;
    for (place, row) in rows.iter().enumerate() {
        let (customer, key): (&str, &str) = (column(row, 0)?, column(row, 1)?);
        if place == most {
            let is_same = |last: &UsagePosition| last.customer.0 == customer && last.key.0 == key;
            let before =
                UsagePosition { customer: customer.into(), key: key.into(), period: first, model: None };
            found.next = Some(last.filter(is_same).unwrap_or(before));
            return Ok(());
        }
        found.rows_read += 1;
        let row = usage_row(row)?;
        last = row.as_ref().map(UsagePosition::from);
        found.rows.extend(row);
    }
    Ok(())
}

/// A row, where the customer and key have one.
pub(in crate::postgres) fn usage_row(row: &Row) -> Result<Option<UsageRow>, StoreError> {
    let Some(period) = column::<Option<i32>>(row, 2)? else { return Ok(None) };
    let count = |index| column::<&str>(row, index)?.parse::<u64>().map_err(StoreError::failed);
    Ok(Some(UsageRow {
        customer: CustomerId(column(row, 0)?),
        key: KeyId(column(row, 1)?),
        period: wide(period),
        model: column(row, 3)?,
        sums: UsageSums {
            requests: count(4)?,
            failures: count(5)?,
            input: count(6)?,
            output: count(7)?,
            cached: count(8)?,
            cache_write: count(9)?,
            settled: Credits(column(row, 10)?),
            refunded: Credits(column(row, 11)?),
        },
    }))
}

fn wide(period: i32) -> u32 {
    u32::try_from(period).unwrap_or_default()
}
