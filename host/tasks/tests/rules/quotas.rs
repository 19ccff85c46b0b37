//! Quotas that reset: in which period what counts, of keys and of customers.

use std::time::Duration;

use gatehouse_model::{Credits, Customer, CustomerPolicy, Key, KeyPolicy, PeriodUse, UnixMs};
use proptest::collection::vec;
use proptest::prelude::*;

use super::oracle::Oracle;
use super::{customer_row, deposit, funded, key_row, refused, refused_field, run, used};
use gatehouse_sample::{
    CommandTemplate, START, completed, customer_id, digest, failed, join_request, key_id, request_id, task,
    task_id,
};
use gatehouse_tasks::{
    Applied, Command, JudgedTask, MemoryLedgerStorage, QuotaExceeded, QuotaOwner, Rejection,
};

const HOUR: u64 = 3_600_000;
/// An hour after [`START`].
const MIDNIGHT: UnixMs = UnixMs(START.0 + HOUR);

fn hours(after_midnight: u64) -> UnixMs {
    UnixMs(MIDNIGHT.0 + after_midnight * HOUR)
}

/// What is used in the present period.
fn used_of_key(storage: &MemoryLedgerStorage, number: u8, at: UnixMs) -> i64 {
    key_row(storage, number).quota_use(at).unwrap().used.0
}

fn used_of_customer(storage: &MemoryLedgerStorage, at: UnixMs) -> i64 {
    customer_row(storage, 0).quota_use(at).unwrap().used.0
}

fn set_quota(
    storage: &mut MemoryLedgerStorage,
    number: u8,
    quota: Option<i64>,
    period: Option<&str>,
    at: UnixMs,
) {
    let row = key_row(storage, number);
    let (quota, quota_period) = (quota.map(Credits), period.map(|period| period.parse().unwrap()));
    let policy = Box::new(KeyPolicy { quota, quota_period, ..row.policy() });
    let edit = Command::EditKey { id: row.id.clone(), revision: row.revision, policy, at };
    run(storage, edit).unwrap();
}

fn set_customer_quota(
    storage: &mut MemoryLedgerStorage,
    quota: Option<i64>,
    period: Option<&str>,
    at: UnixMs,
) {
    let row = customer_row(storage, 0);
    let quota_period = period.map(|period| period.parse().unwrap());
    let policy = CustomerPolicy { quota: quota.map(Credits), quota_period, ..CustomerPolicy::default() };
    let edit = Command::EditCustomer { id: row.id.clone(), revision: row.revision, policy, at };
    run(storage, edit).unwrap();
}

/// Key 1 may use 100 a day, and its customer has 300.
fn daily() -> MemoryLedgerStorage {
    let mut storage = funded();
    set_quota(&mut storage, 1, Some(100), Some("day"), START);
    storage
}

fn hold(request: u8, key: u8, amount: i64, at: UnixMs) -> Command {
    let lasts = (at, Duration::from_millis(2 * HOUR));
    gatehouse_sample::hold(request_id(request), (key, "model-0"), amount, lasts)
}

fn settle(request: u8, amount: i64, at: UnixMs) -> Command {
    gatehouse_sample::settle(request_id(request), amount, at)
}

fn release(request: u8, at: UnixMs) -> Command {
    Command::Release { id: request_id(request), at }
}

fn exceeded(owner: QuotaOwner, needed: i64, remaining: i64, resets: Option<UnixMs>) -> Rejection {
    let (needed, remaining) = (Credits(needed), Credits(remaining));
    Rejection::QuotaExceeded(QuotaExceeded { owner, needed, remaining, resets })
}

/// So little remains of the key's quota until then.
fn short(needed: i64, remaining: i64, resets: UnixMs) -> Rejection {
    exceeded(QuotaOwner::Key, needed, remaining, Some(resets))
}

fn assert_clean(storage: &MemoryLedgerStorage) {
    let report = storage.examine();
    assert!(report.is_clean(), "{report:?}");
}

