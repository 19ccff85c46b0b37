//! What webhooks are told beside the ends of tasks: of a customer's money, of a key's quota, of accounts and canaries.

use gatehouse_model::{Credits, CustomerPolicy, Digest, KeyPolicy, UnixMs, WebhookId};
use gatehouse_sample::{START, completed, customer_id, digest, failed, hold, key_id, request_id};
use gatehouse_tasks::{
    AccountRecord, Command, DeploymentKind, DeploymentOutcome, DeploymentRecord, MemoryLedgerStorage,
    OperatorRecord, Rejection, WebhookChange, WebhookEndpoint, WebhookEvent, operators,
};
use serde_json::json;

use super::{HOUR, change, webhook, with_webhooks};
use crate::{customer_row, deposit, finish, funded, key_row, refused, refused_field, run, submit};

/// A customer with a webhook of those events, a paid balance, and those thresholds.
fn watched(policy: CustomerPolicy) -> MemoryLedgerStorage {
    let mut storage = with_webhooks([webhook(1, 0)]);
    let edit = Command::EditCustomer { id: customer_id(0), revision: 0, policy, at: START };
    run(&mut storage, edit).unwrap();
    storage
}

fn told(storage: &MemoryLedgerStorage, event: WebhookEvent) -> Vec<serde_json::Value> {
    let bodies = storage.deliveries().filter(|row| row.event == event).map(|row| &row.body);
    bodies.map(|body| serde_json::from_slice(body).expect("JSON")).collect()
}

/// Pays in so much that this is available and nothing is held.
fn top_up(storage: &mut MemoryLedgerStorage, available: i64) {
    let amount = available - customer_row(storage, 0).available.0;
    run(storage, deposit(0, amount)).unwrap();
}

/// Without it a customer would hear of each hold, or of nothing, or of the same again.
#[test]
fn a_low_balance_is_told_once_when_it_is_crossed_and_again_after_a_deposit() {
    let low = CustomerPolicy { low_balance: Some(Credits(10)), ..CustomerPolicy::default() };
    let mut storage = watched(low);
    for round in 0..2 {
        top_up(&mut storage, 12);
        let before = told(&storage, WebhookEvent::BalanceLow).len();
        assert_eq!(before, round);
        // A hold, and its release, cross nothing: nothing is spent.
        let first = u8::try_from(round * 3 + 1).unwrap();
        run(&mut storage, submit(first, 0, 4)).unwrap();
        run(&mut storage, finish(first, 0, failed())).unwrap();
        assert_eq!(told(&storage, WebhookEvent::BalanceLow).len(), before);
        for task in [first + 1, first + 2] {
            run(&mut storage, submit(task, 0, 4)).unwrap();
            run(&mut storage, finish(task, 0, completed(4))).unwrap();
            assert_eq!(told(&storage, WebhookEvent::BalanceLow).len(), before + 1, "{task}");
        }
    }
    let data = json!({"account": "customer-0", "available": 0.000_008, "held": 0, "threshold": 0.000_01});
    assert_eq!(told(&storage, WebhookEvent::BalanceLow)[0]["data"], data);
    let ids: std::collections::BTreeSet<_> = storage.deliveries().map(|row| row.id).collect();
    assert_eq!(ids.len(), storage.deliveries().count(), "each has an id of its own");
}

#[test]
fn a_share_of_the_quota_is_told_once_in_each_period_and_again_after_an_edit() {
    let quota = |limit| CustomerPolicy {
        quota: Some(Credits(limit)),
        quota_period: Some("day".parse().unwrap()),
        quota_alert: Some(80),
        ..CustomerPolicy::default()
    };
    let mut storage = watched(quota(10));
    top_up(&mut storage, 1_000);
    let hold = |number: u8, amount, at| hold(request_id(number), (0, "m"), amount, (at, 24 * HOUR));
    let release = |number: u8, at: UnixMs| Command::Release { id: request_id(number), at };
    let count = |storage: &MemoryLedgerStorage| told(storage, WebhookEvent::QuotaReached).len();
    run(&mut storage, hold(1, 7, START)).unwrap();
    assert_eq!(count(&storage), 0);
    for number in [2, 3] {
        run(&mut storage, hold(number, 1, START)).unwrap();
        run(&mut storage, release(number, START)).unwrap();
        assert_eq!(count(&storage), 1, "what swings about the share is told once");
    }
    let tomorrow = START.plus(2 * HOUR);
    run(&mut storage, hold(4, 9, tomorrow)).unwrap();
    assert_eq!(count(&storage), 2, "the next period");
    let low = CustomerPolicy { low_balance: Some(Credits(1)), ..quota(10) };
    let share = CustomerPolicy { quota_alert: Some(70), ..quota(11) };
    for (policy, expected, why) in
        [(low, 2, "another threshold"), (quota(11), 3, "another quota"), (share, 4, "another share")]
    {
        let revision = customer_row(&storage, 0).revision;
        let edit = Command::EditCustomer { id: customer_id(0), revision, policy, at: tomorrow };
        run(&mut storage, edit).unwrap();
        assert_eq!(count(&storage), expected, "{why}");
    }
    let data = &told(&storage, WebhookEvent::QuotaReached)[1]["data"];
    assert_eq!(
        (&data["used"], &data["limit"], &data["percent"]),
        (&json!(0.000_009), &json!(0.000_01), &json!(80))
    );
    assert!(data["resets_at"].is_string(), "{data}");
}

