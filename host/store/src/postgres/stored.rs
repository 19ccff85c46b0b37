//! The tables of encoded rows. A row stands in the column `row` of its table, beside columns by which it is found: those of its key, and
//! some that follow from the row. What a commit writes, what commands fetch, what is copied and what is examined is made of this.

use std::sync::OnceLock;

use gatehouse_model::{Customer, Digest, Key, Task, UnixMs};
use gatehouse_tasks::{
    AdminIdempotencyRecord, DeploymentRecord, Hold, HoldId, IdempotencyRecord, NameRecord, PriceVersion,
    ResponseRecord, Row, RowKey, WebhookDelivery, WebhookEndpoint,
};
use serde::de::DeserializeOwned;
use tokio_postgres::{GenericClient, Row as Answer};

use super::sql::{
    Value, column, days, decoded, digests, first, flags, id, moments, optional_numbers, optional_texts, rows,
    signed, storable, uuids,
};
use crate::error::StoreError;

/// A table, and the statements about it.
pub(super) struct Stored {
    pub(super) name: &'static str,
    key: &'static [&'static str],
    /// The other columns.
    rest: &'static [&'static str],
    /// Decodes a row, where rows know their own keys.
    decode: Option<Decode>,
    put: OnceLock<String>,
    delete: OnceLock<String>,
    fetch: OnceLock<String>,
}

/// Each id is looked up in its own day alone.
const FETCH_TASKS: &str = "
    select found.row
    from unnest($1) asked (id)
    cross join lateral (select row from task where task.id = asked.id limit 1) found";

type Decode = fn(&str, &Answer) -> Result<Row, StoreError>;

static ADMIN_IDEMPOTENCY: Stored =
    Stored::new("admin_idempotency", &["token"], &["expires", "row"], Some(row::<AdminIdempotencyRecord>));
static AUDIT: Stored = Stored::new("audit", &["number"], &["at", "marks", "row"], None);
pub(super) static CUSTOMERS: Stored =
    Stored::new("customer", &["id"], &["without_credit", "row"], Some(row::<Customer>));
pub(super) static DELIVERIES: Stored =
    Stored::new("delivery", &["id"], &["webhook", "due", "row"], Some(row::<WebhookDelivery>));
pub(super) static DEPLOYMENTS: Stored =
    Stored::new("deployment", &["number"], &["row"], Some(row::<DeploymentRecord>));
pub(super) static HOLDS: Stored =
    Stored::new("hold", &["of_task", "id"], &["expires", "row"], Some(row::<Hold>));
static IDEMPOTENCY: Stored =
    Stored::new("idempotency", &["key", "token"], &["expires", "row"], Some(row::<IdempotencyRecord>));
pub(super) static KEYS: Stored =
    Stored::new("api_key", &["id"], &["customer", "digest", "rotated_to", "row"], Some(row::<Key>));
pub(super) static NAMES: Stored =
    Stored::new("name", &["name"], &["customer", "row"], Some(row::<NameRecord>));
pub(super) static PRICE_BOOKS: Stored =
    Stored::new("price_book", &["number"], &["row"], Some(row::<PriceVersion>));
pub(super) static RESPONSES: Stored = Stored::new(
    "response",
    &["customer", "id"],
    &["previous", "kept", "expires", "row"],
    Some(row::<ResponseRecord>),
);
static RESPONSE_TOTALS: Stored = Stored::new("response_total", &["customer"], &["count", "bytes"], None);
static STEPS: Stored = Stored::new("step", &["task", "place"], &["row"], None);
static STEP_COUNTS: Stored = Stored::new("step_count", &["day"], &["rows"], None);
pub(super) static TASKS: Stored = Stored::new(
    "task",
    &["id"],
    &["customer", "key", "family", "model", "status", "live", "ambiguous", "row"],
    Some(row::<Task>),
);
pub(super) static WEBHOOKS: Stored =
    Stored::new("webhook", &["id"], &["customer", "troubled", "row"], Some(row::<WebhookEndpoint>));

/// Those whose rows know their own keys.
pub(super) static KNOWN: [&Stored; 12] = [
    &CUSTOMERS,
    &KEYS,
    &HOLDS,
    &TASKS,
    &NAMES,
    &IDEMPOTENCY,
    &ADMIN_IDEMPOTENCY,
    &PRICE_BOOKS,
    &DEPLOYMENTS,
    &WEBHOOKS,
    &DELIVERIES,
    &RESPONSES,
];

