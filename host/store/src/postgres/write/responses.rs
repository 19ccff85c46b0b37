//! Kept responses, where their items are found, and what a customer keeps altogether.

use std::collections::BTreeMap;

use gatehouse_tasks::{ResponseRecord, ResponseTotals, RowChange, RowKey};

use super::{Split, Writes, split};
use crate::engine::write::sides;
use crate::error::StoreError;
use crate::postgres::sql::{numbers, optional_texts, rows, texts};

const PUT_RESPONSES: &str = "
    insert into response (customer, id, previous, kept, expires, row)
    select * from unnest($1, $2, $3, $4, $5, $6)
    on conflict (customer, id) do update set
        previous = excluded.previous,
        kept = excluded.kept,
        expires = excluded.expires,
        row = excluded.row";
const DELETE_RESPONSES: &str = "
    delete from response
    using unnest($1, $2) as gone (customer, id)
    where response.customer = gone.customer and response.id = gone.id";
const PUT_ITEMS: &str = "
    insert into response_item (customer, item, id)
    select * from unnest($1, $2, $3)
    on conflict (customer, item) do update set id = excluded.id";
const DELETE_ITEMS: &str = "
    delete from response_item
    using unnest($1, $2) as gone (customer, item)
    where response_item.customer = gone.customer and response_item.item = gone.item";
const PUT_TOTALS: &str = "
    insert into response_total (customer, count, bytes)
    select * from unnest($1, $2, $3)
    on conflict (customer) do update set count = excluded.count, bytes = excluded.bytes";
const DELETE_TOTALS: &str = "delete from response_total where customer = any($1)";

pub(super) fn responses<'a>(writes: &mut Writes<'a>, group: &'a [RowChange]) -> Result<(), StoreError> {
    let of = |key: &'a RowKey| match key {
        RowKey::Response(customer, id) => Some((customer.0.as_str(), id.as_str())),
        _ => None,
    };
    let Split::<_, ResponseRecord> { kept, gone } = split(group, of);
    let values = vec![
        texts(kept.iter().map(|((customer, _), _)| *customer)),
        texts(kept.iter().map(|((_, id), _)| *id)),
        optional_texts(kept.iter().map(|(_, row)| row.previous.as_deref())),
        numbers(kept.iter().map(|(_, row)| row.kept.0)),
        numbers(kept.iter().map(|(_, row)| row.expires.0)),
        rows("response", kept.iter().map(|(_, row)| *row))?,
    ];
    writes.add(kept.len(), PUT_RESPONSES, values);
    let customers = texts(gone.iter().map(|(customer, _)| *customer));
    writes.add(gone.len(), DELETE_RESPONSES, vec![customers, texts(gone.iter().map(|(_, id)| *id))]);
    items(writes, group);
    Ok(())
}

fn items<'a>(writes: &mut Writes<'a>, group: &'a [RowChange]) {
    // A provider may use an item's id again: the last response has it.
    let mut items: BTreeMap<(&str, &str), Option<&str>> = BTreeMap::new();
    for change in group {
        let RowKey::Response(customer, id) = &change.key else { continue };
        let (before, after) = sides::<ResponseRecord>(change);
        let of = |row: Option<&'a ResponseRecord>| row.into_iter().flat_map(|row| &row.items);
        items.extend(of(before).map(|item| ((customer.0.as_str(), item.as_str()), None)));
        items.extend(of(after).map(|item| ((customer.0.as_str(), item.as_str()), Some(id.as_str()))));
    }
    let gone: Vec<_> = items.iter().filter(|(_, id)| id.is_none()).map(|(key, _)| *key).collect();
    let values = vec![texts(gone.iter().map(|key| key.0)), texts(gone.iter().map(|key| key.1))];
    writes.add(gone.len(), DELETE_ITEMS, values);
    let kept: Vec<_> = items.iter().filter_map(|(key, id)| Some((*key, (*id)?))).collect();
    let values = vec![
        texts(kept.iter().map(|(key, _)| key.0)),
        texts(kept.iter().map(|(key, _)| key.1)),
        texts(kept.iter().map(|(_, id)| *id)),
    ];
    writes.add(kept.len(), PUT_ITEMS, values);
}

pub(super) fn response_totals<'a>(writes: &mut Writes<'a>, group: &'a [RowChange]) -> Result<(), StoreError> {
    let of = |key: &'a RowKey| {
        if let RowKey::ResponseTotals(customer) = key { Some(customer.0.as_str()) } else { None }
    };
    let Split::<_, ResponseTotals> { kept, gone } = split(group, of);
    let values = vec![
        texts(kept.iter().map(|(customer, _)| *customer)),
        numbers(kept.iter().map(|(_, totals)| totals.count)),
        numbers(kept.iter().map(|(_, totals)| totals.bytes)),
    ];
    writes.add(kept.len(), PUT_TOTALS, values);
    writes.add(gone.len(), DELETE_TOTALS, vec![texts(gone.iter().copied())]);
    Ok(())
}
