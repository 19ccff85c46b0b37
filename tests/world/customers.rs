//! Who the customers of a world are, and the disk on which their accounts and keys already stand: every world
//! begins with a copy of it.

use std::sync::{Arc, OnceLock};

use gatehouse_model::{ApiKey, Credits, CustomerId, Key, Pepper, UnixMs};
use gatehouse_store::fault_injection::Disk;
use gatehouse_store::{Config, Store};
use gatehouse_tasks::Command;

use crate::clock::Chance;

/// What was paid in, in credits: an account that can pay anything, one that cannot, and another one.
pub(crate) const ACCOUNTS: [(&str, i64); 3] = [("rich", 1_000), ("poor", 14), ("other", 500)];
/// Keys by account, the second of them with a quota in credits.
const KEYS: [(usize, Option<i64>); crate::plan::KEYS] = [(0, None), (0, Some(12)), (1, None), (2, None)];

pub(crate) fn pepper() -> Pepper {
    Pepper::new([7; 32])
}

pub(crate) fn account(number: usize) -> CustomerId {
    CustomerId::from(ACCOUNTS[number].0)
}

/// The account of a key.
pub(crate) fn payer(key: usize) -> usize {
    KEYS[key].0
}

/// The keys as they were made.
pub(crate) fn keys() -> &'static [Arc<Key>] {
    static MADE: OnceLock<Vec<Arc<Key>>> = OnceLock::new();
    MADE.get_or_init(|| {
        let chance = Chance::new(3);
        let make = |(number, (account, quota)): (usize, &(usize, Option<i64>))| {
            let secret = ApiKey::mint(&chance);
            Arc::new(Key {
                id: secret.id(),
                customer: self::account(*account),
                name: format!("key {number}"),
                digest: secret.digest(&pepper()),
                created: UnixMs(1),
                quota: quota.map(credits),
                used: Credits::ZERO,
                models: Vec::new(),
                networks: Vec::new(),
                expires: None,
                revoked: None,
                chat_format: gatehouse_model::ChatFormat::Wrapped,
            })
        };
        KEYS.iter().enumerate().map(make).collect()
    })
}

pub(crate) fn credits(whole: i64) -> Credits {
    Credits(whole * Credits::UNIT)
}

/// A disk with accounts, deposits and keys on it.
pub(crate) fn first_disk() -> Vec<u8> {
    static MADE: OnceLock<Vec<u8>> = OnceLock::new();
    MADE.get_or_init(make_disk).clone()
}

fn make_disk() -> Vec<u8> {
    let disk = Disk::default();
    let store = Store::with_backend(disk.clone(), &Config::default()).expect("a store");
    let at = UnixMs(1);
    let mut commands = Vec::new();
    for (number, (_, paid)) in ACCOUNTS.iter().enumerate() {
        let (id, amount) = (account(number), credits(*paid));
        commands.push(Command::AddCustomer { id: id.clone(), at });
        commands.push(Command::Deposit { customer: id, amount, memo: String::new(), at });
    }
    commands.extend(keys().iter().map(|key| Command::AddKey { key: Box::new(Key::clone(key)) }));
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    for command in commands {
        runtime.block_on(store.execute(command)).expect("a store that works").expect("an allowed command");
    }
    store.close();
    disk.bytes()
}
