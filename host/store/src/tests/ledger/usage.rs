//! The sums of usage: what a commit writes, what is kept, what is read, and what the doctor finds.

use std::time::Duration;

use gatehouse_model::{Credits, Tags, UnixMs, Usage};
use gatehouse_sample::{START, customer_id, key_id};
use gatehouse_tasks::{Command, UsageSums, hour_of};

use crate::layout;
use crate::store::Store;
use crate::tests::{Dump, altered, begun};
use crate::transaction::open::commit;
use crate::{KEPT_DAYS_OF_HOURS, UsagePeriod, UsageQuery, UsageRow, UsageScope};

/// A text request of a key of the beginning that costs one credit, hours after the start.
fn request(number: u128, key: u8, model: &str, hours: u64) -> [Command; 2] {
    let at = START.plus(Duration::from_secs(3600 * hours));
    let id = gatehouse_model::RequestId::from_bits((u128::from(at.0) << 80) | number);
    let tokens = Usage { input: 10, output: 2, ..Usage::default() };
    let (amount, expires) = (Credits(1), at.plus(Duration::from_secs(60)));
    [
        Command::Hold { id, key: key_id(key), amount, model: model.into(), expires, at },
        Command::Settle { id, amount, memo: String::new(), tokens, tags: Tags::default(), at },
    ]
}

fn apply(store: &Store, commands: impl IntoIterator<Item = Command>) {
    let outcomes = commit(&store.database().unwrap(), commands.into_iter().collect()).unwrap();
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
}

fn query(scope: UsageScope, period: UsagePeriod) -> UsageQuery {
    UsageQuery { scope, period, range: 0..u32::MAX, after: None, max_rows: 10_000 }
}

/// Customer, key, days or hours after the start, model, requests.
fn short(rows: &[UsageRow], start: u32) -> Vec<(&str, &str, u32, &str, u64)> {
    rows.iter()
        .map(|row| (&*row.customer.0, &*row.key.0, row.period - start, &*row.model, row.sums.requests))
        .collect()
}

/// Three keys of two customers, two models, two days.
async fn with_requests() -> Store {
    let store = begun().await;
    apply(&store, [request(1, 0, "a", 0), request(2, 0, "a", 0), request(3, 0, "b", 0)].concat());
    apply(&store, [request(4, 1, "a", 0), request(5, 2, "a", 0)].concat());
    apply(&store, [request(6, 0, "a", 2), request(7, 2, "b", 3)].concat());
    store
}

#[tokio::test]
async fn sums_are_read_for_every_scope() {
    let store = with_requests().await;
    let day = START.day();
    let check = async |scope: UsageScope, expected: &[(&str, &str, u32, &str, u64)]| {
        let found = store.usage(query(scope, UsagePeriod::Day)).await.unwrap();
        assert_eq!(found.next, None);
        assert_eq!(short(&found.rows, day), expected);
    };
    let (own, other) = (customer_id(0), customer_id(1));
    let all = [("", "", 0, "a", 4), ("", "", 0, "b", 1), ("", "", 1, "a", 1), ("", "", 1, "b", 1)];
    check(UsageScope::All, &all).await;
    let one = "customer-0";
    let of_one = [(one, "", 0, "a", 3), (one, "", 0, "b", 1), (one, "", 1, "a", 1)];
    check(UsageScope::Customer(own.clone()), &of_one).await;
    check(UsageScope::Key(own.clone(), key_id(1)), &[(one, "key1", 0, "a", 1)]).await;
    check(UsageScope::Key(other.clone(), key_id(1)), &[]).await;
    let two = "customer-1";
    let customers = [
        (one, "", 0, "a", 3),
        (one, "", 0, "b", 1),
        (one, "", 1, "a", 1),
        (two, "", 0, "a", 1),
        (two, "", 1, "b", 1),
    ];
    check(UsageScope::EachCustomer, &customers).await;
    let keys = [
        (one, "key0", 0, "a", 2),
        (one, "key0", 0, "b", 1),
        (one, "key0", 1, "a", 1),
        (one, "key1", 0, "a", 1),
        (two, "key2", 0, "a", 1),
        (two, "key2", 1, "b", 1),
    ];
    check(UsageScope::EachKey(None), &keys).await;
    check(UsageScope::EachKey(Some(own)), &keys[..4]).await;
    check(UsageScope::EachKey(Some(other)), &keys[4..]).await;
    check(UsageScope::EachKey(Some(customer_id(9))), &[]).await;
    let hours = store.usage(query(UsageScope::All, UsagePeriod::Hour)).await.unwrap();
    let of_hours = [("", "", 0, "a", 4), ("", "", 0, "b", 1), ("", "", 2, "a", 1), ("", "", 3, "b", 1)];
    assert_eq!(short(&hours.rows, hour_of(START)), of_hours);
    let range = hour_of(START) + 1..hour_of(START) + 3;
    let some = UsageQuery { range, ..query(UsageScope::All, UsagePeriod::Hour) };
    assert_eq!(short(&store.usage(some).await.unwrap().rows, hour_of(START)), of_hours[2..3]);
    assert!(store.examine().unwrap().is_clean());
}

