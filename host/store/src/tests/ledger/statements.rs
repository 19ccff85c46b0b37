//! Statements: every row once, newest first, with the balance after it; a page reads little more than it shows.

use std::time::Duration;

use gatehouse_model::{Credits, CustomerId, Task, UnixMs};
use gatehouse_sample::{START, customer_id, hold, key_id, request_id, settle, task};
use gatehouse_tasks::{Command, EntryKind, JournalEntry};

use crate::layout;
use crate::store::Store;
use crate::tests::{altered, begun, memory_store, minute, submit};
use crate::transaction::open::commit;
use crate::{StatementOf, StatementPage, StatementQuery, StatementRow, StatementTotals};

const TASKS: u64 = 700;

fn moment(number: u64) -> UnixMs {
    START.plus(Duration::from_secs(60 * number))
}

/// Free tasks of three keys and two customers in turn, a minute apart, in commits of several lengths.
async fn filled() -> Store {
    let store = begun().await;
    let submit = |number: u64| {
        let key = u8::try_from(number % 3).unwrap();
        let id = minute(number, u128::from(number));
        let made = task(0, key, key / 2, i64::from(number < 20), moment(number));
        submit(Task { id, ..made })
    };
    let (mut first, mut length) = (0, 1);
    while first < TASKS {
        let commands = (first..(first + length).min(TASKS)).map(submit).collect();
        assert!(commit(&store.database().unwrap(), commands).unwrap().iter().all(Result::is_ok));
        (first, length) = (first + length, (length * 3) % 290 + 1);
    }
    store
}

/// Money in, money back, texts that were charged or given back and texts that are open, of two customers on six days.
async fn busy_days() -> Store {
    let store = begun().await;
    for number in 0..70_u8 {
        let at = START.plus(Duration::from_secs(u64::from(number) * 7_200));
        let (id, model) = (request_id(number), format!("model-{}", number % 4));
        let lasts = (at, Duration::from_secs(3_600 * 24 * 30));
        let mut commands = vec![hold(id, (number % 3, &model), 3, lasts)];
        match number % 5 {
            0 => {}
            1 => commands.push(Command::Release { id, at }),
            charged => commands.push(settle(id, i64::from(charged) - 1, at)),
        }
        if number % 9 < 2 {
            let (customer, amount) = (customer_id(number % 2), Credits(5 - 9 * i64::from(number % 9)));
            commands.push(Command::Deposit { customer, amount, memo: String::new(), at });
        }
        assert!(commit(&store.database().unwrap(), commands).unwrap().iter().all(Result::is_ok), "{number}");
    }
    store
}

