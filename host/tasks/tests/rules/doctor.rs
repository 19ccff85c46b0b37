//! The examination finds changed rows and names them.

use std::collections::BTreeMap;

use gatehouse_model::{Credits, Customer, CustomerId, Key, LedgerHead, Status, Task};

use super::{advance, deposit, finish, funded, join, run, submit};
use gatehouse_sample::{
    START, change, claim, completed, customer_id, delivery, failed, hold, join_request, key_id, request_id,
    task_id,
};
use gatehouse_tasks::{
    Ending, EntryKind, Examination, Hold, HoldId, JoinRequest, JournalEntry, JudgedTask, LedgerMark,
    MemoryLedgerStorage, NameRecord, Report, UsageKey, UsageSums,
};

/// Rows as they might be found in a file.
#[derive(Clone)]
struct Rows {
    marks: Vec<LedgerMark>,
    ledger: Vec<JournalEntry>,
    customers: Vec<Customer>,
    keys: Vec<Key>,
    holds: Vec<Hold>,
    live: Vec<Task>,
    finished: Vec<Task>,
    names: Vec<(NameRecord, Option<CustomerId>)>,
    name_owners: u64,
    usage: Vec<(UsageKey, UsageSums)>,
}

impl Rows {
    fn of(storage: &MemoryLedgerStorage) -> Self {
        Self {
            marks: vec![],
            ledger: storage.ledger().into_iter().cloned().collect(),
            customers: storage.customers().cloned().collect(),
            keys: storage.keys().cloned().collect(),
            holds: storage.holds().cloned().collect(),
            live: storage.live_tasks().cloned().collect(),
            finished: storage.finished_tasks().cloned().collect(),
            names: storage.names().map(|row| (row.clone(), Some(row.customer.clone()))).collect(),
            name_owners: storage.names().count() as u64,
            usage: storage.usage().map(|(key, sums)| (key.clone(), *sums)).collect(),
        }
    }

    fn examine(&self) -> Report {
        let mut examination = Examination::default();
        self.marks.iter().for_each(|mark| examination.mark(START, *mark));
        self.ledger.iter().for_each(|row| examination.entry(row));
        self.holds.iter().for_each(|row| examination.hold(row));
        self.live.iter().for_each(|row| examination.live(row));
        self.finished.iter().for_each(|row| examination.finished(row));
        self.customers.iter().for_each(|row| examination.customer(row));
        self.keys.iter().for_each(|row| examination.key(row));
        self.names.iter().for_each(|(row, owner)| examination.name(row, owner.as_ref()));
        examination.name_owners(self.name_owners);
        self.usage.iter().for_each(|(key, sums)| examination.usage(&key.customer, &key.key, key.day(), sums));
        examination.report()
    }

    /// Makes the chains and their heads fit again, as a forger with write access would.
    fn rechain(&mut self) {
        let mut heads: BTreeMap<CustomerId, LedgerHead> = BTreeMap::new();
        for entry in &mut self.ledger {
            let head = heads.entry(entry.customer.clone()).or_default();
            entry.seq = head.next;
            entry.chain = entry.link(head.chain);
            *head = entry.head();
        }
        for customer in &mut self.customers {
            customer.head = heads.get(&customer.id).copied().unwrap_or_default();
        }
    }
}

/// Two live tasks, one completed, one failed, one request hold.
fn busy() -> Rows {
    let mut storage = funded();
    for number in 0..4 {
        run(&mut storage, submit(number, 0, 10)).unwrap();
    }
    run(&mut storage, advance(1, 0, change(Status::Processing, 50))).unwrap();
    run(&mut storage, finish(2, 0, completed(7))).unwrap();
    run(&mut storage, finish(3, 0, failed())).unwrap();
    let lasts = (START, std::time::Duration::from_secs(60));
    run(&mut storage, hold(request_id(0), (2, "model-0"), 5, lasts)).unwrap();
    Rows::of(&storage)
}

