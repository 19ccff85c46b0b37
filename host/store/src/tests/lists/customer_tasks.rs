//! What is listed, in which order, and in which pieces.

use gatehouse_model::{KeyDigest, Status, Task, TaskId, UnixMs};
use gatehouse_sample::{START, at_once, change, completed, failed, task, task_id};
use gatehouse_tasks::{Command, JournalEntry};
use redb::ReadTransaction;

use super::{MANY, expected, fill, id, numbers};
use crate::TaskQuery;
use crate::layout;
use crate::statement::read::{StatementOf, StatementQuery};
use crate::store::Store;
use crate::tests::{Dump, audited, begun, customer, digest, finish, key, minute, submit};
use crate::transaction::open::commit;

/// Free tasks, every third one of the other customer.
async fn filled() -> Store {
    let store = begun().await;
    fill(&store, |number| {
        let (key, id) = (if number % 3 == 2 { 2 } else { 0 }, id(number));
        let model = format!("model-{}", number % 2);
        Task { id, model, ..task(0, key, key / 2, 0, id.timestamp()) }
    });
    store
}

/// Every page of a listing, joined, and how many rows they read.
async fn all_pages(store: &Store, name: &str, query: TaskQuery) -> (Vec<Task>, usize) {
    let (mut tasks, mut rows_read, mut after) = (Vec::<Task>::new(), 0, None);
    loop {
        let query = TaskQuery { after, ..query.clone() };
        let page = store.list_tasks(customer(name), query.clone()).await.unwrap();
        assert!(page.tasks.len() == query.limit || !page.more, "only the last page is short");
        tasks.extend(page.tasks);
        rows_read += page.rows_read;
        if !page.more {
            return (tasks, rows_read);
        }
        after = tasks.last().map(|task| task.id);
    }
}

#[tokio::test]
async fn an_owner_sees_its_own_newest_first() {
    let store = filled().await;
    for limit in [1, 7, 100, 866, 867, 868, 10_000] {
        let query = TaskQuery { limit, ..TaskQuery::default() };
        let (tasks, _) = all_pages(&store, "customer-0", query.clone()).await;
        assert_eq!(numbers(&tasks), expected(|number| number % 3 != 2), "limit {limit}");
        let (tasks, _) = all_pages(&store, "customer-1", query.clone()).await;
        assert_eq!(numbers(&tasks), expected(|number| number % 3 == 2), "limit {limit}");
        assert_eq!(all_pages(&store, "customer", query).await.0, vec![], "limit {limit}");
    }
    let nothing = store.list_tasks(customer("customer-0"), TaskQuery::default()).await.unwrap();
    assert_eq!((nothing.tasks, nothing.more), (vec![], true));
}

#[tokio::test]
async fn filters_choose_by_status_and_model() {
    let store = filled().await;
    let check = async |status, model: Option<&str>, which: fn(u64) -> bool| {
        for limit in [1, 10, 217, 10_000] {
            let query = TaskQuery { status, model: model.map(str::to_owned), limit, after: None };
            let (tasks, _) = all_pages(&store, "customer-1", query).await;
            assert_eq!(numbers(&tasks), expected(|number| number % 3 == 2 && which(number)));
        }
    };
    check(Some(Status::Submitted), None, |number| number % 4 == 0).await;
    check(Some(Status::Completed), None, |number| number % 4 == 2).await;
    check(Some(Status::Failed), None, |number| number % 2 == 1).await;
    check(Some(Status::Pending), None, |_| false).await;
    check(None, Some("model-0"), |number| number % 2 == 0).await;
    check(None, Some("model-1"), |number| number % 2 == 1).await;
    check(Some(Status::Completed), Some("model-0"), |number| number % 4 == 2).await;
    check(Some(Status::Completed), Some("model-1"), |_| false).await;
    check(None, Some("model"), |_| false).await;
}

