//! Customers, keys, holds, names, what is remembered of requests, and the numbered records.

use gatehouse_model::{Customer, Digest, Key};
use gatehouse_tasks::{
    AdminIdempotencyRecord, AuditRecord, DeploymentRecord, Hold, HoldId, IdempotencyRecord, NameRecord,
    PriceVersion, RowChange, RowKey,
};

use super::{CUSTOMERS, Split, WITHOUT_CREDIT, Writes, split};
use crate::engine::write::sides;
use crate::error::StoreError;
use crate::postgres::sql::{digests, flags, moments, numbers, optional_texts, rows, texts, uuids};

const PUT_CUSTOMERS: &str = "
    insert into customer (id, without_credit, row)
    select * from unnest($1, $2, $3)
    on conflict (id) do update set without_credit = excluded.without_credit, row = excluded.row";
const DELETE_CUSTOMERS: &str = "delete from customer where id = any($1)";
const PUT_KEYS: &str = "
    insert into api_key (id, customer, digest, rotated_to, row)
    select * from unnest($1, $2, $3, $4, $5)
    on conflict (id) do update set rotated_to = excluded.rotated_to, row = excluded.row";
const DELETE_KEYS: &str = "delete from api_key where id = any($1)";
const PUT_HOLDS: &str = "
    insert into hold (of_task, id, expires, row)
    select * from unnest($1, $2, $3, $4)
    on conflict (of_task, id) do update set expires = excluded.expires, row = excluded.row";
const DELETE_HOLDS: &str = "
    delete from hold
    using unnest($1, $2) as gone (of_task, id)
    where hold.of_task = gone.of_task and hold.id = gone.id";
const PUT_NAMES: &str = "
    insert into name (name, customer, row)
    select * from unnest($1, $2, $3)
    on conflict (name) do update set customer = excluded.customer, row = excluded.row";
const PUT_IDEMPOTENCY: &str = "
    insert into idempotency (key, token, expires, row)
    select * from unnest($1, $2, $3, $4)
    on conflict (key, token) do update set expires = excluded.expires, row = excluded.row";
const DELETE_IDEMPOTENCY: &str = "
    delete from idempotency
    using unnest($1, $2) as gone (key, token)
    where idempotency.key = gone.key and idempotency.token = gone.token";
const PUT_ADMIN_IDEMPOTENCY: &str = "
    insert into admin_idempotency (token, expires, row)
    select * from unnest($1, $2, $3)
    on conflict (token) do update set expires = excluded.expires, row = excluded.row";
const DELETE_ADMIN_IDEMPOTENCY: &str = "delete from admin_idempotency where token = any($1)";
const PUT_AUDIT: &str = "
    insert into audit (number, at, marks, row)
    select number, to_timestamp(at / 1000.0::float8), marks, row
    from unnest($1, $2, $3, $4) as line (number, at, marks, row)
    on conflict (number) do update set at = excluded.at, marks = excluded.marks, row = excluded.row";
const PUT_PRICE_BOOKS: &str = "
    insert into price_book (number, row)
    select * from unnest($1, $2)
    on conflict (number) do update set row = excluded.row";
const DELETE_PRICE_BOOKS: &str = "delete from price_book where number = any($1)";
const PUT_DEPLOYMENTS: &str = "
    insert into deployment (number, row)
    select * from unnest($1, $2)
    on conflict (number) do update set row = excluded.row";
const DELETE_DEPLOYMENTS: &str = "delete from deployment where number = any($1)";

pub(super) fn customers<'a>(writes: &mut Writes<'a>, group: &'a [RowChange]) -> Result<(), StoreError> {
    for change in group {
        let (before, after) = sides::<Customer>(change);
        writes.list(CUSTOMERS, before.is_some(), after.is_some());
        let without = |row: &Customer| !row.has_credit();
        writes.list(WITHOUT_CREDIT, before.is_some_and(without), after.is_some_and(without));
    }
    let of = |key: &'a RowKey| if let RowKey::Customer(id) = key { Some(id.0.as_str()) } else { None };
    let Split::<_, Customer> { kept, gone } = split(group, of);
    let values = vec![
        texts(kept.iter().map(|(id, _)| *id)),
        flags(kept.iter().map(|(_, row)| !row.has_credit())),
        rows("customer", kept.iter().map(|(_, row)| *row))?,
    ];
    writes.add(kept.len(), PUT_CUSTOMERS, values);
    writes.add(gone.len(), DELETE_CUSTOMERS, vec![texts(gone.iter().copied())]);
    Ok(())
}

pub(super) fn keys<'a>(writes: &mut Writes<'a>, group: &'a [RowChange]) -> Result<(), StoreError> {
    let of = |key: &'a RowKey| if let RowKey::Key(id) = key { Some(id.0.as_str()) } else { None };
    let Split::<_, Key> { kept, gone } = split(group, of);
    let values = vec![
        texts(kept.iter().map(|(id, _)| *id)),
        texts(kept.iter().map(|(_, row)| row.customer.0.as_str())),
        digests(kept.iter().map(|(_, row)| &row.digest.0.0)),
        optional_texts(kept.iter().map(|(_, row)| row.rotated_to.as_ref().map(|id| id.0.as_str()))),
        rows("api_key", kept.iter().map(|(_, row)| *row))?,
    ];
    writes.add(kept.len(), PUT_KEYS, values);
    writes.add(gone.len(), DELETE_KEYS, vec![texts(gone.iter().copied())]);
    Ok(())
}

