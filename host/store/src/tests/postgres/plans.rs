//! Plans of the reads over tables with many rows: each looks up what it answers, and little else.

use std::collections::BTreeMap;
use std::time::Duration;

use gatehouse_fault_injection::PostgresServer;
use gatehouse_model::{CustomerId, KeyId, Status, TaskId, UnixMs};
use gatehouse_sample::START;
use gatehouse_tasks::RowKey;
use tokio_postgres::Client;

use super::{Pair, fetch};
use crate::administration::{AuditQuery, KeyQuery};
use crate::error::StoreError;
use crate::listing::all_tasks::AllTasksQuery;
use crate::listing::page::TaskQuery;
use crate::postgres::connect::Server;
use crate::postgres::reads;
use crate::statement::read::{StatementOf, StatementQuery};
use crate::usage::read::{UsagePeriod, UsageQuery, UsageScope};
use crate::webhooks::DeliveryQuery;

/// Makes each table longer: its rows again under other keys. Some customers, keys and webhooks have most of them, and most have some.
const GROW: &str = "
    insert into customer
    select id || '-' || n, without_credit and n % 50 = 0, row from customer, generate_series(1, 4000) n;
    insert into api_key
    select id || '-' || n, customer || '-' || n, sha256((id || '-' || n)::bytea), null, row
    from api_key, generate_series(1, 3000) n;
    insert into hold
    select of_task, gen_random_uuid(), expires + 10000000000000 + n, row from hold, generate_series(1, 800) n;
    insert into ledger
    select
        position + n * 1000, customer || case when n % 2 = 0 then '-' || n else '' end, seq, at + n * interval '1 second',
        key || case when n % 2 = 0 then '-' || n else '' end, hold_of_task, hold, kind, available, reserved, spent, external,
        memo, exact_memo, chain, available_after, used_after
    from ledger, generate_series(1, 100) n;
    insert into deposit_day select customer || '-' || n, day, paid, taken from deposit_day, generate_series(1, 9000) n;
    insert into usage_day
    select customer || '-' || n, key || '-' || n, day, model, requests, failures, input, output, cached, cache_write, settled, refunded
    from usage_day, generate_series(1, 2000) n
    where key <> '';
    insert into usage_day
    select customer || '-' || n, key, day, model, requests, failures, input, output, cached, cache_write, settled, refunded
    from usage_day, generate_series(1, 2000) n
    where key = '' and customer <> '';
    insert into usage_hour
    select customer || '-' || n, key, hour, model, requests, failures, input, output, cached, cache_write, settled, refunded
    from usage_hour, generate_series(1, 2000) n
    where customer <> '';
    insert into idempotency
    select key, sha256(token || n::text::bytea), expires + 10000000000000 + n, row from idempotency, generate_series(1, 9000) n;
    insert into admin_idempotency
    select sha256(token || n::text::bytea), expires + 10000000000000 + n, row from admin_idempotency, generate_series(1, 9000) n;
    insert into name select name || '-' || n, customer, row from name, generate_series(1, 9000) n;
    insert into response
    select customer, id || '-' || n, null, kept + n, expires + 10000000000000 + n, row from response, generate_series(1, 4000) n;
    insert into response_item
    select customer, item || '-' || n, id from response_item, generate_series(1, 4000) n;
    insert into response_total select customer || '-' || n, count, bytes from response_total, generate_series(1, 9000) n;
    insert into webhook
    select gen_random_uuid(), customer || '-' || n, troubled and n % 50 = 0, row from webhook, generate_series(1, 5000) n;
    insert into delivery
    select
        (substr(id::text, 1, 13) || substr(gen_random_uuid()::text, 14))::uuid,
        case when n % 2 = 0 then webhook else gen_random_uuid() end,
        case when n % 100 = 0 then due end, row
    from delivery, generate_series(1, 800) n;
    insert into audit select number + n * 1000, at + n * interval '1 second', marks, row from audit, generate_series(1, 200) n;
    insert into price_book select number + n * 1000, row from price_book, generate_series(1, 3000) n;
    insert into deployment select number + n * 1000, row from deployment, generate_series(1, 3000) n;
    insert into task
    select
        (substr(id::text, 1, 13) || substr(gen_random_uuid()::text, 14))::uuid,
        customer || case when n % 3 = 0 then '-' || n else '' end, key || case when n % 3 = 0 then '-' || n else '' end,
        family, model, status, live and n % 20 = 0, ambiguous and n % 100 = 0, row
    from task, generate_series(1, 200) n;
    insert into step select task, place + n * 1000, row from step, generate_series(1, 2) n;
    insert into step
    select (substr(task::text, 1, 13) || substr(gen_random_uuid()::text, 14))::uuid, place, row
    from step, generate_series(1, 60) n;
    analyze";