/// Finished tasks of one customer, three days of them; every 977th of the rare model.
fn fill_history(store: &Store, count: u64) {
    let id = |number: u64| minute(number / 5, u128::from(number));
    for first in (0..count).step_by(1000) {
        let (mut submissions, mut ends) = (vec![], vec![]);
        for number in first..(first + 1000).min(count) {
            let model = if number % 977 == 0 { "rare" } else { "usual" }.to_owned();
            let made = task(0, 0, 0, 0, id(number).timestamp());
            submissions.push(submit(Task { id: id(number), model, ..made }));
            ends.push(finish(id(number), completed(0)));
        }
        for commands in [submissions, ends] {
            let outcomes = commit(&store.database().unwrap(), commands).unwrap();
            assert!(outcomes.iter().all(Result::is_ok));
        }
    }
}

#[tokio::test]
async fn a_page_reads_little_more_than_it_shows() {
    const COUNT: u64 = 20_000;
    // Looking up the statuses and models of a day, and the newest row of each, on at most four days.
    const LOOK_UPS: usize = 4 * 5;
    let store = begun().await;
    fill_history(&store, COUNT);
    let filters = [(Some(Status::Failed), None), (None, Some("none")), (Some(Status::Pending), Some("rare"))];
    for (status, model) in filters {
        let query = TaskQuery { status, model: model.map(str::to_owned), limit: 100, after: None };
        let page = store.list_tasks(customer("customer-0"), query).await.unwrap();
        assert_eq!((page.tasks, page.more), (vec![], false));
        assert!(page.rows_read <= LOOK_UPS, "{}", page.rows_read);
    }
    let rare: Vec<TaskId> = (0..COUNT)
        .rev()
        .filter(|number| number % 977 == 0)
        .map(|number| minute(number / 5, number.into()))
        .collect();
    for limit in [1, 2, 5, 100] {
        let query = TaskQuery { model: Some("rare".into()), limit, ..TaskQuery::default() };
        let (tasks, rows_read) = all_pages(&store, "customer-0", query).await;
        assert_eq!(tasks.iter().map(|task| task.id).collect::<Vec<_>>(), rare, "limit {limit}");
        let pages = rare.len().div_ceil(limit);
        assert!(rows_read <= rare.len() + pages * (LOOK_UPS + 1), "{rows_read} rows for {pages} pages");
    }
    for (status, limit) in [(None, 1), (None, 100), (Some(Status::Completed), 100)] {
        let query = TaskQuery { status, limit, ..TaskQuery::default() };
        let newest = store.list_tasks(customer("customer-0"), query).await.unwrap();
        assert_eq!((newest.tasks.len(), newest.more), (limit, true));
        assert!(newest.rows_read <= limit + 1 + LOOK_UPS, "{}", newest.rows_read);
    }
}

#[tokio::test]
async fn live_tasks_come_by_creation_across_pieces() {
    let store = filled().await;
    let mut live: Vec<Task> = Vec::new();
    loop {
        let piece = store.live_tasks(live.last().map(|task| task.id)).await.unwrap();
        if piece.is_empty() {
            break;
        }
        live.extend(piece);
    }
    let mut expected = expected(|number| number % 4 == 0);
    expected.reverse();
    assert_eq!(numbers(&live), expected);
}

#[tokio::test]
async fn a_task_is_found_live_ended_and_no_more_once_dropped() {
    let store = filled().await;
    assert_eq!(store.task(id(4)).await.unwrap().unwrap().status, Status::Submitted);
    assert_eq!(store.task(id(2)).await.unwrap().unwrap().status, Status::Completed);
    assert_eq!(store.task(minute(5, 99)).await.unwrap(), None);
    assert_eq!(store.task(TaskId::from_bits(0)).await.unwrap(), None);

    // A live task keeps the day of its creation; without one, whole days go.
    assert_eq!(store.drop_history(START.day() + 2).await, Ok(0));
    let first_days = (0..MANY).filter(|number| id(*number).timestamp().day() < START.day() + 2);
    let ends = first_days.clone().map(|number| finish(id(number), failed()));
    commit(&store.database().unwrap(), ends.collect()).unwrap();
    assert_eq!(store.drop_history(START.day() + 2).await, Ok(2));
    let kept = first_days.count() as u64;
    assert_eq!(store.task(id(2)).await.unwrap(), None);
    assert!(store.task(id(kept)).await.unwrap().is_some());
    let query = TaskQuery { limit: 10_000, ..TaskQuery::default() };
    let (tasks, _) = all_pages(&store, "customer-0", query).await;
    assert_eq!(numbers(&tasks), expected(|number| number % 3 != 2 && number >= kept));
    assert!(store.examine().unwrap().is_clean());
}

