//! `/ledger`: the rows of the ledger, newest first, of all, of one customer or of one key; a statement with its running
//! balance, and the same rows as CSV.

use std::collections::BTreeMap;

use gatehouse_model::{Credits, CustomerId, KeyId, view};
use gatehouse_store::{StatementPage, StatementRow};
use gatehouse_tasks::{HoldId, StatementLine};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use crate::api::values::{List, Moment, entry_id};
use crate::error::ApiError;
use crate::http::call::{Call, Outcome};
use crate::http::csv;
use crate::http::request::query::{Form, Parameter, filter};
use crate::http::route::Route;
use crate::reply::Reply;
use crate::service::{AdminService, StatementRequest, tag_of};

const TIME: [Parameter; 2] = [
    filter("created_after", Form::Moment, "Only rows from this moment on."),
    filter("created_before", Form::Moment, "Only rows before this moment."),
];
const CUSTOMER: Parameter = filter("customer", Form::Text, "Only this customer's rows.");
const KEY: Parameter =
    filter("key", Form::Text, "Only this key's rows; balances are then what the key has used.");
const TAGS: [Parameter; 2] = [
    filter("user", Form::Text, "Only what was spent on this user of a client."),
    filter(
        "tag",
        Form::Text,
        "Only what was spent on requests with this pair in their `metadata`, as `name=value`.",
    ),
];
/// Rows that one piece of a file reads.
const PIECE: usize = 500;
/// Pages without a row that fits, before an empty one is answered that says where to go on.
const MOST_PAGES: usize = 20;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/ledger", "listLedger", list)
            .says("Lists the ledger, newest first.")
            .query(&[CUSTOMER, KEY])
            .query(&TAGS)
            .query(&TIME)
            .paged()
            .returns::<List<LedgerLine>>()
            .looks_up(),
        Route::get("/ledger.csv", "exportLedger", export)
            .says("The ledger as CSV, newest first.")
            .query(&[CUSTOMER, KEY])
            .query(&TAGS)
            .query(&TIME)
            .returns_text(csv::CONTENT_TYPE)
            .looks_up(),
        Route::get("/ledger/sums", "sumLedger", sums)
            .says(
                "What the rows of the ledger come to, with the balance before and after; more than 10,000 by \
                whole days (UTC).",
            )
            .query(&[CUSTOMER, KEY])
            .query(&TIME)
            .returns::<LedgerSums>()
            .looks_up(),
        Route::get("/customers/{customer}/ledger", "listCustomerLedger", list)
            .says("A customer's statement, newest first.")
            .query(&[KEY])
            .query(&TAGS)
            .query(&TIME)
            .paged()
            .returns::<List<LedgerLine>>(),
        Route::get("/customers/{customer}/statement", "exportStatement", statement)
            .says(
                "A customer's whole statement, oldest entry first, as lines that `gatehouse verify` checks \
                in a file.",
            )
            .paged()
            .returns::<List<FileLine>>(),
    ]
}

/// A line of a statement in a file.
#[derive(Debug, Serialize)]
#[serde(transparent)]
struct FileLine(StatementLine);

impl JsonSchema for FileLine {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "StatementLine".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "The first line, an entry with the hash chain up to it, or the last line with the chain's head and \
                            the balances. Written to a file one a line and unchanged, they can be checked.",
            "properties": {"line": {"type": "string", "enum": ["begin", "entry", "end"]}},
            "required": ["line"],
        })
    }
}

view! {
    /// A row of the ledger. The three changes are of the customer's balances.
    #[derive(Debug, Serialize, JsonSchema)]
    struct LedgerLine of (row: StatementRow) where {
        let StatementRow { entry, after, .. } = row;
        let moved = entry.movement;
        let (task, request) = match entry.hold {
            Some(HoldId::Task(id)) => (Some(id.to_string()), None),
            Some(HoldId::Request(id)) => (None, Some(id.to_string())),
            None => (None, None),
        };
    } {
        /// Its id: says nothing of how many others there are, or of their order.
        id: String = entry_id(&entry),
        /// When.
        at: Moment = entry.at.into(),
        /// "deposit", "hold", "join", "release" or "settle".
        kind: &'static str = entry.kind.as_str(),
        /// The customer.
        customer: String = entry.customer.0,
        /// The key; null for a deposit.
        key: Option<String> = entry.key.map(|key| key.0),
        /// The task whose money it is, if it is a task's.
        task: Option<String> = task,
        /// The request whose money it is, if it is a request's.
        request: Option<String> = request,
        /// Change of what is free.
        available_micro: i64 = moved.available.0,
        /// Change of what is held.
        held_micro: i64 = moved.reserved.0,
        /// Change of what is spent.
        spent_micro: i64 = moved.spent.0,
        /// After it: what the customer had free, or what the key had used where a key is asked for. Null in the ledger of all.
        balance_micro: Option<i64> = after.map(|after| after.0),
        /// For people.
        memo: String = entry.memo,
        /// Of what was spent: the `user` that its client named.
        user: Option<String> = entry.tags.user,
        /// The same of the texts of the client's `metadata`, by name; with the user and the names at most 1,024 bytes.
        metadata: BTreeMap<String, String> = entry.tags.metadata,
    }
}