/// What a column holds.
#[derive(Clone, Copy)]
pub(super) enum Cell<'a> {
    Day(u32),
    Digest(&'a [u8; 32]),
    Flag(bool),
    Moment(UnixMs),
    Number(Option<u64>),
    Row(&'a Row),
    Text(Option<&'a str>),
    Uuid(u128),
}

impl Stored {
    const fn new(
        name: &'static str,
        key: &'static [&'static str],
        rest: &'static [&'static str],
        decode: Option<Decode>,
    ) -> Self {
        Self {
            name,
            key,
            rest,
            decode,
            put: OnceLock::new(),
            delete: OnceLock::new(),
            fetch: OnceLock::new(),
        }
    }

    /// The table of such keys; nothing for what stands in no table of this kind.
    pub(super) fn of(key: &RowKey) -> Option<&'static Self> {
        place(key).map(|(table, _)| table)
    }

    /// The same, where rows know their own keys.
    pub(super) fn known(key: &RowKey) -> Option<&'static Self> {
        Self::of(key).filter(|table| table.decode.is_some())
    }

    /// Keeps rows, from an array for each column.
    pub(super) fn put(&'static self) -> &'static str {
        self.put.get_or_init(|| {
            let (name, all) = (self.name, [self.key, self.rest].concat());
            let set: Vec<_> =
                self.rest.iter().map(|column| format!("{column} = excluded.{column}")).collect();
            format!(
                "insert into {name} ({}) select * from unnest({}) on conflict ({}) do update set {}",
                all.join(", "),
                numbered(all.len()),
                self.key.join(", "),
                set.join(", ")
            )
        })
    }

    /// Deletes the rows of keys, from an array for each column.
    pub(super) fn delete(&'static self) -> &'static str {
        self.delete.get_or_init(|| match (self.name, self.key) {
            (name, [key]) => format!("delete from {name} where {key} = any($1)"),
            (name, keys) => {
                let (columns, gone) = (keys.join(", "), numbered(keys.len()));
                let same: Vec<_> = keys.iter().map(|key| format!("{name}.{key} = gone.{key}")).collect();
                let same = same.join(" and ");
                format!("delete from {name} using unnest({gone}) as gone ({columns}) where {same}")
            }
        })
    }

    /// The rows of keys, from an array for each column.
    pub(super) fn fetch(&'static self) -> &'static str {
        self.fetch.get_or_init(|| match (self.name, self.key) {
            ("task", _) => FETCH_TASKS.to_owned(),
            (name, [key]) => format!("select row from {name} where {key} = any($1)"),
            (name, keys) => {
                let (columns, asked) = (keys.join(", "), numbered(keys.len()));
                format!("select row from {name} where ({columns}) in (select * from unnest({asked}))")
            }
        })
    }

    /// All rows, each with the columns beside it, in that order.
    pub(super) fn all(&self, order: &str) -> String {
        let beside = self.rest.iter().filter(|column| **column != "row");
        let columns: Vec<_> = self.key.iter().chain(beside).copied().collect();
        format!("select row, {} from {} order by {order}", columns.join(", "), self.name)
    }

    /// An array for each column.
    pub(super) fn arrays<'a>(&self, cells: &[Vec<Cell<'a>>]) -> Result<Vec<Value<'a>>, StoreError> {
        let columns = cells.first().map_or(0, Vec::len);
        (0..columns).map(|at| array(self.name, cells.iter().map(|row| row[at]).collect())).collect()
    }

    /// The row in the first column of an answer, with its key.
    pub(super) fn read(&self, answer: &Answer) -> Result<(RowKey, Row), StoreError> {
        let row = self.decode.map(|decode| decode(self.name, answer)).transpose()?;
        let known = row.and_then(|row| Some((key_of(&row)?, row)));
        known.ok_or_else(|| StoreError::failed(format_args!("rows of {} do not know their keys", self.name)))
    }
}

/// The row of that key, of a table whose rows know their keys.
pub(super) async fn find<T: DeserializeOwned>(
    client: &impl GenericClient,
    key: &RowKey,
) -> Result<Option<T>, StoreError> {
    let Some(table) = Stored::known(key) else { return Ok(None) };
    let row = first(client, table.fetch(), table.arrays(&[key_cells(key)])?).await?;
    row.map(|row| decoded(table.name, &row, 0)).transpose()
}

