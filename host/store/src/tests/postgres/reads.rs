//! Every read answers as that of a file.

use std::collections::BTreeSet;
use std::time::Duration;

use fastrand::Rng;
use gatehouse_model::{CustomerId, KeyId, Status, TaskId, UnixMs};
use gatehouse_sample::START;
use gatehouse_tasks::{Command, MemoryLedgerStorage, RowKey};
use redb::ReadableDatabase as _;

use super::{Pair, remember};
use crate::administration::{self as pages, AuditQuery, KeyQuery, KeyState, RowPage};
use crate::error::StoreError;
use crate::file::pepper;
use crate::listing::all_tasks::{self, AllTasksQuery};
use crate::listing::kept_responses;
use crate::listing::page::{self, TaskQuery};
use crate::postgres::reads;
use crate::records;
use crate::statement::read::{self as statement, StatementOf, StatementQuery};
use crate::statement::totals;
use crate::tests::workload::Workload;
use crate::tests::{administration, records as record_tests, responses, webhooks as webhook_tests};
use crate::usage::read::{self as usage, UsagePeriod, UsageQuery, UsageRow, UsageScope};
use crate::webhooks::{self, DeliveryQuery};
use crate::{examine, expired, gauges, read};

/// Compares the answers of both to one read.
macro_rules! same {
    ($pair:ident, $module:ident::$name:ident($($arg:expr),*)) => {
        let txn = $pair.store.database().unwrap().begin_read().unwrap();
        let expected = format!("{:?}", $module::$name(&txn, $($arg),*).unwrap());
        let found = format!("{:?}", reads::$name(&$pair.client, $($arg),*).await.unwrap());
        assert_eq!(found, expected, "{}{:?}", stringify!($name), ($(&$arg,)*));
    };
}

/// Compares what both list, from the first page to the last.
macro_rules! same_pages {
    ($pair:ident, $module:ident::$name:ident($($arg:expr),*; |$after:ident| $from:expr; $($rest:expr),*)) => {
        let txn = $pair.store.database().unwrap().begin_read().unwrap();
        let expected = walk(async |$after| $module::$name(&txn, $($arg,)* $from, $($rest),*)).await;
        let found = walk(async |$after| reads::$name(&$pair.client, $($arg,)* $from, $($rest),*).await).await;
        assert_eq!(found, expected, "{}{:?}", stringify!($name), ($(&$arg,)* $(&$rest,)*));
    };
}

async fn walk<T, P: Clone>(
    mut read: impl AsyncFnMut(Option<P>) -> Result<RowPage<T, P>, StoreError>,
) -> Vec<T> {
    let (mut rows, mut after) = (Vec::new(), None);
    loop {
        let page = read(after).await.unwrap();
        rows.extend(page.rows);
        after = page.next;
        if after.is_none() {
            return rows;
        }
    }
}

impl Pair {
    /// Something of each kind of row.
    pub(super) async fn filled() -> Self {
        let mut pair = Self::new().await;
        let mut storage = MemoryLedgerStorage::default();
        pair.begin(&mut storage).await;
        let mut workload = Workload::new(11, 600);
        let mut random = Rng::with_seed(5);
        let mut commands = vec![webhook_tests::add(1, 0), webhook_tests::add(2, 1), webhook_tests::add(3, 0)];
        for number in 0..12_u64 {
            let previous = (number > 0 && number % 4 > 0).then(|| format!("resp_{}", number - 1));
            let owner = ["a", "ab"][usize::from(number >= 8)];
            let record = responses::record(owner, &format!("resp_{number}"), previous.as_deref(), number, 20);
            commands.push(responses::keep(record));
            commands.push(record_tests::book(number.cast_signed()));
            commands.push(record_tests::deployment(["chat", "messages"][usize::from(number % 3 == 0)]));
        }
        commands.push(administration::deposit("one", START));
        commands.push(administration::deposit("two", START));
        for command in commands {
            pair.play(&mut storage, command).await;
        }
        for round in 0..60 {
            let mut commands: Vec<Command> = Vec::new();
            for _ in 0..8 {
                let command = workload.command(&storage);
                let _ = remember(&mut storage, command.clone());
                commands.push(command);
            }
            let at = START.plus(Duration::from_secs(round * 20));
            let command = webhook_tests::any_command(&mut random, &storage, round.to_le_bytes()[0], at);
            let _ = remember(&mut storage, command.clone());
            commands.push(command);
            let _ = pair.commit(commands).await;
        }
        pair
    }

    pub(super) async fn play(&mut self, storage: &mut MemoryLedgerStorage, command: Command) {
        let _ = remember(storage, command.clone());
        let _ = self.commit(vec![command]).await;
    }

