//! Versions of the price book and reports of deployments: numbered, unchanged ones left out, the oldest forgotten.

use gatehouse_model::{Credits, Digest};

use super::run;
use gatehouse_sample::START;
use gatehouse_tasks::{
    Applied, Command, DeploymentKind, DeploymentOutcome, DeploymentRecord, Examination, MAX_DEPLOYMENTS,
    MAX_PRICE_BOOKS, MAX_PRICES, MAX_RECORD_TEXT, MemoryLedgerStorage, OperatorRecord, PricePart, PriceRow,
    PriceVersion, StageRecord,
};

fn keep(storage: &mut MemoryLedgerStorage, record: OperatorRecord) {
    let applied = run(storage, Command::KeepRecord { record: Box::new(record) });
    assert_eq!(applied, Ok(Applied::Done));
}

/// A book whose digest is that of its prices.
fn book(prices: &[(&str, i64)]) -> OperatorRecord {
    let row = |&(key, price): &(&str, i64)| PriceRow {
        key: key.to_owned(),
        part: PricePart::Unit,
        price: Credits(price),
    };
    OperatorRecord::PriceBook(PriceVersion {
        number: 99,
        at: START,
        who: "session 1".to_owned(),
        cause: "reload".to_owned(),
        digest: Digest::of(format!("{prices:?}").as_bytes()),
        prices: prices.iter().map(row).collect(),
        left_out: 0,
        lists_all: true,
        changed: 99,
    })
}

fn deployment() -> DeploymentRecord {
    DeploymentRecord {
        number: 0,
        at: START,
        who: "gateway".to_owned(),
        kind: DeploymentKind::Install,
        outcome: DeploymentOutcome::Switched,
        family: "motion".to_owned(),
        version: "1.0.0".to_owned(),
        digest: Some(Digest::of(b"m")),
        replaced: None,
        reason: String::new(),
        stages: Vec::new(),
    }
}

#[test]
fn an_unchanged_book_is_no_new_version() {
    let mut storage = MemoryLedgerStorage::default();
    for prices in [&[("a", 1), ("b", 2)][..], &[("a", 1), ("b", 2)], &[("a", 3)], &[("a", 1), ("b", 2)]] {
        keep(&mut storage, book(prices));
    }
    let kept: Vec<_> =
        storage.price_books().map(|book| (book.number, book.changed, book.prices.len())).collect();
    assert_eq!(kept, [(1, 2, 2), (2, 2, 1), (3, 2, 2)]);
}

#[test]
fn books_stay_within_their_bounds() {
    let mut storage = MemoryLedgerStorage::default();
    for price in 0..i64::try_from(MAX_PRICE_BOOKS).unwrap() + 7 {
        keep(&mut storage, book(&[("a", price)]));
    }
    let numbers: Vec<u64> = storage.price_books().map(|book| book.number).collect();
    assert_eq!(numbers.len() as u64, MAX_PRICE_BOOKS);
    assert_eq!((numbers[0], numbers.last().copied()), (8, Some(MAX_PRICE_BOOKS + 7)));

    let keys: Vec<String> = (0..MAX_PRICES + 3).rev().map(|number| format!("k{number:05}")).collect();
    let prices: Vec<(&str, i64)> = keys.iter().map(|key| (key.as_str(), 1)).collect();
    keep(&mut storage, book(&prices));
    let last = storage.price_books().last().unwrap();
    assert_eq!((last.prices.len(), last.left_out, last.prices[0].key.as_str()), (MAX_PRICES, 3, "k00000"));
}

#[test]
fn reports_are_numbered_and_the_oldest_go() {
    let mut storage = MemoryLedgerStorage::default();
    let long = "é".repeat(MAX_RECORD_TEXT);
    let stage = StageRecord {
        stage: "fit".to_owned(),
        verdict: "refused".to_owned(),
        took_ms: 1,
        note: long.clone(),
    };
    let report = DeploymentRecord {
        outcome: DeploymentOutcome::Refused,
        reason: long,
        stages: vec![stage],
        ..deployment()
    };
    for _ in 0..MAX_DEPLOYMENTS + 2 {
        keep(&mut storage, OperatorRecord::Deployment(report.clone()));
    }
    let kept: Vec<&DeploymentRecord> = storage.deployments().collect();
    assert_eq!(kept.len() as u64, MAX_DEPLOYMENTS);
    assert_eq!((kept[0].number, kept[0].serves()), (3, None));
    assert_eq!((kept[0].reason.len(), kept[0].stages[0].note.len()), (MAX_RECORD_TEXT, MAX_RECORD_TEXT));
}

/// The findings about these rows, each under the number that stands before it.
fn findings(books: &[(u64, PriceVersion)], deployments: &[(u64, DeploymentRecord)]) -> Vec<String> {
    let mut examination = Examination::default();
    books.iter().for_each(|(number, book)| examination.price_book(*number, book.clone()));
    deployments.iter().for_each(|(number, row)| examination.deployment(*number, row));
    let report = examination.report();
    assert_eq!((report.price_books, report.deployments), (books.len() as u64, deployments.len() as u64));
    report.findings
}

#[test]
fn the_doctor_finds_changed_rows() {
    let mut storage = MemoryLedgerStorage::default();
    for prices in [&[("a", 1), ("b", 2)][..], &[("a", 3), ("b", 2)], &[("b", 2)]] {
        keep(&mut storage, book(prices));
    }
    for _ in 0..3 {
        keep(&mut storage, OperatorRecord::Deployment(deployment()));
    }
    let books: Vec<(u64, PriceVersion)> =
        storage.price_books().map(|book| (book.number, book.clone())).collect();
    let reports: Vec<(u64, DeploymentRecord)> =
        storage.deployments().map(|row| (row.number, row.clone())).collect();
    assert_eq!(findings(&books, &reports), Vec::<String>::new());
    // Those that the bound has forgotten are not missed.
    assert_eq!(findings(&books[1..], &reports[1..]), Vec::<String>::new());

    let changed = |change: fn(&mut Vec<(u64, PriceVersion)>), expected: &str| {
        let mut rows = books.clone();
        change(&mut rows);
        let found = findings(&rows, &reports);
        assert!(found.iter().any(|one| one == expected), "{expected}: {found:?}");
    };
    changed(|rows| drop(rows.remove(1)), "price book 3: it follows 1");
    changed(|rows| rows[1].1.number = 9, "price book 2: its row says 9");
    changed(|rows| rows[1].1.changed = 2, "price book 2: 2 prices changed by its row, but 1 differ");
    changed(|rows| rows[0].1.changed = 0, "price book 1: 0 prices changed by its row, but 2 differ");
    changed(|rows| rows[1].1.prices.reverse(), "price book 2: its prices are not in order");
    changed(
        |rows| rows[2].1.digest = rows[1].1.digest,
        "price book 3: it has the digest of the version before",
    );

    let changed = |change: fn(&mut Vec<(u64, DeploymentRecord)>), expected: &str| {
        let mut rows = reports.clone();
        change(&mut rows);
        assert_eq!(findings(&books, &rows), [expected]);
    };
    changed(|rows| drop(rows.remove(1)), "deployment 3: it follows 1");
    changed(|rows| rows[2].1.number = 2, "deployment 3: its row says 2");
    changed(|rows| rows[0].1.digest = None, "deployment 1: it was not refused, but names no version");
}