/// Rows that were read of each table: sequentially, and by indexes.
const ROWS_READ: &str = "
    select
        tables.relname::text,
        pg_stat_get_tuples_returned(tables.oid)
        + coalesce((
            select sum(pg_stat_get_tuples_returned(indexrelid))::bigint
            from pg_index
            where indrelid = tables.oid
        ), 0)
    from pg_class tables
    where tables.relkind = 'r' and tables.relnamespace = 'public'::regnamespace";
/// A page looks at 1,000 tasks by an index for each of five states, and at 2,000 lines or keys.
const MOST: i64 = 9_000;

/// Rows read by this session so far, by table.
async fn rows_read(client: &Client) -> BTreeMap<String, i64> {
    client.batch_execute("select pg_stat_force_next_flush()").await.unwrap();
    client.batch_execute("select pg_stat_clear_snapshot()").await.unwrap();
    let rows = client.query_typed(ROWS_READ, &[]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

struct Metered<'a> {
    client: &'a Client,
    before: BTreeMap<String, i64>,
}

impl Metered<'_> {
    async fn read<T>(&mut self, what: &str, read: impl Future<Output = Result<T, StoreError>>) {
        read.await.unwrap();
        let after = rows_read(self.client).await;
        let more = after
            .iter()
            .map(|(table, rows)| (table, rows - self.before.get(table).copied().unwrap_or_default()));
        let more: Vec<_> = more.filter(|(_, rows)| *rows > 0).collect();
        let total: i64 = more.iter().map(|(_, rows)| rows).sum();
        assert!(total <= MOST, "{what} read {total} rows: {more:?}");
        self.before = after;
    }
}

/// The doctor of a new database would take minutes: its tables are not counted yet, so each statement would be compiled.
#[tokio::test]
async fn no_statement_is_compiled() {
    let url = PostgresServer::shared().database();
    let server = Server::parse(&url, None).unwrap();
    let writes = &server.connect().await.unwrap().client;
    let reads = &server.connect_reader().await.unwrap().client;
    for client in [writes, reads] {
        let jit: String = client.query_typed_one("select current_setting('jit')", &[]).await.unwrap().get(0);
        assert_eq!(jit, "off");
    }
}

/// A read that goes over a table takes the longer the longer a gateway is at work.
#[tokio::test]
async fn no_read_goes_over_a_table() {
    let pair = Pair::filled().await;
    pair.client.batch_execute(GROW).await.unwrap();
    // A day with few tasks is a page or two, which are rightly read as they are: whether an index serves is what is asked here.
    pair.client.batch_execute("set enable_seqscan = off").await.unwrap();
    let client = &pair.client;
    let before = rows_read(client).await;
    assert!(before.len() > 20, "{before:?}");
    let mut metered = Metered { client, before };
    let (customer, key) = (CustomerId::from("acme"), pair.api_keys()[0].clone());
    few_rows(&pair, &mut metered, &key).await;
    pages(&pair, &mut metered).await;
    for customer in pair.customers() {
        money(client, &mut metered, StatementOf::Customer(customer)).await;
    }
    money(client, &mut metered, StatementOf::Key(key)).await;
    money(client, &mut metered, StatementOf::All).await;
    sums(client, &mut metered, customer).await;
    tasks(&pair, &mut metered).await;
}

async fn few_rows(pair: &Pair, metered: &mut Metered<'_>, key: &KeyId) {
    let client = &pair.client;
    let keys: Vec<RowKey> =
        pair.keys.iter().filter(|key| !key.is_written_only()).take(400).cloned().collect();
    metered.read("fetch", fetch::fetch(client, &keys)).await;
    for key in &keys {
        metered.read(&format!("{key:?}"), fetch::fetch(client, std::slice::from_ref(key))).await;
    }
    for list in pair.lists() {
        metered.read(&format!("{list:?}"), fetch::first(client, &list, None, 64)).await;
    }
    let task = pair.tasks()[0];
    metered.read("task", reads::task(client, task)).await;
    metered.read("steps", reads::steps(client, task)).await;
    metered.read("live_tasks", reads::live_tasks(client, None)).await;
    metered.read("live_tasks", reads::live_tasks(client, Some(task))).await;
    metered.read("key_lineage", reads::key_lineage(client, key)).await;
    let customer = CustomerId::from("a");
    let names = ["name-1".to_owned(), "name-2".to_owned()];
    metered.read("owned_names", reads::owned_names(client, &customer, &names)).await;
    metered.read("conversation", reads::conversation(client, &customer, "resp_3", START, 10)).await;
    let items = ["fc_resp_3".to_owned(), "none".to_owned()];
    metered.read("responses_with_items", reads::responses_with_items(client, &customer, &items, START)).await;
    let late = START.plus(Duration::from_secs(100 * 86_400));
    metered.read("expired", reads::expired(client, late, 100)).await;
    metered.read("expired", reads::expired(client, UnixMs(u64::MAX), 100)).await;
    metered.read("gauges", reads::gauges(client)).await;
    metered.read("count_customers", reads::count_customers(client)).await;
    metered.read("needs_its_pepper", reads::needs_its_pepper(client)).await;
}

