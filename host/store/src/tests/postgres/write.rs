//! Commits: whole and fenced, and each kind of row as it is in a file.

use std::sync::Arc;

use gatehouse_fault_injection::PostgresServer;
use gatehouse_model::{Credits, CustomerId, KeyId, Tags, UnixMs};
use gatehouse_sample::{START, command_sequences};
use gatehouse_tasks::{
    BalancesAfter, EntryKind, JournalEntry, MemoryLedgerStorage, Movement, ResponseRecord, Row, RowChange,
    RowKey, UsageKey, UsageSums,
};
use proptest::prelude::*;

use super::super::same::play;
use super::{Pair, connect, runtime};
use crate::postgres::reads;
use crate::postgres::write::Flush;
use crate::tests::digest;

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn commands_leave_the_same_rows_as_in_a_file(
        templates in command_sequences(60),
        sizes in proptest::collection::vec(1..12_usize, 1..5),
    ) {
        let runtime = runtime();
        let mut pair = runtime.block_on(Pair::new());
        play(&templates, &sizes, |commands, verdicts| {
            assert_eq!(runtime.block_on(pair.commit(commands)), verdicts);
        });
        runtime.block_on(pair.check_fetched());
    }
}

fn added(key: RowKey, row: impl Into<Row>) -> RowChange {
    RowChange { key, before: None, after: Some(row.into()) }
}

fn deposit(position: u64, memo: &str) -> RowChange {
    let movement = Movement::deposit(Credits(5)).unwrap();
    let entry = JournalEntry {
        seq: position,
        at: START,
        customer: CustomerId::from("acme"),
        key: None,
        hold: None,
        kind: EntryKind::Deposit,
        movement,
        tags: Tags::default(),
        memo: memo.to_owned(),
        chain: digest("chain"),
    };
    let after = BalancesAfter { available: Credits(5), used: None };
    added(RowKey::Entry(position), (entry, after))
}

/// A writer that was replaced would write over what its successor wrote.
#[tokio::test]
async fn a_commit_of_another_epoch_or_batch_writes_nothing() {
    let pair = Pair::new().await;
    let changes = [deposit(0, "")];
    let flush = Flush::of(&changes, 0).unwrap();
    for (epoch, batch) in [(1, 0), (0, 1), (0, -1)] {
        let refused = flush.send(&pair.client, epoch, batch).await.unwrap_err();
        assert_eq!(refused.code().unwrap().code(), "GH001", "{refused:?}");
        assert_eq!(reads::journal_entry(&pair.client, 0).await.unwrap(), None);
    }
    flush.send(&pair.client, 0, 0).await.unwrap();
    assert!(reads::journal_entry(&pair.client, 0).await.unwrap().is_some());
    let again = flush.send(&pair.client, 0, 0).await.unwrap_err();
    assert_eq!(again.code().unwrap().code(), "GH001");
    let home = PostgresServer::shared().ask(&pair.url, "select epoch, batch from home");
    assert_eq!(home.trim(), "0|1");
}

/// A commit of which one statement fails would be half of one.
#[tokio::test]
async fn a_statement_that_fails_takes_the_whole_commit_with_it() {
    let mut pair = Pair::new().await;
    pair.write(&[deposit(0, "")]).await;
    let changes = [deposit(0, ""), deposit(1, "")];
    let refused = Flush::of(&changes, 0).unwrap().send(&pair.client, 0, 1).await.unwrap_err();
    assert_eq!(refused.code().unwrap().code(), "23505", "{refused:?}");
    let left = PostgresServer::shared().ask(
        &pair.url,
        "select batch, (select count(*) from ledger), (select paid from deposit_day limit 1) from home",
    );
    assert_eq!(left.trim(), "1|1|5");
    // And the session goes on.
    pair.write(&[deposit(1, "")]).await;
}