    pub(super) fn tasks(&self) -> Vec<TaskId> {
        let of = |key: &RowKey| if let RowKey::Task(id) = key { Some(*id) } else { None };
        self.keys.iter().filter_map(of).collect()
    }

    pub(super) fn customers(&self) -> Vec<CustomerId> {
        let of = |key: &RowKey| if let RowKey::Customer(id) = key { Some(id.clone()) } else { None };
        self.keys.iter().filter_map(of).chain(["a".into(), "ab".into(), "nobody".into()]).collect()
    }

    pub(super) fn api_keys(&self) -> Vec<KeyId> {
        let of = |key: &RowKey| if let RowKey::Key(id) = key { Some(id.clone()) } else { None };
        self.keys.iter().filter_map(of).chain(["nobody".into()]).collect()
    }

    /// The sums of usage, of all scopes and in pages of every size.
    pub(super) async fn check_usage(&self) {
        let mut scopes = vec![UsageScope::All, UsageScope::EachCustomer, UsageScope::EachKey(None)];
        let customers: BTreeSet<CustomerId> = self
            .keys
            .iter()
            .filter_map(|key| if let RowKey::Usage(key) = key { Some(key.customer.clone()) } else { None })
            .collect();
        for customer in customers {
            scopes.push(UsageScope::Customer(customer.clone()));
            scopes.push(UsageScope::Key(customer.clone(), KeyId::from("key")));
            scopes.push(UsageScope::EachKey(Some(customer)));
        }
        let day = START.day();
        for scope in scopes {
            for (period, unit) in [(UsagePeriod::Day, 1), (UsagePeriod::Hour, 24)] {
                let whole = 0..u32::MAX;
                let some = day * unit..(day + 1) * unit;
                for (range, max_rows) in
                    [(whole.clone(), 10_000), (whole, 1), (some.clone(), 2), (some, 10_000)]
                {
                    let query = UsageQuery { scope: scope.clone(), period, range, after: None, max_rows };
                    let txn = self.store.database().unwrap().begin_read().unwrap();
                    let expected = sums(&query, async |query| usage::usage(&txn, query)).await;
                    let found = sums(&query, async |query| reads::usage(&self.client, query).await).await;
                    assert_eq!(found, expected, "{query:?}");
                }
            }
        }
    }
}

async fn sums(
    query: &UsageQuery,
    mut read: impl AsyncFnMut(&UsageQuery) -> Result<usage::UsageRows, StoreError>,
) -> Vec<UsageRow> {
    let (mut query, mut rows) = (query.clone(), Vec::new());
    loop {
        let found = read(&query).await.unwrap();
        assert!(found.rows_read <= query.max_rows.saturating_add(1), "{query:?} read {}", found.rows_read);
        rows.extend(found.rows);
        let Some(next) = found.next else { return rows };
        assert_ne!(query.after.as_ref(), Some(&next), "the next read would be the same");
        query.after = Some(next);
    }
}

#[tokio::test]
async fn rows_are_found_as_in_a_file() {
    let pair = Pair::filled().await;
    pair.check_fetched().await;
    for id in pair.tasks() {
        same!(pair, read::task(id));
        same!(pair, read::steps(id));
    }
    for customer in pair.customers() {
        same!(pair, read::customer(&customer));
        let names: Vec<String> = (0..9).map(|name| format!("name-{name}")).collect();
        same!(pair, read::owned_names(&customer, &names));
        same!(pair, webhooks::webhooks_of(&customer));
        for number in 0..12 {
            let id = format!("resp_{number}");
            for (seconds, most) in [(0, 10), (0, 2), (0, 4), (52, 10), (58, 10)] {
                let now = START.plus(Duration::from_secs(seconds));
                same!(pair, kept_responses::conversation(&customer, &id, now, most));
                same!(pair, kept_responses::response(&customer, &id, now));
            }
        }
        let items: Vec<String> = ["fc_resp_3", "msg_resp_9", "none", "msg_resp_3"].map(str::to_owned).into();
        same!(pair, kept_responses::responses_with_items(&customer, &items, START));
    }
    for id in pair.api_keys() {
        same!(pair, read::key(&id));
        same!(pair, read::key_lineage(&id));
    }
    for key in &pair.keys {
        match key {
            RowKey::KeyDigest(digest) => {
                let digest = gatehouse_model::KeyDigest(*digest);
                same!(pair, read::key_by_digest(&digest));
            }
            RowKey::Idempotency(key, token) => {
                same!(pair, read::idempotency_record(key, token));
            }
            RowKey::AdminIdempotency(token) => {
                same!(pair, read::admin_idempotency_record(token));
            }
            RowKey::Webhook(id) => {
                same!(pair, webhooks::webhook(*id));
                same!(pair, webhooks::next_delivery(*id));
            }
            RowKey::Delivery(id) => {
                same!(pair, webhooks::delivery(*id));
            }
            RowKey::PriceBook(number) => {
                same!(pair, records::price_book(*number));
            }
            RowKey::Deployment(number) => {
                same!(pair, records::deployment(*number));
            }
            RowKey::Entry(position) => {
                same!(pair, pages::journal_entry(*position));
            }
            _ => {}
        }
    }
    same!(pair, read::live_tasks(None::<TaskId>));
    let tasks = pair.tasks();
    same!(pair, read::live_tasks(Some(tasks[tasks.len() / 2])));
    same!(pair, read::open_requests());
    for (seconds, most) in [(0, 100), (70, 2), (600, 100), (100 * 86_400, 3), (100 * 86_400, 1_000)] {
        let now = START.plus(Duration::from_secs(seconds));
        same!(pair, expired::expired(now, most));
    }
}

