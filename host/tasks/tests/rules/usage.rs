//! Every end of a hold is counted once, with its model and tokens; the doctor finds sums that are not the ledger's.

use std::time::Duration;

use gatehouse_model::{Credits, Status, Tags, Usage};

use super::{advance, finish, funded, join, run, submit};
use gatehouse_sample::{START, completed, customer_id, delivery, failed, join_request, key_id, request_id};
use gatehouse_tasks::{Command, Ending, Examination, MemoryLedgerStorage, UsageKey, UsageSums, hour_of};

const TOKENS: Usage = Usage { input: 7, output: 5, cached: 3, cache_write: 1, cache_write_hour: 0 };

fn hold(number: u8, amount: i64) -> Command {
    gatehouse_sample::hold(request_id(number), (1, "text-1"), amount, (START, Duration::from_secs(60)))
}

fn settle(number: u8, amount: i64, minutes: u64) -> Command {
    let (id, amount, memo) = (request_id(number), Credits(amount), String::new());
    let at = START.plus(Duration::from_secs(60 * minutes));
    Command::Settle { id, amount, memo, tokens: TOKENS, tags: Tags::default(), at }
}

fn counted(storage: &MemoryLedgerStorage, key: u8, hours: u32, model: &str) -> UsageSums {
    let (customer, key, hour) = (customer_id(key / 2), key_id(key), hour_of(START) + hours);
    let key = UsageKey { customer, key, hour, model: model.into() };
    let found = storage.usage().find(|(of, _)| **of == key);
    found.map(|(_, sums)| *sums).unwrap_or_default()
}

#[test]
fn every_end_of_a_request_is_counted_once() {
    let mut storage = funded();
    for number in 0..4 {
        run(&mut storage, hold(number, 20)).unwrap();
    }
    assert_eq!(storage.usage().count(), 0);
    run(&mut storage, settle(0, 15, 0)).unwrap();
    run(&mut storage, settle(1, 20, 59)).unwrap();
    run(&mut storage, settle(0, 15, 0)).unwrap_err();
    run(&mut storage, Command::Release { id: request_id(2), at: START }).unwrap();
    let twice = UsageSums {
        requests: 3,
        failures: 1,
        input: 14,
        output: 10,
        cached: 6,
        cache_write: 2,
        settled: Credits(35),
        refunded: Credits(20),
    };
    assert_eq!(counted(&storage, 1, 0, "text-1"), twice);
    // The sweep is an end like any other, and counts when it comes.
    assert_eq!(super::forget(&mut storage, START.plus(Duration::from_secs(3600)), 9), 1);
    let swept = UsageSums { requests: 1, failures: 1, refunded: Credits(20), ..UsageSums::default() };
    assert_eq!(counted(&storage, 1, 1, "text-1"), swept);
    assert!(storage.examine().is_clean());
}

#[test]
fn a_task_counts_for_its_model_and_for_every_key_that_pays() {
    let mut storage = funded();
    for number in 0..2 {
        run(&mut storage, submit(number, 0, 10)).unwrap();
    }
    run(&mut storage, join(0, join_request(1, 4, START))).unwrap();
    run(&mut storage, advance(0, 0, delivery(Status::Processing, 0))).unwrap();
    run(&mut storage, finish(0, 1, completed(11))).unwrap();
    run(&mut storage, finish(1, 0, failed())).unwrap();
    let one = |settled| UsageSums { requests: 1, settled: Credits(settled), ..UsageSums::default() };
    assert_eq!(counted(&storage, 0, 0, "model-0"), one(7));
    assert_eq!(counted(&storage, 1, 0, "model-0"), one(4));
    let back = UsageSums { requests: 1, failures: 1, refunded: Credits(10), ..UsageSums::default() };
    assert_eq!(counted(&storage, 0, 0, "model-1"), back);
    assert!(storage.examine().is_clean());
}

#[test]
fn sums_that_are_not_the_ledgers_are_found() {
    let mut storage = funded();
    run(&mut storage, hold(0, 20)).unwrap();
    run(&mut storage, settle(0, 15, 0)).unwrap();
    run(&mut storage, submit(1, 0, 10)).unwrap();
    run(&mut storage, finish(1, 0, Ending::failed(gatehouse_tasks::timed_out()))).unwrap();
    let day = START.day();
    let examine = |alter: fn(&UsageKey, &mut UsageSums, &mut u32)| {
        let mut examination = Examination::default();
        storage.ledger().iter().for_each(|entry| examination.entry(entry));
        for (key, sums) in storage.usage() {
            let (mut sums, mut day) = (*sums, key.day());
            alter(key, &mut sums, &mut day);
            examination.usage(&key.customer, &key.key, day, &sums);
        }
        let mut findings = examination.report().findings;
        findings.retain(|finding| finding.starts_with("usage"));
        findings
    };
    let wrong = |key, day| {
        format!(
            "usage of key key{key} of customer customer-0 on day {day}: it is not the sum of its ledger rows"
        )
    };
    assert_eq!(examine(|_, _, _| {}), [""; 0]);
    assert_eq!(examine(|_, sums, _| sums.output += 1), [""; 0], "the ledger does not know tokens");
    assert_eq!(examine(|_, sums, _| sums.requests += 1), [wrong(0, day), wrong(1, day)]);
    assert_eq!(examine(|_, sums, _| sums.settled.0 += i64::from(sums.settled.0 > 0)), [wrong(1, day)]);
    assert_eq!(examine(|_, sums, _| sums.refunded.0 -= i64::from(sums.refunded.0 > 0)), [wrong(0, day)]);
    assert_eq!(examine(|_, sums, _| sums.failures = 0), [wrong(0, day)]);
    let moved = examine(|key, _, day| *day += u32::from(key.key.0 == "key1"));
    assert_eq!(moved, [wrong(1, day), wrong(1, day + 1)]);
}
