//! A file, a database and the memory give the same answers to the same commands, and the first two to every read.

use futures_util::future::join_all;
use gatehouse_fault_injection::PostgresServer;
use gatehouse_sample::{START, command_sequences};
use proptest::prelude::*;

use super::answers::Answers;
use super::open;
use crate::store::Store;
use crate::tests::memory_store;
use crate::tests::same::play;

/// What the commands of a batch come to, given to the writer at once.
async fn given(
    store: &Store,
    commands: Vec<gatehouse_tasks::Command>,
) -> Vec<crate::transaction::open::Outcome> {
    let outcomes = join_all(commands.into_iter().map(|command| store.execute(command))).await;
    outcomes.into_iter().map(Result::unwrap).collect()
}

async fn compare(file: &Store, database: &Store) {
    let (of_file, of_database) = (Answers::of(file).await, Answers::of(database).await);
    for (read, answers) in &of_file.0 {
        assert_eq!(answers, &of_database.0[read], "{read}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn file_database_and_memory_agree(
        templates in command_sequences(60),
        sizes in proptest::collection::vec(1..12_usize, 1..5),
        days in 0..4_u32,
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (file, database) = (memory_store(), open(&PostgresServer::shared().database()));
        let storage = play(&templates, &sizes, |commands, verdicts| {
            let of_file = runtime.block_on(given(&file, commands.clone()));
            assert_eq!(of_file, verdicts);
            assert_eq!(runtime.block_on(given(&database, commands)), verdicts);
        });
        runtime.block_on(compare(&file, &database));
        prop_assert_eq!(database.examine().unwrap(), storage.examine());
        let (mut storage, day) = (storage, START.day() + days);
        let dropped = storage.drop_history(day);
        for store in [&file, &database] {
            prop_assert_eq!(runtime.block_on(store.drop_history(day)).unwrap(), dropped);
        }
        // After history was dropped.
        runtime.block_on(compare(&file, &database));
    }
}