#[tokio::test]
async fn what_operators_watch_is_counted_as_in_a_file() {
    let pair = Pair::filled().await;
    same!(pair, read::count_customers());
    same!(pair, pages::count_without_credit());
    same!(pair, webhooks::count_troubled_webhooks());
    same!(pair, webhooks::waiting_webhooks());
    same!(pair, webhooks::troubled_webhooks(2));
    same!(pair, gauges::gauges());
    same!(pair, examine::ledger_mark());
    same!(pair, pepper::needs_its_pepper());
    let fits = |check| reads::fit_pepper(&pair.client, check);
    assert_eq!(fits(u64::MAX - 3).await.unwrap(), pepper::PepperFit::Fits);
    assert_eq!(fits(u64::MAX - 3).await.unwrap(), pepper::PepperFit::Fits);
    assert_eq!(fits(7).await.unwrap(), pepper::PepperFit::Foreign);
}

#[tokio::test]
async fn pages_are_those_of_a_file() {
    let pair = Pair::filled().await;
    for most in [1, 2, 3, 100] {
        same_pages!(pair, pages::list_customers(; |after| after.as_ref(); most));
        same_pages!(pair, pages::customers_without_credit(; |after| after.as_ref(); most));
        same_pages!(pair, records::list_price_books(; |before| before; most));
        let family = "chat".to_owned();
        same_pages!(pair, records::list_deployments(Some(&family); |before| before; most));
        same_pages!(pair, records::list_deployments(None::<&String>; |before| before; most));
        same_pages!(pair, webhooks::list_webhooks(None::<&CustomerId>; |after| after; most));
        for customer in pair.customers() {
            same_pages!(pair, webhooks::list_webhooks(Some(&customer); |after| after; most));
        }
        for key in &pair.keys {
            let RowKey::Webhook(webhook) = key else { continue };
            for pending in [false, true] {
                let query = DeliveryQuery { webhook: *webhook, pending };
                same_pages!(pair, webhooks::list_deliveries(&query; |before| before; most));
            }
        }
        for query in key_queries(&pair) {
            same_pages!(pair, pages::list_keys(&query; |after| after.as_ref(); most));
        }
        for query in audit_queries(&pair) {
            same!(pair, pages::audit_span(&query));
            same_pages!(pair, pages::list_audit(&query; |before| before; most));
        }
    }
}

fn key_queries(pair: &Pair) -> Vec<KeyQuery> {
    let at = START.plus(Duration::from_secs(3_600));
    let all = KeyQuery { at, ..KeyQuery::default() };
    let mut queries = vec![
        all.clone(),
        KeyQuery { name: Some("KEY".to_owned()), ..all.clone() },
        KeyQuery { states: vec![KeyState::Revoked, KeyState::Expired], ..all.clone() },
    ];
    let of = |customer| KeyQuery { customer: Some(customer), ..all.clone() };
    queries.extend(pair.customers().into_iter().map(of));
    queries
}

fn audit_queries(pair: &Pair) -> Vec<AuditQuery> {
    let at = |seconds| Some(START.plus(Duration::from_secs(seconds)));
    let all = AuditQuery::default();
    vec![
        all.clone(),
        AuditQuery { decisions: true, ..all.clone() },
        AuditQuery { task: pair.tasks().first().copied(), ..all.clone() },
        AuditQuery { from: at(5), before: at(200), ..all.clone() },
        AuditQuery { from: at(200), before: at(5), ..all.clone() },
        AuditQuery { from: Some(UnixMs(u64::MAX)), ..all.clone() },
        AuditQuery { before: Some(UnixMs(0)), ..all },
    ]
}

