//! What a customer reads of its money: the balance with its key's quota, and usage by key, day and model.

use gatehouse_harness::{Caller, run};
use serde_json::{Value, json};

use crate::api::{TestGateway, request};

async fn read(caller: &Caller, path: &str) -> Value {
    let reply = caller.get(path).await;
    assert_eq!(reply.status, 200, "{path}: {}", reply.text());
    reply.json()
}

fn short(row: &Value) -> (String, String, Value, Value, Value) {
    let text = |field: &str| row[field].as_str().unwrap_or_default().to_owned();
    (text("key"), text("model"), row["requests"].clone(), row["failures"].clone(), row["cost"].clone())
}

#[test]
fn a_customer_reads_its_balance_and_its_usage() {
    run(async {
        let gateway = TestGateway::start().await;
        let limited = gateway.process.make_key("acme", &["--quota", "20"]).await;
        gateway.finish(&request(json!({}))).await;
        gateway.finish(&request(json!({"model": "ctx-max"}))).await;
        let refused = gateway.finish(&request(json!({"n": 2}))).await;
        assert_eq!(refused["status"], "failed");
        limited.finish(crate::api::ROUTE, &request(json!({}))).await;

        let balance = read(&limited, "/v1/balance").await["data"].clone();
        let account = gateway.process.account("acme").await;
        assert_eq!((&balance["available_micro"], &balance["held"]), (&account["available"], &json!(0)));
        assert_eq!(balance["spent_micro"], account["spent"]);
        let key = &balance["key"];
        assert_eq!((&key["id"], &key["quota"]), (&json!(limited.id()), &json!(20)));
        assert_eq!((&key["used"], &key["remaining"]), (&json!(4), &json!(16)));
        assert_eq!(read(&gateway.caller, "/v1/balance").await["data"]["key"]["quota"], Value::Null);

        let usage = read(&limited, "/v1/usage").await;
        let mut rows: Vec<_> = usage["data"].as_array().expect("rows").iter().map(short).collect();
        let (first, second) = (gateway.caller.id().to_owned(), limited.id().to_owned());
        let mut expected = vec![
            (first.clone(), "ctx-max".to_owned(), json!(1), json!(0), balance_of(&account, 8_000_000)),
            (first.clone(), "ctx-pro".to_owned(), json!(2), json!(1), json!(4)),
            (second.clone(), "ctx-pro".to_owned(), json!(1), json!(0), json!(4)),
        ];
        rows.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
        expected.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
        assert_eq!(rows, expected);
        // The sum of the rows is what the ledger says was spent.
        assert_eq!(usage["total"]["cost_micro"], account["spent"]);
        assert_eq!((&usage["total"]["requests"], &usage["total"]["failures"]), (&json!(4), &json!(1)));

        let own = read(&limited, &format!("/v1/usage?key={second}")).await;
        assert_eq!((own["data"].as_array().unwrap().len(), &own["total"]["cost"]), (1, &json!(4)));
        let max = read(&limited, "/v1/usage?model=ctx-max").await;
        assert_eq!((max["data"].as_array().unwrap().len(), &max["total"]["requests"]), (1, &json!(1)));
        let (mut pages, mut after) = (Vec::new(), String::new());
        loop {
            let page = read(&limited, &format!("/v1/usage?limit=1{after}")).await;
            assert_eq!(page["total"], usage["total"]);
            pages.extend(page["data"].as_array().unwrap().clone());
            match page["next"].as_str() {
                Some(next) => after = format!("&after={next}"),
                None => break,
            }
        }
        assert_eq!(json!(pages), usage["data"]);
        gateway.process.expect_sound_ledger().await;
    });
}

/// What the ledger spent beyond two pictures of the cheaper model.
fn balance_of(account: &Value, others: i64) -> Value {
    let micro = account["spent"].as_i64().expect("an amount") - others;
    if micro % 1_000_000 == 0 { json!(micro / 1_000_000) } else { json!(micro as f64 / 1e6) }
}

#[test]
fn another_customers_usage_is_unknown() {
    run(async {
        let gateway = TestGateway::start().await;
        gateway.finish(&request(json!({}))).await;
        let other = gateway.process.open_account("other", "10").await;
        let usage = read(&other, "/v1/usage").await;
        assert_eq!((&usage["data"], &usage["total"]["requests"]), (&json!([]), &json!(0)));
        let foreign = read(&other, &format!("/v1/usage?key={}", gateway.caller.id())).await;
        let unknown = read(&other, "/v1/usage?key=never-made").await;
        assert_eq!(foreign, unknown);
        assert_eq!(read(&other, "/v1/balance").await["data"]["available"], json!(10));
        for path in ["/v1/balance", "/v1/usage"] {
            let refused = gatehouse_harness::send(gateway.process.public, "GET", path, &[], "").await;
            assert_eq!(refused.refusal("type"), (401, json!("authentication_error")));
        }
    });
}