#[test]
fn a_quota_resets_at_the_first_command_of_the_next_period() {
    let mut storage = daily();
    run(&mut storage, hold(0, 1, 100, START)).unwrap();
    let over = short(1, 0, MIDNIGHT);
    let last = UnixMs(MIDNIGHT.0 - 1);
    assert_eq!(refused(&mut storage, hold(1, 1, 1, last)), over);
    let text = "key quota exceeded: this request needs 0.000001 credits, 0 remain; the quota resets at 2026-02-16T00:00:00.000Z";
    assert_eq!(over.to_string(), text);
    run(&mut storage, hold(1, 1, 100, MIDNIGHT)).unwrap();
    assert_eq!((used_of_key(&storage, 1, MIDNIGHT), used(&storage, 1)), (100, 200));
    // Days in which nothing happens need no command.
    assert_eq!(used_of_key(&storage, 1, hours(24 * 9)), 0);
    run(&mut storage, hold(2, 1, 60, hours(24 * 9))).unwrap();
    // More than all of it waits for nothing.
    run(&mut storage, deposit(0, 900)).unwrap();
    let never = exceeded(QuotaOwner::Key, 101, 40, None);
    assert_eq!(refused(&mut storage, hold(3, 1, 101, hours(24 * 9))), never);
    assert!(!never.to_string().contains("resets"), "{never}");
    assert_clean(&storage);
}

/// Without it a client could hold all of a quota before midnight, release it afterwards, and have it twice.
#[test]
fn what_was_held_before_a_reset_is_given_back_to_the_period_before() {
    for (end, spent) in [(release as fn(u8, UnixMs) -> Command, 0), (|id, at| settle(id, 40, at), 40)] {
        let mut storage = daily();
        set_customer_quota(&mut storage, Some(150), Some("day"), START);
        run(&mut storage, hold(0, 1, 90, START)).unwrap();
        run(&mut storage, hold(1, 1, 70, MIDNIGHT)).unwrap();
        run(&mut storage, end(0, hours(1))).unwrap();
        assert_eq!((used_of_key(&storage, 1, hours(1)), used_of_customer(&storage, hours(1))), (70, 70));
        assert_eq!(used(&storage, 1), 70 + spent);
        // Its own period's are given back.
        run(&mut storage, end(1, hours(1))).unwrap();
        let used = (used_of_key(&storage, 1, hours(1)), used_of_customer(&storage, hours(1)));
        assert_eq!(used, (spent, spent));
        assert_clean(&storage);
    }
}

/// The sweep of a request that was cut off is such a release too.
#[test]
fn a_hold_that_expires_after_a_reset_gives_the_new_period_nothing() {
    let mut storage = daily();
    run(&mut storage, hold(0, 1, 100, START)).unwrap();
    run(&mut storage, hold(1, 1, 100, MIDNIGHT)).unwrap();
    assert_eq!(super::forget(&mut storage, hours(1), 9), 1);
    assert_eq!(storage.holds().count(), 1);
    assert_eq!(refused(&mut storage, hold(2, 1, 1, hours(1))), short(1, 0, hours(24)));
    assert_clean(&storage);
}

/// Without it a request could spend above its quota by ending after midnight.
#[test]
fn what_a_text_cost_above_its_hold_counts_where_it_ends() {
    // Held before and after midnight; what was used since; the cost; what is paid and what then counts.
    for (at, since, cost, paid, counts) in [
        (START, 0, 60, 60, 20),
        (START, 0, 200, 140, 100),
        (START, 90, 60, 50, 100),
        (START, 100, 60, 40, 100),
        (MIDNIGHT, 0, 60, 60, 60),
        (MIDNIGHT, 30, 200, 70, 100),
    ] {
        let mut storage = daily();
        run(&mut storage, hold(0, 1, 40, at)).unwrap();
        run(&mut storage, hold(1, 1, since, MIDNIGHT)).unwrap();
        let settled = Applied::Settled { paid: Credits(paid), unpaid: Credits(cost - paid) };
        assert_eq!(run(&mut storage, settle(0, cost, hours(1))), Ok(settled), "{since} {cost}");
        assert_eq!(used_of_key(&storage, 1, hours(1)), counts, "{since} {cost}");
        assert_clean(&storage);
    }
}

