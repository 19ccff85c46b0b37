//! Versions of the price book and reports of deployments in the file: pages, a restart.

use gatehouse_model::{Credits, Digest};
use gatehouse_tasks::{
    DeploymentKind, DeploymentOutcome, DeploymentRecord, MAX_DEPLOYMENTS, OperatorRecord, PricePart,
    PriceRow, PriceVersion,
};

use super::*;
use crate::{PriceVersionSummary, RowPage};

pub(super) fn book(price: i64) -> Command {
    let row = PriceRow { key: "a".to_owned(), part: PricePart::Unit, price: Credits(price) };
    book_of(vec![row], &price.to_be_bytes())
}

fn book_of(prices: Vec<PriceRow>, digest: &[u8]) -> Command {
    keep(OperatorRecord::PriceBook(PriceVersion {
        number: 0,
        at: START,
        who: "gateway".to_owned(),
        cause: "start".to_owned(),
        digest: Digest::of(digest),
        prices,
        left_out: 0,
        lists_all: true,
        changed: 0,
    }))
}

pub(super) fn deployment(family: &str) -> Command {
    keep(OperatorRecord::Deployment(DeploymentRecord {
        number: 0,
        at: START,
        who: "gateway".to_owned(),
        kind: DeploymentKind::Activate,
        outcome: DeploymentOutcome::Switched,
        family: family.to_owned(),
        version: "1.0.0".to_owned(),
        digest: Some(Digest::of(family.as_bytes())),
        replaced: None,
        reason: String::new(),
        stages: Vec::new(),
    }))
}

fn keep(record: OperatorRecord) -> Command {
    Command::KeepRecord { record: Box::new(record) }
}

#[tokio::test]
async fn versions_of_the_price_book_outlive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("core.redb");
    let store = Store::open(&path, &Config::default()).unwrap();
    for price in [1, 1, 2, 3, 3] {
        store.execute(book(price)).await.unwrap().unwrap();
    }
    store.close();

    let store = Store::open(&path, &Config::default()).unwrap();
    let page = store.list_price_books(None, 2).await.unwrap();
    let numbers =
        |page: &RowPage<PriceVersionSummary, u64>| page.rows.iter().map(|row| row.number).collect::<Vec<_>>();
    assert_eq!((numbers(&page), page.next), (vec![3, 2], Some(2)));
    let rest = store.list_price_books(page.next, 2).await.unwrap();
    assert_eq!((numbers(&rest), rest.next), (vec![1], None));
    assert_eq!(store.price_book(2).await.unwrap().unwrap().prices[0].price, Credits(2));
    assert_eq!(store.price_book(4).await.unwrap(), None);
    store.execute(book(4)).await.unwrap().unwrap();
    assert_eq!(store.price_book(4).await.unwrap().unwrap().number, 4, "numbers go on");
}

/// Without it a gateway that prices what is passed cannot read its newest version any more.
#[tokio::test]
async fn a_version_with_prices_of_passed_fields_outlives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("core.redb");
    let store = Store::open(&path, &Config::default()).unwrap();
    let row = |key: &str, part| PriceRow { key: key.to_owned(), part, price: Credits(1) };
    let rows = vec![
        row("m", PricePart::Input),
        row("m at p/x", PricePart::Input),
        row("m tier=fast", PricePart::PassFactor),
        row("m tier=fast", PricePart::PassRequest),
    ];
    store.execute(book_of(rows.clone(), b"one")).await.unwrap().unwrap();
    store.close();
    let store = Store::open(&path, &Config::default()).unwrap();
    let kept = store.price_book(1).await.unwrap().unwrap();
    assert_eq!((kept.prices, kept.lists_all), (rows, true));
}

#[tokio::test]
async fn reports_of_one_family_are_found_among_all() {
    let store = memory_store();
    assert_eq!(store.list_deployments(None, None, 5).await.unwrap().rows, []);
    for _ in 0..3 {
        store.execute(deployment("motion")).await.unwrap().unwrap();
        store.execute(deployment("chat")).await.unwrap().unwrap();
    }
    let page = store.list_deployments(Some("chat".to_owned()), None, 2).await.unwrap();
    let numbers: Vec<u64> = page.rows.iter().map(|row| row.number).collect();
    assert_eq!((numbers, page.next), (vec![6, 4], Some(4)));
    assert_eq!(store.deployment(5).await.unwrap().unwrap().family, "motion");
    for _ in 0..MAX_DEPLOYMENTS {
        store.execute_deferred(deployment("chat")).await.unwrap().unwrap();
    }
    store.flush().await.unwrap();
    assert_eq!(store.deployment(6).await.unwrap(), None, "the oldest are forgotten");
    assert!(store.deployment(7).await.unwrap().is_some());
}
