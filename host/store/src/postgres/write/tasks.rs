//! Tasks, their logs, and the partitions of the days in which they were created.

use std::collections::BTreeSet;

use gatehouse_model::{Task, TaskId};
use gatehouse_tasks::{RowChange, RowKey, StepRow};

use super::{Split, Writes, split};
use crate::error::StoreError;
use crate::postgres::sql::{days, flags, numbers, rows, texts, uuids};

const MAKE_DAYS: &str = "select make_days($1)";
const PUT_TASKS: &str = "
    insert into task (id, customer, key, family, model, status, live, ambiguous, row)
    select * from unnest($1, $2, $3, $4, $5, $6, $7, $8, $9)
    on conflict (id) do update set
        customer = excluded.customer,
        key = excluded.key,
        family = excluded.family,
        model = excluded.model,
        status = excluded.status,
        live = excluded.live,
        ambiguous = excluded.ambiguous,
        row = excluded.row";
const DELETE_TASKS: &str = "delete from task where id = any($1)";
const PUT_STEPS: &str = "
    insert into step (task, place, row)
    select * from unnest($1, $2, $3)
    on conflict (task, place) do update set row = excluded.row";
const DELETE_STEPS: &str = "
    delete from step
    using unnest($1, $2) as gone (task, place)
    where step.task = gone.task and step.place = gone.place";
const PUT_STEP_COUNTS: &str = "
    insert into step_count (day, rows)
    select * from unnest($1, $2)
    on conflict (day) do update set rows = excluded.rows";

pub(super) fn tasks<'a>(writes: &mut Writes<'a>, group: &'a [RowChange]) -> Result<(), StoreError> {
    let of = |key: &'a RowKey| if let RowKey::Task(id) = key { Some(*id) } else { None };
    make_days(writes, group.iter().filter(|change| change.before.is_none()).filter_map(|row| of(&row.key)));
    let Split::<_, Task> { kept, gone } = split(group, of);
    let values = vec![
        uuids(kept.iter().map(|(id, _)| id.bits())),
        texts(kept.iter().map(|(_, row)| row.customer.0.as_str())),
        texts(kept.iter().map(|(_, row)| row.key.0.as_str())),
        texts(kept.iter().map(|(_, row)| row.family.as_str())),
        texts(kept.iter().map(|(_, row)| row.model.as_str())),
        texts(kept.iter().map(|(_, row)| row.status.as_str())),
        flags(kept.iter().map(|(_, row)| !row.status.is_final())),
        flags(kept.iter().map(|(_, row)| row.phase.ambiguous_call().is_some())),
        rows("task", kept.iter().map(|(_, row)| *row))?,
    ];
    writes.add(kept.len(), PUT_TASKS, values);
    writes.add(gone.len(), DELETE_TASKS, vec![uuids(gone.iter().map(|id| id.bits()))]);
    Ok(())
}

pub(super) fn steps<'a>(writes: &mut Writes<'a>, group: &'a [RowChange]) -> Result<(), StoreError> {
    let of = |key: &'a RowKey| if let RowKey::Steps(id, place) = key { Some((*id, *place)) } else { None };
    make_days(writes, group.iter().filter_map(|change| of(&change.key)).map(|(id, _)| id));
    let Split::<_, StepRow> { kept, gone } = split(group, of);
    let values = vec![
        uuids(kept.iter().map(|((id, _), _)| id.bits())),
        numbers(kept.iter().map(|((_, place), _)| *place)),
        rows("step", kept.iter().map(|(_, row)| *row))?,
    ];
    writes.add(kept.len(), PUT_STEPS, values);
    let tasks = uuids(gone.iter().map(|(id, _)| id.bits()));
    writes.add(gone.len(), DELETE_STEPS, vec![tasks, numbers(gone.iter().map(|(_, place)| *place))]);
    Ok(())
}

pub(super) fn step_counts<'a>(writes: &mut Writes<'a>, group: &'a [RowChange]) -> Result<(), StoreError> {
    let of = |key: &'a RowKey| if let RowKey::StepCount(day) = key { Some(*day) } else { None };
    let Split::<_, u64> { kept, gone: _ } = split(group, of);
    let counted = vec![days(kept.iter().map(|(day, _)| *day)), numbers(kept.iter().map(|(_, rows)| **rows))];
    writes.add(kept.len(), PUT_STEP_COUNTS, counted);
    Ok(())
}

/// Sees to it that there are partitions for these tasks.
fn make_days(writes: &mut Writes<'_>, tasks: impl Iterator<Item = TaskId>) {
    let of: BTreeSet<u32> = tasks.map(|id| id.timestamp().day()).collect();
    writes.add(of.len(), MAKE_DAYS, vec![days(of)]);
}