/// A task's hold may grow in a later period than it was made in.
#[test]
fn what_joins_a_task_counts_in_the_period_in_which_it_joins() {
    // Of 90 in all, 60 counted before midnight: the cost takes from those last.
    for (ending, counts) in [(failed(), (0, 0)), (completed(90), (10, 30)), (completed(30), (10, 30))] {
        let mut storage = daily();
        set_customer_quota(&mut storage, Some(280), Some("day"), START);
        let submit = Command::Submit { task: Box::new(task(1, 1, 0, 60, START)), idempotency: None };
        run(&mut storage, submit).unwrap();
        // Through its own key and through another one.
        for (key, price) in [(1, 10), (0, 20)] {
            let at = MIDNIGHT;
            let mut request = join_request(key, price, at);
            request.judged = JudgedTask::of(storage.live_tasks().next().unwrap());
            let join =
                Command::Join { parent: task_id(1), request: Box::new(request), idempotency: None, at };
            run(&mut storage, join).unwrap();
        }
        assert_eq!((used_of_key(&storage, 1, MIDNIGHT), used_of_customer(&storage, MIDNIGHT)), (10, 30));
        let deliver = |revision| {
            let change = gatehouse_sample::delivery(gatehouse_model::Status::Processing, 1);
            Command::Advance { id: task_id(1), revision, change: Box::new(change), at: MIDNIGHT }
        };
        run(&mut storage, deliver(0)).unwrap();
        run(&mut storage, deliver(1)).unwrap();
        let finish = Command::Finish { id: task_id(1), revision: 2, ending, audit: None, at: hours(1) };
        run(&mut storage, finish).unwrap();
        assert_eq!((used_of_key(&storage, 1, hours(1)), used_of_customer(&storage, hours(1))), counts);
        assert_clean(&storage);
    }
}

#[test]
fn an_edit_of_the_amount_keeps_the_use_and_one_of_the_period_begins_anew() {
    let mut storage = daily();
    run(&mut storage, hold(0, 1, 80, START)).unwrap();
    set_quota(&mut storage, 1, Some(50), Some("day"), START);
    assert_clean(&storage);
    assert_eq!(refused(&mut storage, hold(1, 1, 1, START)), short(1, 0, MIDNIGHT));
    set_quota(&mut storage, 1, Some(200), Some("day"), START);
    assert_eq!(used_of_key(&storage, 1, START), 80);
    // The same midnight, so that the ends of both periods are the same moment.
    set_quota(&mut storage, 1, Some(100), Some("week+00:00"), START);
    assert_eq!(used_of_key(&storage, 1, START), 0);
    run(&mut storage, hold(1, 1, 100, START)).unwrap();
    // What was held before counts in a period that is over.
    run(&mut storage, release(0, START)).unwrap();
    assert_eq!(used_of_key(&storage, 1, START), 100);
    // Without periods everything counts that was ever used, and periods begin anew after that.
    set_quota(&mut storage, 1, Some(130), None, START);
    run(&mut storage, hold(2, 1, 30, START)).unwrap();
    assert_eq!(refused(&mut storage, hold(3, 1, 1, START)), exceeded(QuotaOwner::Key, 1, 0, None));
    set_quota(&mut storage, 1, None, None, START);
    set_quota(&mut storage, 1, Some(100), Some("week"), START);
    run(&mut storage, hold(3, 1, 5, START)).unwrap();
    for request in [1, 2] {
        run(&mut storage, release(request, START)).unwrap();
        assert_eq!(used_of_key(&storage, 1, START), 5);
    }
    assert_clean(&storage);
    let row = key_row(&storage, 1);
    let policy = Box::new(KeyPolicy { quota: None, ..row.policy() });
    let edit = Command::EditKey { id: key_id(1), revision: row.revision, policy, at: START };
    assert_eq!(refused_field(&mut storage, edit), "quota_period");
}

