//! A statement as lines: right as it was written, and the first line that is not is named.

use std::time::Duration;

use gatehouse_model::{Credits, Tags, UnixMs};
use gatehouse_sample::{START, command_sequences, customer_id, hold, request_id};
use gatehouse_tasks::{
    Command, MemoryLedgerStorage, StatementCheck, StatementLine, VerifiedStatement, WrongLine,
};
use proptest::prelude::*;
use serde_json::Value;

use super::{customer_row, deposit, funded, last, play, run, with_task};

const MINUTE: Duration = Duration::from_secs(60);

/// A customer's statement as a file has it.
fn lines(storage: &MemoryLedgerStorage, number: u8) -> Vec<String> {
    let customer = customer_row(storage, number);
    let own = storage
        .ledger()
        .into_iter()
        .zip(storage.balances_after())
        .filter(|(row, _)| row.customer == customer.id);
    let entries = own.map(|(row, after)| StatementLine::entry(row.clone(), after.available));
    let all = std::iter::once(StatementLine::begin(customer.id.clone())).chain(entries);
    let all = all.chain(std::iter::once(StatementLine::end(customer)));
    all.map(|line| serde_json::to_string(&line).unwrap()).collect()
}

fn check(lines: &[String]) -> Result<VerifiedStatement, WrongLine> {
    let mut check = StatementCheck::default();
    lines.iter().try_for_each(|line| check.line(line))?;
    check.end()
}

/// A deposit, two holds, a settlement and a release: lines 2 to 6 between the first and the last.
fn statement() -> Vec<String> {
    let mut storage = funded();
    let at = UnixMs(START.0 + 5);
    for number in 0..2 {
        run(&mut storage, hold(request_id(number), (0, "m"), 20, (at, MINUTE))).unwrap();
    }
    let (memo, tokens) = ("m: 1 in".to_owned(), Default::default());
    let tags = Tags::new(Some("ann".to_owned()), [("team".to_owned(), "red".to_owned())]);
    run(&mut storage, Command::Settle { id: request_id(0), amount: Credits(7), memo, tokens, tags, at })
        .unwrap();
    run(&mut storage, Command::Release { id: request_id(1), at }).unwrap();
    lines(&storage, 0)
}

/// A deposit and the hold of a task: lines 2 and 3.
fn of_task() -> Vec<String> {
    lines(&with_task(0, 10), 0)
}

fn edit(line: &mut String, change: impl FnOnce(&mut Value)) {
    let mut value: Value = serde_json::from_str(line).unwrap();
    change(&mut value);
    *line = value.to_string();
}

#[test]
fn a_statement_is_right_as_it_was_written() {
    let found = check(&statement()).unwrap();
    assert_eq!(found.span, Some((START, UnixMs(START.0 + 5))));
    let told = found.to_string();
    assert!(told.starts_with("customer customer-0: 5 entries from "), "{told}");
    assert!(told.contains("\n0.0003 paid in, 0.000007 spent, 0 held, 0.000293 free\nhead "), "{told}");
    // One that was never used.
    let mut storage = MemoryLedgerStorage::default();
    let open = Command::AddCustomer { id: customer_id(0), policy: Default::default(), at: START };
    run(&mut storage, open).unwrap();
    assert_eq!(check(&lines(&storage, 0)).unwrap().customer.head, Default::default());
}

/// The line that is wrong is the one that was edited.
#[test]
fn an_edited_line_is_named() {
    type Edit = fn(&mut Value);
    let chain = "its chain does not follow";
    let hostile: Edit = |line| line["customer"] = "a: 9 entries are right\nhead \u{1b}[8m".into();
    let told =
        "customer: expected 1 to 64 letters, digits and - _ . @, not \"a: 9 entries are right\\nhead \\u{1b}";
    let two_amounts: Edit = |line| {
        line["spent_micro"] = 6.into();
        line["available_micro"] = 14.into();
    };
    let cases: [(&str, usize, Edit, &str); 16] = [
        ("a changed amount", 2, |line| line["held_micro"] = 19.into(), "sum to zero"),
        ("two changed amounts", 4, two_amounts, chain),
        (
            "a changed balance",
            3,
            |line| line["balance_micro"] = 1.into(),
            "balance_micro: expected 260, not 1",
        ),
        ("a changed memo", 4, |line| line["memo"] = "m: 2 in".into(), chain),
        ("another user", 4, |line| line["tags"]["user"] = "bob".into(), chain),
        ("another tag", 4, |line| line["tags"]["metadata"]["team"] = "blue".into(), chain),
        ("no tags", 4, |line| drop(line.as_object_mut().unwrap().remove("tags")), chain),
        ("tags of a hold", 2, |line| line["tags"] = serde_json::json!({"user": "ann"}), chain),
        ("a changed moment", 1, |line| line["at_ms"] = 1.into(), chain),
        (
            "other balances at the end",
            6,
            |line| line["available_micro"] = 300.into(),
            "\"available_micro\":293",
        ),
        ("another form", 0, |line| line["format"] = 2.into(), "format: expected 1, not 2"),
        ("a customer whose name would write a verdict", 0, hostile, told),
        ("a key without a name", 1, |line| line["key"] = "".into(), "\"key\":null"),
        ("an amount as text", 4, |line| line["spent_micro"] = "0.000007".into(), "\"spent_micro\":7"),
        ("a sum as text", 6, |line| line["spent_micro"] = "0.000007".into(), "\"spent_micro\":7"),
        ("a field left out", 1, |line| drop(line.as_object_mut().unwrap().remove("key")), "\"key\":null"),
    ];
    for (case, place, change, problem) in cases {
        let mut all = statement();
        edit(&mut all[place], change);
        assert_wrong(case, &all, (place + 1) as u64, problem);
    }
    let mut all = of_task();
    edit(&mut all[2], |line| line["request"] = request_id(0).to_string().into());
    assert_wrong("a request beside a task", &all, 3, "\"request\":null");
}

