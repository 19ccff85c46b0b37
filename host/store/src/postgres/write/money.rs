//! The ledger, what was paid in and taken back by day, and the sums of usage.

use gatehouse_model::Tags;
use gatehouse_tasks::{BalancesAfter, JournalEntry, RowChange, RowKey, UsageSums};
use tokio_postgres::types::Type;

use super::Writes;
use crate::engine::ledger::Deposits;
use crate::engine::usage::{Added, KEPT_DAYS_OF_HOURS, SumKey};
use crate::engine::write::sides;
use crate::error::StoreError;
use crate::postgres::sql::{
    Statement, Value, amounts, day, days, digests, moments, numbers, optional_texts, texts, value,
};
use crate::postgres::stored::hold_parts;

const PUT_ENTRIES: &str = "
    insert into ledger (
        position, customer, seq, at, key, hold_of_task, hold, kind, available, reserved, spent, external,
        memo, exact_memo, chain, available_after, used_after, tags
    )
    select
        position, customer, seq, at, key, hold_of_task, hold, kind, available, reserved, spent, external,
        memo, exact_memo, chain, available_after, used_after, tags::json
    from unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) as entry (
        position, customer, seq, at, key, hold_of_task, hold, kind, available, reserved, spent, external,
        memo, exact_memo, chain, available_after, used_after, tags
    )";
const ADD_DEPOSITS: &str = "
    insert into deposit_day as sums (customer, day, paid, taken)
    select * from unnest($1, $2, $3, $4)
    on conflict (customer, day) do update set
        paid = least(9223372036854775807, sums.paid::numeric + excluded.paid),
        taken = least(9223372036854775807, sums.taken::numeric + excluded.taken)";
/// A new day ends the oldest one.
const FORGET_HOURS: &str = "
    delete from usage_hour
    where hour < 24 * (greatest($1, (select max(hour) / 24 from usage_hour))::bigint + 1 - $2)";

/// Adds to sums of a table by its unit of time. At the end of its range a sum stays there.
macro_rules! add_usage {
    ($table:literal, $unit:literal, $kept:literal) => {
        concat!(
            "
    insert into ",
            $table,
            " as sums (
        customer, key, ",
            $unit,
            ", model, requests, failures, input, output, cached, cache_write, settled, refunded
    )
    select * from unnest(
        $1, $2, $3, $4, $5::numeric[], $6::numeric[], $7::numeric[], $8::numeric[], $9::numeric[],
        $10::numeric[], $11, $12
    ) as added (
        customer, key, ",
            $unit,
            ", model, requests, failures, input, output, cached, cache_write, settled, refunded
    )",
            $kept,
            "
    on conflict (customer, key, ",
            $unit,
            ", model) do update set
        requests = least(18446744073709551615, sums.requests + excluded.requests),
        failures = least(18446744073709551615, sums.failures + excluded.failures),
        input = least(18446744073709551615, sums.input + excluded.input),
        output = least(18446744073709551615, sums.output + excluded.output),
        cached = least(18446744073709551615, sums.cached + excluded.cached),
        cache_write = least(18446744073709551615, sums.cache_write + excluded.cache_write),
        settled = least(9223372036854775807, sums.settled::numeric + excluded.settled),
        refunded = least(9223372036854775807, sums.refunded::numeric + excluded.refunded)"
        )
    };
}

const ADD_DAYS: &str = add_usage!("usage_day", "day", "");
const ADD_HOURS: &str = add_usage!(
    "usage_hour",
    "hour",
    "
    where hour >= 24 * (greatest($13, (select max(hour) / 24 from usage_hour))::bigint + 1 - $14)"
);

