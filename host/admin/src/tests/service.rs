//! Operations on a store: each change is visible afterwards, each wrong input is refused.

use gatehouse_model::{ApiKey, Credits, CustomerId, KeyId, UnixMs};

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
