//! The customers of a simulation, and a disk that holds their balances and keys. Every simulation begins with a copy of
//! that disk.

use std::sync::{Arc, OnceLock};

use gatehouse_driver::WebhookSecret;
use gatehouse_fault_injection::Disk;
use gatehouse_model::{
    ApiKey, Credits, CustomerId, CustomerPolicy, Key, KeyPolicy, Pepper, UnixMs, WebhookId,
};
use gatehouse_store::{Config, Store};
use gatehouse_tasks::{Command, WebhookChange, WebhookEndpoint, WebhookPolicy};

use crate::random::Random;
use crate::record::HOOK_HOST;

/// Deposits in credits: a customer that can pay anything, one that cannot, and a third.
pub(crate) const CUSTOMERS: [(&str, i64); 3] = [("rich", 1_000), ("poor", 14), ("other", 500)];
/// How many keys there are.
pub(crate) const KEY_COUNT: usize = KEYS.len();
/// A quota in credits, and its period if it resets.
type Quota = (i64, Option<&'static str>);
/// Keys by customer.
const KEYS: [(usize, Option<Quota>); 4] =
    [(0, None), (0, Some((12, None))), (1, None), (2, Some((8, Some("day+12:00"))))];
/// What all keys of the last customer may spend. Both quotas that reset do so ten seconds after the beginning.
const LAST_CUSTOMERS_QUOTA: (i64, &str) = (10, "day+12:00");

pub(crate) fn pepper() -> Pepper {
    Pepper::new([7; 32])
}

pub(crate) fn customer(number: usize) -> CustomerId {
    CustomerId::from(CUSTOMERS[number].0)
}

/// The customer of a key.
pub(crate) fn payer(key: usize) -> usize {
    KEYS[key].0
}

/// The keys as they were created.
pub(crate) fn keys() -> &'static [Arc<Key>] {
    static MADE: OnceLock<Vec<Arc<Key>>> = OnceLock::new();
    MADE.get_or_init(|| {
        let seed = Random::new(3);
        let make = |(number, (owner, quota)): (usize, &(usize, Option<Quota>))| {
            let secret = ApiKey::mint(&seed);
            let policy = KeyPolicy {
                name: format!("key {number}"),
                quota: quota.map(|(amount, _)| credits(amount)),
                quota_period: quota
                    .and_then(|(_, period)| period)
                    .map(|text| text.parse().expect("a period")),
                ..KeyPolicy::default()
            };
            Arc::new(Key::new(secret.id(), customer(*owner), secret.digest(&pepper()), UnixMs(1), policy))
        };
        KEYS.iter().enumerate().map(make).collect()
    })
}

pub(crate) fn credits(whole: i64) -> Credits {
    Credits(whole * Credits::UNIT)
}

/// The secret of the only webhook.
pub(crate) fn webhook_secret() -> WebhookSecret {
    WebhookSecret::mint(&Random::new(4))
}

/// The webhook of the first customer.
fn webhook() -> WebhookEndpoint {
    let (id, at) = (WebhookId::from_bits(1), UnixMs(1));
    let policy = WebhookPolicy {
        url: format!("http://{HOOK_HOST}/hook"),
        events: Vec::new(),
        description: String::new(),
        enabled: true,
    };
    let secret = webhook_secret().seal(&pepper(), id, at, &Random::new(5));
    WebhookEndpoint::new(id, customer(0), policy, secret, None)
}

/// A disk that holds the customers, their deposits and their keys, and the webhook where one is wanted.
pub(crate) fn first_disk(with_webhook: bool) -> Vec<u8> {
    static PLAIN: OnceLock<Vec<u8>> = OnceLock::new();
    static WITH_WEBHOOK: OnceLock<Vec<u8>> = OnceLock::new();
    let made = if with_webhook { &WITH_WEBHOOK } else { &PLAIN };
    made.get_or_init(|| make_disk(with_webhook)).clone()
}

fn make_disk(with_webhook: bool) -> Vec<u8> {
    let disk = Disk::default();
    let store = Store::with_backend(disk.clone(), &Config::default()).expect("a store");
    let at = UnixMs(1);
    let mut commands = Vec::new();
    for (number, (_, paid)) in CUSTOMERS.iter().enumerate() {
        let (id, amount) = (customer(number), credits(*paid));
        let policy = match number {
            2 => CustomerPolicy {
                quota: Some(credits(LAST_CUSTOMERS_QUOTA.0)),
                quota_period: Some(LAST_CUSTOMERS_QUOTA.1.parse().expect("a period")),
                ..CustomerPolicy::default()
            },
            _ => CustomerPolicy::default(),
        };
        commands.push(Command::AddCustomer { id: id.clone(), policy, at });
        commands.push(Command::Deposit { customer: id, amount, memo: String::new(), at });
    }
    commands.extend(keys().iter().map(|key| Command::AddKey { key: Box::new(Key::clone(key)) }));
    if with_webhook {
        let change = Box::new(WebhookChange::Add(Box::new(webhook())));
        commands.push(Command::Webhook { change, at });
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    for command in commands {
        runtime.block_on(store.execute(command)).expect("a store that works").expect("an allowed command");
    }
    store.close();
    disk.bytes()
}
