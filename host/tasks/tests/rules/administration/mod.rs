//! Operators' requests: done once, with their line in the audit record; a refused one leaves nothing.

use std::time::Duration;

use gatehouse_model::{Credits, CustomerPolicy, Digest, RequestId, UnixMs};

use super::{refused_field, run};
use gatehouse_sample::{START, customer_id};
use gatehouse_tasks::{
    AdminIdempotency, Applied, AuditedRequest, Command, FieldChange, MemoryLedgerStorage, Rejection,
};

const DAY: Duration = Duration::from_secs(86_400);

fn line() -> AuditedRequest {
    let (field, after) = ("amount_micro".to_owned(), Some("5".to_owned()));
    let change = FieldChange { field, before: None, after };
    AuditedRequest {
        id: RequestId::from_bits(7),
        who: "operator token".to_owned(),
        role: "operator".to_owned(),
        address: "127.0.0.1".to_owned(),
        operation: "deposit".to_owned(),
        object: "customers/customer-0".to_owned(),
        status: 201,
        reason: String::new(),
        changes: vec![change],
    }
}

fn request(amount: i64, token: Option<(&str, &str)>, at: UnixMs) -> Command {
    let (customer, amount) = (customer_id(0), Credits(amount));
    Command::Administer {
        change: Some(Box::new(Command::Deposit { customer, amount, memo: String::new(), at })),
        audit: Box::new(line()),
        idempotency: token.map(|(token, fingerprint)| AdminIdempotency {
            token: Digest::of(token.as_bytes()),
            fingerprint: Digest::of(fingerprint.as_bytes()),
            object: "customer-0".to_owned(),
            expires: at.plus(DAY),
        }),
        at,
    }
}

fn opened() -> MemoryLedgerStorage {
    let mut storage = MemoryLedgerStorage::default();
    let open = Command::AddCustomer { id: customer_id(0), policy: CustomerPolicy::default(), at: START };
    run(&mut storage, open).unwrap();
    storage
}

/// The answer to a deposit: one that was made now has its row and the customer as they are kept.
fn administered(
    storage: &MemoryLedgerStorage,
    object: &str,
    position: u64,
    repeated: bool,
) -> Result<Applied, Rejection> {
    let made = || {
        let entry = storage.ledger()[usize::try_from(position).unwrap()].clone();
        let customer = storage.customers().next().unwrap().clone();
        Applied::Deposited { position, entry: Box::new(entry), customer: Box::new(customer) }
    };
    let (object, change) = (object.to_owned(), (!repeated).then(|| Box::new(made())));
    Ok(Applied::Administered { object, entry: Some(position), repeated, change })
}

#[test]
fn a_request_is_done_once_and_recorded_each_time() {
    let mut storage = opened();
    let token = Some(("t", "f"));
    let first = run(&mut storage, request(5, token, START));
    assert_eq!(first, administered(&storage, "customer-0", 0, false));
    let second = run(&mut storage, request(3, None, START));
    assert_eq!(second, administered(&storage, "", 1, false));
    // The entry is that of the first request.
    let again = run(&mut storage, request(5, token, START));
    assert_eq!(again, administered(&storage, "customer-0", 0, true));
    assert_eq!(run(&mut storage, request(5, Some(("t", "g")), START)), Err(Rejection::IdempotencyConflict));
    assert_eq!(storage.ledger().len(), 2);
    assert_eq!(storage.customers().next().unwrap().available, Credits(8));

    let records = storage.audit_records();
    assert_eq!(records.len(), 3);
    assert_eq!(records[0].text, "deposit customers/customer-0 by operator token (127.0.0.1): 201");
    assert_eq!(records[0].request.as_ref(), Some(&line()));
    let repeated = records[2].request.as_ref().unwrap();
    assert!(repeated.changes.is_empty() && repeated.reason.contains("nothing was changed"), "{repeated:?}");

    // After a day it is another request.
    let later = START.plus(DAY);
    let other = run(&mut storage, request(5, token, later));
    assert_eq!(other, administered(&storage, "customer-0", 2, false));
    assert_eq!(storage.admin_idempotency_records().count(), 1);
    assert!(storage.examine().is_clean());
}

#[test]
fn a_refused_change_leaves_nothing() {
    let mut storage = opened();
    let before = storage.clone();
    for amount in [0, -1] {
        assert!(run(&mut storage, request(amount, Some(("t", "f")), START)).is_err());
    }
    let nested = Command::Administer {
        change: Some(Box::new(request(1, None, START))),
        audit: Box::new(line()),
        idempotency: None,
        at: START,
    };
    assert_eq!(refused_field(&mut storage, nested), "change");
    assert_eq!(storage, before);
    // The token of a refused request is free.
    let again = run(&mut storage, request(1, Some(("t", "f")), START));
    assert_eq!(again, administered(&storage, "customer-0", 0, false));
}

#[test]
fn a_line_alone_changes_nothing_else() {
    let mut storage = opened();
    let refused = AuditedRequest { status: 403, reason: "not allowed".to_owned(), ..line() };
    let command =
        Command::Administer { change: None, audit: Box::new(refused), idempotency: None, at: START };
    assert_eq!(
        run(&mut storage, command),
        Ok(Applied::Administered { object: String::new(), entry: None, repeated: false, change: None })
    );
    assert!(storage.audit_records()[0].text.ends_with(": 403: not allowed"));
    assert_eq!((storage.ledger().len(), storage.audit_records().len()), (0, 1));
}

#[test]
fn expired_requests_are_swept() {
    let mut storage = opened();
    for number in 0..3 {
        let token = format!("t{number}");
        run(&mut storage, request(1, Some((&token, "f")), START.plus(DAY * number))).unwrap();
    }
    assert_eq!(super::forget(&mut storage, START.plus(DAY * 2), 1), 1);
    assert_eq!(super::forget(&mut storage, START.plus(DAY * 2), 9), 1);
    assert_eq!(storage.admin_idempotency_records().count(), 1);
}
