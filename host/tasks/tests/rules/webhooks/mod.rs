//! Webhooks: what the end of a task writes, what an attempt leads to, and the bounds.

mod alerts;

use std::time::Duration;

use gatehouse_model::{DeliveryId, FailureKind, TaskFailure, UnixMs, WebhookId};

use super::{finish, funded, refused, refused_field, run, submit};
use gatehouse_sample::{START, completed, failed, key_id, task_id, webhook, webhook_change as change};
use gatehouse_tasks::{
    Applied, Callback, Command, DeliveryState, Ending, MAX_OWN_WEBHOOKS, MAX_PENDING, MAX_WEBHOOKS,
    MemoryLedgerStorage, Rejection, SealedSecret, WebhookAttempt, WebhookChange, WebhookDelivery,
    WebhookEndpoint, WebhookEvent, WebhookPolicy,
};

const HOUR: Duration = Duration::from_secs(3_600);

fn add(webhook: WebhookEndpoint) -> Command {
    change(WebhookChange::Add(Box::new(webhook)), START)
}

fn with_webhooks(webhooks: impl IntoIterator<Item = WebhookEndpoint>) -> MemoryLedgerStorage {
    let mut storage = funded();
    for webhook in webhooks {
        run(&mut storage, add(webhook)).unwrap();
    }
    storage
}

fn edit(id: u128, revision: u64, alter: impl FnOnce(&mut WebhookPolicy)) -> Command {
    let mut policy = webhook(id, 0).policy();
    alter(&mut policy);
    let id = WebhookId::from_bits(id);
    change(WebhookChange::Edit { id, revision, policy, by_customer: false, by_word: false }, START)
}

fn attempt(status: Option<u16>, at: UnixMs) -> WebhookAttempt {
    let error = if status.is_none() { "it did not arrive in time" } else { "" };
    WebhookAttempt { at, took_ms: 3, status, error: error.to_owned(), answer: "x".to_owned() }
}

fn record(delivery: DeliveryId, status: Option<u16>, retry_after_ms: Option<u64>, at: UnixMs) -> Command {
    let attempt = attempt(status, at);
    change(WebhookChange::Record { delivery, attempt, retry_after_ms, chance: 500 }, at)
}

fn only(storage: &MemoryLedgerStorage) -> WebhookDelivery {
    let mut all = storage.deliveries();
    let first = all.next().expect("a delivery").clone();
    assert_eq!(all.next(), None);
    first
}

fn of(storage: &MemoryLedgerStorage, number: u128) -> WebhookEndpoint {
    storage.webhooks().find(|webhook| webhook.id == WebhookId::from_bits(number)).expect("a webhook").clone()
}

/// A storage with the webhook 1, a task of its customer that ended, and so one delivery.
fn ended() -> (MemoryLedgerStorage, DeliveryId) {
    let mut storage = with_webhooks([webhook(1, 0)]);
    run(&mut storage, submit(1, 0, 4)).unwrap();
    run(&mut storage, finish(1, 0, completed(4))).unwrap();
    let id = only(&storage).id;
    (storage, id)
}

#[test]
fn the_end_of_a_task_is_told_to_the_webhooks_of_its_customer_that_take_it() {
    let deaf = WebhookEndpoint { events: vec![WebhookEvent::Failed], ..webhook(2, 0) };
    let mut storage = with_webhooks([webhook(1, 0), deaf, webhook(3, 1)]);
    run(&mut storage, edit(1, 0, |policy| policy.enabled = true)).unwrap();
    run(&mut storage, submit(1, 0, 4)).unwrap();
    assert_eq!(storage.deliveries().count(), 0, "a task that lives is no event");
    run(&mut storage, finish(1, 0, completed(4))).unwrap();
    let delivery = only(&storage);
    let at = START.plus(Duration::from_secs(60));
    assert_eq!((delivery.webhook, delivery.task), (WebhookId::from_bits(1), Some(task_id(1))));
    assert_eq!((delivery.state, delivery.id.timestamp()), (DeliveryState::Pending { due: at }, at));
    let task = storage.finished_tasks().next().unwrap();
    let expected = format!(
        "{{\"type\":\"task.completed\",\"timestamp\":\"{at}\",\"data\":{{\"id\":\"{}\",\"status\":\"completed\",\
         \"model\":\"{}\",\"charged\":0.000004}}}}",
        task.id, task.model
    );
    assert_eq!(String::from_utf8(delivery.body).unwrap(), expected);
    assert_eq!((of(&storage, 1).pending, of(&storage, 2).pending, of(&storage, 3).pending), (1, 0, 0));
}