#[tokio::test]
async fn sums_of_days_are_those_of_their_rows() {
    let store = busy_days().await;
    let (first, mut with_money) = (START.day(), 0);
    for of in [
        StatementOf::All,
        StatementOf::Customer(customer_id(0)),
        StatementOf::Customer(customer_id(1)),
        StatementOf::Key(key_id(0)),
        StatementOf::Key(key_id(1)),
        StatementOf::Key(key_id(2)),
        StatementOf::Customer("nobody".into()),
        StatementOf::Key("nokey".into()),
    ] {
        let is_key = matches!(of, StatementOf::Key(_));
        for (start, end) in
            (first - 1..first + 8).flat_map(|start| (start..first + 8).map(move |end| (start, end)))
        {
            let whole = |created| StatementQuery { created, ..query(of.clone()) };
            let rows = pages(&store, whole(UnixMs::of_day(start)..UnixMs::of_day(end))).await;
            let mut expected = StatementTotals::default();
            for StatementRow { entry, .. } in &rows {
                expected.spent = Credits(expected.spent.0 + entry.movement.spent.0);
                if entry.kind == EntryKind::Deposit && !is_key {
                    expected.deposited = Credits(expected.deposited.0 + entry.movement.available.0.max(0));
                    expected.withdrawn = Credits(expected.withdrawn.0 - entry.movement.available.0.min(0));
                }
            }
            for (balance, day) in [(&mut expected.opening, start), (&mut expected.closing, end)] {
                let last = pages(&store, whole(UnixMs(0)..UnixMs::of_day(day))).await.into_iter().next();
                let after = last.map_or(Some(Credits::ZERO), |row| row.after);
                *balance = after
                    .filter(|_| !matches!(of, StatementOf::All) && of != StatementOf::Key("nokey".into()));
            }
            let found = store.statement_totals(of.clone(), start..end, 1_000).await.unwrap();
            assert_eq!(found, Some(expected), "{of:?} {start}..{end}");
            with_money += usize::from(expected.withdrawn.0 > 0 && expected.spent.0 > 0);
        }
    }
    assert!(with_money > 20, "{with_money}");
    // No more than so many rows are read.
    let (of, days) = (StatementOf::All, first..first + 7);
    assert_eq!(store.statement_totals(of.clone(), days.clone(), 10).await, Ok(None));
    assert!(store.examine().unwrap().is_clean());

    // The doctor compares the sums with the ledger.
    let found = altered(&store, |txn| {
        let mut table = layout::DEPOSIT_DAYS.open_to_write(txn).unwrap();
        table.insert(("", first), &(1, 1)).unwrap();
        table.insert(("nobody", first), &(1, 0)).unwrap();
        assert!(table.remove((&customer_id(0).0, first)).unwrap());
    });
    assert_eq!(found.len(), 3, "{found:?}");
    for whose in ["all customers", "customer nobody", &format!("customer {}", customer_id(0))] {
        let start = format!("deposits of {whose} on day");
        assert!(found.iter().any(|finding| finding.starts_with(&start)), "{found:?}");
    }
}

fn query(of: StatementOf) -> StatementQuery {
    StatementQuery { of, created: UnixMs(0)..UnixMs(u64::MAX), before: None, limit: 100 }
}

async fn pages(store: &Store, query: StatementQuery) -> Vec<StatementRow> {
    let (mut rows, mut before) = (Vec::new(), query.before);
    loop {
        let page = store.statement(StatementQuery { before, ..query.clone() }).await.unwrap();
        // The index has one row for a commit, the halving of the ledger takes ten steps at each end.
        assert!(page.rows_read <= 2 * query.limit + 2 + 2 * 10, "{} rows", page.rows_read);
        rows.extend(page.rows);
        before = page.next;
        if before.is_none() {
            return rows;
        }
    }
}

#[tokio::test]
async fn every_row_comes_once_with_its_balance() {
    let store = filled().await;
    let all = pages(&store, query(StatementOf::All)).await;
    assert!(all.is_sorted_by(|a, b| a.position > b.position));
    let all: Vec<JournalEntry> = all.into_iter().map(|row| row.entry).collect();
    assert_eq!(all.len() as u64, TASKS + 2);
    for limit in [1, 7, 64, 65, 100] {
        for customer in [customer_id(0), customer_id(1)] {
            let query = StatementQuery { limit, ..query(StatementOf::Customer(customer.clone())) };
            let mut rows = pages(&store, query).await;
            let own = all.iter().filter(|entry| entry.customer == customer);
            assert!(rows.iter().map(|row| &row.entry).eq(own));
            rows.reverse();
            assert_eq!(forwards(&store, &customer, limit).await, rows);
            let mut free = 0;
            for row in rows {
                free += row.entry.movement.available.0;
                assert_eq!(row.after, Some(Credits(free)));
            }
        }
        for key in [0, 1, 2].map(key_id) {
            let query = StatementQuery { limit, ..query(StatementOf::Key(key.clone())) };
            let mut rows = pages(&store, query).await;
            let own = all.iter().filter(|entry| entry.key.as_ref() == Some(&key));
            assert!(rows.iter().map(|row| &row.entry).eq(own));
            rows.reverse();
            let mut used = 0;
            for row in rows {
                used += row.entry.movement.used().unwrap().0;
                assert_eq!(row.after, Some(Credits(used)));
            }
        }
    }
    let count = async |of, max| store.count_statement(query(of), max).await.unwrap();
    assert_eq!(count(StatementOf::All, 10_000).await as u64, TASKS + 2);
    assert_eq!(count(StatementOf::All, 10).await, 10);
    assert_eq!(count(StatementOf::Key(key_id(2)), 10_000).await as u64, TASKS / 3);
    let none = store.statement(query(StatementOf::Key("key9".into()))).await.unwrap();
    assert_eq!((none.rows, none.next), (vec![], None));
}

