//! Webhooks in the file: the same rows as in memory, a delivery in the commit of its task's end, pages, and files of
//! releases without the tables.

use std::collections::BTreeSet;
use std::time::Duration;

use fastrand::Rng;
use gatehouse_model::{DeliveryId, UnixMs, WebhookId};
use gatehouse_sample::{START, completed, customer_id, task, task_id, webhook, webhook_change as change};
use gatehouse_tasks::{
    Command, MemoryLedgerStorage, WebhookAttempt, WebhookChange, WebhookDelivery, WebhookEndpoint,
};
use redb::ReadableDatabase as _;

use super::deferred::open;
use super::{
    altered, begun, begun_on_disk, first_commands, keys, memory_store, remember, reopened, rows, submit,
};
use crate::expired::expired;
use crate::layout;
use crate::store::Store;
use crate::transaction::open::commit;
use crate::webhooks::DeliveryQuery;

pub(super) fn add(number: u128, customer: u8) -> Command {
    change(WebhookChange::Add(Box::new(webhook(number, customer))), START)
}

fn finish(number: u8, at: UnixMs) -> Command {
    Command::Finish { id: task_id(number), revision: 0, ending: completed(2), audit: None, at }
}

fn delivery(number: u128, at: UnixMs) -> DeliveryId {
    DeliveryId::from_bits(u128::from(at.0) << 80 | number)
}

fn record(delivery: DeliveryId, status: Option<u16>, chance: u32, at: UnixMs) -> Command {
    let attempt = WebhookAttempt { at, took_ms: 1, status, error: String::new(), answer: String::new() };
    change(WebhookChange::Record { delivery, attempt, retry_after_ms: None, chance }, at)
}

/// A command about few webhooks, so that they meet in every order.
pub(super) fn any_command(
    random: &mut Rng,
    storage: &MemoryLedgerStorage,
    number: u8,
    at: UnixMs,
) -> Command {
    let id = WebhookId::from_bits(random.u128(1..4));
    let known: Vec<DeliveryId> = storage.deliveries().map(|row| row.id).collect();
    let some = known.get(random.usize(0..known.len().max(1))).copied();
    let some = some.unwrap_or_else(|| delivery(9, at));
    match random.u8(0..12) {
        0..=2 => change(WebhookChange::Test { id, delivery: delivery(number.into(), at) }, at),
        3 => change(WebhookChange::Resend { delivery: some }, at),
        4..=7 => {
            let status = [Some(200), Some(500), None, Some(410)][random.usize(0..4)];
            record(some, status, random.u32(0..=1_000), at)
        }
        8 => change(WebhookChange::Remove { id }, at),
        9 => add(random.u128(1..4), random.u8(0..2)),
        10 => {
            let (at, owner) = (at.plus(Duration::from_secs(7 * 86_400 - 30)), customer_id(random.u8(0..2)));
            let rows = gatehouse_sample::expired(storage, at)
                .into_iter()
                .filter(|(of, _)| of.as_ref() == Some(&owner));
            let rows = rows.map(|(_, row)| row).take(3).collect();
            Command::Forget { customer: Some(owner), rows, at }
        }
        _ => {
            let row = storage.webhooks().find(|row| row.id == id);
            let policy = webhook(1, 0).policy();
            let revision = row.map_or(0, |row| row.revision);
            let (by_customer, by_word) = (random.bool(), random.bool());
            change(WebhookChange::Edit { id, revision, policy, by_customer, by_word }, at)
        }
    }
}

