//! Kept responses: their owner, their number and size, their time.

use std::time::Duration;

use gatehouse_model::{CustomerId, UnixMs};

use super::run;
use gatehouse_sample::START;
use gatehouse_tasks::{
    Applied, Command, LedgerStorage as _, MemoryLedgerStorage, Rejection, ResponseLimits, ResponseRecord,
    ResponseTotals,
};

const LIMITS: ResponseLimits = ResponseLimits { count: 3, bytes: 100 };

pub(crate) fn record(customer: &str, number: u64, bytes: usize) -> ResponseRecord {
    let kept = START.plus(Duration::from_secs(number));
    ResponseRecord {
        customer: CustomerId::from(customer),
        id: format!("resp_{number}"),
        previous: None,
        kept,
        expires: kept.plus(Duration::from_secs(60)),
        items: vec![format!("msg_{number}")],
        input: vec![b'i'; bytes / 2],
        response: vec![b'r'; bytes - bytes / 2 - bytes / 5],
        outline: vec![b'o'; bytes / 5],
    }
}

fn keep(storage: &mut MemoryLedgerStorage, record: ResponseRecord) -> Result<Applied, Rejection> {
    run(storage, Command::KeepResponse { record: Box::new(record), limits: LIMITS })
}

fn ids(storage: &MemoryLedgerStorage) -> Vec<&str> {
    storage.responses().map(|record| record.id.as_str()).collect()
}

#[test]
fn the_oldest_make_room_by_number_and_by_size() {
    let mut storage = MemoryLedgerStorage::default();
    for number in 0..4 {
        keep(&mut storage, record("a", number, 10)).unwrap();
    }
    keep(&mut storage, record("b", 9, 100)).unwrap();
    assert_eq!(ids(&storage), ["resp_1", "resp_2", "resp_3", "resp_9"]);
    keep(&mut storage, record("a", 4, 85)).unwrap();
    assert_eq!(ids(&storage), ["resp_3", "resp_4", "resp_9"], "another customer's stays");
    let totals = storage.response_totals(&CustomerId::from("a")).unwrap();
    assert_eq!(totals, ResponseTotals { count: 2, bytes: 95 });
    let refused = keep(&mut storage, record("a", 5, 101)).unwrap_err();
    assert!(matches!(refused, Rejection::Malformed { field: "response", .. }), "{refused:?}");
    assert_eq!(ids(&storage).len(), 3);
}

#[test]
fn only_the_owner_forgets_and_time_forgets_all() {
    let mut storage = MemoryLedgerStorage::default();
    keep(&mut storage, record("a", 1, 10)).unwrap();
    keep(&mut storage, record("a", 2, 10)).unwrap();
    let forget = |customer: &str, at: UnixMs| Command::ForgetResponse {
        customer: CustomerId::from(customer),
        id: "resp_1".to_owned(),
        at,
    };
    for (customer, forgotten) in [("b", 0), ("a", 1), ("a", 0)] {
        assert_eq!(run(&mut storage, forget(customer, START)), Ok(Applied::Forgotten(forgotten)));
    }
    for (seconds, forgotten) in [(61, 0), (62, 1)] {
        assert_eq!(super::forget(&mut storage, START.plus(Duration::from_secs(seconds)), 9), forgotten);
    }
    assert_eq!(storage.response_totals(&CustomerId::from("a")).unwrap(), ResponseTotals::default());
}
