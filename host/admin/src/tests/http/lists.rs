//! Lists: pages that hold every row once, cursors that belong to their filter, and tags of objects.

use serde_json::json;

use super::{Api, error};

#[tokio::test]
async fn pages_hold_every_row_once() {
    let api = Api::start().await;
    for number in 0..7 {
        api.customer(&format!("c{number}"), 0).await;
    }
    let (lines, _) = api.all("/audit", 2).await;
    let numbers: Vec<_> = lines.iter().map(|line| line["number"].clone()).collect();
    assert_eq!(json!(numbers), json!([6, 5, 4, 3, 2, 1, 0]));
    for limit in [1, 2, 3, 8, 100] {
        let (rows, _) = api.all("/customers", limit).await;
        let ids: Vec<_> = rows.iter().map(|row| row["id"].clone()).collect();
        assert_eq!(json!(ids), json!(["c0", "c1", "c2", "c3", "c4", "c5", "c6", "known"]), "{limit}");
    }
    assert_eq!(api.post("/customers/c3/deposits", "d", &json!({"amount_micro": 5})).await.status, 201);
    let (found, _) = api.all("/customers?id_prefix=c", 3).await;
    let ids: Vec<_> = found.iter().map(|row| row["id"].clone()).collect();
    assert_eq!(json!(ids), json!(["c0", "c1", "c2", "c3", "c4", "c5", "c6"]));
    let (owing, _) = api.all("/customers?without_credit=true", 2).await;
    let ids: Vec<_> = owing.iter().map(|row| row["id"].clone()).collect();
    assert_eq!(json!(ids), json!(["c0", "c1", "c2", "c4", "c5", "c6", "known"]));
    assert!(owing.iter().all(|row| row["available_micro"] == 0), "{owing:?}");
}

#[tokio::test]
async fn a_cursor_belongs_to_its_filter() {
    let api = Api::start().await;
    for number in 0..6 {
        api.key("known", &format!("laptop {number}")).await;
    }
    let revoked = api.key("known", "old").await;
    assert_eq!(api.ask("POST", &format!("/keys/{revoked}/revoke"), &[], "").await.status, 200);

    assert_eq!(api.all("/keys?customer=known", 2).await.0.len(), 7);
    assert_eq!(api.all("/keys?name=LAPTOP&state=active", 4).await.0.len(), 6);
    assert_eq!(api.all("/keys?state=revoked&state=expired", 4).await.0.len(), 1);
    assert_eq!(api.all("/keys?customer=nobody", 4).await.0.len(), 0);

    let page = api.get("/keys?customer=known&limit=2").await;
    let cursor = page["next"].as_str().expect("more rows");
    for other in
        ["/keys?", "/keys?customer=other&", "/keys?customer=known&state=active&", "/customers?", "/audit?"]
    {
        let answer = api.ask("GET", &format!("{other}cursor={cursor}"), &[], "").await;
        assert_eq!(error(&answer), (400, "invalid_cursor".to_owned(), Some("cursor".to_owned())), "{other}");
    }
}

#[tokio::test]
async fn an_object_has_a_tag() {
    let api = Api::start().await;
    let first = api.ask("GET", "/customers/known", &[], "").await;
    let tag = first.header("etag").to_owned();
    let again = api.ask("GET", "/customers/known", &[("if-none-match", &tag)], "").await;
    assert_eq!((again.status, again.header("etag"), again.body.len()), (304, tag.as_str(), 0));
    let paid = api.post("/customers/known/deposits", "d", &json!({"amount_micro": 5})).await;
    assert_eq!(paid.status, 201);
    let changed = api.ask("GET", "/customers/known", &[("if-none-match", &tag)], "").await;
    assert_eq!(changed.status, 200);
    assert_eq!(changed.json()["available_micro"], 5);
    assert!(changed.json()["created"].as_str().is_some_and(|at| at.ends_with('Z')), "{}", changed.text());
}