/// The same rows, read from the first one on; the last read ends at the customer's head.
async fn forwards(store: &Store, customer: &CustomerId, limit: usize) -> Vec<StatementRow> {
    let mut all: Vec<StatementRow> = Vec::new();
    loop {
        let position = all.last().map(|row| row.position);
        let read = store.statement_behind(customer.clone(), position, limit).await.unwrap();
        let (row, more) = read.expect("a customer");
        let is_last = more.len() < limit;
        all.extend(more);
        if is_last {
            assert_eq!(all.last().unwrap().entry.head(), row.head);
            return all;
        }
    }
}

#[tokio::test]
async fn a_time_is_half_open_and_found_by_halving() {
    let store = filled().await;
    for (from, until) in [(0, 1), (100, 200), (699, 10_000), (300, 300), (500, 400), (800, 900)] {
        let created = moment(from)..moment(until);
        for of in [StatementOf::All, StatementOf::Customer(customer_id(0)), StatementOf::Key(key_id(1))] {
            let own = |number: &u64| match of {
                StatementOf::All => true,
                StatementOf::Customer(_) => number % 3 != 2,
                StatementOf::Key(_) => number % 3 == 1,
            };
            let expected: Vec<UnixMs> = (from..until.min(TASKS)).rev().filter(own).map(moment).collect();
            let rows = pages(&store, StatementQuery { created: created.clone(), ..query(of.clone()) }).await;
            let mut found: Vec<UnixMs> = rows.iter().map(|row| row.entry.at).collect();
            // The deposits of the beginning.
            found.truncate(found.len() - rows.iter().filter(|row| row.entry.hold.is_none()).count());
            assert_eq!(found, expected, "{of:?} {from} {until}");
        }
    }
}

#[tokio::test]
async fn nothing_is_shown_for_nothing() {
    let store = memory_store();
    let page = store.statement(query(StatementOf::All)).await.unwrap();
    assert_eq!(page, StatementPage::default());
    let time = StatementQuery { created: moment(1)..moment(2), ..query(StatementOf::All) };
    assert_eq!(store.statement(time).await.unwrap(), StatementPage::default());
    assert_eq!(store.statement_behind("nobody".into(), None, 9).await, Ok(None));
}

#[tokio::test]
async fn an_index_that_is_not_the_ledgers_is_found() {
    for kind in ["customer", "key"] {
        for change in 0..3 {
            let owner = if kind == "key" { "key1" } else { "customer-1" };
            let found = altered(&filled().await, |txn| {
                let mut index = layout::LEDGER_INDEX.open_to_write(txn).unwrap();
                let row = index.range((kind, owner, 0)..).unwrap().next().unwrap().unwrap();
                let (first, mut listed) = (row.key().unwrap().2, row.row().unwrap());
                drop(row);
                match change {
                    0 => listed[0].1.0 += 1,
                    1 => drop(listed.remove(0)),
                    _ => listed.push(listed[0]),
                }
                index.insert((kind, owner, first), &listed).unwrap();
            });
            let finding =
                format!("statement of {kind} {owner}: the index does not list its ledger rows as they are");
            assert_eq!(found, [finding], "{change}");
        }
    }
}