/// Without it a customer learns that a key is used up from the refusals of that key's users.
#[test]
fn a_share_of_a_keys_quota_is_told_once_also_where_the_key_is_rotated_and_the_customers_is_reached_too() {
    let mut storage = watched(CustomerPolicy {
        quota: Some(Credits(10)),
        quota_alert: Some(80),
        ..CustomerPolicy::default()
    });
    top_up(&mut storage, 1_000);
    let policy =
        |quota, alert| KeyPolicy { quota: Some(Credits(quota)), quota_alert: alert, ..KeyPolicy::default() };
    let edit = |storage: &mut MemoryLedgerStorage, id: u8, policy: KeyPolicy| {
        let revision = key_row(storage, id).revision;
        run(storage, Command::EditKey { id: key_id(id), revision, policy: Box::new(policy), at: START })
    };
    edit(&mut storage, 0, policy(10, Some(80))).unwrap();
    let of_keys = |storage: &MemoryLedgerStorage| -> Vec<serde_json::Value> {
        let all = told(storage, WebhookEvent::QuotaReached).into_iter();
        all.map(|body| body["data"].clone()).filter(|data| !data["key"].is_null()).collect()
    };
    let hold = |number: u8, key, amount| hold(request_id(number), (key, "m"), amount, (START, 24 * HOUR));
    run(&mut storage, hold(1, 0, 7)).unwrap();
    assert_eq!(of_keys(&storage), Vec::<serde_json::Value>::new());
    // One movement reaches both: two events with ids of their own.
    run(&mut storage, hold(2, 0, 1)).unwrap();
    assert_eq!((of_keys(&storage).len(), told(&storage, WebhookEvent::QuotaReached).len()), (1, 2));
    let expected = json!({"account": "customer-0", "key": key_id(0).0, "used": 0.000_008, "limit": 0.000_01, "percent": 80, "resets_at": null});
    assert_eq!(of_keys(&storage)[0], expected);
    let ids: std::collections::BTreeSet<_> = storage.deliveries().map(|row| row.id).collect();
    assert_eq!(ids.len(), storage.deliveries().count());
    // What swings about the share, and a successor that shares the quota, tell nothing anew.
    run(&mut storage, Command::Release { id: request_id(2), at: START }).unwrap();
    let (id, new, digest, until) = (key_id(0), key_id(200), digest(200), START.plus(24 * HOUR));
    let rotate = Command::RotateKey { id, new, digest, until, at: START };
    run(&mut storage, rotate).unwrap();
    run(&mut storage, hold(3, 0, 1)).unwrap();
    assert_eq!(of_keys(&storage).len(), 1);
    // The successor's quota counts, whichever key is used; what is used already is told at once.
    edit(&mut storage, 200, policy(9, Some(80))).unwrap();
    assert_eq!(of_keys(&storage).len(), 2);
    assert_eq!(of_keys(&storage)[1]["key"], json!(key_id(200).0));
    edit(&mut storage, 200, policy(9, None)).unwrap();
    run(&mut storage, hold(4, 200, 1)).unwrap();
    assert_eq!(of_keys(&storage).len(), 2);
    let wrong = edit(&mut storage, 200, policy(9, Some(0)));
    assert!(matches!(wrong, Err(Rejection::Malformed { field: "quota_alert", .. })), "{wrong:?}");
}