/// What rows of the ledger come to. Balances are those of the customer or key that is asked for.
#[derive(Debug, Serialize, JsonSchema)]
struct LedgerSums {
    /// How many rows; null for more than 10,000.
    rows: Option<u64>,
    /// What the customer had free before the first row.
    balance_before_micro: Option<i64>,
    /// What the key had used before the first row.
    used_before_micro: Option<i64>,
    /// Paid in; null for a key.
    deposited_micro: Option<i64>,
    /// Taken back; likewise.
    withdrawn_micro: Option<i64>,
    /// Spent.
    spent_micro: i64,
    /// Change of what is held; null for more than 10,000 rows of all customers together.
    held_micro: Option<i64>,
    /// What the customer had free after the last row.
    balance_after_micro: Option<i64>,
    /// What the key had used after the last row.
    used_after_micro: Option<i64>,
}

async fn list(call: Call) -> Outcome {
    let mut request = request(&call);
    request.before = call.position()?;
    let page = Wanted::of(&call)?.page(&call.service, request).await?;
    call.list(page.rows.into_iter().map(LedgerLine::from).collect(), page.next)
}

/// The tags of the rows that are wanted.
#[derive(Clone)]
struct Wanted {
    user: Option<String>,
    pair: Option<(String, String)>,
}

impl Wanted {
    fn of(call: &Call) -> Result<Self, ApiError> {
        let pair = call.query.one("tag").map(tag_of).transpose()?;
        Ok(Self { user: call.query.one("user").map(str::to_owned), pair })
    }

    /// The next page that has such a row, without all others.
    async fn page(
        &self,
        service: &AdminService,
        mut request: StatementRequest,
    ) -> Result<StatementPage, ApiError> {
        let mut pages = 0;
        loop {
            let mut page = service.statements.page(request.clone()).await?;
            page.rows.retain(|row| row.entry.tags.have(self.user.as_deref(), self.pair.as_ref()));
            pages += 1;
            if !page.rows.is_empty() || page.next.is_none() || pages == MOST_PAGES {
                return Ok(page);
            }
            request.before = page.next;
        }
    }
}

async fn sums(call: Call) -> Outcome {
    let request = request(&call);
    let is_key = request.key.is_some();
    let Some(sums) = call.service.statements.sums(request).await? else {
        let message = "created_after: expected a shorter time, or whole days: there is too much to add up";
        return Err(ApiError::field("created_after", message));
    };
    let of = |wanted: bool, amount: Option<Credits>| amount.filter(|_| wanted).map(|amount| amount.0);
    Ok(Reply::json(&LedgerSums {
        rows: sums.rows,
        balance_before_micro: of(!is_key, sums.opening),
        used_before_micro: of(is_key, sums.opening),
        deposited_micro: of(!is_key, Some(sums.deposited)),
        withdrawn_micro: of(!is_key, Some(sums.withdrawn)),
        spent_micro: sums.spent.0,
        held_micro: of(true, sums.held),
        balance_after_micro: of(!is_key, sums.closing),
        used_after_micro: of(is_key, sums.closing),
    }))
}

fn request(call: &Call) -> StatementRequest {
    let of_path = Some(call.path("customer")).filter(|customer| !customer.is_empty());
    let customer = of_path.or_else(|| call.query.one("customer"));
    StatementRequest {
        customer: customer.map(CustomerId::from),
        key: call.query.one("key").map(KeyId::from),
        created: call.created(),
        before: None,
        limit: call.query.limit(),
    }
}

async fn statement(call: Call) -> Outcome {
    let (position, limit) = (call.position::<u64>()?, call.query.limit());
    let id = CustomerId::from(call.path("customer"));
    let (customer, rows) = call.service.statements.behind(id, position, limit).await?;
    let next = rows.last().filter(|_| rows.len() == limit).map(|last| last.position.to_string());
    let begin = position.is_none().then(|| StatementLine::begin(customer.id.clone()));
    let entries = rows.into_iter().map(|row| StatementLine::entry(row.entry, row.after.unwrap_or_default()));
    let end = next.is_none().then(|| StatementLine::end(&customer));
    let lines = begin.into_iter().chain(entries).chain(end).map(FileLine).collect();
    call.list(lines, next)
}

const COLUMNS: &str = "id at kind customer key task request available_micro held_micro spent_micro balance_micro \
    memo user metadata";

async fn export(call: Call) -> Outcome {
    let request = StatementRequest { limit: PIECE, ..request(&call) };
    let wanted = Wanted::of(&call)?;
    csv::check_rows(call.service.statements.rows(request.clone(), csv::MAX_ROWS).await?)?;
    let shared = (call.service, wanted, request);
    Ok(csv::reply(COLUMNS, shared, |(service, wanted, request), before| async move {
        let page = wanted.page(&service, StatementRequest { before, ..request }).await?;
        Ok((page.rows.into_iter().map(LedgerLine::from).collect(), page.next))
    }))
}
