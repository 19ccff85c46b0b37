//! Rows of every shape, broken rows, and what the library's own reader says of the same bytes.

use std::collections::BTreeMap;
use std::net::IpAddr;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde::Deserialize;

use super::*;

/// Every shape that serde knows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Shapes {
    flag: bool,
    small: i8,
    signed: i64,
    unsigned: u64,
    wide: u128,
    wide_signed: i128,
    half: f32,
    float: f64,
    letter: char,
    text: String,
    #[serde(with = "serde_bytes")]
    bytes: Vec<u8>,
    absent: Option<u32>,
    nested: Option<Option<String>>,
    unit: (),
    unit_struct: Unit,
    newtype: Newtype,
    pair: (u8, String),
    list: Vec<Kind>,
    map: BTreeMap<String, i32>,
    address: IpAddr,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    left_out: Option<u8>,
    either: Either,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Unit;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Newtype(u16);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Kind {
    Unit,
    Newtype(Box<str>),
    Tuple(u8, i16),
    Struct { a: u8, b: Option<bool> },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Either {
    Flag(bool),
    Number(i64),
    Float(f64),
    Text(String),
    Many(Vec<Either>),
    Map(BTreeMap<String, u8>),
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        Just(Kind::Unit),
        any::<String>().prop_map(|text| Kind::Newtype(text.into())),
        any::<(u8, i16)>().prop_map(|(a, b)| Kind::Tuple(a, b)),
        any::<(u8, Option<bool>)>().prop_map(|(a, b)| Kind::Struct { a, b }),
    ]
}

fn either() -> impl Strategy<Value = Either> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Either::Flag),
        any::<i64>().prop_map(Either::Number),
        (-1e300..1e300).prop_map(Either::Float),
        any::<String>().prop_map(Either::Text),
        btree_map(any::<String>(), any::<u8>(), 1..4).prop_map(Either::Map),
    ];
    leaf.prop_recursive(4, 16, 4, |inner| vec(inner, 0..4).prop_map(Either::Many))
}

prop_compose! {
    fn shapes()(
        (flag, small, signed, unsigned) in any::<(bool, i8, i64, u64)>(),
        (wide, wide_signed, letter, text) in any::<(u128, i128, char, String)>(),
        (half, float) in (-1e30_f32..1e30, -1e300..1e300),
        bytes in vec(any::<u8>(), 0..600),
        (absent, nested, newtype) in any::<(Option<u32>, Option<String>, u16)>(),
        (pair, left_out, address) in any::<((u8, String), Option<u8>, IpAddr)>(),
        list in vec(kind(), 0..40),
        map in btree_map(any::<String>(), any::<i32>(), 0..20),
        either in either(),
    ) -> Shapes {
        // A present option without a value cannot be told from an absent one.
        let (unit, unit_struct, nested, newtype) = ((), Unit, nested.map(Some), Newtype(newtype));
        Shapes { flag, small, signed, unsigned, wide, wide_signed, half, float, letter, text, bytes, absent, nested, unit,
            unit_struct, newtype, pair, list, map, address, left_out, either }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_row_reads_back_as_the_library_reads_it(row in shapes()) {
        let bytes = encode("shapes", &row).unwrap();
        prop_assert_eq!(decode::<Shapes>("shapes", &bytes), Ok(row.clone()));
        prop_assert_eq!(&rmp_serde::from_slice::<Shapes>(&bytes[1..]).unwrap(), &row);
        // To a type that has none of the fields everything is passed over.
        #[derive(Debug, PartialEq, Deserialize)]
        struct Fewer { flag: bool }
        prop_assert_eq!(decode::<Fewer>("shapes", &bytes), Ok(Fewer { flag: row.flag }));
    }

    #[test]
    fn a_row_that_is_cut_or_continued_is_an_error(row in shapes(), at in any::<prop::sample::Index>()) {
        let mut bytes = encode("shapes", &row).unwrap();
        let cut = 1 + at.index(bytes.len() - 1);
        prop_assert!(decode::<Shapes>("shapes", &bytes[..cut]).is_err());
        bytes.push(0xc0);
        let error = decode::<Shapes>("shapes", &bytes).unwrap_err().to_string();
        prop_assert!(error.contains("1 bytes follow the row"), "{}", error);
    }

    /// Whatever stands there: an error or a value, and never more memory than the bytes are worth.
    #[test]
    fn any_bytes_are_read_to_an_end(mut bytes in vec(any::<u8>(), 0..200), row in shapes(), changes in vec(any::<(prop::sample::Index, u8)>(), 0..4)) {
        bytes.insert(0, VERSION);
        drop(decode::<Shapes>("shapes", &bytes));
        drop(decode::<Either>("shapes", &bytes));
        let mut changed = encode("shapes", &row).unwrap();
        for (at, byte) in changes {
            *at.get_mut(&mut changed) = byte;
        }
        drop(decode::<Shapes>("shapes", &changed));
    }
}

#[test]
fn what_cannot_be_read_says_why() {
    let check = |bytes: &[u8], expected: &str| {
        let error = decode::<Vec<u64>>("numbers", bytes).unwrap_err().to_string();
        assert!(error.contains("table numbers") && error.contains(expected), "{error}");
    };
    check(&[], "the row is empty");
    check(&[2, 0x90], "expected encoding 1, not 2");
    check(&[VERSION], "the row ends early");
    check(&[VERSION, 0xc3], "invalid type: boolean `true`, expected a sequence");
    check(&[VERSION, 0x91, 0xff], "invalid value: integer `-1`, expected u64");
    check(&[VERSION, 0x91, 0xa1, 0xff], "a text is not UTF-8");
    check(&[VERSION, 0x92, 0x01], "the row ends early");
    check(&[VERSION, 0xdd, 0xff, 0xff, 0xff, 0xff], "the row ends early");
    check(&[VERSION, 0xd4, 0x01, 0x01], "a row has no value that begins with 0xd4");
    check(&[VERSION, 0x90, 0x01], "1 bytes follow the row");
    let pair = decode::<(u8, u8)>("numbers", &[VERSION, 0x93, 1, 2, 3]).unwrap_err().to_string();
    assert!(pair.contains("1 values more than expected"), "{pair}");
    let unit = decode::<Kind>("kinds", b"\x01\xa7Newtype").unwrap_err().to_string();
    assert!(unit.contains("a variant without the value that it holds"), "{unit}");
}

#[test]
fn a_row_nests_so_deep_and_no_deeper() {
    let nested = |depth: usize| [&[VERSION][..], &vec![0x91; depth], &[0x90]].concat();
    assert!(decode::<Either>("deep", &nested(255)).is_ok());
    let error = decode::<Either>("deep", &nested(256)).unwrap_err().to_string();
    assert!(error.contains("the row nests too deep"), "{error}");
}

#[test]
fn a_list_of_numbers_is_bytes_too() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct Blob(#[serde(with = "serde_bytes")] Vec<u8>);
    assert_eq!(decode("blobs", &[VERSION, 0x92, 1, 2]), Ok(Blob(vec![1, 2])));
    assert_eq!(decode("blobs", &[VERSION, 0xc4, 2, 1, 2]), Ok(Blob(vec![1, 2])));
}
