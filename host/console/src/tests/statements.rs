//! Statements: rows, sums and pages, and the file with the same filter.

use gatehouse_admin::Role;
use gatehouse_model::{Clock as _, Credits, KeyId, RequestId, Tags, Usage};
use gatehouse_tasks::Command;

use super::client::{between, link};
use super::scene::{Scene, logged_in, start};

/// A text request that held 5 credits and was charged `micro`.
async fn text(scene: &Scene, key: &KeyId, number: u128, micro: i64) {
    let (id, at) = (RequestId::from_bits(number), scene.clock.now());
    let hold = Command::Hold {
        id,
        key: key.clone(),
        model: "lm".to_owned(),
        amount: Credits(5_000_000),
        expires: at.plus(std::time::Duration::from_secs(60)),
        at,
    };
    let tokens = Usage { input: 3, output: 4, ..Usage::default() };
    let settle = Command::Settle {
        id,
        amount: Credits(micro),
        memo: "lm: <b>".to_owned(),
        tokens,
        tags: Tags::default(),
        at,
    };
    for command in [hold, settle] {
        scene.service.store.execute(command).await.unwrap().unwrap();
    }
}

fn csv_of(page: &str) -> String {
    format!("/admin/v1/{}", between(page, "/admin/v1/", "\"")).replace("&amp;", "&")
}

#[tokio::test]
async fn a_statement_has_rows_sums_pages_and_a_file() {
    let scene = start().await;
    let key = scene.key("ci").await;
    for number in 0..60 {
        text(&scene, &key, number, 1_000).await;
    }
    scene.withdraw(2_000_000, "back, \"all\"").await;

    let mut viewer = scene.logged_in(Role::Viewer).await;
    let first = viewer.get("/statements?customer=known").await;
    assert_eq!(first.status, 200, "{}", first.text());
    let first = first.text();
    // 10 paid in, 2 taken back, 0.06 spent; one row for each of them, and two for each request.
    for shown in ["Balance before", ">0.00<", ">10.00<", ">2.00<", ">0.06<", ">7.94<", ">122<"] {
        assert!(first.contains(shown), "{shown} in {first}");
    }
    assert!(first.contains("lm: &lt;b&gt;") && !first.contains("lm: <b>"), "{first}");
    let mut rows = first.matches("data-label=\"Afterwards\"").count();
    let mut next = link(&first, "Older");
    while let Some(address) = next {
        let page = viewer.get(&address).await.text();
        rows += page.matches("data-label=\"Afterwards\"").count();
        assert!(page.contains(">122<") && link(&page, "Newest").is_some(), "{page}");
        next = link(&page, "Older");
    }
    assert_eq!(rows, 122);
    let file = viewer.get(&csv_of(&first)).await;
    assert_eq!((file.status, file.text().lines().count()), (200, 123), "{}", file.text());

    // A key's statement says what it has used, and no money goes in or out of it.
    let of_key = viewer.get(&format!("/statements?key=sk-{key}")).await.text();
    assert!(
        of_key.contains("Used after") && of_key.contains(">120<") && !of_key.contains("Paid in"),
        "{of_key}"
    );
    assert!(viewer.get(&format!("/keys/{key}")).await.text().contains(&format!("/statements?key={key}")));
    assert!(viewer.get("/customers/known").await.text().contains("/statements?customer=known"));
    // The ledger of all has no balance.
    let all = viewer.get("/statements").await.text();
    assert!(all.contains(">122<") && !all.contains("Balance") && !all.contains("Afterwards"), "{all}");
}

#[tokio::test]
async fn usage_is_told_by_day_key_and_model() {
    let scene = start().await;
    let key = scene.key("ci").await;
    for day in 0..60 {
        text(&scene, &key, day, 1_000).await;
        scene.clock.advance_ms(86_400_000);
    }
    let mut browser = scene.logged_in(Role::Viewer).await;
    let from = gatehouse_model::UnixMs(super::scene::START).date();
    let first = browser.get(&format!("/statements?of=usage&from={from}&model=lm")).await.text();
    assert_eq!(first.matches("data-label=\"Spent\"").count(), 50, "{first}");
    assert!(first.contains(">60<") && first.contains(">0.06<"), "sums of every page: {first}");
    let rest = browser.get(&link(&first, "Older").unwrap()).await.text();
    assert_eq!(rest.matches("data-label=\"Spent\"").count(), 10, "{rest}");
    assert!(rest.contains(&from) && link(&rest, "Older").is_none(), "{rest}");
    let file = browser.get(&csv_of(&first)).await;
    assert_eq!((file.status, file.text().lines().count()), (200, 61), "{}", file.text());
    let none = browser.get(&format!("/statements?of=usage&from={from}&model=other")).await.text();
    assert!(none.contains("No row of usage fits"), "{none}");
    // Without days it is the last thirty.
    let usual = browser.get("/statements?of=usage").await.text();
    assert_eq!(usual.matches("data-label=\"Spent\"").count(), 29, "{usual}");
}

#[tokio::test]
async fn what_is_no_statement_is_named() {
    let (_scene, mut viewer) = logged_in(Role::Viewer).await;
    for (query, status, shown) in [
        ("from=yesterday", 422, "expected a day such as 2026-11-21"),
        ("from=2026-09-02&to=2026-09-01", 422, "not after the last one"),
        ("cursor=x", 422, "cursor: expected"),
        ("of=usage&cursor=x", 422, "cursor: expected"),
        ("customer=nobody", 404, "no customer nobody"),
        ("key=nokey", 404, "no key nokey"),
    ] {
        let answer = viewer.get(&format!("/statements?{query}")).await;
        assert_eq!(answer.status, status, "{query}: {}", answer.text());
        assert!(answer.text().contains(shown), "{query}: {}", answer.text());
    }
}
