//! Rows as schema 6 wrote them, the shortest and the longest of each kind: read, and written back as they were.
//!
//! Where a field becomes required, is renamed or goes, a store that an earlier build wrote does not open any more, or loses
//! what it had: then `SCHEMA` counts up, and the rows here are written anew.

use std::collections::BTreeMap;

use gatehouse_model::{Credits, Customer, Key, Task};
use gatehouse_tasks::{
    AdminIdempotencyRecord, AuditRecord, DeploymentRecord, Hold, IdempotencyRecord, JournalEntry, NameRecord,
    PriceVersion, ResponseRecord, StepRow, UsageSums, WebhookDelivery, WebhookEndpoint,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::layout::SCHEMA;
use crate::row::{decode, encode};

/// The kind and the bytes in hex, one row a line.
const ROWS: &str = include_str!("golden_rows.txt");

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.chars().map(|digit| digit.to_digit(16).unwrap() as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn check<T: DeserializeOwned + Serialize>(kind: &str, bytes: &[u8]) {
    let row: T = decode(kind, bytes)
        .unwrap_or_else(|error| panic!("{kind}: expected to read what schema {SCHEMA} wrote: {error}"));
    let written = encode(kind, &row).unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(written == bytes, "{kind}: expected {:?}, not {:?}", text(bytes), text(&written));
}

#[test]
fn rows_of_this_schema_are_read_and_written_back() {
    let mut kinds = BTreeMap::new();
    for (kind, hex) in ROWS.lines().map(|line| line.split_once(' ').unwrap()) {
        let check = match kind {
            "accounts" => check::<Customer>,
            "admin-idempotency" => check::<AdminIdempotencyRecord>,
            "audit" => check::<AuditRecord>,
            "deliveries" => check::<WebhookDelivery>,
            "deployments" => check::<DeploymentRecord>,
            "history" | "live" => check::<Task>,
            "holds" => check::<Hold>,
            "idempotency" => check::<IdempotencyRecord>,
            "keys" => check::<Key>,
            "ledger" => check::<JournalEntry>,
            "ledger-index" => check::<Vec<(u64, Credits)>>,
            "names" => check::<NameRecord>,
            "price-books" => check::<PriceVersion>,
            "responses" => check::<ResponseRecord>,
            "steps" => check::<StepRow>,
            "usage" => check::<UsageSums>,
            "webhooks" => check::<WebhookEndpoint>,
            _ => panic!("expected a kind of row, not {kind}"),
        };
        check(kind, &bytes(hex));
        *kinds.entry(kind).or_insert(0) += 1;
    }
    assert_eq!((SCHEMA, kinds.len()), (6, 18), "{kinds:?}");
}
