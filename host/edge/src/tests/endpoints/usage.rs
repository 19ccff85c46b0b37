//! The balance and the usage endpoints: their shapes, pages and refusals.

use std::sync::atomic::Ordering;

use gatehouse_model::{Credits, QuotaUse, UnixMs};
use serde_json::{Value, json};

use crate::tests::TestEdge;

#[tokio::test]
async fn a_balance_says_what_the_key_may_spend() {
    let edge = TestEdge::plain().await;
    let mut key = json!({"id": edge.backend.keys.lock().unwrap()[0].id, "name": "test",
        "quota": null, "quota_micro": null, "used": 0, "used_micro": 0, "remaining": null, "remaining_micro": null, "resets_at": null});
    let data = |key: &Value| {
        json!({"code": 200, "data": {"available": 4.5, "available_micro": 4_500_000, "held": 1e-6, "held_micro": 1,
            "spent": 0, "spent_micro": 0, "quota": null, "key": key}})
    };
    assert_eq!(edge.read("/v1/balance").await.json(), data(&key));
    edge.backend.change_key(|key| {
        key.quota = Some(Credits(2_000_000));
        key.used = Credits(250_000);
    });
    for (field, micro) in [("quota", 2_000_000), ("used", 250_000), ("remaining", 1_750_000)] {
        key[format!("{field}_micro")] = json!(micro);
    }
    (key["quota"], key["used"], key["remaining"]) = (json!(2), json!(0.25), json!(1.75));
    assert_eq!(edge.read("/v1/balance").await.json(), data(&key));
}

/// A client that reads `remaining` alone would not know when to come back.
#[tokio::test]
async fn a_balance_says_when_quotas_reset() {
    let edge = TestEdge::plain().await;
    edge.backend.change_key(|key| {
        key.quota = Some(Credits(2_000_000));
        key.quota_period = Some("month+02:00".parse().unwrap());
        key.used = Credits(7_000_000);
    });
    let quota = QuotaUse {
        limit: Credits(20_000_000),
        used: Credits(500_000),
        resets: Some(UnixMs(1_795_737_600_000)),
    };
    *edge.backend.customer_quota.lock().unwrap() = Some(quota);
    let data = edge.read("/v1/balance").await.json()["data"].clone();
    // What was used in all is not what counts.
    let key = &data["key"];
    assert_eq!((&key["used"], &key["remaining"]), (&json!(0), &json!(2)));
    assert_eq!(key["resets_at"], json!("2026-11-30T22:00:00.000Z"));
    let expected = json!({"limit": 20, "limit_micro": 20_000_000, "used": 0.5, "used_micro": 500_000,
        "remaining": 19.5, "remaining_micro": 19_500_000, "resets_at": "2026-11-27T00:00:00.000Z"});
    assert_eq!(data["quota"], expected);
}

#[tokio::test]
async fn usage_comes_in_pages_with_the_sum_of_all() {
    let edge = TestEdge::plain().await;
    let id = edge.backend.keys.lock().unwrap()[0].id.clone();
    let sums = |requests: u64| {
        let micro = 125_000 * requests;
        let whole = micro.is_multiple_of(1_000_000);
        let cost = if whole { json!(micro / 1_000_000) } else { json!(micro as f64 / 1e6) };
        json!({"requests": requests, "failures": 0, "input_tokens": 0, "output_tokens": requests / 2 * 7,
            "cached_tokens": 0, "cache_write_tokens": 0, "cost": cost, "cost_micro": micro,
            "refunded": 0, "refunded_micro": 0})
    };
    let (mut days, mut after) = (Vec::new(), String::new());
    for page in 0..3 {
        let path = format!("/v1/usage?from=2026-11-01&to=2026-11-06&limit=2{after}");
        let reply = edge.read(&path).await.json();
        assert_eq!((&reply["code"], &reply["total"]), (&json!(200), &sums(10)));
        assert_eq!(reply["has_more"], json!(page < 2));
        days.extend(reply["data"].as_array().unwrap().clone());
        after = format!("&after={}", reply["next"].as_str().unwrap_or_default());
    }
    let expected: Vec<Value> = (1..6)
        .map(|day| {
            let mut row = sums(2);
            row["day"] = json!(format!("2026-11-0{day}"));
            row["key"] = json!(id);
            // The scripted sums take their models in turn.
            row["model"] = json!(["lm-1", "ctx-pro"][day % 2]);
            row
        })
        .collect();
    assert_eq!(days, expected);
    let one = edge.read("/v1/usage?from=2026-11-01&to=2026-11-06&model=lm-1&key=other").await.json();
    assert_eq!((one["data"].as_array().unwrap().len(), &one["total"]), (2, &sums(4)));
    assert_eq!((&one["data"][0]["key"], &one["next"]), (&json!("other"), &Value::Null));
}

#[tokio::test]
async fn wrong_requests_are_refused_in_the_envelope() {
    let edge = TestEdge::plain().await;
    let reply = edge.read("/v1/usage?from=2020-01-01&to=2026-01-01").await;
    assert_eq!(reply.refusal("param"), (400, json!("from")));
    assert_eq!(reply.refusal("type"), (400, json!("invalid_request_error")));
    edge.backend.broken.store(true, Ordering::SeqCst);
    for path in ["/v1/usage", "/v1/balance"] {
        assert_eq!(edge.read(path).await.refusal("type"), (500, json!("server_error")), "{path}");
    }
}
