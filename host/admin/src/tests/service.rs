//! Operations on a store: each change is visible afterwards, each wrong input is refused and leaves a line.

use gatehouse_model::{ApiKey, Credits, CustomerId, KeyId, KeyPolicy, RequestId, UnixMs};
use gatehouse_tasks::{AuditedRequest, Command};

use super::service;
use crate::{AuditQuery, KeyQuery, KeyState, NewKey, OperationError};

fn customer(id: &str) -> CustomerId {
    CustomerId::from(id)
}

fn policy(account: &str) -> NewKey {
    NewKey::unlimited(customer(account), "laptop")
}

fn with(change: impl FnOnce(&mut KeyPolicy)) -> NewKey {
    let mut new = policy("a");
    change(&mut new.policy);
    new
}

#[tokio::test]
async fn deposits_and_withdrawals_change_the_balance() {
    let (service, _folder) = service();
    let available = |customer: gatehouse_model::Customer| customer.available.0;
    assert_eq!(available(service.open_customer(customer("a")).await.unwrap()), 0);
    let paid = service.deposit(customer("a"), Credits(5_000_000), "m".to_owned()).await.unwrap();
    assert_eq!(available(paid), 5_000_000);
    let back = service.withdraw(customer("a"), Credits(2_000_000), String::new()).await.unwrap();
    assert_eq!(available(back), 3_000_000);
    assert!(service.examination().await.unwrap().sound);
}

fn kind(error: &OperationError) -> &'static str {
    match error {
        OperationError::Invalid(_) => "invalid",
        OperationError::NotFound(_) => "not found",
        OperationError::Refused(_) => "refused",
        _ => "other",
    }
}

/// A page that is refused before it comes to the store would otherwise leave no trace.
#[tokio::test]
async fn invalid_input_is_refused_and_leaves_a_line() {
    let (service, _folder) = service();
    service.open_customer(customer("a")).await.unwrap();
    let lines = async || {
        let page = service.audit_lines(AuditQuery::default(), None, 100).await.unwrap().rows;
        page.into_iter().filter_map(|line| line.request).map(|line| line.operation).collect::<Vec<_>>()
    };
    let check = async |error: OperationError, expected: &str, operation: &str| {
        assert_eq!(kind(&error), expected, "{error:?}");
        let all = lines().await;
        assert_eq!(all.first().map(String::as_str), Some(operation), "{error:?}");
        all.len()
    };
    let mut count = lines().await.len();
    for (id, expected) in
        [("a", "refused"), ("a b", "invalid"), ("", "invalid"), (&"x".repeat(65), "invalid")]
    {
        let error = service.open_customer(customer(id)).await.unwrap_err();
        count += 1;
        assert_eq!(check(error, expected, "createCustomer").await, count, "{id}");
    }
    for (id, micro, expected) in [("a", 0, "invalid"), ("a", -1, "invalid"), ("nobody", 1, "not found")] {
        let error = service.deposit(customer(id), Credits(micro), "m".to_owned()).await.unwrap_err();
        count += 1;
        assert_eq!(check(error, expected, "deposit").await, count, "{id} {micro}");
    }
    let error = service.withdraw(customer("a"), Credits(1), String::new()).await.unwrap_err();
    count += 1;
    assert_eq!(check(error, "refused", "withdraw").await, count);
    for (new, expected) in [
        (policy("nobody"), "not found"),
        (with(|policy| policy.name = " ".to_owned()), "invalid"),
        (with(|policy| policy.name = "a\nb".to_owned()), "invalid"),
        (with(|policy| policy.quota = Some(Credits(-1))), "invalid"),
        (with(|policy| policy.models = vec![String::new()]), "invalid"),
        (with(|policy| policy.expires = Some(UnixMs(1))), "invalid"),
    ] {
        let error = service.create_key(new.clone()).await.unwrap_err();
        count += 1;
        assert_eq!(check(error, expected, "createKey").await, count, "{new:?}");
    }
    let error = service.revoke_key(&KeyId::from("x")).await.unwrap_err();
    assert_eq!(check(error, "not found", "revokeKey").await, count + 1);
}

#[tokio::test]
async fn a_key_is_found_by_its_secret_and_can_be_revoked() {
    let (service, _folder) = service();
    service.open_customer(customer("a")).await.unwrap();
    let (key, secret) = service.create_key(policy("a")).await.unwrap();
    let digest = ApiKey::parse(&secret.0).unwrap().digest(&service.pepper);
    assert_eq!(service.store.key_by_digest(&digest).unwrap().unwrap().id, key.id);

    let count = async |states: &[KeyState]| {
        let at = service.clock.now();
        let query = KeyQuery { customer: Some(customer("a")), name: None, states: states.to_vec(), at };
        service.keys_page(query, None, 10).await.unwrap().rows.len()
    };
    assert_eq!(count(&[KeyState::Active]).await, 1);
    service.revoke_key(&key.id).await.unwrap();
    assert_eq!((count(&[KeyState::Active]).await, count(&[]).await), (0, 1));
}

fn line() -> AuditedRequest {
    AuditedRequest {
        id: RequestId::from_bits(7),
        who: "operator token".to_owned(),
        role: "operator".to_owned(),
        address: "127.0.0.1".to_owned(),
        operation: "rotateKey".to_owned(),
        object: "keys/1".to_owned(),
        status: 200,
        reason: String::new(),
        changes: Vec::new(),
    }
}

/// Decisions are found behind more requests than one page of the record reads, and each answer says where to go on.
#[tokio::test]
async fn decisions_are_read_with_a_cursor_past_any_number_of_requests() {
    let (service, _folder) = service();
    let decide = async |text: &str| {
        let decision = Command::Audit { task: None, text: text.to_owned(), at: UnixMs(0) };
        service.store.execute(decision).await.unwrap().unwrap();
    };
    decide("first").await;
    decide("second").await;
    for _ in 0..2_100 {
        let audit = Box::new(line());
        let command = Command::Administer { change: None, audit, idempotency: None, at: UnixMs(0) };
        service.store.execute_deferred(command).await.unwrap().unwrap();
    }
    service.store.flush().await.unwrap();
    let read = async |limit, requests: bool, cursor| {
        let query = AuditQuery { decisions: !requests, ..AuditQuery::default() };
        let page = service.audit_lines(query, cursor, limit).await.unwrap();
        (page.rows.into_iter().map(|line| line.text).collect::<Vec<_>>(), page.next)
    };
    assert_eq!(read(9, false, None).await, (vec!["second".to_owned(), "first".to_owned()], None));
    let (texts, next) = read(1, false, None).await;
    assert_eq!((texts, next.is_some()), (vec!["second".to_owned()], true));
    assert_eq!(read(1, false, next).await, (vec!["first".to_owned()], None));
    let (texts, next) = read(usize::MAX, true, None).await;
    assert_eq!((texts.len(), next.is_some()), (1_000, true), "an answer has an end");
}
