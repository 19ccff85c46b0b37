//! Keys keep their order as bytes, and are read back from them; what is not a key is an error.

use std::cmp::Ordering;

use proptest::collection::vec;
use proptest::prelude::*;
use redb::backends::InMemoryBackend;
use redb::{Database, ReadableDatabase as _};

use super::key::encoded;
use super::{Table, definition};
use crate::error::StoreError;

/// Texts that begin alike, are empty, or have letters at the ends of what there is.
fn text() -> impl Strategy<Value = String> {
    let letter =
        prop_oneof![Just('\0'), Just('\u{1}'), Just('a'), Just('\u{7f}'), Just('\u{10ffff}'), any::<char>()];
    vec(letter, 0..4).prop_map(|letters| letters.into_iter().collect())
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(u64::MAX), 0..600_u64, any::<u64>()]
}

fn order<K: super::TableKey>(one: K::Of<'_>, other: K::Of<'_>) -> Ordering {
    encoded::<K>(one).cmp(&encoded::<K>(other))
}

fn read<K: super::TableKey>(mut bytes: &[u8]) -> Option<K> {
    K::read(&mut bytes).filter(|_| bytes.is_empty())
}

type Parts = (String, u64, String, [u8; 3]);
type Numbers = (u128, u8, (u64, u32));

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Without it a range would miss rows, and a page would show them in another order.
    #[test]
    fn bytes_have_the_order_of_keys(
        a in (text(), number(), text(), any::<[u8; 3]>()), b in (text(), number(), text(), any::<[u8; 3]>()),
        same in 0..4_usize,
    ) {
        // Keys that begin alike.
        let b: Parts = match same {
            0 => b,
            1 => (a.0.clone(), b.1, b.2, b.3),
            2 => (a.0.clone(), a.1, b.2, b.3),
            _ => (a.0.clone(), a.1, a.2.clone(), b.3),
        };
        prop_assert_eq!(order::<Parts>((&a.0, a.1, &a.2, a.3), (&b.0, b.1, &b.2, b.3)), a.cmp(&b));
        prop_assert_eq!(order::<String>(&a.0, &b.0), a.0.cmp(&b.0));
    }

    #[test]
    fn numbers_have_their_order(
        a in any::<u128>(), b in any::<u128>(), kinds in any::<(u8, u8)>(), pairs in any::<((u64, u32), (u64, u32))>(),
        same in any::<bool>(),
    ) {
        let one: Numbers = (a, kinds.0, pairs.0);
        let other: Numbers = if same { (a, kinds.0, pairs.1) } else { (b, kinds.1, pairs.1) };
        prop_assert_eq!(order::<Numbers>(one, other), one.cmp(&other));
        prop_assert_eq!(read::<Numbers>(&encoded::<Numbers>(one)), Some(one));
    }

    #[test]
    fn keys_are_read_back_and_no_part_of_one_is_a_key(
        key in (text(), number(), text(), any::<[u8; 3]>()), cut in any::<prop::sample::Index>(), bytes in vec(prop_oneof![0..4_u8, any::<u8>()], 0..40),
    ) {
        let written = encoded::<Parts>((&key.0, key.1, &key.2, key.3));
        prop_assert_eq!(read::<Parts>(&written), Some(key));
        prop_assert_eq!(read::<Parts>(&written[..cut.index(written.len())]), None);
        prop_assert_eq!(read::<Parts>(&[&written[..], &[0]].concat()), None);
        // Whatever else is read was written so.
        if let Some((a, b, c, d)) = read::<Parts>(&bytes) {
            prop_assert_eq!(encoded::<Parts>((&a, b, &c, d)), bytes);
        }
    }
}

/// The bytes are what is on disks.
#[test]
fn a_key_is_written_so() {
    let key = encoded::<(String, u32, (u8, String))>(("a\0\u{1}é", 258, (7, "")));
    assert_eq!(key, [b'a', 1, 1, 1, 2, 0xc3, 0xa9, 0, 0, 0, 1, 2, 7, 0]);
}

#[test]
fn a_key_of_other_parts_is_told() {
    const TABLE: Table<(String, u32), u64> = Table::new("pairs");
    let database = Database::builder().create_with_backend(InMemoryBackend::new()).unwrap();
    let txn = database.begin_write().unwrap();
    TABLE.open_to_write(&txn).unwrap().insert(("a", 1), &7).unwrap();
    txn.open_table(definition("pairs")).unwrap().insert(b"a\0\x01".as_slice(), [].as_slice()).unwrap();
    txn.commit().unwrap();
    let rows = TABLE.open(&database.begin_read().unwrap()).unwrap();
    assert_eq!(rows.first(), Ok(Some(("a".to_owned(), 1))));
    assert_eq!(rows.get(("a", 1)), Ok(Some(7)));
    assert_eq!(
        rows.range(("a", 2)..).unwrap().next().unwrap().unwrap().key(),
        Err(StoreError::Unreadable {
            table: "pairs".to_owned(),
            problem: "its key [61, 00, 01] is not of the parts that keys of this table have".to_owned(),
        })
    );
}