#[test]
fn the_first_line_that_is_wrong_is_named() {
    type Change = fn(&mut Vec<String>);
    let other: Change = |all| edit(&mut all[0], |line| line["customer"] = "you".into());
    let cases: [(&str, Change, u64, &str); 8] = [
        ("another customer", other, 2, "its chain does not follow"),
        ("a removed line", |all| drop(all.remove(3)), 4, "entry: expected 2, not 3"),
        ("an added line", |all| all.insert(3, all[2].clone()), 4, "entry: expected 2, not 1"),
        ("swapped lines", |all| all.swap(2, 3), 3, "entry: expected 1, not 2"),
        ("a cut end", |all| drop(all.pop()), 7, "the file was cut off"),
        ("a cut line", |all| all[6].truncate(20), 7, "expected a line of a statement"),
        ("a cut end behind which the last line was kept", |all| drop(all.remove(5)), 6, "\"entries\":4"),
        ("more behind the end", |all| all.push(all[2].clone()), 8, "expected nothing behind the last line"),
    ];
    for (case, change, line, problem) in cases {
        let mut all = statement();
        change(&mut all);
        assert_wrong(case, &all, line, problem);
    }
    assert_eq!(check(&[]).unwrap_err().line, 1);
}

fn assert_wrong(case: &str, all: &[String], line: u64, problem: &str) {
    let wrong = check(all).expect_err(case);
    assert_eq!(wrong.line, line, "{case}: {wrong}");
    assert!(wrong.problem.contains(problem), "{case}: {wrong}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever customers do beside each other, each has a statement that is right by itself.
    #[test]
    fn every_customer_can_check_what_it_did(templates in command_sequences(60)) {
        let storage = play(&templates, |storage, command| drop(run(storage, command)));
        for number in 0..2 {
            let found = check(&lines(&storage, number)).unwrap();
            let row = customer_row(&storage, number);
            prop_assert_eq!((found.customer.head, found.customer.available), (row.head, row.available));
        }
    }

    /// The order in which customers' commands come changes nothing in the chain of either.
    #[test]
    fn chains_of_customers_do_not_know_of_each_other(amounts in prop::collection::vec((0..2_u8, 1..50_i64), 1..30), seed in any::<u64>()) {
        let deposit = |storage: &mut MemoryLedgerStorage, (customer, amount): (u8, i64)| {
            run(storage, deposit(customer, amount)).unwrap();
        };
        let (mut one, mut other) = (funded(), funded());
        amounts.iter().for_each(|one_deposit| deposit(&mut one, *one_deposit));
        // The second customer's somewhere among those of the first.
        let (mut first, second): (Vec<_>, Vec<_>) = amounts.into_iter().partition(|(customer, _)| *customer == 0);
        for (number, later) in second.into_iter().enumerate().rev() {
            let place = usize::try_from(seed.rotate_left(number as u32 * 7) % (first.len() as u64 + 1)).unwrap();
            let place = first[..place].iter().position(|(customer, _)| *customer == 1).unwrap_or(place);
            first.insert(place, later);
        }
        first.into_iter().for_each(|next| deposit(&mut other, next));
        for number in 0..2 {
            prop_assert_eq!(lines(&one, number), lines(&other, number));
        }
    }
}

/// Without it a client fills the ledger, which is kept for good.
#[test]
fn a_row_keeps_so_many_bytes_of_tags() {
    let long = |name: &str, bytes: usize| (name.to_owned(), "x".repeat(bytes));
    for (user, pairs, kept) in [
        (None, vec![], (None, vec![])),
        (
            Some("u"),
            vec![long("a", 400), long("b", 400), long("c", 219), long("d", 1)],
            (Some("u"), vec!["a", "b", "c"]),
        ),
        (Some("u"), vec![long("a", 512), long("b", 512), long("c", 8)], (Some("u"), vec!["a", "c"])),
    ] {
        let mut storage = funded();
        let (id, at) = (request_id(0), UnixMs(START.0 + 5));
        run(&mut storage, hold(id, (0, "m"), 20, (at, MINUTE))).unwrap();
        let (amount, memo, tokens) = (Credits(20), String::new(), Default::default());
        let tags = Tags::new(user.map(str::to_owned), pairs);
        let settle = Command::Settle { id, amount, memo, tokens, tags, at };
        run(&mut storage, settle).unwrap();
        let row = last(&storage);
        let names: Vec<&str> = row.tags.metadata.keys().map(String::as_str).collect();
        assert_eq!((row.tags.user.as_deref(), names), kept);
    }
}