#[test]
fn every_kind_of_end_has_its_event() {
    let ending = |kind| Ending::failed(TaskFailure { kind, message: "why".to_owned() });
    for (kind, event) in [
        (FailureKind::Upstream, "task.failed"),
        (FailureKind::Timeout, "task.failed"),
        (FailureKind::Cancelled, "task.cancelled"),
    ] {
        let mut storage = with_webhooks([webhook(1, 0)]);
        run(&mut storage, submit(1, 0, 4)).unwrap();
        run(&mut storage, finish(1, 0, ending(kind))).unwrap();
        let body = String::from_utf8(only(&storage).body).unwrap();
        assert!(body.starts_with(&format!("{{\"type\":\"{event}\"")), "{body}");
        assert!(body.contains("\"status\":\"failed\"") && body.contains("\"charged\":0}"), "{body}");
    }
}

#[test]
fn an_answer_decides_what_follows() {
    let end = START.plus(Duration::from_secs(60));
    let pending = |seconds: u64| DeliveryState::Pending { due: end.plus(Duration::from_secs(seconds)) };
    let failed = |reason: &str| DeliveryState::Failed { at: end, reason: reason.to_owned() };
    for (status, asked, expected) in [
        (Some(200), None, DeliveryState::Delivered { at: end }),
        (Some(204), Some(9_000), DeliveryState::Delivered { at: end }),
        (Some(301), None, pending(5)),
        (Some(400), None, pending(5)),
        (Some(429), Some(90_000), pending(90)),
        (Some(500), None, pending(5)),
        (Some(503), Some(1_000), pending(5)),
        (None, None, pending(5)),
        (Some(410), None, failed("the receiver answered 410")),
    ] {
        let (mut storage, id) = ended();
        run(&mut storage, record(id, status, asked, end)).unwrap();
        let delivery = only(&storage);
        assert_eq!((delivery.id, &delivery.state), (id, &expected), "{status:?}");
        assert_eq!((delivery.tries, delivery.attempts.len()), (1, 1));
        let webhook = of(&storage, 1);
        assert_eq!(webhook.pending, u32::from(delivery.due().is_some()), "{status:?}");
        assert_eq!(webhook.disabled.is_some(), status == Some(410), "{status:?}");
        assert_eq!(webhook.failing_since.is_some(), !matches!(status, Some(200 | 204)), "{status:?}");
    }
}

#[test]
fn the_seventh_failure_is_the_last_and_a_resend_begins_anew_under_the_same_id() {
    let (mut storage, id) = ended();
    let mut waits = Vec::new();
    let mut at = only(&storage).created;
    while let Some(due) = only(&storage).due() {
        waits.push(due.since(at).as_secs());
        at = due;
        run(&mut storage, record(id, None, None, at)).unwrap();
    }
    assert_eq!(waits, [0, 5, 300, 1_800, 7_200, 18_000, 36_000]);
    let reason = "it did not arrive in time".to_owned();
    assert_eq!(only(&storage).state, DeliveryState::Failed { at, reason });
    assert_eq!(of(&storage, 1).pending, 0);
    let body = only(&storage).body;
    run(&mut storage, change(WebhookChange::Resend { delivery: id }, at.plus(HOUR))).unwrap();
    assert_eq!((only(&storage).id, only(&storage).due()), (id, Some(at.plus(HOUR))));
    assert_eq!((only(&storage).body, of(&storage, 1).pending), (body, 1));
    run(&mut storage, record(id, Some(200), None, at.plus(HOUR))).unwrap();
    // A success that comes twice, after a crash, is a success.
    run(&mut storage, record(id, Some(200), None, at.plus(HOUR))).unwrap();
    assert_eq!((only(&storage).due(), of(&storage, 1).pending), (None, 0));
}