#[test]
fn both_keys_of_a_rotation_spend_one_quota_in_every_period() {
    let mut storage = daily();
    run(&mut storage, hold(0, 1, 60, START)).unwrap();
    let (id, new, digest) = (key_id(1), key_id(4), digest(4));
    let rotate = Command::RotateKey { id, new, digest, until: hours(48), at: START };
    run(&mut storage, rotate).unwrap();
    assert_eq!(refused(&mut storage, hold(1, 4, 41, START)), short(41, 40, MIDNIGHT));
    run(&mut storage, hold(1, 1, 40, START)).unwrap();
    for key in [1, 4] {
        assert_eq!(refused(&mut storage, hold(2, key, 1, START)), short(1, 0, MIDNIGHT));
    }
    run(&mut storage, hold(2, 4, 30, MIDNIGHT)).unwrap();
    run(&mut storage, hold(3, 1, 70, MIDNIGHT)).unwrap();
    run(&mut storage, release(0, MIDNIGHT)).unwrap();
    assert_eq!(used_of_key(&storage, 4, MIDNIGHT), 100);
    run(&mut storage, release(3, MIDNIGHT)).unwrap();
    assert_eq!(used_of_key(&storage, 4, MIDNIGHT), 30);
    assert_clean(&storage);
}

#[test]
fn a_customers_quota_bounds_all_its_keys_together() {
    let mut storage = funded();
    set_customer_quota(&mut storage, Some(100), Some("day"), START);
    run(&mut storage, hold(0, 0, 60, START)).unwrap();
    let over = exceeded(QuotaOwner::Customer, 41, 40, Some(MIDNIGHT));
    assert_eq!(refused(&mut storage, hold(1, 1, 41, START)), over);
    assert!(over.to_string().starts_with("account quota exceeded: "), "{over}");
    run(&mut storage, hold(1, 1, 40, START)).unwrap();
    // What a text cost above its hold is bounded too.
    let paid = Applied::Settled { paid: Credits(60), unpaid: Credits(5) };
    assert_eq!(run(&mut storage, settle(0, 65, START)), Ok(paid));
    run(&mut storage, hold(2, 0, 100, MIDNIGHT)).unwrap();
    // One without periods counts all that was ever held and spent.
    set_customer_quota(&mut storage, Some(210), None, MIDNIGHT);
    let over = exceeded(QuotaOwner::Customer, 11, 10, None);
    assert_eq!(refused(&mut storage, hold(3, 0, 11, MIDNIGHT)), over);
    run(&mut storage, hold(3, 0, 10, MIDNIGHT)).unwrap();
    assert_clean(&storage);

    let row = customer_row(&storage, 0);
    let policy = CustomerPolicy { quota: Some(Credits(-1)), ..CustomerPolicy::default() };
    let edit = |revision, policy| Command::EditCustomer { id: customer_id(0), revision, policy, at: START };
    let (stale, negative) = (edit(row.revision - 1, row.policy()), edit(row.revision, policy));
    let changed = Rejection::CustomerChanged { customer: customer_id(0), given: 1, current: 2 };
    assert_eq!(refused(&mut storage, stale), changed);
    assert_eq!(refused_field(&mut storage, negative), "quota");
}

/// Across a restart the clock may be set back; a running gateway's never is.
#[test]
fn a_clock_that_is_set_back_gives_no_quota_twice() {
    let mut storage = daily();
    run(&mut storage, hold(0, 1, 100, MIDNIGHT)).unwrap();
    for at in [UnixMs(MIDNIGHT.0 - 1), UnixMs(MIDNIGHT.0 - 20 * HOUR), MIDNIGHT] {
        assert_eq!(refused(&mut storage, hold(1, 1, 1, at)), short(1, 0, hours(24)));
    }
    // A clock that was years ahead does not block for years: what was used is carried into the period of the moment.
    let wrong = hours(24 * 4_000);
    run(&mut storage, hold(1, 1, 90, wrong)).unwrap();
    assert_eq!(refused(&mut storage, hold(2, 1, 11, hours(25))), short(11, 10, hours(48)));
    run(&mut storage, hold(2, 1, 10, hours(25))).unwrap();
    run(&mut storage, release(1, hours(25))).unwrap();
    assert_eq!(used_of_key(&storage, 1, hours(25)), 10);
    run(&mut storage, hold(3, 1, 100, hours(48))).unwrap();
    assert_clean(&storage);
}