async fn journal_of(store: &Store, name: &str, limit: usize) -> Vec<JournalEntry> {
    let (of, created) = (StatementOf::Customer(customer(name)), UnixMs(0)..UnixMs(u64::MAX));
    let page = store.statement(StatementQuery { of, created, before: None, limit }).await;
    page.unwrap().rows.into_iter().map(|row| row.entry).collect()
}

#[tokio::test]
async fn ledger_and_audit_are_read_backwards() {
    let store = filled().await;
    let entries = journal_of(&store, "customer-0", 5000).await;
    assert_eq!(entries.len(), 1 + 867 + 867 * 3 / 4);
    assert!(entries.is_sorted_by(|a, b| a.seq > b.seq));
    assert_eq!(journal_of(&store, "customer-0", 700).await, entries[..700]);
    assert_eq!(journal_of(&store, "nobody", 5).await, []);

    let (some, other) = (Some(task_id(1)), Some(task_id(2)));
    for (task, text) in [(some, "one"), (None, "two"), (other, "three"), (some, "four")] {
        let record = Command::Audit { task, text: text.into(), at: START };
        store.execute(record).await.unwrap().unwrap();
    }
    for (task, limit, expected) in [
        (None, 2, &["four", "three"][..]),
        (some, 9, &["four", "one"]),
        (some, 1, &["four"]),
        (Some(task_id(3)), 9, &[]),
    ] {
        let audit_records = audited(&store, task, limit).await.unwrap();
        let texts: Vec<_> = audit_records.iter().map(|record| record.text.as_str()).collect();
        assert_eq!(texts, expected);
    }
}

/// A future of its own on the heap, or a thread's, would cost each request more than the look-up does.
#[tokio::test]
async fn a_read_that_answers_at_once_allocates_for_its_row_alone() {
    let store = begun().await;
    let id = key("key1");
    let look_up =
        || store.read(&store.database().unwrap(), |txn: &ReadTransaction| layout::KEYS.find(txn, &id.0));
    // The first one reads pages.
    assert!(look_up().unwrap().is_some());
    let row = allocation_counter::measure(|| drop(look_up()));
    let read = allocation_counter::measure(|| drop(at_once(store.key(&id))));
    assert!(row.count_total > 0);
    assert_eq!((read.count_total, read.bytes_total), (row.count_total, row.bytes_total));
}

#[tokio::test]
async fn accounts_and_keys_are_found_by_every_name() {
    let store = begun().await;
    let Dump { keys, customers, .. } = Dump::of_store(&store);
    assert_eq!(keys.iter().map(|key| key.id.0.as_str()).collect::<Vec<_>>(), ["key0", "key1", "key2"]);
    assert_eq!(store.key(&key("key1")).await.unwrap().as_ref(), Some(&keys[1]));
    assert_eq!(store.key_by_digest(&keys[2].digest).await.unwrap().as_ref(), Some(&keys[2]));
    assert_eq!(store.key(&key("key9")).await.unwrap(), None);
    assert_eq!(store.key_by_digest(&KeyDigest(digest("no key"))).await.unwrap(), None);
    assert_eq!(store.customer(&customer("customer-1")).await.unwrap().as_ref(), Some(&customers[1]));
    assert_eq!(store.customer(&customer("customer-9")).await.unwrap(), None);

    let change = Box::new(change(Status::Pending, 1));
    let moved = Command::Advance { id: minute(0, 1), revision: 0, change, at: START };
    assert!(store.execute(moved).await.unwrap().is_err());
}
