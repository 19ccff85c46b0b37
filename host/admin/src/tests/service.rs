//! Operations on a store: each change is visible afterwards, each wrong input is refused.

use gatehouse_model::{ApiKey, Credits, CustomerId, KeyId, RequestId, UnixMs};
use gatehouse_tasks::{AuditedRequest, Command};

use super::{open, service};
use crate::{NewKey, Operation, OperationError, OperationResult};

fn deposit(account: &str, micro: i64) -> Operation {
    Operation::CustomerDeposit {
        customer: CustomerId::from(account),
        amount: Credits(micro),
        memo: "m".to_owned(),
    }
}

fn withdraw(account: &str, micro: i64) -> Operation {
    Operation::CustomerWithdraw {
        customer: CustomerId::from(account),
        amount: Credits(micro),
        memo: String::new(),
    }
}

fn policy(account: &str) -> NewKey {
    NewKey::unlimited(CustomerId::from(account), "laptop")
}

#[tokio::test]
async fn deposits_and_withdrawals_change_the_balance() {
    let (service, _folder) = service();
    for (operation, available) in
        [(open("a"), 0), (deposit("a", 5_000_000), 5_000_000), (withdraw("a", 2_000_000), 3_000_000)]
    {
        let result = service.perform(operation).await.unwrap();
        assert!(
            matches!(&result, OperationResult::Customer(customer) if customer.available == Credits(available)),
            "{result:?}"
        );
    }
    let result = service.perform(Operation::Doctor).await.unwrap();
    assert!(matches!(&result, OperationResult::Examined(found) if found.is_clean()), "{result:?}");
}

fn kind(error: &OperationError) -> &'static str {
    match error {
        OperationError::Invalid(_) => "invalid",
        OperationError::NotFound(_) => "not found",
        OperationError::Refused(_) => "refused",
        _ => "other",
    }
}

#[tokio::test]
async fn invalid_input_is_refused() {
    let (service, _folder) = service();
    service.perform(open("a")).await.unwrap();
    let create = Operation::KeyCreate;
    let cases = [
        (open("a"), "refused"),
        (open("a b"), "invalid"),
        (open(""), "invalid"),
        (open(&"x".repeat(65)), "invalid"),
        (deposit("a", 0), "invalid"),
        (deposit("a", -1), "invalid"),
        (deposit("nobody", 1), "not found"),
        (withdraw("a", 1), "refused"),
        (create(policy("nobody")), "not found"),
        (create(NewKey { name: " ".to_owned(), ..policy("a") }), "invalid"),
        (create(NewKey { name: "a\nb".to_owned(), ..policy("a") }), "invalid"),
        (create(NewKey { quota: Some(Credits(-1)), ..policy("a") }), "invalid"),
        (create(NewKey { models: vec![String::new()], ..policy("a") }), "invalid"),
        (create(NewKey { expires: Some(UnixMs(1)), ..policy("a") }), "invalid"),
        (Operation::KeyShow { key: KeyId::from("x") }, "not found"),
        (Operation::KeyRevoke { key: KeyId::from("x") }, "not found"),
    ];
    for (operation, expected) in cases {
        let error = service.perform(operation.clone()).await.unwrap_err();
        assert_eq!(kind(&error), expected, "{operation:?}: {error:?}");
    }
}

#[tokio::test]
async fn a_key_is_found_by_its_secret_and_can_be_revoked() {
    let (service, _folder) = service();
    service.perform(open("a")).await.unwrap();
    let made = service.perform(Operation::KeyCreate(policy("a"))).await.unwrap();
    let OperationResult::KeyCreated { key, secret } = made else { panic!("{made:?}") };
    let digest = ApiKey::parse(&secret.0).unwrap().digest(&service.pepper);
    assert_eq!(service.store.key_by_digest(&digest).unwrap().unwrap().id, key.id);

    let list = |revoked| Operation::KeyList { customer: Some(CustomerId::from("a")), revoked };
    let count = |result| if let OperationResult::Keys { keys } = result { keys.len() } else { usize::MAX };
    assert_eq!(count(service.perform(list(false)).await.unwrap()), 1);
    service.perform(Operation::KeyRevoke { key: key.id }).await.unwrap();
    assert_eq!(count(service.perform(list(false)).await.unwrap()), 0);
    assert_eq!(count(service.perform(list(true)).await.unwrap()), 1);
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
    let read = async |limit, requests, cursor| {
        let operation = Operation::Audit { task: None, limit, requests, cursor };
        let OperationResult::Audit { notes, next } = service.perform(operation).await.unwrap() else {
            panic!("not an audit")
        };
        (notes.into_iter().map(|note| note.text).collect::<Vec<_>>(), next)
    };
    assert_eq!(read(9, false, None).await, (vec!["second".to_owned(), "first".to_owned()], None));
    let (texts, next) = read(1, false, None).await;
    assert_eq!((texts, next.is_some()), (vec!["second".to_owned()], true));
    assert_eq!(read(1, false, next).await, (vec!["first".to_owned()], None));
    let (texts, next) = read(u32::MAX, true, None).await;
    assert_eq!((texts.len(), next.is_some()), (1_000, true), "an answer has an end");
}