#[test]
fn five_days_without_a_success_disable_a_webhook_with_a_line_in_the_audit_record() {
    let (mut storage, id) = ended();
    let days = |days: u32| START.plus(24 * HOUR * days);
    run(&mut storage, record(id, Some(500), None, days(1))).unwrap();
    run(&mut storage, change(WebhookChange::Resend { delivery: id }, days(5))).unwrap();
    run(&mut storage, record(id, Some(500), None, days(5))).unwrap();
    assert_eq!((of(&storage, 1).disabled, storage.audit_records().len()), (None, 0));
    run(&mut storage, record(id, Some(500), None, days(6))).unwrap();
    let reason = of(&storage, 1).disabled.expect("disabled").reason;
    assert!(reason.contains(&days(1).to_string()), "{reason}");
    let line = &storage.audit_records().last().expect("a line").text;
    assert!(line.contains("was disabled") && line.contains(&of(&storage, 1).id.to_string()), "{line}");
    // It is told of no end, and nothing is sent by hand.
    run(&mut storage, submit(2, 0, 4)).unwrap();
    run(&mut storage, finish(2, 0, completed(4))).unwrap();
    assert_eq!(storage.deliveries().count(), 1);
    let resend = change(WebhookChange::Resend { delivery: id }, days(6));
    assert_eq!(refused(&mut storage, resend), Rejection::WebhookDisabled(WebhookId::from_bits(1)));
    let revision = of(&storage, 1).revision;
    run(&mut storage, edit(1, revision, |policy| policy.enabled = true)).unwrap();
    assert_eq!((of(&storage, 1).disabled, of(&storage, 1).failing_since), (None, None));
}

#[test]
fn the_oldest_that_waits_makes_room() {
    let (mut storage, first) = ended();
    let id = WebhookId::from_bits(1);
    let at = START.plus(HOUR);
    // As many as may wait: the row says so, and so they need not be made one by one.
    let full = WebhookEndpoint { pending: MAX_PENDING, ..of(&storage, 1) };
    gatehouse_tasks::LedgerStorage::put_webhook(&mut storage, &full).unwrap_or_else(|never| match never {});
    let test = WebhookChange::Test { id, delivery: DeliveryId::from_bits(u128::from(at.0) << 80) };
    run(&mut storage, change(test, at)).unwrap();
    assert_eq!(of(&storage, 1).pending, MAX_PENDING);
    let states: Vec<_> = storage.deliveries().map(|row| (row.id == first, row.due().is_some())).collect();
    assert_eq!(states, [(true, false), (false, true)]);
}

/// Without it a change is read after its commit, and a read that fails then loses the only copy of a secret.
#[test]
fn what_a_change_has_left_is_in_its_answer() {
    let (mut storage, sent) = ended();
    let (id, secret) = (WebhookId::from_bits(1), SealedSecret { created: START, sealed: vec![2] });
    for command in [
        add(webhook(2, 1)),
        edit(1, 0, |policy| policy.description = "night shift".to_owned()),
        change(WebhookChange::Rotate { id, secret }, START),
        change(WebhookChange::Retire { id }, START),
        // There is nothing to retire any more.
        change(WebhookChange::Retire { id }, START),
    ] {
        let Ok(Applied::Webhook(left)) = run(&mut storage, command) else { panic!("a webhook") };
        assert_eq!(storage.webhooks().find(|row| row.id == left.id), Some(&*left));
    }
    let test = WebhookChange::Test { id, delivery: DeliveryId::from_bits(u128::from(START.0) << 80) };
    for delivery in [test, WebhookChange::Resend { delivery: sent }] {
        let Ok(Applied::Delivery(left)) = run(&mut storage, change(delivery, START.plus(HOUR))) else {
            panic!("a delivery")
        };
        assert_eq!(storage.deliveries().find(|row| row.id == left.id), Some(&*left));
    }
}