/// Each of the words is in a finding about the altered rows; the sum of all money is still zero.
fn check(alter: impl FnOnce(&mut Rows), expected: &[&str]) {
    assert_eq!(check_in(busy(), alter, expected).imbalance, Credits::ZERO);
}

/// The same where money has come or gone.
fn check_imbalance(imbalance: i64, alter: impl FnOnce(&mut Rows), expected: &[&str]) {
    assert_eq!(check_in(busy(), alter, expected).imbalance, Credits(imbalance));
}

fn check_joined(alter: impl FnOnce(&mut Rows), expected: &str) {
    check_in(joined(), alter, &[expected]);
}

fn check_in(mut rows: Rows, alter: impl FnOnce(&mut Rows), expected: &[&str]) -> Report {
    alter(&mut rows);
    let report = rows.examine();
    for text in expected {
        let is_found = report.findings.iter().any(|finding| finding.contains(*text));
        assert!(is_found, "{text:?} not in {:?}", report.findings);
    }
    assert!(!report.is_clean());
    report
}

/// A live task that two requests joined through two keys, one delivered; and a completed task that one joined.
fn joined() -> Rows {
    let mut storage = funded();
    run(&mut storage, submit(0, 0, 10)).unwrap();
    run(&mut storage, submit(1, 0, 10)).unwrap();
    for (number, key, price) in [(0, 0, 3), (0, 1, 5), (1, 1, 4)] {
        let judged = JudgedTask { revision: 0, undelivered: usize::from((number, key) == (0, 1)) };
        let request = JoinRequest { judged, ..join_request(key, price, START) };
        run(&mut storage, join(number, request)).unwrap();
    }
    run(&mut storage, advance(0, 0, delivery(Status::Processing, 0))).unwrap();
    run(&mut storage, advance(1, 0, delivery(Status::Processing, 0))).unwrap();
    let Ending::Completed { result, cost, .. } = completed(11) else { panic!("a good end") };
    let claims = vec![claim(1, 1), claim(2, 1)];
    run(&mut storage, finish(1, 1, Ending::Completed { result, cost, claims })).unwrap();
    Rows::of(&storage)
}

fn last_join(rows: &Rows) -> JournalEntry {
    rows.ledger.iter().rfind(|row| row.kind == EntryKind::Join).unwrap().clone()
}

#[test]
fn a_ledger_of_joined_tasks_is_clean_until_it_is_changed() {
    let report = joined().examine();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!((report.names, report.live, report.finished, report.holds), (2, 1, 1, 1));
    let opened = "credits, but 0.000005 by the ledger";
    check_joined(|rows| rows.holds[0].shares[0].amount.0 += 1, opened);
    check_joined(|rows| rows.holds[0].shares[0].key = key_id(2), "the ledger has not opened it");
    check_joined(|rows| rows.holds[0].shares.clear(), "open by the ledger, but has no row");
    check_joined(|rows| rows.holds[0].shares[0].amount.0 = i64::MIN, "its shares do not fit");
    check_joined(|rows| rows.live[0].joined_held.0 -= 1, "it holds other than its price and what joined it");
    check_joined(|rows| rows.live[0].joined_held = Credits(-1), "hold more than what joined it");
    check_joined(|rows| rows.live[0].joined[0].held = Credits(9), "hold more than what joined it");
    let waits = "it has ended, but requests that joined it wait for it";
    check_joined(|rows| rows.finished[0].joined = rows.live[0].joined.clone(), waits);
    check_joined(|rows| rows.finished[0].joined_held = Credits(12), "but what joined it cost 0.000012");
    assert_eq!(last_join(&joined()).hold, Some(HoldId::Task(task_id(1))));
    let late = |rows: &mut Rows| {
        rows.ledger.push(last_join(rows));
        rows.rechain();
    };
    check_joined(late, "which is not open");
    let missed = |rows: &mut Rows| {
        // One of the two entries of a settlement.
        rows.ledger.pop();
        rows.rechain();
    };
    check_joined(missed, "open by the ledger, but has no row");
}

