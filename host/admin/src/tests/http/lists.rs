//! Lists: pages that hold every row once, cursors that belong to their filter, and tags of objects.

use serde_json::{Value, json};

use super::{Api, error};

/// All rows of a list, read in pages of `limit`.
async fn all(api: &Api, path: &str, limit: usize) -> Vec<Value> {
    let (mut rows, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let join = if path.contains('?') { '&' } else { '?' };
        let more = cursor.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
        let page = api.get(&format!("{path}{join}limit={limit}{more}")).await;
        let data = page["data"].as_array().expect("rows");
        assert!(data.len() <= limit, "{page}");
        rows.extend(data.iter().cloned());
        match page["next"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => return rows,
        }
    }
}

async fn key(api: &Api, customer: &str, name: &str) -> String {
    let answer = api.post("/keys", name, &json!({"customer": customer, "name": name})).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()["key"]["id"].as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn pages_hold_every_row_once() {
    let api = Api::start().await;
    for number in 0..7 {
        api.customer(&format!("c{number}"), 0).await;
    }
    for limit in [1, 2, 3, 8, 100] {
        let ids: Vec<_> = all(&api, "/customers", limit).await.iter().map(|row| row["id"].clone()).collect();
        assert_eq!(json!(ids), json!(["c0", "c1", "c2", "c3", "c4", "c5", "c6", "known"]), "{limit}");
    }
    assert_eq!(api.post("/customers/c3/deposits", "d", &json!({"amount_micro": 5})).await.status, 201);
    let found: Vec<_> =
        all(&api, "/customers?id_prefix=c", 3).await.iter().map(|row| row["id"].clone()).collect();
    assert_eq!(json!(found), json!(["c0", "c1", "c2", "c3", "c4", "c5", "c6"]));
    let owing = all(&api, "/customers?without_credit=true", 2).await;
    let ids: Vec<_> = owing.iter().map(|row| row["id"].clone()).collect();
    assert_eq!(json!(ids), json!(["c0", "c1", "c2", "c4", "c5", "c6", "known"]));
    assert!(owing.iter().all(|row| row["available_micro"] == 0), "{owing:?}");
}

#[tokio::test]
async fn a_cursor_belongs_to_its_filter() {
    let api = Api::start().await;
    for number in 0..6 {
        key(&api, "known", &format!("laptop {number}")).await;
    }
    let revoked = key(&api, "known", "old").await;
    let bearer = [("authorization", api.operator.as_str())];
    assert_eq!(api.send("POST", &format!("/keys/{revoked}/revoke"), &bearer, "").await.status, 200);

    assert_eq!(all(&api, "/keys?customer=known", 2).await.len(), 7);
    assert_eq!(all(&api, "/keys?name=LAPTOP&state=active", 4).await.len(), 6);
    assert_eq!(all(&api, "/keys?state=revoked&state=expired", 4).await.len(), 1);
    assert_eq!(all(&api, "/keys?customer=nobody", 4).await.len(), 0);

    let page = api.get("/keys?customer=known&limit=2").await;
    let cursor = page["next"].as_str().expect("more rows");
    for other in
        ["/keys?", "/keys?customer=other&", "/keys?customer=known&state=active&", "/customers?", "/audit?"]
    {
        let answer = api.send("GET", &format!("{other}cursor={cursor}"), &bearer, "").await;
        assert_eq!(error(&answer), (400, "invalid_cursor".to_owned(), Some("cursor".to_owned())), "{other}");
    }
}

#[tokio::test]
async fn an_object_has_a_tag() {
    let api = Api::start().await;
    let bearer = ("authorization", api.operator.as_str());
    let first = api.send("GET", "/customers/known", &[bearer], "").await;
    let tag = first.header("etag").to_owned();
    let again = api.send("GET", "/customers/known", &[bearer, ("if-none-match", &tag)], "").await;
    assert_eq!((again.status, again.header("etag"), again.body.len()), (304, tag.as_str(), 0));
    let paid = api.post("/customers/known/deposits", "d", &json!({"amount_micro": 5})).await;
    assert_eq!(paid.status, 201);
    let changed = api.send("GET", "/customers/known", &[bearer, ("if-none-match", &tag)], "").await;
    assert_eq!(changed.status, 200);
    assert_eq!(changed.json()["available_micro"], 5);
    assert!(changed.json()["created"].as_str().is_some_and(|at| at.ends_with('Z')), "{}", changed.text());
}