pub(super) fn holds<'a>(writes: &mut Writes<'a>, group: &'a [RowChange]) -> Result<(), StoreError> {
    let of = |key: &'a RowKey| if let RowKey::Hold(id) = key { Some(hold_parts(*id)) } else { None };
    let Split::<_, Hold> { kept, gone } = split(group, of);
    let values = vec![
        flags(kept.iter().map(|((of_task, _), _)| *of_task)),
        uuids(kept.iter().map(|((_, id), _)| *id)),
        numbers(kept.iter().map(|(_, row)| row.expires.0)),
        rows("hold", kept.iter().map(|(_, row)| *row))?,
    ];
    writes.add(kept.len(), PUT_HOLDS, values);
    let of_task = flags(gone.iter().map(|(of_task, _)| *of_task));
    writes.add(gone.len(), DELETE_HOLDS, vec![of_task, uuids(gone.iter().map(|(_, id)| *id))]);
    Ok(())
}

pub(super) fn names<'a>(writes: &mut Writes<'a>, group: &'a [RowChange]) -> Result<(), StoreError> {
    let of = |key: &'a RowKey| if let RowKey::Name(name) = key { Some(name.as_str()) } else { None };
    // A name stays its customer's.
    let Split::<_, NameRecord> { kept, gone: _ } = split(group, of);
    let values = vec![
        texts(kept.iter().map(|(name, _)| *name)),
        texts(kept.iter().map(|(_, row)| row.customer.0.as_str())),
        rows("name", kept.iter().map(|(_, row)| *row))?,
    ];
    writes.add(kept.len(), PUT_NAMES, values);
    Ok(())
}

pub(super) fn idempotency<'a>(writes: &mut Writes<'a>, group: &'a [RowChange]) -> Result<(), StoreError> {
    let of = |key: &'a RowKey| match key {
        RowKey::Idempotency(key, Digest(token)) => Some((key.0.as_str(), token)),
        _ => None,
    };
    let Split::<_, IdempotencyRecord> { kept, gone } = split(group, of);
    let values = vec![
        texts(kept.iter().map(|((key, _), _)| *key)),
        digests(kept.iter().map(|((_, token), _)| *token)),
        numbers(kept.iter().map(|(_, row)| row.expires.0)),
        rows("idempotency", kept.iter().map(|(_, row)| *row))?,
    ];
    writes.add(kept.len(), PUT_IDEMPOTENCY, values);
    let keys = texts(gone.iter().map(|(key, _)| *key));
    writes.add(gone.len(), DELETE_IDEMPOTENCY, vec![keys, digests(gone.iter().map(|(_, token)| *token))]);
    Ok(())
}

pub(super) fn admin_idempotency<'a>(
    writes: &mut Writes<'a>,
    group: &'a [RowChange],
) -> Result<(), StoreError> {
    let of = |key: &'a RowKey| {
        if let RowKey::AdminIdempotency(Digest(token)) = key { Some(token) } else { None }
    };
    let Split::<_, AdminIdempotencyRecord> { kept, gone } = split(group, of);
    let values = vec![
        digests(kept.iter().map(|(token, _)| *token)),
        numbers(kept.iter().map(|(_, row)| row.expires.0)),
        rows("admin_idempotency", kept.iter().map(|(_, row)| *row))?,
    ];
    writes.add(kept.len(), PUT_ADMIN_IDEMPOTENCY, values);
    writes.add(gone.len(), DELETE_ADMIN_IDEMPOTENCY, vec![digests(gone.iter().copied())]);
    Ok(())
}

pub(super) fn audit<'a>(writes: &mut Writes<'a>, group: &'a [RowChange]) -> Result<(), StoreError> {
    let of = |key: &'a RowKey| if let RowKey::Audit(number) = key { Some(*number) } else { None };
    let Split::<_, AuditRecord> { kept, gone: _ } = split(group, of);
    let values = vec![
        numbers(kept.iter().map(|(number, _)| *number)),
        moments(kept.iter().map(|(_, row)| row.at)),
        flags(kept.iter().map(|(_, row)| row.mark.is_some())),
        rows("audit", kept.iter().map(|(_, row)| *row))?,
    ];
    writes.add(kept.len(), PUT_AUDIT, values);
    Ok(())
}

pub(super) fn price_books<'a>(writes: &mut Writes<'a>, group: &'a [RowChange]) -> Result<(), StoreError> {
    let of = |key: &'a RowKey| if let RowKey::PriceBook(number) = key { Some(*number) } else { None };
    let Split::<_, PriceVersion> { kept, gone } = split(group, of);
    let kept_numbers = numbers(kept.iter().map(|(number, _)| *number));
    let values = vec![kept_numbers, rows("price_book", kept.iter().map(|(_, row)| *row))?];
    writes.add(kept.len(), PUT_PRICE_BOOKS, values);
    writes.add(gone.len(), DELETE_PRICE_BOOKS, vec![numbers(gone.iter().copied())]);
    Ok(())
}

pub(super) fn deployments<'a>(writes: &mut Writes<'a>, group: &'a [RowChange]) -> Result<(), StoreError> {
    let of = |key: &'a RowKey| if let RowKey::Deployment(number) = key { Some(*number) } else { None };
    let Split::<_, DeploymentRecord> { kept, gone } = split(group, of);
    let kept_numbers = numbers(kept.iter().map(|(number, _)| *number));
    let values = vec![kept_numbers, rows("deployment", kept.iter().map(|(_, row)| *row))?];
    writes.add(kept.len(), PUT_DEPLOYMENTS, values);
    writes.add(gone.len(), DELETE_DEPLOYMENTS, vec![numbers(gone.iter().copied())]);
    Ok(())
}

/// Whether it is a task's, and the id's bits.
pub(in crate::postgres) fn hold_parts(id: HoldId) -> (bool, u128) {
    match id {
        HoldId::Request(id) => (false, id.bits()),
        HoldId::Task(id) => (true, id.bits()),
    }
}
