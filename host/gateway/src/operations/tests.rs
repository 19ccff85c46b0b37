//! Operations on a store of their own: what is made is found again, what is wrong is refused in words.

use gatehouse_admin::{NewKey, Operation, OperationError, Outcome};
use gatehouse_model::{ApiKey, Credits, CustomerId, KeyId, UnixMs};
use gatehouse_store::Store;

use super::*;
use crate::{SystemClock, SystemSeed, sandbox};

struct Bench {
    desk: Desk,
    _folder: tempfile::TempDir,
}

fn bench() -> Bench {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("core.redb"), &gatehouse_store::Config::default()).unwrap();
    let plugins = families_config(folder.path().to_owned(), &Config::default());
    let desk = Desk {
        store,
        plugins: Plugins::Closed(Box::new(plugins)),
        pepper: Pepper::new([7; 32]),
        clock: Arc::new(SystemClock),
        seed: Arc::new(SystemSeed),
    };
    Bench { desk, _folder: folder }
}

fn open(account: &str) -> Operation {
    Operation::AccountOpen { account: CustomerId::from(account) }
}

fn deposit(account: &str, micro: i64) -> Operation {
    Operation::AccountDeposit {
        account: CustomerId::from(account),
        amount: Credits(micro),
        memo: "m".to_owned(),
    }
}

fn withdraw(account: &str, micro: i64) -> Operation {
    Operation::AccountWithdraw {
        account: CustomerId::from(account),
        amount: Credits(micro),
        memo: String::new(),
    }
}

fn policy(account: &str) -> NewKey {
    NewKey {
        account: CustomerId::from(account),
        name: "laptop".to_owned(),
        quota: None,
        models: vec![],
        networks: vec![],
        expires: None,
        chat_format: gatehouse_model::ChatFormat::Wrapped,
    }
}

#[tokio::test]
async fn money_goes_in_and_out() {
    let bench = bench();
    for (operation, available) in
        [(open("a"), 0), (deposit("a", 5_000_000), 5_000_000), (withdraw("a", 2_000_000), 3_000_000)]
    {
        let outcome = bench.desk.perform(operation).await.unwrap();
        assert!(
            matches!(&outcome, Outcome::Customer(account) if account.available == Credits(available)),
            "{outcome:?}"
        );
    }
    let outcome = bench.desk.perform(Operation::Doctor).await.unwrap();
    assert!(matches!(&outcome, Outcome::Examined(found) if found.is_clean()), "{outcome:?}");
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
async fn what_cannot_be_is_refused() {
    let bench = bench();
    bench.desk.perform(open("a")).await.unwrap();
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
        let error = bench.desk.perform(operation.clone()).await.unwrap_err();
        assert_eq!(kind(&error), expected, "{operation:?}: {error:?}");
    }
}

#[tokio::test]
async fn a_key_is_found_by_its_secret_until_it_is_revoked() {
    let Bench { desk, _folder } = bench();
    desk.perform(open("a")).await.unwrap();
    let made = desk.perform(Operation::KeyCreate(policy("a"))).await.unwrap();
    let Outcome::KeyCreated { key, secret } = made else { panic!("{made:?}") };
    let digest = ApiKey::parse(&secret.0).unwrap().digest(&desk.pepper);
    assert_eq!(desk.store.key_by_digest(&digest).unwrap().unwrap().id, key.id);

    let list = |revoked| Operation::KeyList { account: Some(CustomerId::from("a")), revoked };
    let count = |outcome| if let Outcome::Keys { keys } = outcome { keys.len() } else { usize::MAX };
    assert_eq!(count(desk.perform(list(false)).await.unwrap()), 1);
    desk.perform(Operation::KeyRevoke { key: key.id }).await.unwrap();
    assert_eq!(count(desk.perform(list(false)).await.unwrap()), 0);
    assert_eq!(count(desk.perform(list(true)).await.unwrap()), 1);
}

#[tokio::test]
async fn each_start_prints_a_fresh_key_and_fills_the_account_up() {
    let Bench { desk, _folder } = bench();
    let first = sandbox::welcome(&desk).await.unwrap();
    desk.perform(withdraw("sandbox", 600_000_000)).await.unwrap();
    let second = sandbox::welcome(&desk).await.unwrap();
    assert_ne!(first, second);
    let keys = desk.store.keys().unwrap();
    let alive: Vec<_> = keys.iter().filter(|key| key.revoked.is_none()).collect();
    assert_eq!(alive.len(), 1);
    assert_eq!(alive[0].id, ApiKey::parse(&second).unwrap().id());
    let account = desk.store.customer(&CustomerId::from("sandbox")).unwrap().unwrap();
    assert_eq!(account.available, Credits(1_000_000_000));
}
