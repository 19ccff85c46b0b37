//! Operators' requests in the file: remembered over a restart, swept, and read in pages that look at few rows.

use std::time::Duration;

use gatehouse_model::{Credits, CustomerId, CustomerPolicy, Digest, RequestId, UnixMs};
use gatehouse_sample::{START, customer_id, task_id};
use gatehouse_tasks::{AdminIdempotency, Applied, AuditedRequest, Command, ExpiredRow, LedgerMark};
use redb::ReadableDatabase as _;

use super::{altered, begun, begun_on_disk, memory_store, reopened, store_on_disk};
use crate::administration::{AuditQuery, KeyQuery, KeyState};
use crate::layout;
use crate::store::Store;
use crate::transaction::open::commit;

const DAY: Duration = Duration::from_secs(86_400);

fn line(operation: &str, object: &str) -> AuditedRequest {
    AuditedRequest {
        id: RequestId::from_bits(7),
        who: "operator token".to_owned(),
        role: "operator".to_owned(),
        address: "127.0.0.1".to_owned(),
        operation: operation.to_owned(),
        object: object.to_owned(),
        status: 200,
        reason: String::new(),
        changes: Vec::new(),
    }
}

pub(super) fn deposit(token: &str, at: UnixMs) -> Command {
    let change = Command::Deposit { customer: customer_id(0), amount: Credits(5), memo: String::new(), at };
    Command::Administer {
        change: Some(Box::new(change)),
        audit: Box::new(line("deposit", "customers/customer-0")),
        idempotency: Some(AdminIdempotency {
            token: Digest::of(token.as_bytes()),
            fingerprint: Digest::of(b"f"),
            object: "customer-0".to_owned(),
            expires: at.plus(DAY),
        }),
        at,
    }
}

fn repeated(applied: &Applied) -> Option<bool> {
    match applied {
        Applied::Administered { repeated, .. } => Some(*repeated),
        _ => None,
    }
}

#[tokio::test]
async fn a_request_is_remembered_over_a_restart_until_it_is_swept() {
    let (disk, store) = begun_on_disk().await;
    assert_eq!(repeated(&store.execute(deposit("t", START)).await.unwrap().unwrap()), Some(false));
    store.close();
    let (_, store) = reopened(&disk);
    assert_eq!(repeated(&store.execute(deposit("t", START)).await.unwrap().unwrap()), Some(true));
    let rows = store.statement_behind(customer_id(0), None, 10).await.unwrap().unwrap().1;
    let deposits: Vec<_> = rows.iter().filter(|row| row.entry.movement.available == Credits(5)).collect();
    assert_eq!(deposits.len(), 1);
    assert_eq!(store.journal_entry(deposits[0].position).await.unwrap().as_ref(), Some(&deposits[0].entry));
    assert_eq!(store.journal_entry(99).await.unwrap(), None);

    let rows = store.expired(START.plus(DAY), 9).await.unwrap();
    assert_eq!(rows, [(None, ExpiredRow::AdminIdempotency(Digest::of(b"t")))]);
    for forget in Command::forget_each(rows, START.plus(DAY)) {
        assert_eq!(store.execute(forget).await.unwrap(), Ok(Applied::Forgotten(1)));
    }
    let database = store.database().unwrap();
    let txn = database.begin_read().unwrap();
    assert_eq!(layout::ADMIN_IDEMPOTENCY.len(&txn).unwrap(), 0);
    assert_eq!(layout::ADMIN_IDEMPOTENCY_EXPIRY.len(&txn).unwrap(), 0);
}

#[tokio::test]
async fn the_audit_record_is_read_by_range_and_filter() {
    let store = memory_store();
    for number in 0..50_u64 {
        let (operation, object) =
            [("a", "keys/1"), ("b", "keys/12"), ("b", "customers/x")][number as usize % 3];
        let command = Command::Administer {
            change: None,
            audit: Box::new(line(operation, object)),
            idempotency: None,
            at: UnixMs(number * 10),
        };
        store.execute(command).await.unwrap().unwrap();
    }
    let at = UnixMs(500);
    let audit = Command::Audit { task: Some(task_id(1)), text: "t".into(), at };
    for command in [audit, Command::MarkLedger { mark: LedgerMark::default(), at }] {
        store.execute(command).await.unwrap().unwrap();
    }
    let all = AuditQuery::default();
    let numbers = async |query: &AuditQuery, before, limit| {
        let page = store.list_audit(query.clone(), before, limit).await.unwrap();
        (page.rows.iter().map(|(number, _)| *number).collect::<Vec<_>>(), page.next)
    };
    assert_eq!(numbers(&all, None, 3).await, (vec![51, 50, 49], Some(49)));
    assert_eq!(numbers(&all, Some(2), 3).await, (vec![1, 0], None));
    assert_eq!(numbers(&all, Some(3), 3).await, (vec![2, 1, 0], None));
    let ranged = AuditQuery { from: Some(UnixMs(95)), before: Some(UnixMs(130)), ..all.clone() };
    assert_eq!(numbers(&ranged, None, 9).await, (vec![12, 11, 10], None));
    assert_eq!(store.audit_span(ranged).await.unwrap(), 3);
    assert_eq!(store.audit_span(all.clone()).await.unwrap(), 52);
    let none = AuditQuery { from: Some(UnixMs(20)), before: Some(UnixMs(10)), ..all.clone() };
    assert_eq!((numbers(&none, None, 9).await, store.audit_span(none).await.unwrap()), ((vec![], None), 0));
    let of_task = AuditQuery { task: Some(task_id(1)), ..all.clone() };
    assert_eq!(numbers(&of_task, None, 9).await, (vec![50], None));
    // The mark is left out: it comes every hour, and would hide the decisions.
    let decisions = AuditQuery { decisions: true, ..all.clone() };
    assert_eq!(numbers(&decisions, None, 9).await, (vec![50], None));
    assert_eq!(numbers(&decisions, Some(50), 9).await, (vec![], None));
    let below = AuditQuery { object: Some("keys/1".into()), ..all.clone() };
    assert_eq!(numbers(&below, None, 100).await.0.len(), 17);
    let operations =
        AuditQuery { operations: vec!["a".into(), "b".into()], object: Some("customers".into()), ..all };
    assert_eq!(numbers(&operations, None, 2).await, (vec![47, 44], Some(44)));
}

