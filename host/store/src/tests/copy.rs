//! Copies of the store (I24): the same rows, from a store that works on.

use gatehouse_sample::command_sequences;
use proptest::prelude::*;
use redb::{ReadableDatabase as _, ReadableTableMetadata as _, TableHandle as _};

use super::same::play;
use super::{Dump, memory_store};
use crate::config::Config;
use crate::copy::CopyError;
use crate::examine::{Progress, ledger_mark};
use crate::store::Store;
use crate::table::definition;
use crate::transaction::open::commit;

/// Rows by table, of tables that have any.
fn lengths(store: &Store) -> std::collections::BTreeMap<String, u64> {
    let txn = store.database().unwrap().begin_read().unwrap();
    let tables: Vec<_> = txn.list_tables().unwrap().collect();
    let length = |table: redb::UntypedTableHandle| {
        let name = table.name().to_owned();
        (name, txn.open_untyped_table(table).unwrap().len().unwrap())
    };
    tables.into_iter().map(length).filter(|(_, rows)| *rows > 0).collect()
}

/// What `templates` make of an empty store.
fn filled(templates: &[gatehouse_sample::CommandTemplate]) -> Store {
    let store = memory_store();
    play(templates, &[1], |commands, verdicts| {
        assert_eq!(commit(&store.database().unwrap(), commands).unwrap(), verdicts);
    });
    store
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// Without it a table that a copy does not know is missing in every backup, and nobody sees it before a restore.
    #[test]
    fn a_copy_has_every_row_of_every_table(templates in command_sequences(60)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("copy.redb");
        let store = filled(&templates);
        let progress = Progress::default();
        let copied = store.copy_to(&path, &progress).unwrap();
        let expected = lengths(&store);
        let total = expected.values().sum::<u64>();
        prop_assert_eq!(progress.so_far(), (total, total));
        prop_assert_eq!(&copied.rows, &expected);
        prop_assert_eq!(copied.mark, store.read(&store.database().unwrap(), ledger_mark).unwrap());
        crate::check_pages(&path).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let looked = crate::examine_file(&path, &Progress::default()).unwrap();
        prop_assert_eq!(looked, (store.examine().unwrap(), copied.mark));
        prop_assert_eq!(std::fs::read(&path).unwrap(), bytes);
        let copy = Store::open(&path, &Config::default()).unwrap();
        prop_assert_eq!(lengths(&copy), expected);
        prop_assert_eq!(Dump::of_store(&copy), Dump::of_store(&store));
        prop_assert_eq!(copy.examine().unwrap(), store.examine().unwrap());
    }
}

/// Without it a release that has one table more would write copies without that table.
#[test]
fn a_table_that_is_not_known_is_copied_and_one_of_other_types_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("copy.redb");
    let store = memory_store();
    let txn = store.database().unwrap().begin_write().unwrap();
    txn.open_table(definition("of-tomorrow")).unwrap().insert(b"1".as_slice(), b"2".as_slice()).unwrap();
    txn.commit().unwrap();
    store.copy_to(&path, &Progress::default()).unwrap();
    assert_eq!(lengths(&Store::open(&path, &Config::default()).unwrap()), lengths(&store));
    let txn = store.database().unwrap().begin_write().unwrap();
    txn.open_table(redb::TableDefinition::<u64, u64>::new("of-another")).unwrap().insert(1, 1).unwrap();
    txn.commit().unwrap();
    let refused = store.copy_to(&folder.path().join("other.redb"), &Progress::default()).unwrap_err();
    assert!(refused.to_string().contains("of-another"), "{refused}");
    let refused = store.copy_to(&folder.path().join("no/copy.redb"), &Progress::default()).unwrap_err();
    assert!(matches!(refused, CopyError::Copy(_)), "a folder that is not there is no failure of the store");
}
