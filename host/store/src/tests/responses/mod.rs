//! Kept responses: the tables and the memory agree after any commands, and reads find what an owner may read.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::UnixMs;
use gatehouse_sample::START;
use gatehouse_tasks::{
    Command, ExpiredRow, LedgerStorage as _, MemoryLedgerStorage, ResponseLimits, ResponseRecord,
};
use proptest::prelude::*;
use redb::ReadableDatabase as _;

use crate::expired::expired;
use crate::layout;
use crate::tests::expired::sorted;
use crate::tests::{customer, memory_store, remember, rows};
use crate::transaction::open::commit;

const LIMITS: ResponseLimits = ResponseLimits { count: 4, bytes: 60 };

fn at(seconds: u64) -> UnixMs {
    START.plus(Duration::from_secs(seconds))
}

pub(super) fn record(
    owner: &str,
    id: &str,
    previous: Option<&str>,
    seconds: u64,
    bytes: usize,
) -> ResponseRecord {
    ResponseRecord {
        customer: customer(owner),
        id: id.to_owned(),
        previous: previous.map(str::to_owned),
        kept: at(seconds),
        expires: at(seconds + 50),
        items: vec![format!("msg_{id}"), format!("fc_{id}")],
        input: vec![b'i'; bytes / 3],
        response: vec![b'r'; bytes - bytes / 3 - bytes / 4],
        outline: vec![b'o'; bytes / 4],
    }
}

pub(super) fn keep(record: ResponseRecord) -> Command {
    Command::KeepResponse { record: Box::new(record), limits: LIMITS }
}

fn command() -> impl Strategy<Value = Command> {
    let owner = || prop::sample::select(vec!["a", "ab", "b"]);
    prop_oneof![
        6 => (owner(), 0..12_u8, 0..90_u64, 0..70_usize)
            .prop_map(|(owner, id, seconds, bytes)| keep(record(owner, &format!("resp_{id}"), None, seconds, bytes))),
        2 => (owner(), 0..12_u8, 0..90_u64).prop_map(|(owner, id, seconds)| Command::ForgetResponse {
            customer: customer(owner), id: format!("resp_{id}"), at: at(seconds),
        }),
        1 => (owner(), 0..140_u64, prop::collection::vec(0..12_u8, 0..5)).prop_map(|(owner, seconds, ids)| Command::Forget {
            customer: Some(customer(owner)),
            rows: ids.into_iter().map(|id| ExpiredRow::Response(format!("resp_{id}"))).collect(),
            at: at(seconds),
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_tables_and_the_memory_agree(commands in prop::collection::vec(command(), 1..40)) {
        let store = memory_store();
        let mut storage = MemoryLedgerStorage::default();
        for command in commands {
            let expected = remember(&mut storage, command.clone());
            let found = commit(&store.database().unwrap(), vec![command]).unwrap();
            prop_assert_eq!(found, vec![expected]);
        }
        let database = store.database().unwrap();
        let txn = database.begin_read().unwrap();
        let found: Vec<ResponseRecord> = rows(&txn, layout::RESPONSES).unwrap();
        let expected: Vec<ResponseRecord> = storage.responses().cloned().collect();
        for seconds in [0, 50, 51, 90, 140] {
            let now = at(seconds);
            let all = gatehouse_sample::expired(&storage, now);
            let oldest = expired(&txn, now, 2).unwrap();
            prop_assert!(oldest.len() == all.len().min(2) && oldest.iter().all(|row| all.contains(row)));
            prop_assert_eq!(sorted(expired(&txn, now, 99).unwrap()), sorted(all));
        }
        let count = expected.len() as u64;
        prop_assert_eq!(layout::RESPONSE_AGES.len(&txn).unwrap(), count);
        prop_assert_eq!(layout::RESPONSE_EXPIRY.len(&txn).unwrap(), count);
        prop_assert_eq!(layout::RESPONSE_ITEMS.len(&txn).unwrap(), count * 2);
        prop_assert_eq!(found, expected);
        for owner in ["a", "ab", "b"] {
            let found = layout::RESPONSE_TOTALS.find(&txn, owner).unwrap().unwrap_or_default();
            let expected = storage.response_totals(&customer(owner)).unwrap();
            prop_assert_eq!(found, expected);
            prop_assert!(expected.count <= LIMITS.count && expected.bytes <= LIMITS.bytes);
        }
    }
}

#[tokio::test]
async fn an_owner_finds_a_conversation_whole_or_not_at_all() {
    let store = memory_store();
    for record in [
        record("a", "one", None, 0, 9),
        record("a", "two", Some("one"), 10, 9),
        record("a", "fork", Some("one"), 20, 9),
        record("b", "two", None, 10, 9),
    ] {
        store.execute(keep(record)).await.unwrap().unwrap();
    }
    let ids = async |owner: &str, id: &str, seconds: u64, limit: usize| {
        let chain = store.conversation(customer(owner), id.to_owned(), at(seconds), limit).await.unwrap();
        chain.map(|chain| chain.into_iter().map(|record| record.id).collect::<Vec<_>>().join(" "))
    };
    assert_eq!(ids("a", "two", 20, 9).await.as_deref(), Some("one two"));
    assert_eq!(ids("a", "fork", 20, 9).await.as_deref(), Some("one fork"));
    assert_eq!(ids("b", "two", 20, 9).await.as_deref(), Some("two"));
    assert_eq!(ids("b", "one", 20, 9).await, None);
    assert_eq!(ids("a", "two", 20, 1).await, None, "longer than may be continued");
    assert_eq!(ids("a", "two", 50, 9).await, None, "its beginning has expired");
    let items = vec!["msg_two".to_owned(), "fc_one".to_owned(), "msg_none".to_owned()];
    let found = store.responses_with_items(customer("a"), items, at(50)).await.unwrap();
    let found: Vec<_> = found.iter().map(|record| record.as_ref().map(|record| record.id.as_str())).collect();
    assert_eq!(found, [Some("two"), None, None]);
}

/// Without it a request that names a response's items takes the memory of the response for each.
#[tokio::test]
async fn the_items_of_a_response_share_it() {
    let store = memory_store();
    for record in [record("a", "one", None, 0, 12), record("a", "two", None, 0, 12)] {
        store.execute(keep(record)).await.unwrap().unwrap();
    }
    let items = ["msg_one", "msg_two", "none", "fc_one", "msg_one"].map(str::to_owned).into();
    let found = store.responses_with_items(customer("a"), items, at(10)).await.unwrap();
    let [Some(one), Some(two), None, Some(call), Some(again)] = &*found else { panic!("{found:?}") };
    assert!(Arc::ptr_eq(one, call) && Arc::ptr_eq(one, again) && !Arc::ptr_eq(one, two));
    // A picture in a request would count for each text that answers it.
    let whole = record("a", "one", None, 0, 12);
    assert_eq!(**one, ResponseRecord { input: Vec::new(), outline: Vec::new(), ..whole });
}
