//! Stores of earlier schemas are brought up to date when they are opened, whatever interrupts it.

use fastrand::Rng;
use redb::{ReadableDatabase as _, TableDefinition};

use super::Dump;
use super::crash::Checkpoint;
use crate::TaskQuery;
use crate::config::Config;
use crate::fault_injection::{Disk, each_cut};
use crate::layout::{self, Day};
use crate::store::Store;
use crate::writer::commit;

const COMMANDS: usize = 60;

/// A file of schema 1 with tasks of several days: owners by customer and id, and no index.
fn schema_1(checkpoint: &Checkpoint, commands: Vec<gatehouse_tasks::Command>) -> Vec<u8> {
    let disk = Disk::default();
    let store = Store::with_backend(disk.clone(), &Config::default()).unwrap();
    let database = store.database().unwrap();
    drop(commit(&database, commands).unwrap());
    let txn = database.begin_write().unwrap();
    let days: Vec<u32> =
        txn.list_tables().unwrap().filter_map(|table| layout::task_index_day(&table)).collect();
    assert!(days.len() > 2, "{days:?}");
    for day in days {
        txn.delete_table(Day::new(day).task_index()).unwrap();
    }
    for (customer, _, _, id) in &checkpoint.dump.task_index {
        let name = format!("owners-{}", gatehouse_model::TaskId::from_bits(*id).timestamp().day());
        let owners: TableDefinition<'_, (&str, u128), ()> = TableDefinition::new(&name);
        txn.open_table(owners).unwrap().insert((customer.as_str(), *id), ()).unwrap();
    }
    txn.open_table(layout::META).unwrap().insert(layout::SCHEMA_KEY, 1).unwrap();
    txn.commit().unwrap();
    drop(database);
    store.close();
    disk.bytes()
}

fn assert_up_to_date(store: &Store, checkpoint: &Checkpoint) {
    assert_eq!(Dump::of_store(store), checkpoint.dump);
    assert!(store.examine().unwrap().is_clean());
    let database = store.database().unwrap();
    let txn = database.begin_read().unwrap();
    assert_eq!(txn.list_tables().unwrap().filter(layout::is_owners).count(), 0);
    let meta = txn.open_table(layout::META).unwrap();
    assert_eq!(meta.get(layout::SCHEMA_KEY).unwrap().unwrap().value(), layout::SCHEMA);
}

#[tokio::test]
async fn a_store_without_index_gets_one_when_it_is_opened() {
    let (commands, checkpoint) = Checkpoint::empty(3, 300).next_batch(COMMANDS);
    let store = Store::with_backend(Disk::of(schema_1(&checkpoint, commands)), &Config::default()).unwrap();
    assert_up_to_date(&store, &checkpoint);
    for customer in checkpoint.storage.customers() {
        let query = TaskQuery { limit: 1000, ..TaskQuery::default() };
        let listed = store.list_tasks(&customer.id, query).await.unwrap().tasks;
        let mut expected: Vec<_> =
            checkpoint.storage.live_tasks().chain(checkpoint.storage.finished_tasks()).collect();
        expected.retain(|task| task.customer == customer.id);
        expected.sort_by_key(|task| std::cmp::Reverse(task.id));
        assert_eq!(listed.iter().collect::<Vec<_>>(), expected);
    }
    let (commands, checkpoint) = checkpoint.next_batch(9);
    drop(commit(&store.database().unwrap(), commands).unwrap());
    assert_up_to_date(&store, &checkpoint);
}

#[test]
fn a_power_cut_while_the_index_is_built_loses_nothing() {
    let (commands, checkpoint) = Checkpoint::empty(4, 9_000).next_batch(COMMANDS);
    let old = schema_1(&checkpoint, commands);
    let disk = Disk::of(old.clone());
    Store::with_backend(disk.clone(), &Config::default()).unwrap().close();
    let (mut random, mut images) = (Rng::with_seed(7), 0);
    each_cut(old, &disk.log(), |cut| {
        for image in cut.images(8, &mut random) {
            let store = Store::with_backend(Disk::of(image), &Config::default())
                .map_err(|error| format!("cut {}: {error}", cut.at))?;
            assert_up_to_date(&store, &checkpoint);
            images += 1;
        }
        Ok(())
    })
    .unwrap();
    assert!(images > 50, "{images}");
}