/// Every row, and the look-up tables against the rows.
fn assert_same(store: &Store, storage: &MemoryLedgerStorage) {
    let database = store.database().unwrap();
    let txn = database.begin_read().unwrap();
    let webhooks: Vec<WebhookEndpoint> = rows(&txn, layout::WEBHOOKS).unwrap();
    let deliveries: Vec<WebhookDelivery> = rows(&txn, layout::DELIVERIES).unwrap();
    assert_eq!(webhooks, storage.webhooks().cloned().collect::<Vec<_>>());
    assert_eq!(deliveries, storage.deliveries().cloned().collect::<Vec<_>>());
    let owners = keys(&txn, &layout::WEBHOOK_OWNERS);
    assert_eq!(owners, webhooks.iter().map(|row| (row.customer.0.clone(), row.id.bits())).collect());
    let troubled = keys(&txn, &layout::TROUBLED_WEBHOOKS);
    let is_troubled = |row: &&WebhookEndpoint| row.is_troubled();
    assert_eq!(troubled, webhooks.iter().filter(is_troubled).map(|row| row.id.bits()).collect());
    let due = keys(&txn, &layout::DELIVERY_DUE);
    let waits = |row: &WebhookDelivery| Some((row.webhook.bits(), row.due()?.0, row.id.bits()));
    assert_eq!(due, deliveries.iter().filter_map(waits).collect());
    let mut expected = BTreeSet::new();
    for row in &deliveries {
        expected.insert((row.webhook.bits(), layout::ALL_DELIVERIES, row.id.bits()));
        if row.due().is_some() {
            expected.insert((row.webhook.bits(), layout::PENDING_DELIVERIES, row.id.bits()));
        }
    }
    assert_eq!(keys(&txn, &layout::DELIVERY_INDEX), expected);
    // None is old, some are, all are.
    for days in [0, 7, 8] {
        let now = START.plus(Duration::from_secs(days * 86_400 + 20));
        let all = gatehouse_sample::expired(storage, now);
        assert_eq!(expired(&txn, now, 1).unwrap(), all[..all.len().min(1)]);
        assert_eq!(expired(&txn, now, 999).unwrap(), all);
    }
}

#[test]
fn the_store_and_the_memory_agree_about_webhooks() {
    let (mut made, mut ended) = (0, 0);
    for seed in 0..60 {
        let mut random = Rng::with_seed(seed);
        let (store, mut storage) = (memory_store(), MemoryLedgerStorage::default());
        let database = store.database().unwrap();
        first_commands().for_each(|command| drop(remember(&mut storage, command).unwrap()));
        commit(&database, first_commands().collect()).unwrap();
        let mut at = START;
        for number in 0..40 {
            at = at.plus(Duration::from_secs(1));
            let begin = submit(task(number, 0, 0, 2, START));
            let batch = [any_command(&mut random, &storage, number, at), begin, finish(number, at)];
            let expected: Vec<_> =
                batch.iter().map(|command| remember(&mut storage, command.clone())).collect();
            assert_eq!(commit(&database, batch.to_vec()).unwrap(), expected, "seed {seed}");
        }
        assert_same(&store, &storage);
        made += storage.deliveries().count();
        ended += storage.deliveries().filter(|row| row.due().is_none()).count();
    }
    assert!(made > 500 && ended > 100, "{made} deliveries, {ended} ended");
}

#[tokio::test]
async fn a_delivery_is_in_the_commit_of_the_end_and_wakes_its_sender() {
    let (disk, store) = begun_on_disk().await;
    for command in [add(1, 0), add(2, 1), submit(task(1, 0, 0, 2, START))] {
        store.execute(command).await.unwrap().unwrap();
    }
    assert_eq!(store.changed_webhooks().await.len(), 2);
    assert_eq!(store.waiting_webhooks().await, Ok(BTreeSet::new()));
    let at = START.plus(Duration::from_secs(9));
    store.execute(finish(1, at)).await.unwrap().unwrap();
    let one = WebhookId::from_bits(1);
    assert_eq!(store.changed_webhooks().await, [one].into());
    // What the disk has at the answer is what a crash leaves.
    let (_, store) = reopened(&disk);
    assert_eq!(store.waiting_webhooks().await, Ok([one].into()));
    let (due, id) = store.next_delivery(one).await.unwrap().expect("it waits");
    let row = store.delivery(id).await.unwrap().expect("a row");
    assert_eq!((due, row.task, row.webhook), (at, Some(task_id(1)), one));
    assert!(store.examine().unwrap().is_clean());
}

