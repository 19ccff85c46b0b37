//! A command changes rows of the customer that it names and of no other: what several gateways will share the work by.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use gatehouse_model::CustomerId;
use gatehouse_sample::{START, STEP, command_sequences, customer_id, key_id, webhook, webhook_change};
use gatehouse_tasks::{
    Command, HoldId, LedgerStorage as _, MemoryLedgerStorage, Owner, ResponseLimits, WebhookChange,
};
use proptest::prelude::*;

use super::responses::record;
use super::{funded, run};

/// Every row as text, by its customer.
fn rows(storage: &MemoryLedgerStorage) -> BTreeMap<CustomerId, BTreeSet<String>> {
    let mut rows: BTreeMap<CustomerId, BTreeSet<String>> = BTreeMap::new();
    let mut add = |customer: &CustomerId, row: &dyn Debug| {
        rows.entry(customer.clone()).or_default().insert(format!("{row:?}"));
    };
    storage.customers().for_each(|row| add(&row.id, row));
    storage.keys().for_each(|row| add(&row.customer, row));
    storage.live_tasks().for_each(|row| add(&row.customer, &("live", row)));
    storage.finished_tasks().for_each(|row| add(&row.customer, &("ended", row)));
    storage.holds().for_each(|row| add(&row.customer, row));
    storage.names().for_each(|row| add(&row.customer, row));
    storage.ledger().iter().for_each(|row| add(&row.customer, row));
    storage.responses().for_each(|row| add(&row.customer, row));
    storage.webhooks().for_each(|row| add(&row.customer, row));
    storage.deliveries().for_each(|row| add(&row.customer, row));
    storage.usage().for_each(|(key, sums)| add(&key.customer, &(key, sums)));
    for row in storage.idempotency_records() {
        let key = storage.keys().find(|key| key.id == row.key).unwrap();
        add(&key.customer, row);
    }
    rows
}

/// Two customers that each have a kept response, which expires soon, and a webhook, which learns of their tasks.
fn with_webhooks_and_responses() -> MemoryLedgerStorage {
    let mut storage = funded();
    for number in 0..2 {
        let record = Box::new(record(&customer_id(number).0, number.into(), 0));
        let limits = ResponseLimits { count: 9, bytes: 99 };
        run(&mut storage, Command::KeepResponse { record, limits }).unwrap();
        let add = WebhookChange::Add(Box::new(webhook(number.into(), number)));
        run(&mut storage, webhook_change(add, START)).unwrap();
    }
    storage
}

/// The customer that an owner means, before the command.
fn customer(storage: &MemoryLedgerStorage, owner: Owner<'_>) -> Option<CustomerId> {
    match owner {
        Owner::Customer(id) => Some(id.clone()),
        Owner::OfDelivery(id) => Some(storage.delivery(id).unwrap()?.customer),
        Owner::OfKey(id) => Some(storage.key(id).unwrap()?.customer),
        Owner::OfRequest(id) => Some(storage.hold(HoldId::Request(id)).unwrap()?.customer),
        Owner::OfTask(id) => Some(storage.live(id).unwrap()?.customer),
        Owner::OfWebhook(id) => Some(storage.webhook(id).unwrap()?.customer),
        Owner::Nobody => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_command_changes_rows_of_its_customer_alone(templates in command_sequences(60)) {
        let (mut storage, mut at) = (with_webhooks_and_responses(), START);
        let mut before = rows(&storage);
        for template in templates {
            at = at.plus(STEP);
            let command = template.command(&storage, at);
            let owner = customer(&storage, command.customer());
            let _ = run(&mut storage, command.clone());
            let after = rows(&storage);
            let all: BTreeSet<_> = before.keys().chain(after.keys()).collect();
            for other in all.into_iter().filter(|id| Some(*id) != owner.as_ref()) {
                assert_eq!(before.get(other), after.get(other), "{command:?}");
            }
            before = after;
        }
    }
}

#[test]
fn commands_within_commands_belong_to_whom_the_inner_one_does() {
    let (at, rows, id) = (START, Vec::new(), key_id(1));
    let revoke = Command::RevokeKey { id: id.clone(), at };
    let own = Command::Forget { customer: Some(customer_id(1)), rows: rows.clone(), at };
    for (command, owner) in [
        (Command::Logged { change: Box::new(revoke), steps: Vec::new(), at }, Owner::OfKey(&id)),
        (own, Owner::Customer(&customer_id(1))),
        (Command::Forget { customer: None, rows, at }, Owner::Nobody),
        (Command::MarkLedger { mark: Default::default(), at }, Owner::Nobody),
    ] {
        assert_eq!(command.customer(), owner, "{command:?}");
    }
}