pub(super) fn ledger<'a>(writes: &mut Writes<'a>, group: &'a [RowChange]) -> Result<(), StoreError> {
    let positions = group
        .iter()
        .filter_map(|change| if let RowKey::Entry(position) = change.key { Some(position) } else { None });
    let kept = || group.iter().filter_map(|change| sides::<(JournalEntry, BalancesAfter)>(change).1);
    let entries = || kept().map(|(entry, _)| entry);
    let after = || kept().map(|(_, after)| after);
    let hold = |entry: &JournalEntry| entry.hold.map(hold_parts);
    let hold_ids = entries().map(|entry| hold(entry).map(|(_, id)| uuid::Uuid::from_u128(id)));
    let tags = entries().map(|entry| tags_of(&entry.tags)).collect::<Result<Vec<_>, _>>()?;
    let exact = entries().map(|entry| entry.memo.contains('\0').then_some(entry.memo.as_bytes()));
    let values = vec![
        numbers(positions),
        texts(entries().map(|entry| entry.customer.0.as_str())),
        numbers(entries().map(|entry| entry.seq)),
        moments(entries().map(|entry| entry.at)),
        optional_texts(entries().map(|entry| entry.key.as_ref().map(|key| key.0.as_str()))),
        value(
            entries().map(|entry| hold(entry).map(|(of_task, _)| of_task)).collect::<Vec<_>>(),
            Type::BOOL_ARRAY,
        ),
        value(hold_ids.collect::<Vec<_>>(), Type::UUID_ARRAY),
        texts(entries().map(|entry| entry.kind.as_str())),
        amounts(entries().map(|entry| entry.movement.available.0)),
        amounts(entries().map(|entry| entry.movement.reserved.0)),
        amounts(entries().map(|entry| entry.movement.spent.0)),
        amounts(entries().map(|entry| entry.movement.external.0)),
        texts(entries().map(|entry| entry.memo.as_str())),
        value(exact.collect::<Vec<_>>(), Type::BYTEA_ARRAY),
        digests(entries().map(|entry| &entry.chain.0)),
        amounts(after().map(|after| after.available.0)),
        value(after().map(|after| after.used.map(|used| used.0)).collect::<Vec<_>>(), Type::INT8_ARRAY),
        value(tags, Type::TEXT_ARRAY),
    ];
    writes.add(group.len(), PUT_ENTRIES, values);
    let mut paid = Deposits::default();
    entries().for_each(|entry| paid.add(entry));
    deposits(writes, paid);
    Ok(())
}

fn deposits(writes: &mut Writes<'_>, Deposits(sums): Deposits) {
    let customers: Vec<String> = sums.keys().map(|(customer, _)| customer.clone()).collect();
    let values = vec![
        value(customers, Type::TEXT_ARRAY),
        days(sums.keys().map(|(_, day)| *day)),
        amounts(sums.values().map(|(paid, _)| *paid)),
        amounts(sums.values().map(|(_, taken)| *taken)),
    ];
    writes.add(sums.len(), ADD_DEPOSITS, values);
}

pub(super) fn usage<'a>(writes: &mut Writes<'a>, group: &'a [RowChange]) {
    let Added { days, hours } = Added::of(group);
    let by_day: Vec<_> = days.into_iter().collect();
    writes.add(by_day.len(), ADD_DAYS, sums(&by_day));
    let newest = hours.keys().next_back().copied().unwrap_or_default();
    let by_hour: Vec<_> = hours.into_values().flatten().collect();
    let kept = || [day(newest), day(KEPT_DAYS_OF_HOURS)];
    writes.add(by_hour.len(), FORGET_HOURS, kept().into());
    let values = sums(&by_hour).into_iter().chain(kept());
    writes.add(by_hour.len(), ADD_HOURS, values.collect());
}

/// Statements that keep sums as they are: of keys, customers and all.
pub(in crate::postgres) fn kept_sums<'a>(
    days: &[(SumKey<'a>, UsageSums)],
    hours: &[(SumKey<'a>, UsageSums)],
) -> [Statement<'a>; 2] {
    // Whatever was kept is.
    let all = [day(0), day(u32::MAX)];
    let hours = sums(hours).into_iter().chain(all);
    [Statement::new(ADD_DAYS, sums(days)), Statement::new(ADD_HOURS, hours.collect())]
}

fn sums<'a>(rows: &[(SumKey<'a>, UsageSums)]) -> Vec<Value<'a>> {
    // Wider than what the database has of its own.
    let wide = |count: fn(&UsageSums) -> u64| {
        let counts = rows.iter().map(|(_, sums)| count(sums).to_string());
        value(counts.collect::<Vec<_>>(), Type::TEXT_ARRAY)
    };
    vec![
        texts(rows.iter().map(|((customer, ..), _)| *customer)),
        texts(rows.iter().map(|((_, key, ..), _)| *key)),
        days(rows.iter().map(|((_, _, period, _), _)| *period)),
        texts(rows.iter().map(|((.., model), _)| *model)),
        wide(|sums| sums.requests),
        wide(|sums| sums.failures),
        wide(|sums| sums.input),
        wide(|sums| sums.output),
        wide(|sums| sums.cached),
        wide(|sums| sums.cache_write),
        amounts(rows.iter().map(|(_, sums)| sums.settled.0)),
        amounts(rows.iter().map(|(_, sums)| sums.refunded.0)),
    ]
}

/// Tags as JSON; nothing for a request without tags.
fn tags_of(tags: &Tags) -> Result<Option<String>, StoreError> {
    let text = (!tags.is_empty()).then(|| serde_json::to_string(tags));
    text.transpose().map_err(StoreError::failed)
}
