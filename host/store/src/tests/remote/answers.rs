//! What a store answers to every read, in one value: two stores with the same rows answer the same.

use std::collections::BTreeMap;
use std::fmt::Debug;

use gatehouse_model::{CustomerId, KeyId, Status, Task, UnixMs};
use gatehouse_sample::{START, customer_id, key_id, name};
use gatehouse_tasks::ExpiredRow;

use crate::store::Store;
use crate::{
    AllTasksQuery, AuditQuery, DeliveryQuery, KeyQuery, KeyState, StatementOf, StatementQuery, TaskQuery,
    UsagePeriod, UsageQuery, UsageScope,
};

/// Rows of a page: small, so that pages follow each other.
const PAGE: usize = 3;
const NEVER: UnixMs = UnixMs(u64::MAX / 4);

/// By the name of the read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Answers(pub(super) BTreeMap<String, Vec<String>>);

impl Answers {
    pub(super) async fn of(store: &Store) -> Self {
        let mut answers = Self::default();
        let customers = answers.customers(store).await;
        let keys = answers.keys(store).await;
        let tasks = answers.tasks(store, &customers, &keys).await;
        answers.of_tasks(store, &tasks).await;
        answers.money(store, &customers, &keys).await;
        answers.webhooks(store).await;
        answers.rest(store, &customers).await;
        answers
    }

    fn add(&mut self, read: &str, answer: impl Debug) {
        self.0.entry(read.to_owned()).or_default().push(format!("{answer:?}"));
    }