async fn pages(pair: &Pair, metered: &mut Metered<'_>) {
    let client = &pair.client;
    metered.read("list_customers", reads::list_customers(client, None, 100)).await;
    metered.read("list_customers", reads::list_customers(client, Some(&"b".into()), 100)).await;
    metered.read("customers_without_credit", reads::customers_without_credit(client, None, 100)).await;
    let all = KeyQuery { name: Some("no such name".to_owned()), ..KeyQuery::default() };
    metered.read("list_keys", reads::list_keys(client, &all, None, 100)).await;
    let of = KeyQuery { customer: pair.customers().pop(), ..KeyQuery::default() };
    metered.read("list_keys", reads::list_keys(client, &of, None, 100)).await;
    let rare = AuditQuery { who: Some("nobody".to_owned()), ..AuditQuery::default() };
    metered.read("list_audit", reads::list_audit(client, &rare, None, 100)).await;
    let span = AuditQuery { from: Some(START), before: Some(START.plus(Duration::from_secs(90))), ..rare };
    metered.read("audit_span", reads::audit_span(client, &span)).await;
    metered.read("list_price_books", reads::list_price_books(client, None, 20)).await;
    metered
        .read("list_deployments", reads::list_deployments(client, Some(&"none".to_owned()), None, 20))
        .await;
    metered.read("waiting_webhooks", reads::waiting_webhooks(client)).await;
    metered.read("troubled_webhooks", reads::troubled_webhooks(client, 20)).await;
    for customer in [None, pair.customers().pop()] {
        metered.read("list_webhooks", reads::list_webhooks(client, customer.as_ref(), None, 20)).await;
    }
    for key in &pair.keys {
        let RowKey::Webhook(webhook) = key else { continue };
        metered.read("next_delivery", reads::next_delivery(client, *webhook)).await;
        for pending in [false, true] {
            let query = DeliveryQuery { webhook: *webhook, pending };
            metered.read("list_deliveries", reads::list_deliveries(client, &query, None, 20)).await;
        }
    }
}

async fn money(client: &Client, metered: &mut Metered<'_>, of: StatementOf) {
    let day = START.day();
    metered.read("statement_totals", reads::statement_totals(client, &of, &(day..day + 1), 1_000)).await;
    let at = |seconds| START.plus(Duration::from_secs(seconds));
    for created in [UnixMs(0)..UnixMs(u64::MAX), at(30)..at(90)] {
        let query = StatementQuery { of: of.clone(), created, before: None, limit: 50 };
        metered.read(&format!("{query:?}"), reads::statement(client, &query)).await;
        metered.read("count_statement", reads::count_statement(client, &query, 1_000)).await;
    }
    if let StatementOf::Customer(customer) = &of {
        metered.read("statement_behind", reads::statement_behind(client, customer, Some(30), 50)).await;
    }
}

async fn sums(client: &Client, metered: &mut Metered<'_>, customer: CustomerId) {
    let day = START.day();
    for scope in [
        UsageScope::All,
        UsageScope::Customer(customer.clone()),
        UsageScope::EachCustomer,
        UsageScope::EachKey(Some(customer)),
        UsageScope::EachKey(None),
    ] {
        for (period, range) in
            [(UsagePeriod::Day, day..day + 2), (UsagePeriod::Hour, day * 24..(day + 2) * 24)]
        {
            let query = UsageQuery { scope: scope.clone(), period, range, after: None, max_rows: 300 };
            metered.read(&format!("{query:?}"), reads::usage(client, &query)).await;
        }
    }
}

async fn tasks(pair: &Pair, metered: &mut Metered<'_>) {
    let client = &pair.client;
    for customer in pair.customers() {
        for status in [None, Some(Status::Failed)] {
            let query = TaskQuery { status, limit: 50, ..TaskQuery::default() };
            metered.read(&format!("{query:?}"), reads::list_tasks(client, &customer, &query)).await;
        }
    }
    for query in super::reads::task_queries(pair) {
        let query = AllTasksQuery { limit: 50, ..query };
        metered.read(&format!("{query:?}"), reads::list_all_tasks(client, &query)).await;
    }
    let last = AllTasksQuery { after: Some(TaskId::from_bits(1)), limit: 50, ..AllTasksQuery::default() };
    metered.read("list_all_tasks", reads::list_all_tasks(client, &last)).await;
}