#[test]
fn a_changed_name_is_found() {
    let name = "name \"asset://sample/1\" of customer customer-0";
    check_joined(|rows| rows.names[0].1 = None, &format!("{name}: the look-up misses it"));
    check_joined(
        |rows| rows.names[0].1 = Some(customer_id(1)),
        &format!("{name}: the look-up gives it to customer-1"),
    );
    check_joined(|rows| rows.name_owners = 3, "names: 2, but 3 in the look-up by name");
    check_joined(|rows| drop(rows.names.remove(0)), "names: 1, but 2 in the look-up by name");
}

#[test]
fn an_unchanged_ledger_is_clean() {
    let report = busy().examine();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!((report.customers, report.keys, report.entries), (2, 3, 9));
    assert_eq!((report.holds, report.live, report.finished), (3, 2, 2));
}

#[test]
fn changed_balances_are_found() {
    let fold = "customer customer-0: its balances are not the sum of its ledger rows";
    check_imbalance(1, |rows| rows.customers[0].available.0 += 1, &[fold]);
    check(|rows| rows.customers[0].deposited.0 += 1, &[fold]);
    let negative = "customer customer-0: a balance is negative";
    check_imbalance(-14, |rows| rows.customers[0].spent = Credits(-7), &[fold, negative]);
    check(|rows| rows.keys[0].used.0 -= 1, &["key key0: its use is not the sum of its ledger rows"]);
    check(|rows| rows.keys[0].quota = Some(Credits(1)), &["key key0: its use is outside its quota"]);
    let open = "what it has open is not what its holds say";
    check(|rows| rows.keys[2].open.clear(), &[open]);
    check(|rows| rows.holds[0].model.clear(), &[open]);
    check(|rows| rows.keys[1].open = [("model-0".into(), 1)].into(), &[open]);
    let unknown = "key key1: the key of its rotation does not know of it";
    check(|rows| rows.keys[1].rotated_to = Some(key_id(2)), &[unknown]);
    check(|rows| rows.keys[1].rotated_from = Some(key_id(1)), &[unknown]);
    let missing = "customer customer-1: it is in the ledger, but has no row";
    check_imbalance(-60, |rows| drop(rows.customers.remove(1)), &[missing]);
    check(|rows| drop(rows.keys.remove(2)), &["key key2: it is in the ledger, but has no row"]);
}

#[test]
fn a_changed_ledger_is_found() {
    // Entry 0 of each customer is what it was given; the others are those of the first.
    let first = "customer customer-0, ledger entry 3";
    check(|rows| rows.ledger[4].memo = "a gift".into(), &[&format!("{first}: the hash chain is broken")]);
    check(|rows| drop(rows.ledger.remove(3)), &[&format!("{first}: expected entry 2 here"), "hash chain"]);
    let made = |rows: &mut Rows| {
        rows.ledger[0].movement.available.0 += 1;
        rows.rechain();
    };
    let unequal = "customer customer-0, ledger entry 0: the movement does not sum to zero";
    check(made, &[unequal, "customer customer-0: its balances"]);
    let renamed = |rows: &mut Rows| {
        rows.ledger[0].customer = customer_id(1);
        rows.rechain();
    };
    check(renamed, &["customer customer-0: its balances", "customer customer-1: its balances"]);
}

