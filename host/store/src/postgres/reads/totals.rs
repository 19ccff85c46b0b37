//! What a statement of whole days comes to, by the sums that are kept by day.

use std::ops::Range;

use gatehouse_model::{Credits, Key, UnixMs};
use tokio_postgres::GenericClient;

use super::rows::key as find_key;
use super::statement::last_balance;
use crate::error::StoreError;
use crate::postgres::sql::{Value, column, count, day, first, limit, text};
use crate::statement::read::{StatementOf, StatementQuery};
use crate::statement::totals::StatementTotals;

/// Sums stay at the end of their range.
const SPENT: &str = "
    select count(*), least(9223372036854775807, coalesce(sum(settled), 0))::bigint
    from (
        select settled
        from usage_day
        where customer = $1 and key = $2 and day >= $3 and day < $4
        limit $5
    ) days";
const PAID: &str = "
    select
        count(*),
        least(9223372036854775807, coalesce(sum(paid), 0))::bigint,
        least(9223372036854775807, coalesce(sum(taken), 0))::bigint
    from (
        select paid, taken
        from deposit_day
        where customer = $1 and day >= $2 and day < $3
        limit $4
    ) days";

/// The sums of a statement of days; `None` where they are more than `max_rows`.
pub(crate) async fn statement_totals(
    client: &impl GenericClient,
    of: &StatementOf,
    days: &Range<u32>,
    max_rows: usize,
) -> Result<Option<StatementTotals>, StoreError> {
    let (customer, key) = match of {
        StatementOf::All => (String::new(), String::new()),
        StatementOf::Customer(customer) => (customer.0.clone(), String::new()),
        StatementOf::Key(key) => {
            let found: Option<Key> = find_key(client, key).await?;
            let Some(found) = found else { return Ok(Some(StatementTotals::default())) };
            (found.customer.0, key.0.clone())
        }
    };
    let range = || [day(days.start), day(days.end)];
    let mut values = vec![text(&customer), text(&key)];
    values.extend(range());
    values.push(limit(max_rows.saturating_add(1)));
    let Some((left, [spent])) = sums(client, SPENT, values, max_rows).await? else { return Ok(None) };
    let mut paid = [0, 0];
    if !matches!(of, StatementOf::Key(_)) {
        let mut values = vec![text(&customer)];
        values.extend(range());
        values.push(limit(left.saturating_add(1)));
        let Some((_, sums)) = sums(client, PAID, values, left).await? else { return Ok(None) };
        paid = sums;
    }
    let [deposited, withdrawn] = paid.map(Credits);
    Ok(Some(StatementTotals {
        deposited,
        withdrawn,
        spent: Credits(spent),
        opening: before(client, of, days.start).await?,
        closing: before(client, of, days.end).await?,
    }))
}

/// The sums of at most `most` rows, and how many more there might have been.
async fn sums<const N: usize>(
    client: &impl GenericClient,
    sql: &str,
    values: Vec<Value<'_>>,
    most: usize,
) -> Result<Option<(usize, [i64; N])>, StoreError> {
    let Some(row) = first(client, sql, values).await? else { return Ok(None) };
    let left = usize::try_from(count(&row, 0)?).ok().and_then(|rows| most.checked_sub(rows));
    let mut sums = [0; N];
    for (sum, index) in sums.iter_mut().zip(1..) {
        *sum = column(&row, index)?;
    }
    Ok(left.map(|left| (left, sums)))
}

/// The balance before a day.
async fn before(
    client: &impl GenericClient,
    of: &StatementOf,
    day: u32,
) -> Result<Option<Credits>, StoreError> {
    let created = UnixMs(0)..UnixMs::of_day(day);
    last_balance(client, &StatementQuery { of: of.clone(), created, before: None, limit: 1 }).await
}