#[test]
fn a_wrong_counter_is_found() {
    let mut storage = daily();
    set_customer_quota(&mut storage, Some(100), Some("day"), START);
    run(&mut storage, hold(0, 1, 50, START)).unwrap();
    for (used, finding) in
        [(49, "count more in the period"), (-1, "outside its quota"), (101, "outside its quota")]
    {
        use gatehouse_tasks::LedgerStorage as _;
        let wrong = |row: Option<PeriodUse>| row.map(|row| PeriodUse { used: Credits(used), ..row });
        let mut damaged = storage.clone();
        let row = key_row(&storage, 1).clone();
        damaged.put_key(&Key { period_use: wrong(row.period_use), ..row }).unwrap();
        let row = customer_row(&storage, 0).clone();
        damaged.put_customer(&Customer { period_use: wrong(row.period_use), ..row }).unwrap();
        let found = damaged.examine().findings;
        for owner in ["key key1: ", "customer customer-0: "] {
            assert!(found.iter().any(|line| line.starts_with(owner) && line.contains(finding)), "{found:?}");
        }
    }
}

/// A use of money, and by how much the clock goes on before it; it is then behind by so much.
fn any_use() -> impl Strategy<Value = (u64, u64, CommandTemplate)> {
    let gap = prop_oneof![
        3 => 0..HOUR,
        2 => 0..30 * HOUR,
        1 => 0..1_000 * HOUR,
    ];
    let behind = prop_oneof![2 => Just(0), 1 => 0..23 * HOUR];
    let quota = || (0..200_i64, option_period());
    let template = prop_oneof![
        4 => (0..6_u8, 0..2_u8, 0..90_i64)
            .prop_map(|(request, key, amount)| CommandTemplate::Hold { request, key, amount, steps: 600 }),
        2 => (0..6_u8, 0..120_i64).prop_map(|(request, amount)| CommandTemplate::Settle { request, amount }),
        2 => (0..6_u8).prop_map(|request| CommandTemplate::Release { request }),
        1 => (0..2_u8, quota()).prop_map(|(key, (quota, period))| CommandTemplate::EditKey {
            key, late: 0, quota: Some(quota), period, concurrency: None, of_model: None,
        }),
        1 => quota().prop_map(|(quota, period)| CommandTemplate::EditCustomer {
            customer: 0, late: 0, quota: Some(quota), period,
        }),
    ];
    (gap, behind, template)
}

fn option_period() -> impl Strategy<Value = Option<u8>> {
    proptest::option::weighted(0.8, 0..3_u8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    /// Over any times, with a clock that is now and then behind by less than a day: every answer and every counter is
    /// that of an oracle that keeps each period's use for itself and whose time never goes back.
    #[test]
    fn quotas_agree_with_the_reference_model_at_any_times(uses in vec(any_use(), 1..60)) {
        let (mut storage, mut oracle) = (MemoryLedgerStorage::default(), Oracle::default());
        for template in gatehouse_sample::beginning() {
            let command = template.command(&storage, START);
            assert!(oracle.accept(&command) && run(&mut storage, command).is_ok());
        }
        let edits = |template: &CommandTemplate| {
            matches!(template, CommandTemplate::EditKey { .. } | CommandTemplate::EditCustomer { .. })
        };
        let mut now = START;
        for (gap, behind, template) in uses {
            now = UnixMs(now.0 + gap);
            if behind > 0 && !edits(&template) {
                // The present period is in the rows before the clock goes back.
                for key in 0..2 {
                    run(&mut storage, hold(9, key, 0, now)).unwrap();
                    run(&mut storage, release(9, now)).unwrap();
                }
            }
            let at = if edits(&template) { now } else { UnixMs(now.0 - behind) };
            let expected = oracle.accept(&template.command(&storage, now));
            let command = template.command(&storage, at);
            let verdict = run(&mut storage, command.clone());
            prop_assert_eq!(verdict.is_ok(), expected, "{:?}: {:?}", command, verdict);
            for number in 0..2 {
                let row = key_row(&storage, number);
                let expected = oracle.keys[&row.id].quota.used(row.used.0, now);
                prop_assert_eq!(row.quota_use(now).map_or(expected, |quota| quota.used.0), expected, "{:?}", command);
            }
            let row = customer_row(&storage, 0);
            let expected = oracle.customers[&row.id].quota.used(row.reserved.0 + row.spent.0, now);
            prop_assert_eq!(row.quota_use(now).map_or(expected, |quota| quota.used.0), expected, "{:?}", command);
            let report = storage.examine();
            prop_assert!(report.is_clean(), "{:?}: {:?}", command, report);
        }
    }
}