#[tokio::test]
async fn statements_are_those_of_a_file() {
    let pair = Pair::filled().await;
    let mut whose = vec![StatementOf::All];
    whose.extend(pair.customers().into_iter().map(StatementOf::Customer));
    whose.extend(pair.api_keys().into_iter().map(StatementOf::Key));
    let day = START.day();
    let at = |seconds| START.plus(Duration::from_secs(seconds));
    for of in whose {
        for days in [day..day + 1, 0..day, day..u32::MAX, day + 1..day + 9] {
            for max_rows in [0, 1, 10_000] {
                same!(pair, totals::statement_totals(&of, &days, max_rows));
            }
        }
        for created in
            [UnixMs(0)..UnixMs(u64::MAX), at(5)..at(100), at(100)..at(5), at(0)..UnixMs(u64::MAX - 1)]
        {
            for limit in [0, 1, 7, 1_000] {
                let mut query =
                    StatementQuery { of: of.clone(), created: created.clone(), before: None, limit };
                same!(pair, statement::count_statement(&query, limit));
                loop {
                    let txn = pair.store.database().unwrap().begin_read().unwrap();
                    let expected = statement::statement(&txn, &query).unwrap();
                    let found = reads::statement(&pair.client, &query).await.unwrap();
                    assert_eq!((&found.rows, found.next), (&expected.rows, expected.next), "{query:?}");
                    query.before = found.next;
                    if found.next.is_none() {
                        break;
                    }
                }
            }
        }
    }
    for customer in pair.customers() {
        for (position, limit) in [(None, 4), (Some(3), 1_000), (Some(u64::MAX), 2), (Some(40), 1)] {
            same!(pair, statement::statement_behind(&customer, position, limit));
        }
    }
}

#[tokio::test]
async fn sums_of_usage_are_those_of_a_file() {
    Pair::filled().await.check_usage().await;
}

#[tokio::test]
async fn tasks_are_listed_as_in_a_file() {
    let pair = Pair::filled().await;
    let txn = pair.store.database().unwrap().begin_read().unwrap();
    for customer in pair.customers() {
        for status in Status::ALL.map(Some).into_iter().chain([None]) {
            for (model, limit) in [(None, 3), (None, 500), (Some("image-one".to_owned()), 2)] {
                let mut query = TaskQuery { status, model, after: None, limit };
                loop {
                    let expected = page::list_tasks(&txn, &customer, &query).unwrap();
                    let found = reads::list_tasks(&pair.client, &customer, &query).await.unwrap();
                    assert_eq!((&found.tasks, found.more), (&expected.tasks, expected.more), "{query:?}");
                    if !found.more {
                        break;
                    }
                    query.after = found.tasks.last().map(|task| task.id);
                }
            }
        }
    }
    for query in task_queries(&pair) {
        for limit in [1, 4, 500] {
            let query = AllTasksQuery { limit, ..query.clone() };
            let expected = all(&query, async |query| all_tasks::list_all_tasks(&txn, query)).await;
            let found = all(&query, async |query| reads::list_all_tasks(&pair.client, query).await).await;
            assert_eq!(found, expected, "{query:?}");
        }
    }
}

async fn all(
    query: &AllTasksQuery,
    mut read: impl AsyncFnMut(&AllTasksQuery) -> Result<all_tasks::AllTasksPage, StoreError>,
) -> Vec<TaskId> {
    let (mut query, mut ids) = (query.clone(), Vec::new());
    loop {
        let page = read(&query).await.unwrap();
        assert!(page.tasks.len() <= query.limit);
        ids.extend(page.tasks.iter().map(|task| task.id));
        query.after = page.next;
        if page.next.is_none() {
            return ids;
        }
    }
}

pub(super) fn task_queries(pair: &Pair) -> Vec<AllTasksQuery> {
    let base = AllTasksQuery::default();
    let tasks = pair.tasks();
    let half = tasks[tasks.len() / 2].timestamp();
    let mut queries = vec![
        base.clone(),
        AllTasksQuery { ambiguous: true, ..base.clone() },
        AllTasksQuery { created: half..UnixMs(u64::MAX), ..base.clone() },
        AllTasksQuery { created: UnixMs(0)..half, ..base.clone() },
        AllTasksQuery { user: Some("nobody".to_owned()), ..base.clone() },
        AllTasksQuery { model: Some("none".to_owned()), ..base.clone() },
        AllTasksQuery { families: vec!["none".to_owned(), "image".to_owned()], ..base.clone() },
        AllTasksQuery { statuses: vec![Status::Failed, Status::Completed], ..base.clone() },
    ];
    for customer in pair.customers() {
        queries.push(AllTasksQuery { customer: Some(customer.clone()), ..base.clone() });
        let (keys, statuses) = (pair.api_keys(), vec![Status::Completed]);
        queries.push(AllTasksQuery { customer: Some(customer), keys, statuses, ..base.clone() });
    }
    queries.extend(pair.api_keys().into_iter().map(|key| AllTasksQuery { keys: vec![key], ..base.clone() }));
    queries
}