    async fn customers(&mut self, store: &Store) -> Vec<CustomerId> {
        let (mut ids, mut after) = (Vec::new(), None);
        loop {
            let page = store.list_customers(after, PAGE).await.unwrap();
            ids.extend(page.rows.iter().map(|row| row.id.clone()));
            self.add("list_customers", &page);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        for id in ids.iter().chain([&customer_id(99)]) {
            self.add("customer", store.customer(id).await);
        }
        self.add("customers_without_credit", store.customers_without_credit(None, 9).await);
        self.add("count_customers", store.count_customers().await);
        self.add("count_without_credit", store.count_without_credit().await);
        ids
    }

    async fn keys(&mut self, store: &Store) -> Vec<KeyId> {
        let (mut ids, mut after) = (Vec::new(), None);
        loop {
            let page = store.list_keys(KeyQuery::default(), after, PAGE).await.unwrap();
            for key in &page.rows {
                ids.push(key.id.clone());
                self.add("key_by_digest", store.key_by_digest(&key.digest).await);
            }
            self.add("list_keys", &page);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        for id in ids.iter().chain([&key_id(99)]) {
            self.add("key", store.key(id).await);
            self.add("key_lineage", store.key_lineage(id).await);
        }
        let states = vec![KeyState::Revoked];
        let query = KeyQuery { customer: Some(customer_id(0)), name: None, states, at: START };
        self.add("list_keys of", store.list_keys(query, None, 9).await);
        ids
    }

    async fn tasks(&mut self, store: &Store, customers: &[CustomerId], keys: &[KeyId]) -> Vec<Task> {
        let mut tasks = Vec::new();
        let mut query = AllTasksQuery { limit: PAGE, ..AllTasksQuery::default() };
        loop {
            let page = store.list_all_tasks(query.clone()).await.unwrap();
            tasks.extend(page.tasks);
            query.after = page.next;
            if query.after.is_none() {
                break;
            }
        }
        self.add("list_all_tasks", &tasks);
        for key in keys {
            let statuses = vec![Status::Completed, Status::Pending];
            let query =
                AllTasksQuery { keys: vec![key.clone()], statuses, limit: 99, ..AllTasksQuery::default() };
            self.add("list_all_tasks of", store.list_all_tasks(query).await.unwrap().tasks);
        }
        let ambiguous = AllTasksQuery { ambiguous: true, limit: 99, ..AllTasksQuery::default() };
        self.add("list_all_tasks ambiguous", store.list_all_tasks(ambiguous).await.unwrap().tasks);
        for customer in customers {
            for status in [None, Some(Status::Completed)] {
                let query = TaskQuery { status, model: None, after: None, limit: PAGE };
                let page = store.list_tasks(customer.clone(), query).await.unwrap();
                self.add("list_tasks", (page.tasks, page.more));
            }
        }
        tasks
    }

    async fn of_tasks(&mut self, store: &Store, tasks: &[Task]) {
        for task in tasks {
            self.add("task", store.task(task.id).await);
            self.add("steps", store.steps(task.id).await);
        }
        self.add("live_tasks", store.live_tasks(None).await);
        let first = tasks.last().map(|task| task.id);
        self.add("live_tasks behind", store.live_tasks(first).await);
        self.add("live_tasks_behind", store.live_tasks_behind(None));
        self.add("open_requests", store.open_requests().await);
    }

    async fn money(&mut self, store: &Store, customers: &[CustomerId], keys: &[KeyId]) {
        let whole = UnixMs(0)..UnixMs(u64::MAX);
        let of_customers = customers.iter().cloned().map(StatementOf::Customer);
        let of_keys = keys.iter().cloned().map(StatementOf::Key);
        for of in [StatementOf::All].into_iter().chain(of_customers).chain(of_keys) {
            let mut query =
                StatementQuery { of: of.clone(), created: whole.clone(), before: None, limit: PAGE };
            self.add("count_statement", store.count_statement(query.clone(), 7).await);
            loop {
                let page = store.statement(query.clone()).await.unwrap();
                self.add("statement", (&page.rows, page.next));
                query.before = page.next;
                if query.before.is_none() {
                    break;
                }
            }
            let days = START.day()..START.day() + 1;
            self.add("statement_totals", store.statement_totals(of, days, 999).await);
        }
        for customer in customers {
            self.add("statement_behind", store.statement_behind(customer.clone(), Some(2), PAGE).await);
        }
        self.add("journal_entry", store.journal_entry(1).await);
        self.add("ledger_mark", store.ledger_mark().await);
        let each = [UsageScope::EachCustomer, UsageScope::EachKey(None), UsageScope::All];
        let one = customers.iter().map(|of| UsageScope::EachKey(Some(of.clone())));
        for scope in each.into_iter().chain(one) {
            for (period, hours) in [(UsagePeriod::Day, 24), (UsagePeriod::Hour, 1)] {
                let start = START.day() * (24 / hours);
                let range = start..start + 24 / hours;
                let query = UsageQuery { scope: scope.clone(), period, range, after: None, max_rows: 999 };
                self.add("usage", store.usage(query).await.unwrap().rows);
            }
        }
    }

    async fn webhooks(&mut self, store: &Store) {
        let page = store.list_webhooks(None, None, 99).await.unwrap();
        for webhook in &page.rows {
            self.add("webhook", store.webhook(webhook.id).await);
            self.add("webhooks_of", store.webhooks_of(&webhook.customer).await);
            self.add("next_delivery", store.next_delivery(webhook.id).await);
            for pending in [false, true] {
                let query = DeliveryQuery { webhook: webhook.id, pending };
                self.add("list_deliveries", store.list_deliveries(query, None, PAGE).await);
            }
        }
        self.add("list_webhooks", page);
        self.add("waiting_webhooks", store.waiting_webhooks().await);
        self.add("troubled_webhooks", store.troubled_webhooks(9).await);
        self.add("count_troubled_webhooks", store.count_troubled_webhooks().await);
    }

    async fn rest(&mut self, store: &Store, customers: &[CustomerId]) {
        let expired = store.expired(NEVER, 99).await.unwrap();
        for (_, row) in &expired {
            match row {
                ExpiredRow::Idempotency { key, token } => {
                    self.add("idempotency_record", store.idempotency_record(key, token).await);
                }
                ExpiredRow::AdminIdempotency(token) => {
                    self.add("admin_idempotency_record", store.admin_idempotency_record(token).await);
                }
                ExpiredRow::Delivery(id) => self.add("delivery", store.delivery(*id).await),
                ExpiredRow::Response(_) | ExpiredRow::Hold(_) => {}
            }
        }
        self.add("expired", expired);
        let names: Vec<String> = (0..9).map(name).collect();
        for customer in customers {
            self.add("owned_names", store.owned_names(customer, &names).await);
        }
        let mut before = None;
        loop {
            let page = store.list_audit(AuditQuery::default(), before, PAGE).await.unwrap();
            self.add("list_audit", &page);
            before = page.next;
            if before.is_none() {
                break;
            }
        }
        self.add("audit_span", store.audit_span(AuditQuery::default()).await);
        self.add("list_price_books", store.list_price_books(None, 9).await);
        self.add("list_deployments", store.list_deployments(None, None, 9).await);
        self.add("gauges", store.gauges());
        self.add("needs_its_pepper", store.needs_its_pepper());
    }
}