#[test]
fn secrets_overlap_for_a_day_unless_the_old_one_is_retired() {
    let mut storage = with_webhooks([webhook(1, 0)]);
    let id = WebhookId::from_bits(1);
    let secret = |byte: u8| SealedSecret { created: START, sealed: vec![byte] };
    let signing = |storage: &MemoryLedgerStorage, at: UnixMs| -> Vec<u8> {
        of(storage, 1).secrets(at).map(|secret| secret.sealed[0]).collect()
    };
    run(&mut storage, change(WebhookChange::Rotate { id, secret: secret(2) }, START)).unwrap();
    assert_eq!(signing(&storage, START.plus(23 * HOUR)), [2, 1]);
    assert_eq!(signing(&storage, START.plus(24 * HOUR)), [2]);
    run(&mut storage, change(WebhookChange::Rotate { id, secret: secret(3) }, START)).unwrap();
    assert_eq!(signing(&storage, START), [3, 2]);
    run(&mut storage, change(WebhookChange::Retire { id }, START)).unwrap();
    assert_eq!(signing(&storage, START), [3]);
}

#[test]
fn what_cannot_be_is_refused() {
    let numbers = 1..=MAX_WEBHOOKS as u128;
    let mut storage = with_webhooks(numbers.map(|number| webhook(number, 0)));
    let id = WebhookId::from_bits(99);
    assert_eq!(refused(&mut storage, add(webhook(99, 0))), Rejection::TooManyWebhooks(MAX_WEBHOOKS));
    assert!(matches!(refused(&mut storage, add(webhook(99, 77))), Rejection::NoCustomer(_)));
    assert_eq!(refused_field(&mut storage, add(webhook(1, 1))), "id");
    assert_eq!(refused(&mut storage, change(WebhookChange::Remove { id }, START)), Rejection::NoWebhook(id));
    let changed = refused(&mut storage, edit(1, 7, |_| {}));
    assert!(matches!(changed, Rejection::WebhookChanged { given: 7, current: 0, .. }), "{changed}");
    for (field, command) in [
        ("url", edit(1, 0, |policy| policy.url.clear())),
        ("url", edit(1, 0, |policy| policy.url = "x".repeat(2_049))),
        ("description", edit(1, 0, |policy| policy.description = "x".repeat(201))),
        ("events", edit(1, 0, |policy| policy.events = vec![WebhookEvent::Test])),
        ("events", edit(1, 0, |policy| policy.events = vec![WebhookEvent::Failed; 2])),
    ] {
        assert_eq!(refused_field(&mut storage, command), field);
    }
    run(&mut storage, change(WebhookChange::Remove { id: WebhookId::from_bits(1) }, START)).unwrap();
    assert!(run(&mut storage, add(webhook(99, 0))).is_ok(), "one that was removed makes room");
}

fn own(number: u128) -> WebhookEndpoint {
    WebhookEndpoint { made_by: Some(key_id(0)), ..webhook(number, 0) }
}

/// Without it a customer's keys could use up what its operator needs, or the reverse.
#[test]
fn operators_and_customers_have_limits_of_their_own() {
    let numbers = 1..=MAX_OWN_WEBHOOKS as u128;
    let mut storage = with_webhooks(numbers.map(own));
    assert_eq!(refused(&mut storage, add(own(99))), Rejection::TooManyWebhooks(MAX_OWN_WEBHOOKS));
    for number in 100..100 + MAX_WEBHOOKS as u128 {
        run(&mut storage, add(webhook(number, 0))).unwrap();
    }
    assert_eq!(refused(&mut storage, add(webhook(200, 0))), Rejection::TooManyWebhooks(MAX_WEBHOOKS));
}

/// Without it a customer could not tell its own switch from an operator's, which it may not undo.
#[test]
fn who_disabled_a_webhook_is_kept() {
    for by_customer in [false, true] {
        let mut storage = with_webhooks([own(1)]);
        let policy = WebhookPolicy { enabled: false, ..own(1).policy() };
        let id = WebhookId::from_bits(1);
        let edit = WebhookChange::Edit { id, revision: 0, policy, by_customer, by_word: false };
        run(&mut storage, change(edit, START)).unwrap();
        let disabled = of(&storage, 1);
        assert_eq!((disabled.is_disabled_by_operator(), disabled.is_troubled()), (!by_customer, false));
    }
}

