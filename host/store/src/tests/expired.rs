//! What the store reads as expired is what the memory says, and nothing of it is read once it was forgotten.

use std::time::Duration;

use gatehouse_model::CustomerId;
use gatehouse_tasks::{Command, ExpiredRow, ExpiredRows, MemoryLedgerStorage};

use super::crash::Checkpoint;
use super::{Dump, memory_store, remember};
use crate::store::Store;
use crate::transaction::open::commit;

/// A store and the memory after the same commands.
fn filled(seed: u64) -> (Store, MemoryLedgerStorage) {
    let store = memory_store();
    let mut checkpoint = Checkpoint::empty(seed, 300);
    for _ in 0..6 {
        let (commands, next) = checkpoint.next_batch(20);
        drop(commit(&store.database().unwrap(), commands).unwrap());
        checkpoint = next;
    }
    (store, checkpoint.storage)
}

/// Those that expire at the same moment have no order.
pub(super) fn sorted(rows: ExpiredRows) -> Vec<(Option<CustomerId>, String)> {
    let mut rows: Vec<_> =
        rows.into_iter().map(|(customer, row): (_, ExpiredRow)| (customer, format!("{row:?}"))).collect();
    rows.sort();
    rows
}

#[tokio::test]
async fn expired_rows_are_read_and_then_forgotten_customer_by_customer() {
    let mut forgotten = 0;
    for seed in 1..6 {
        let (store, mut storage) = filled(seed);
        let last = storage.ledger().pop().unwrap().at;
        for hours in [0, 1, 24, 24 * 30] {
            let now = last.plus(Duration::from_secs(3_600 * hours));
            let rows = store.expired(now, 1_000).await.unwrap();
            assert_eq!(
                sorted(rows.clone()),
                sorted(gatehouse_sample::expired(&storage, now)),
                "{seed} {hours}"
            );
            // At most so many of a kind; of holds and of clients' requests there are some.
            assert!(store.expired(now, 1).await.unwrap().len() <= 2);
            forgotten += rows.len();
            let commands: Vec<Command> = Command::forget_each(rows, now).collect();
            for command in &commands {
                drop(remember(&mut storage, command.clone()));
            }
            drop(commit(&store.database().unwrap(), commands).unwrap());
            assert_eq!(store.expired(now, 1_000).await, Ok(vec![]));
            assert_eq!(Dump::of_store(&store), Dump::of_memory(&storage));
        }
        assert!(store.examine().unwrap().is_clean());
    }
    assert!(forgotten > 20, "{forgotten}");
}
