//! Pages of tasks, newest first.
//!
//! A page goes down one index: that of its customer, else of its keys, of what is ambiguous, of families or of states, else all tasks.
//! It looks at so many tasks there at most, without their rows, and reads the rows of those that the other filters let pass.

use gatehouse_model::{CustomerId, Status, Task, TaskId, UnixMs};
use tokio_postgres::GenericClient;
use tokio_postgres::types::Type;

use crate::error::StoreError;
use crate::listing::all_tasks::{AllTasksPage, AllTasksQuery, first_id};
use crate::listing::page::{TaskPage, TaskQuery};
use crate::postgres::sql::{
    Value, column, each, id, limit, query as ask, storable, text, texts, uuid, uuids, value,
};

const TASKS_OF: &str = "
    select found.row
    from unnest($2::text[]) of (status)
    cross join lateral (
        select id, row
        from task
        where customer = $1 and task.status = of.status and id < $3 and ($4::text is null or model = $4)
        order by id desc
        limit $5
    ) found
    order by found.id desc
    limit $5";
const ROWS: &str = "
    select found.row
    from unnest($1) asked (id)
    cross join lateral (select row from task where task.id = asked.id limit 1) found
    order by asked.id desc";

/// Ids below one, in the order of an index, with whether every filter lets them pass.
macro_rules! looked_at {
    ($values:literal, $filter:literal) => {
        concat!(
            "
    select
        id,
        ($4::text is null or customer = $4)
        and (cardinality($5::text[]) = 0 or status = any($5))
        and (cardinality($6::text[]) = 0 or key = any($6))
        and (cardinality($7::text[]) = 0 or family = any($7))
        and (not $8 or ambiguous)
        and ($9::text is null or model = $9)
    from (
        select found.*
        from unnest(",
            $values,
            "::text[]) of (value)
        cross join lateral (
            select id, customer, status, key, family, ambiguous, model
            from task
            where ",
            $filter,
            " and id < $1 and id >= $2
            order by id desc
            limit $3
        ) found
    ) looked_at
    order by id desc
    limit $3"
        )
    };
}

const BY_CUSTOMER: &str = looked_at!("$5", "customer = $4 and status = of.value");
const BY_KEY: &str = looked_at!("$6", "key = of.value");
const AMBIGUOUS: &str = looked_at!("array['']", "ambiguous");
const BY_FAMILY: &str = looked_at!("$7", "family = of.value");
const BY_STATUS: &str = looked_at!("$5", "status = of.value");
const ALL: &str = looked_at!("array['']", "true");

/// Tasks that one page looks at, at least.
const LOOKED_AT: usize = 1_000;

/// A page of a customer's tasks.
pub(crate) async fn list_tasks(
    client: &impl GenericClient,
    customer: &CustomerId,
    query: &TaskQuery,
) -> Result<TaskPage, StoreError> {
    let statuses = query.status.map_or_else(|| Status::ALL.to_vec(), |status| vec![status]);
    let values = vec![
        text(&customer.0),
        texts(statuses.iter().map(|status| status.as_str())),
        uuid(query.after.map_or(u128::MAX, TaskId::bits)),
        optional(query.model.as_deref()),
        limit(query.limit.saturating_add(1)),
    ];
    let mut tasks: Vec<Task> = each("task", &ask(client, TASKS_OF, values).await?)?;
    let rows_read = tasks.len();
    let more = tasks.len() > query.limit;
    tasks.truncate(query.limit);
    Ok(TaskPage { tasks, more, rows_read })
}

/// A page of all customers' tasks.
pub(crate) async fn list_all_tasks(
    client: &impl GenericClient,
    query: &AllTasksQuery,
) -> Result<AllTasksPage, StoreError> {
    let mut page = AllTasksPage::default();
    let most = query.limit.saturating_mul(2).max(LOOKED_AT);
    let found = ask(client, index_of(query), filters(query, most)).await?;
    page.rows_read = found.len();
    // Only the rows themselves tell of tags, so more of them are read than are shown.
    let has_tags = query.user.is_some() || query.tag.is_some();
    let most_rows = if has_tags { query.limit.saturating_mul(2) } else { query.limit };
    let (mut ids, mut last) = (Vec::new(), None);
    for row in &found {
        if column(row, 1)? {
            if ids.len() == most_rows {
                page.next = last;
                break;
            }
            ids.push(id(row, 0)?);
        }
        last = Some(TaskId::from_bits(id(row, 0)?));
    }
    if page.next.is_none() && found.len() == most {
        page.next = last;
    }
    page.tasks_read = ids.len();
    let tasks: Vec<Task> = each("task", &ask(client, ROWS, vec![uuids(ids)]).await?)?;
    for task in tasks.into_iter().filter(|task| query.shows(task)) {
        if page.tasks.len() == query.limit {
            page.next = page.tasks.last().map(|last| last.id);
            break;
        }
        page.tasks.push(task);
    }
    Ok(page)
}

/// The statement whose index has the fewest tasks beside those that are looked for, as far as one can tell.
fn index_of(query: &AllTasksQuery) -> &'static str {
    match query {
        AllTasksQuery { customer: Some(_), .. } => BY_CUSTOMER,
        AllTasksQuery { keys, .. } if !keys.is_empty() => BY_KEY,
        AllTasksQuery { ambiguous: true, .. } => AMBIGUOUS,
        AllTasksQuery { families, .. } if !families.is_empty() => BY_FAMILY,
        AllTasksQuery { statuses, .. } if !statuses.is_empty() => BY_STATUS,
        _ => ALL,
    }
}

fn filters(query: &AllTasksQuery, most: usize) -> Vec<Value<'_>> {
    let until = match query.created.end {
        UnixMs(u64::MAX) => u128::MAX,
        end => first_id(end),
    };
    let every = query.statuses.is_empty() && query.customer.is_some();
    let statuses = if every { &Status::ALL[..] } else { &query.statuses };
    vec![
        uuid(query.after.map_or(until, |after| after.bits().min(until))),
        uuid(first_id(query.created.start)),
        limit(most),
        optional(query.customer.as_ref().map(|customer| customer.0.as_str())),
        texts(statuses.iter().map(|status| status.as_str())),
        texts(query.keys.iter().map(|key| key.0.as_str())),
        texts(query.families.iter().map(String::as_str)),
        value(query.ambiguous, Type::BOOL),
        optional(query.model.as_deref()),
    ]
}

fn optional(text: Option<&str>) -> Value<'_> {
    value(text.map(storable), Type::TEXT)
}