/// Without the head a cut end would pass for the present one, and without the marks so would a cut end whose row was put back
/// too.
#[test]
fn a_chain_that_was_cut_is_found_by_its_head_and_one_put_back_by_the_mark() {
    let cut = |rows: &mut Rows| drop(rows.ledger.pop());
    check(cut, &["customer customer-1: its row knows 2 ledger entries, and there are 1"]);
    let newer = |rows: &mut Rows| rows.customers[0].head.next -= 1;
    check(newer, &["customer customer-0: its row knows 6 ledger entries, and there are 7"]);
    let other = |rows: &mut Rows| rows.customers[1].head.chain = rows.customers[0].head.chain;
    check(other, &["customer customer-1: its chain does not end with the ledger entry that its row names"]);

    let mark = |rows: &Rows| {
        let heads = rows.customers.iter().map(|customer| (&customer.id, customer.head));
        heads.fold(LedgerMark::default(), |mark, (id, head)| mark.with(id, head))
    };
    // The customer's last deposit never was, says the forger.
    let mut storage = funded();
    let before = Rows::of(&storage);
    run(&mut storage, deposit(0, 5)).unwrap();
    let after = Rows::of(&storage);
    let examine = |rows: &Rows, marked: &[&Rows]| {
        Rows { marks: marked.iter().map(|rows| mark(rows)).collect(), ..rows.clone() }.examine()
    };
    assert!(examine(&after, &[&before, &after]).is_clean());
    assert!(examine(&before, &[&before]).is_clean());
    let report = examine(&before, &[&after]);
    assert_eq!(report.findings.len(), 1, "{report:?}");
    assert!(report.findings[0].contains("the ledger had 3 entries at"), "{report:?}");
    // Or it was smaller.
    let mut forged = after.clone();
    forged.ledger[2].movement = gatehouse_tasks::Movement::deposit(Credits(4)).unwrap();
    forged.rechain();
    forged.customers[0].available = Credits(304);
    forged.customers[0].deposited = Credits(304);
    assert!(examine(&forged, &[]).is_clean());
    let report = examine(&forged, &[&after]);
    assert!(report.findings[0].contains("the ledger's chains ended elsewhere at"), "{report:?}");
}

#[test]
fn a_hold_resolved_twice_is_found() {
    let twice = |rows: &mut Rows| {
        let release = rows.ledger[7].clone();
        rows.ledger.push(release);
        rows.rechain();
    };
    let again = "customer customer-0, ledger entry 7: hold task_";
    check(twice, &[again, "is not open", "customer customer-0: its balances"]);
    let reopened = |rows: &mut Rows| {
        let open = rows.ledger[5].clone();
        rows.ledger.push(open);
        rows.rechain();
    };
    check(reopened, &["was opened before"]);
}

#[test]
fn holds_and_tasks_that_miss_each_other_are_found() {
    check(|rows| drop(rows.live.remove(0)), &["its task is not live"]);
    check(|rows| drop(rows.holds.remove(0)), &["open by the ledger, but has no row"]);
    check(|rows| drop(rows.holds.remove(1)), &["open by the ledger", "it is live, but has no hold"]);
    check(|rows| rows.holds[0].amount.0 += 1, &["0.000006 credits, but 0.000005 by the ledger"]);
    check(|rows| rows.live[0].held.0 += 1, &["it and its hold name different amounts"]);
    check(|rows| rows.live[0].deadline = START, &["it has no deadline"]);
    check(|rows| rows.live[0].status = Status::Failed, &["is kept with the live ones"]);
    let closed = |rows: &mut Rows| {
        let id = HoldId::Request(request_id(9));
        rows.holds.push(Hold { id, ..rows.holds[0].clone() });
    };
    check(closed, &["the ledger has not opened it"]);
}

#[test]
fn a_wrong_price_of_an_ended_task_is_found() {
    let settled = "cost 0.000008 credits, but 0.000007 were settled";
    check(|rows| rows.finished[0].cost = Some(Credits(8)), &[settled]);
    check(|rows| rows.finished[1].cost = Some(Credits(1)), &["it failed, but cost 0.000001 credits"]);
    check(|rows| rows.finished[0].status = Status::Pending, &["it has not ended, but is kept"]);
    check(|rows| rows.finished[0].id = task_id(9), &["its hold was never resolved"]);
}