#[tokio::test]
async fn keys_and_customers_are_listed_in_pages() {
    let store = begun().await;
    let at = START;
    let ids = async |query: KeyQuery, after: Option<&str>, limit| {
        let page = store.list_keys(query, after.map(Into::into), limit).await.unwrap();
        (page.rows.into_iter().map(|key| key.id.0).collect::<Vec<_>>(), page.next.map(|id| id.0))
    };
    let all = KeyQuery { at, ..KeyQuery::default() };
    assert_eq!(ids(all.clone(), None, 2).await, (vec!["key0".into(), "key1".into()], Some("key1".into())));
    assert_eq!(ids(all.clone(), Some("key1"), 2).await, (vec!["key2".into()], None));
    assert_eq!(ids(all.clone(), None, 3).await.1, None);
    store.execute(Command::RevokeKey { id: "key1".into(), at }).await.unwrap().unwrap();
    let revoked = KeyQuery { states: vec![KeyState::Revoked], ..all.clone() };
    assert_eq!(ids(revoked, None, 9).await.0, ["key1"]);
    let owned = KeyQuery { customer: Some(customer_id(1)), ..all };
    assert_eq!(ids(owned, None, 9).await.0, ["key2"]);

    let first = store.list_customers(None, 1).await.unwrap();
    assert_eq!((first.rows[0].id.clone(), first.next.clone()), (customer_id(0), Some(customer_id(0))));
    let second = store.list_customers(first.next, 1).await.unwrap();
    assert_eq!((second.rows[0].id.clone(), second.next), (customer_id(1), None));
}

async fn without_credit(store: &Store, after: Option<&str>, limit: usize) -> (Vec<String>, Option<String>) {
    let page = store.customers_without_credit(after.map(Into::into), limit).await.unwrap();
    (page.rows.into_iter().map(|row| row.id.0).collect(), page.next.map(|id| id.0))
}

/// Two thousand customers with money before two without.
fn with_two_that_have_nothing() -> Store {
    let (_, store) = store_on_disk();
    let (at, amount) = (START, Credits(5));
    let open = |id| Command::AddCustomer { id, policy: CustomerPolicy::default(), at };
    let with_money = (0..2_000).flat_map(|number| {
        let id = CustomerId(format!("a-{number:04}"));
        [open(id.clone()), Command::Deposit { customer: id, amount, memo: String::new(), at }]
    });
    let without = ["z-1", "z-2"].map(|id| open(id.into()));
    drop(commit(&store.database().unwrap(), with_money.chain(without).collect()).unwrap());
    store
}

#[tokio::test]
async fn customers_without_credit_are_found_wherever_they_stand() {
    let store = with_two_that_have_nothing();
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    assert_eq!(without_credit(&store, None, 1).await, (names(&["z-1"]), Some("z-1".to_owned())));
    assert_eq!(without_credit(&store, Some("z-1"), 1).await, (names(&["z-2"]), None));
    for (customer, amount) in [("z-1", 3), ("a-0007", -5), ("a-0008", -4)] {
        let (customer, amount, memo) = (customer.into(), Credits(amount), String::new());
        let deposit = Command::Deposit { customer, amount, memo, at: START };
        store.execute(deposit).await.unwrap().unwrap();
    }
    assert_eq!(without_credit(&store, None, 9).await, (names(&["a-0007", "z-2"]), None));
    assert_eq!(store.count_without_credit().await, Ok(2));
    assert!(store.examine().unwrap().is_clean());

    // The doctor finds a list that is wrong.
    let found = altered(&store, |txn| {
        let mut list = layout::WITHOUT_CREDIT.open_to_write(txn).unwrap();
        list.remove("z-2").unwrap();
        list.insert("a-0001", &()).unwrap();
        list.insert("nobody", &()).unwrap();
    });
    assert_eq!(found.len(), 3, "{found:?}");
    for (id, what) in [("z-2", "misses it"), ("a-0001", "and is not"), ("nobody", "has no row")] {
        let told = |finding: &String| finding.contains(id) && finding.ends_with(what);
        assert!(found.iter().any(told), "{id}: {found:?}");
    }
}