/// `$1, $2`, and so on.
fn numbered(columns: usize) -> String {
    (1..=columns).map(|at| format!("${at}")).collect::<Vec<_>>().join(", ")
}

fn row<T: DeserializeOwned + Into<Row>>(table: &str, answer: &Answer) -> Result<Row, StoreError> {
    Ok(decoded::<T>(table, answer, 0)?.into())
}

/// The table of a key, and what the columns of the key hold there.
fn place(key: &RowKey) -> Option<(&'static Stored, Vec<Cell<'_>>)> {
    let number = |number: &u64| Cell::Number(Some(*number));
    Some(match key {
        RowKey::AdminIdempotency(Digest(token)) => (&ADMIN_IDEMPOTENCY, vec![Cell::Digest(token)]),
        RowKey::Audit(at) => (&AUDIT, vec![number(at)]),
        RowKey::Customer(id) => (&CUSTOMERS, vec![Cell::Text(Some(&id.0))]),
        RowKey::Delivery(id) => (&DELIVERIES, vec![Cell::Uuid(id.bits())]),
        RowKey::Deployment(at) => (&DEPLOYMENTS, vec![number(at)]),
        RowKey::Hold(id) => {
            let (of_task, id) = hold_parts(*id);
            (&HOLDS, vec![Cell::Flag(of_task), Cell::Uuid(id)])
        }
        RowKey::Idempotency(key, Digest(token)) => {
            (&IDEMPOTENCY, vec![Cell::Text(Some(&key.0)), Cell::Digest(token)])
        }
        RowKey::Key(id) => (&KEYS, vec![Cell::Text(Some(&id.0))]),
        RowKey::Name(name) => (&NAMES, vec![Cell::Text(Some(name))]),
        RowKey::PriceBook(at) => (&PRICE_BOOKS, vec![number(at)]),
        RowKey::Response(customer, id) => {
            (&RESPONSES, vec![Cell::Text(Some(&customer.0)), Cell::Text(Some(id))])
        }
        RowKey::ResponseTotals(customer) => (&RESPONSE_TOTALS, vec![Cell::Text(Some(&customer.0))]),
        RowKey::StepCount(day) => (&STEP_COUNTS, vec![Cell::Day(*day)]),
        RowKey::Steps(task, place) => (&STEPS, vec![Cell::Uuid(task.bits()), number(place)]),
        RowKey::Task(id) => (&TASKS, vec![Cell::Uuid(id.bits())]),
        RowKey::Webhook(id) => (&WEBHOOKS, vec![Cell::Uuid(id.bits())]),
        RowKey::Entry(_) | RowKey::KeyDigest(_) | RowKey::Newest(_) => return None,
        RowKey::Usage(_) | RowKey::WebhooksOf(_) => return None,
    })
}

/// What the columns of a key hold.
pub(super) fn key_cells(key: &RowKey) -> Vec<Cell<'_>> {
    place(key).map(|(_, cells)| cells).unwrap_or_default()
}