/// A memo is in the chain, and a provider names the items of its answers: a zero byte would end the gateway.
#[tokio::test]
async fn texts_may_have_zero_bytes() {
    let mut pair = Pair::new().await;
    let response = ResponseRecord {
        customer: CustomerId::from("acme"),
        id: "resp_1".to_owned(),
        previous: None,
        kept: START,
        expires: UnixMs(u64::MAX),
        items: vec!["item\0".to_owned(), "other".to_owned()],
        input: b"[]".to_vec(),
        response: b"{\"a\": \"\\u0000\"}".to_vec(),
        outline: Vec::new(),
    };
    let key = RowKey::Response(response.customer.clone(), response.id.clone());
    pair.write(&[deposit(0, "zero\0byte"), added(key, response.clone())]).await;
    let entry = reads::journal_entry(&pair.client, 0).await.unwrap().unwrap();
    assert_eq!(entry.memo, "zero\0byte");
    let customer = CustomerId::from("acme");
    let items = ["item\0", "it\0em", "other"].map(str::to_owned);
    let found = reads::responses_with_items(&pair.client, &customer, &items, START).await.unwrap();
    let of_items = Some(Arc::new(ResponseRecord { input: Vec::new(), ..response }));
    assert_eq!(found, [of_items.clone(), None, of_items]);
    let [Some(first), None, Some(second)] = &*found else { panic!("{found:?}") };
    assert!(Arc::ptr_eq(first, second), "a response is read once");
    assert_eq!(reads::response(&pair.client, &customer, "resp\0_1", START).await.unwrap(), None);
    assert_eq!(reads::customer(&pair.client, &CustomerId::from("\0")).await.unwrap(), None);
}

/// Sums of money and of tokens that wrap would be nonsense.
#[tokio::test]
async fn sums_stay_at_the_end_of_their_range() {
    let mut pair = Pair::new().await;
    let largest = UsageSums {
        requests: u64::MAX,
        failures: 1,
        input: u64::MAX - 1,
        output: 7,
        cached: u64::MAX,
        cache_write: 0,
        settled: Credits(i64::MAX),
        refunded: Credits(3),
    };
    let key = UsageKey {
        customer: CustomerId::from("acme"),
        key: KeyId::from("key"),
        hour: START.day() * 24,
        model: String::new(),
    };
    for _ in 0..2 {
        pair.write(&[added(RowKey::Usage(key.clone()), largest)]).await;
    }
    pair.check_usage().await;
}

/// The sums of hours would grow for ever.
#[tokio::test]
async fn a_new_day_ends_the_hours_of_the_oldest() {
    let mut pair = Pair::new().await;
    let sums = UsageSums { requests: 1, ..UsageSums::default() };
    for days in [[0, 1], [34, 20], [35, 0], [3, 40], [5, 41]] {
        let of = |days: u32| UsageKey {
            customer: CustomerId::from("acme"),
            key: KeyId::from("key"),
            hour: (START.day() + days) * 24 + 3,
            model: "m".to_owned(),
        };
        let mut keys = days.map(of);
        keys.sort();
        pair.write(&keys.map(|key| added(RowKey::Usage(key), sums))).await;
        pair.check_usage().await;
    }
}

/// A dump holds every table until it is done, and no commit may wait for that.
#[tokio::test]
async fn history_that_somebody_reads_stays_until_the_next_time() {
    let mut pair = Pair::new().await;
    let mut storage = MemoryLedgerStorage::default();
    pair.begin(&mut storage).await;
    let mut workload = crate::tests::workload::Workload::new(7, 300);
    for _ in 0..40 {
        let command = workload.command(&storage);
        pair.play(&mut storage, command).await;
    }
    let days = super::fetch::days(&pair.client).await.unwrap();
    let last = days.last().copied().unwrap();
    let reader = connect(&pair.url).await;
    reader.batch_execute("begin; select count(*) from task").await.unwrap();
    let drop = Flush::of(&[], last + 1).unwrap();
    drop.send(&pair.client, 0, pair.batch).await.unwrap();
    assert_eq!(super::fetch::days(&pair.client).await.unwrap(), days);
    reader.batch_execute("commit").await.unwrap();
    drop.send(&pair.client, 0, pair.batch + 1).await.unwrap();
    assert_eq!(super::fetch::days(&pair.client).await.unwrap().len(), 0);
    let left = PostgresServer::shared().ask(&pair.url, "select count(*) from task, step, step_count");
    assert_eq!(left.trim(), "0");
}
