//! A power cut while the file is made: nothing was kept yet, so the next start begins again.

use fastrand::Rng;
use redb::{ReadableDatabase as _, TableDefinition};

use super::Dump;
use super::crash::Checkpoint;
use crate::config::Config;
use crate::error::OpenError;
use crate::examine::Progress;
use crate::layout::{META, SCHEMA, SCHEMA_KEY};
use crate::store::Store;
use gatehouse_fault_injection::{Disk, each_cut};

#[test]
fn a_first_start_that_was_cut_short_is_begun_again() {
    let disk = Disk::default();
    drop(Store::with_backend(disk.clone(), &Config::default()).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("core.redb");
    let (empty, mut random, mut images) = (Checkpoint::empty(1, 0).dump, Rng::with_seed(5), 0);
    each_cut(vec![], &disk.log(), |cut| {
        for image in cut.images(2, &mut random) {
            std::fs::write(&path, image).unwrap();
            let store =
                Store::open(&path, &Config::default()).map_err(|error| format!("cut {}: {error}", cut.at))?;
            assert_eq!(Dump::of_store(&store), empty);
            assert!(store.examine().unwrap().is_clean());
            images += 1;
        }
        Ok(())
    })
    .unwrap();
    assert!(images > 20, "{images}");
}

/// Without this a file of another layout would be read as if it were of this one.
#[test]
fn a_file_of_another_schema_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("core.redb");
    Store::open(&path, &Config::default()).unwrap().close();
    // Keys and rows of redb's types, as schema 5 had them.
    let typed = TableDefinition::<&str, u64>::new("meta");
    for (schema, expected) in
        [(SCHEMA - 1, "begin with an empty data folder"), (SCHEMA + 1, "use the newer release")]
    {
        let database = redb::Database::open(&path).unwrap();
        let txn = database.begin_write().unwrap();
        txn.delete_table(typed).unwrap();
        if schema < SCHEMA {
            txn.open_table(typed).unwrap().insert(SCHEMA_KEY, schema).unwrap();
        } else {
            META.open_to_write(&txn).unwrap().insert(SCHEMA_KEY, &schema).unwrap();
        }
        txn.commit().unwrap();
        drop(database);
        let error = Store::open(&path, &Config::default()).err().unwrap().to_string();
        assert!(error.contains(&format!("schema {schema}")) && error.contains(expected), "{error}");
        let error = crate::examine_file(&path, &Progress::default()).unwrap_err().to_string();
        assert!(error.contains(&format!("schema {schema}")), "{error}");
        let database = redb::Database::open(&path).unwrap();
        let txn = database.begin_read().unwrap();
        let left = match schema {
            ..SCHEMA => txn.open_table(typed).unwrap().get(SCHEMA_KEY).unwrap().map(|found| found.value()),
            _ => META.find(&txn, SCHEMA_KEY).unwrap(),
        };
        assert_eq!(left, Some(schema));
    }
}

#[test]
fn a_file_that_lost_its_first_bytes_is_not_taken_for_a_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("core.redb");
    Store::open(&path, &Config::default()).unwrap().close();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[..512].fill(0);
    std::fs::write(&path, &bytes).unwrap();
    let error = Store::open(&path, &Config::default()).err().unwrap();
    assert!(matches!(error, OpenError::Storage { .. }), "{error}");
    assert!(std::fs::read(&path).unwrap() == bytes, "the file is left as it was");
}