#[tokio::test]
async fn pages_end_where_the_next_one_begins() {
    let store = begun().await;
    for number in 1..=7 {
        store.execute(add(number, u8::from(number > 4))).await.unwrap().unwrap();
    }
    let page = |customer, after, limit| store.list_webhooks(customer, after, limit);
    let ids = |rows: &[WebhookEndpoint]| rows.iter().map(|row| row.id.bits()).collect::<Vec<_>>();
    let first = page(None, None, 5).await.unwrap();
    assert_eq!((ids(&first.rows), first.next), (vec![1, 2, 3, 4, 5], Some(WebhookId::from_bits(5))));
    let rest = page(None, first.next, 5).await.unwrap();
    assert_eq!((ids(&rest.rows), rest.next), (vec![6, 7], None));
    let own = page(Some(customer_id(1)), None, 2).await.unwrap();
    assert_eq!((ids(&own.rows), own.next), (vec![5, 6], Some(WebhookId::from_bits(6))));
    assert_eq!(ids(&page(Some(customer_id(1)), own.next, 2).await.unwrap().rows), [7]);
    assert_eq!(ids(&store.webhooks_of(&customer_id(1)).await.unwrap()), [5, 6, 7]);

    for number in 1..=5 {
        let at = START.plus(Duration::from_secs(number));
        let test = WebhookChange::Test { id: WebhookId::from_bits(1), delivery: delivery(1, at) };
        store.execute(change(test, at)).await.unwrap().unwrap();
    }
    let query = DeliveryQuery { webhook: WebhookId::from_bits(1), pending: false };
    let seconds = |rows: &[WebhookDelivery]| {
        rows.iter().map(|row| row.created.since(START).as_secs()).collect::<Vec<_>>()
    };
    let first = store.list_deliveries(query, None, 3).await.unwrap();
    assert_eq!(seconds(&first.rows), [5, 4, 3]);
    let rest = store.list_deliveries(query, first.next, 3).await.unwrap();
    assert_eq!((seconds(&rest.rows), rest.next), (vec![2, 1], None));
    let (newest, at) = (first.rows[0].id, START.plus(Duration::from_secs(60)));
    store.execute(record(newest, Some(200), 0, at)).await.unwrap().unwrap();
    let pending = DeliveryQuery { pending: true, ..query };
    assert_eq!(seconds(&store.list_deliveries(pending, None, 9).await.unwrap().rows), [4, 3, 2, 1]);
}

/// A file with a hundred webhooks, of which the last two fail.
async fn with_two_that_fail() -> Store {
    let (_, store) = begun_on_disk().await;
    for customer in 2..12 {
        store.execute(open(&customer_id(customer).0)).await.unwrap().unwrap();
    }
    for number in 0..100 {
        store.execute(add(number + 1, u8::try_from(2 + number / 10).unwrap())).await.unwrap().unwrap();
    }
    for number in [99, 100] {
        let (id, delivery) = (WebhookId::from_bits(number), delivery(number, START));
        store.execute(change(WebhookChange::Test { id, delivery }, START)).await.unwrap().unwrap();
        store.execute(record(delivery, Some(500), 0, START)).await.unwrap().unwrap();
    }
    store
}

async fn troubled(store: &Store, limit: usize) -> Vec<u128> {
    store.troubled_webhooks(limit).await.unwrap().iter().map(|row| row.id.bits()).collect()
}

#[tokio::test]
async fn webhooks_in_trouble_are_found_wherever_they_stand() {
    let store = with_two_that_fail().await;
    assert_eq!((troubled(&store, 9).await, troubled(&store, 1).await), (vec![99, 100], vec![99]));
    assert!(store.examine().unwrap().is_clean());
    let gone = WebhookChange::Remove { id: WebhookId::from_bits(99) };
    store.execute(change(gone, START)).await.unwrap().unwrap();
    assert_eq!(troubled(&store, 9).await, [100]);
}

#[tokio::test]
async fn the_doctor_compares_the_list_with_the_webhooks() {
    let found = altered(&with_two_that_fail().await, |txn| {
        let mut list = layout::TROUBLED_WEBHOOKS.open_to_write(txn).unwrap();
        list.remove(99).unwrap();
        list.insert(1, &()).unwrap();
        list.insert(777, &()).unwrap();
    });
    let name = |number: u128| WebhookId::from_bits(number).to_string();
    assert_eq!(found.len(), 3, "{found:?}");
    for (number, what) in [(99, "misses it"), (1, "and is not"), (777, "has no row")] {
        let told = |finding: &String| finding.contains(&name(number)) && finding.ends_with(what);
        assert!(found.iter().any(told), "{number}: {found:?}");
    }
}