/// What all columns of a row hold.
pub(super) fn cells<'a>(key: &'a RowKey, row: &'a Row) -> Vec<Cell<'a>> {
    let number = |number: u64| Cell::Number(Some(number));
    let mut cells = key_cells(key);
    match row {
        Row::AdminIdempotency(row) => cells.push(number(row.expires.0)),
        Row::Audit(row) => cells.extend([Cell::Moment(row.at), Cell::Flag(row.mark.is_some())]),
        Row::Customer(row) => cells.push(Cell::Flag(!row.has_credit())),
        Row::Delivery(row) => {
            cells.extend([Cell::Uuid(row.webhook.bits()), Cell::Number(row.due().map(|due| due.0))]);
        }
        Row::Hold(row) => cells.push(number(row.expires.0)),
        Row::Idempotency(row) => cells.push(number(row.expires.0)),
        Row::Key(row) => cells.extend([
            Cell::Text(Some(&row.customer.0)),
            Cell::Digest(&row.digest.0.0),
            Cell::Text(row.rotated_to.as_ref().map(|id| id.0.as_str())),
        ]),
        Row::Name(row) => cells.push(Cell::Text(Some(&row.customer.0))),
        Row::Number(rows) => cells.push(number(*rows)),
        Row::Response(row) => {
            cells.extend([Cell::Text(row.previous.as_deref()), number(row.kept.0), number(row.expires.0)]);
        }
        Row::ResponseTotals(totals) => cells.extend([number(totals.count), number(totals.bytes)]),
        Row::Task(row) => {
            let texts = [&row.customer.0, &row.key.0, &row.family, &row.model].map(String::as_str);
            cells.extend(texts.into_iter().chain([row.status.as_str()]).map(Some).map(Cell::Text));
            cells.push(Cell::Flag(!row.status.is_final()));
            cells.push(Cell::Flag(row.phase.ambiguous_call().is_some()));
        }
        Row::Webhook(row) => {
            cells.extend([Cell::Text(Some(&row.customer.0)), Cell::Flag(row.is_troubled())]);
        }
        Row::Deployment(_) | Row::PriceBook(_) | Row::Steps(_) => {}
        Row::Entry(_) | Row::KeyId(_) | Row::Usage(_) | Row::Webhooks(_) => {}
    }
    if !matches!(row, Row::Number(_) | Row::ResponseTotals(_)) {
        cells.push(Cell::Row(row));
    }
    cells
}

/// The key of a row that knows it.
fn key_of(row: &Row) -> Option<RowKey> {
    Some(match row {
        Row::AdminIdempotency(row) => RowKey::AdminIdempotency(row.token),
        Row::Customer(row) => RowKey::Customer(row.id.clone()),
        Row::Delivery(row) => RowKey::Delivery(row.id),
        Row::Deployment(row) => RowKey::Deployment(row.number),
        Row::Hold(row) => RowKey::Hold(row.id),
        Row::Idempotency(row) => RowKey::Idempotency(row.key.clone(), row.token),
        Row::Key(row) => RowKey::Key(row.id.clone()),
        Row::Name(row) => RowKey::Name(row.claim.name.clone()),
        Row::PriceBook(row) => RowKey::PriceBook(row.number),
        Row::Response(row) => RowKey::Response(row.customer.clone(), row.id.clone()),
        Row::Task(row) => RowKey::Task(row.id),
        Row::Webhook(row) => RowKey::Webhook(row.id),
        _ => return None,
    })
}

/// One column of some rows.
fn array<'a>(table: &str, cells: Vec<Cell<'a>>) -> Result<Value<'a>, StoreError> {
    macro_rules! all {
        ($kind:ident) => {
            cells.iter().filter_map(|cell| if let Cell::$kind(value) = cell { Some(*value) } else { None })
        };
    }
    Ok(match cells[0] {
        Cell::Day(_) => days(all!(Day)),
        Cell::Digest(_) => digests(all!(Digest)),
        Cell::Flag(_) => flags(all!(Flag)),
        Cell::Moment(_) => moments(all!(Moment)),
        Cell::Number(_) => optional_numbers(all!(Number)),
        Cell::Row(_) => rows(table, all!(Row))?,
        Cell::Text(_) => optional_texts(all!(Text)),
        Cell::Uuid(_) => uuids(all!(Uuid)),
    })
}

/// Whether the columns behind the row of an answer of [`Stored::all`] are what key and row say.
pub(super) fn is_found(answer: &Answer, key: &RowKey, row: &Row) -> Result<bool, StoreError> {
    for (cell, at) in cells(key, row).into_iter().zip(1..) {
        let is_same = match cell {
            Cell::Digest(digest) => column::<&[u8]>(answer, at)? == digest,
            Cell::Flag(flag) => column::<bool>(answer, at)? == flag,
            Cell::Number(number) => column::<Option<i64>>(answer, at)? == number.map(signed),
            Cell::Text(text) => column::<Option<&str>>(answer, at)? == text.map(storable).as_deref(),
            Cell::Uuid(bits) => id(answer, at)? == bits,
            Cell::Day(_) | Cell::Moment(_) | Cell::Row(_) => true,
        };
        if !is_same {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether it is a task's, and the id's bits.
pub(super) fn hold_parts(id: HoldId) -> (bool, u128) {
    match id {
        HoldId::Request(id) => (false, id.bits()),
        HoldId::Task(id) => (true, id.bits()),
    }
}