/// Reading in pieces of any length gives the same rows, and no piece reads more than it may.
#[tokio::test]
async fn a_read_goes_on_where_the_last_one_ended() {
    let store = with_requests().await;
    let scopes = [
        UsageScope::All,
        UsageScope::Customer(customer_id(0)),
        UsageScope::Key(customer_id(0), key_id(0)),
        UsageScope::EachCustomer,
        UsageScope::EachKey(None),
        UsageScope::EachKey(Some(customer_id(1))),
    ];
    for scope in scopes {
        for period in [UsagePeriod::Day, UsagePeriod::Hour] {
            let whole = store.usage(query(scope.clone(), period)).await.unwrap();
            for max_rows in [1, 2, 3, 7] {
                let (mut rows, mut after) = (Vec::new(), None);
                loop {
                    let piece = UsageQuery { after, max_rows, ..query(scope.clone(), period) };
                    let found = store.usage(piece).await.unwrap();
                    assert!(found.rows_read <= max_rows + 1, "{found:?}");
                    rows.extend(found.rows);
                    after = found.next;
                    if after.is_none() {
                        break;
                    }
                }
                assert_eq!(rows, whole.rows, "{scope:?} {period:?} {max_rows}");
            }
        }
    }
}

#[tokio::test]
async fn a_commit_writes_one_row_for_what_many_commands_add_to() {
    let store = begun().await;
    apply(&store, (0..50).flat_map(|number| request(number, 0, "a", 0)));
    let dump = Dump::of_store(&store);
    assert_eq!((dump.usage_days.len(), dump.usage_hours.len()), (3, 3));
    let sums =
        UsageSums { requests: 50, input: 500, output: 100, settled: Credits(50), ..UsageSums::default() };
    assert!(dump.usage_days.values().chain(dump.usage_hours.values()).all(|row| *row == sums));
}

#[tokio::test]
async fn hours_are_forgotten_and_days_are_kept() {
    let store = begun().await;
    let days = u64::from(KEPT_DAYS_OF_HOURS) + 5;
    for day in 0..days {
        apply(&store, request(u128::from(day), 0, "a", day * 24));
    }
    let dump = Dump::of_store(&store);
    assert_eq!(dump.usage_days.len() as u64, days * 3);
    assert_eq!(dump.usage_hours.len() as u32, KEPT_DAYS_OF_HOURS * 3);
    let oldest = dump.usage_hours.keys().map(|row| row.2 / 24).min().unwrap();
    assert_eq!(u64::from(oldest), u64::from(START.day()) + days - u64::from(KEPT_DAYS_OF_HOURS));
    // A clock that went back by weeks makes no hours of a day that is no more kept.
    apply(&store, request(99, 0, "a", 24));
    assert_eq!(Dump::of_store(&store).usage_hours, dump.usage_hours);
    assert!(store.examine().unwrap().is_clean());
}

/// What the doctor finds once a row of the sums was changed.
async fn findings(days: bool, row: (&str, &str, &str), alter: impl FnOnce(&mut UsageSums)) -> Vec<String> {
    altered(&with_requests().await, |txn| {
        let table = if days { layout::USAGE_DAYS } else { layout::USAGE_HOURS.of(START.day()) };
        let mut table = table.open_to_write(txn).unwrap();
        let key = (row.0, row.1, if days { START.day() } else { hour_of(START) }, row.2);
        let mut sums = table.get(key).unwrap().unwrap();
        alter(&mut sums);
        table.insert(key, &sums).unwrap();
    })
}

#[tokio::test]
async fn sums_that_contradict_each_other_are_found() {
    let (day, hour) = (START.day(), hour_of(START));
    let one = |sums: &mut UsageSums| sums.output += 1;
    let all = format!("usage of all customers in day {day}: it is not the sum of all keys");
    assert_eq!(findings(true, ("", "", "a"), one).await, std::slice::from_ref(&all));
    let customer = format!("usage of customer customer-0 in day {day}: it is not the sum of its keys");
    assert_eq!(findings(true, ("customer-0", "", "b"), one).await, std::slice::from_ref(&customer));
    let hours = format!("usage on day {day}: its hours are not the sums of the day");
    assert_eq!(findings(true, ("customer-0", "key0", "a"), one).await, [all, customer, hours.clone()]);
    let all = format!("usage of all customers in hour {hour}: it is not the sum of all keys");
    assert_eq!(findings(false, ("", "", "a"), one).await, [all]);
    let of_key = findings(false, ("customer-1", "key2", "a"), one).await;
    assert!(of_key.contains(&hours) && of_key.len() == 3, "{of_key:?}");
    let spent = findings(true, ("customer-1", "key2", "a"), |sums| sums.settled.0 += 1).await;
    let ledger = format!(
        "usage of key key2 of customer customer-1 on day {day}: it is not the sum of its ledger rows"
    );
    assert!(spent.contains(&ledger), "{spent:?}");
    assert!(UnixMs(u64::from(day) * 86_400_000) <= START);
}