/// Without it a customer would enable what an operator disabled after it; or could not enable its own after an operator has
/// edited anything else.
#[test]
fn an_operators_word_holds_for_a_webhook_that_is_disabled_already() {
    for (by_gateway, by_word) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut storage = with_webhooks([own(1)]);
        let id = WebhookId::from_bits(1);
        let policy = WebhookPolicy { enabled: false, ..own(1).policy() };
        if by_gateway {
            run(&mut storage, submit(1, 0, 4)).unwrap();
            run(&mut storage, finish(1, 0, completed(4))).unwrap();
            let delivery = only(&storage).id;
            run(&mut storage, record(delivery, Some(410), None, START)).unwrap();
        } else {
            let policy = policy.clone();
            let own = WebhookChange::Edit { id, revision: 0, policy, by_customer: true, by_word: false };
            run(&mut storage, change(own, START)).unwrap();
        }
        assert!(of(&storage, 1).disabled.is_some() && !of(&storage, 1).is_disabled_by_operator());
        let revision = of(&storage, 1).revision;
        for (by_customer, word, expected) in
            [(false, by_word, by_word), (true, true, by_word), (false, false, by_word)]
        {
            let (policy, revision) = (policy.clone(), of(&storage, 1).revision);
            let edit = WebhookChange::Edit { id, revision, policy, by_customer, by_word: word };
            run(&mut storage, change(edit, START)).unwrap();
            assert_eq!(of(&storage, 1).is_disabled_by_operator(), expected, "{by_gateway} {by_word}");
        }
        assert_eq!(of(&storage, 1).revision, revision + 3);
    }
}

/// A storage with a task that was submitted with an address, and ended so.
fn called_back(ending: Ending) -> (MemoryLedgerStorage, WebhookDelivery) {
    let mut storage = funded();
    let Command::Submit { mut task, idempotency } = submit(1, 0, 4) else { panic!("a submission") };
    task.callback = Some("https://example.com/done?token=1".to_owned());
    run(&mut storage, Command::Submit { task, idempotency }).unwrap();
    assert_eq!(storage.deliveries().count(), 0, "a task that lives is no event");
    run(&mut storage, finish(1, 0, ending)).unwrap();
    let delivery = only(&storage);
    (storage, delivery)
}

#[test]
fn the_end_of_a_task_is_told_once_to_the_address_it_was_submitted_with() {
    let cancelled = TaskFailure { kind: FailureKind::Cancelled, message: "stop".to_owned() };
    let cancelled = Ending::failed(cancelled);
    for (ending, event) in [
        (completed(4), WebhookEvent::Completed),
        (failed(), WebhookEvent::Failed),
        (cancelled, WebhookEvent::Cancelled),
    ] {
        let (mut storage, delivery) = called_back(ending);
        let task = storage.finished_tasks().next().unwrap().clone();
        assert_eq!((delivery.event, delivery.task), (event, Some(task_id(1))));
        assert_eq!(Some(delivery.id), gatehouse_tasks::callback_of(&task));
        let expected = Callback { url: "https://example.com/done?token=1".to_owned(), key: task.key.clone() };
        assert_eq!(delivery.callback, Some(expected));
        // What follows an attempt is as for webhooks, without one.
        let at = delivery.id.timestamp();
        run(&mut storage, record(delivery.id, Some(500), None, at)).unwrap();
        assert_eq!(only(&storage).due(), Some(at.plus(Duration::from_secs(5))));
        run(&mut storage, record(delivery.id, Some(410), None, at)).unwrap();
        assert!(matches!(only(&storage).state, DeliveryState::Failed { .. }));
        run(&mut storage, change(WebhookChange::Resend { delivery: delivery.id }, at)).unwrap();
        assert_eq!(only(&storage).due(), Some(at));
        run(&mut storage, record(delivery.id, Some(204), None, at)).unwrap();
        assert_eq!(only(&storage).state, DeliveryState::Delivered { at });
        let week = 7 * 24 * HOUR + Duration::from_millis(1);
        assert_eq!((super::forget(&mut storage, at.plus(week), 9), storage.deliveries().count()), (1, 0));
    }
}

#[test]
fn deliveries_are_forgotten_after_a_week() {
    let (mut storage, id) = ended();
    let made = id.timestamp();
    let week = 7 * 24 * HOUR;
    assert_eq!(super::forget(&mut storage, made.plus(week), 9), 0);
    assert_eq!(super::forget(&mut storage, made.plus(week + Duration::from_millis(1)), 9), 1);
    assert_eq!((storage.deliveries().count(), of(&storage, 1).pending), (0, 0));
}