/// Without it an operator hears of a broken account or a rolled back plugin from customers, or of the same twice.
#[test]
fn the_operators_own_webhooks_hear_of_accounts_and_canaries_and_of_no_customer() {
    let mut storage = with_webhooks([webhook(1, 0)]);
    let own = |number: u128, events: Vec<WebhookEvent>| WebhookEndpoint {
        customer: operators(),
        events,
        ..webhook(number, 0)
    };
    let add = |webhook: WebhookEndpoint| change(WebhookChange::Add(Box::new(webhook)), START);
    run(&mut storage, add(own(2, vec![]))).unwrap();
    run(&mut storage, add(own(3, vec![WebhookEvent::CanaryRolledBack]))).unwrap();
    let of_customer = WebhookEndpoint { events: vec![WebhookEvent::AccountDown], ..webhook(4, 0) };
    for (wrong, expected) in [
        (own(4, vec![WebhookEvent::Failed]), "account.down, account.up, canary.rolled_back"),
        (of_customer, "task.completed, task.failed"),
    ] {
        let rejection = refused(&mut storage, add(wrong)).to_string();
        assert!(rejection.contains(expected), "{rejection}");
    }
    let account = |is_down: bool, since: UnixMs, at: UnixMs| {
        OperatorRecord::Account(AccountRecord {
            provider: "bfl".to_owned(),
            account: "main".to_owned(),
            is_down,
            since,
            at,
            reason: "its credentials were refused".to_owned(),
        })
    };
    let canary = OperatorRecord::Deployment(DeploymentRecord {
        number: 0,
        at: START,
        who: "gateway".to_owned(),
        kind: DeploymentKind::Canary,
        outcome: DeploymentOutcome::Switched,
        family: "chat".to_owned(),
        version: "1.0.0".to_owned(),
        digest: Some(Digest::of(b"old")),
        replaced: Some(Digest::of(b"new")),
        reason: "2 of 4 calls faulted".to_owned(),
        stages: vec![],
    });
    let later = START.plus(HOUR);
    // Two come twice: a sender that lost the answer repeats it, and two reports may tell of one rollback.
    for record in [
        account(true, START, START),
        account(true, START, START),
        account(false, START, later),
        account(true, later, later),
        canary.clone(),
        canary,
    ] {
        run(&mut storage, Command::KeepRecord { record: Box::new(record) }).unwrap();
    }
    run(&mut storage, submit(1, 0, 4)).unwrap();
    run(&mut storage, finish(1, 0, completed(4))).unwrap();
    let told = |number: u128| -> Vec<&str> {
        let mut rows: Vec<_> =
            storage.deliveries().filter(|row| row.webhook == WebhookId::from_bits(number)).collect();
        rows.sort_by_key(|row| (row.created, row.event));
        rows.into_iter().map(|row| row.event.as_str()).collect()
    };
    assert_eq!(told(1), ["task.completed"]);
    assert_eq!(told(2), ["account.down", "canary.rolled_back", "account.down", "account.up"]);
    assert_eq!(told(3), ["canary.rolled_back"]);
    let body = |event| -> serde_json::Value {
        let row = storage.deliveries().find(|row| row.event == event).expect("told");
        serde_json::from_slice(&row.body).expect("JSON")
    };
    let data = json!({"provider": "bfl", "account": "main", "since": START.to_string(), "reason": "its credentials were refused"});
    assert_eq!(
        body(WebhookEvent::AccountUp),
        json!({"type": "account.up", "timestamp": later.to_string(), "data": data})
    );
    let canary = &body(WebhookEvent::CanaryRolledBack)["data"];
    assert_eq!((&canary["family"], &canary["reason"]), (&json!("chat"), &json!("2 of 4 calls faulted")));
    assert_eq!(canary["rolled_back"], json!(Digest::of(b"new").to_string()));
}

#[test]
fn thresholds_that_cannot_be_are_refused() {
    let mut storage = funded();
    for (field, policy) in [
        ("low_balance", CustomerPolicy { low_balance: Some(Credits(-1)), ..CustomerPolicy::default() }),
        ("quota_alert", CustomerPolicy { quota_alert: Some(0), ..CustomerPolicy::default() }),
        ("quota_alert", CustomerPolicy { quota_alert: Some(101), ..CustomerPolicy::default() }),
    ] {
        let edit = Command::EditCustomer { id: customer_id(0), revision: 0, policy, at: START };
        assert_eq!(refused_field(&mut storage, edit), field);
    }
}
