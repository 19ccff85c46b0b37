//! Logs for operators: the requests and lines that a gateway keeps in memory, their filters, and their tail.

use gatehouse_harness::{Connection, Response, run, until};
use serde_json::{Value, json};

use crate::api::{TestGateway, request};

async fn logs(gateway: &TestGateway, query: &str) -> Response {
    gateway.process.operator().get(&format!("/admin/v1/logs?{query}")).await
}

async fn rows(gateway: &TestGateway, query: &str) -> Vec<Value> {
    let answer = logs(gateway, query).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"].as_array().expect("lines").clone()
}

#[test]
fn requests_are_kept_with_what_is_no_secret() {
    run(async {
        let gateway = TestGateway::start().await;
        let bad = gateway.submit(&json!({"model": "ctx-pro"})).await;
        assert_eq!(bad.status, 400);
        gateway.finish(&request(json!({"prompt": "a very private kite"}))).await;
        let path = "/v1/media/nothing?signature=abc";
        assert_eq!(gateway.caller.get(path).await.status, 404);

        // The line of a request is there once its answer has left.
        let of_status = async |status: &str| rows(&gateway, &format!("status={status}")).await;
        until("both refusals are logged", async || of_status("4xx").await.len() == 2).await;
        let refused = of_status("400").await;
        let line = &refused[0]["request"];
        assert_eq!((&line["method"], &line["route"]), (&json!("POST"), &json!("/v1/images/generations")));
        assert_eq!((&line["status"], &line["key"]), (&json!(400), &json!(gateway.caller.id())), "{line}");
        assert_eq!(line["id"], json!(bad.header("x-request-id")));
        let whose = (&line["customer"], &line["model"], &line["client"]);
        assert_eq!(whose, (&json!("acme"), &json!("ctx-pro"), &json!("127.0.0.1")), "{line}");
        // Who still sends a key that is refused is found by its id.
        let old = gateway.process.make_key("acme", &["--unlimited"]).await;
        gateway.process.command(&["key", "revoke", old.id()]).await;
        assert_eq!(old.get("/v1/models").await.status, 401);
        until("the refusal is logged", async || of_status("401").await.len() == 1).await;
        let revoked = of_status("401").await.remove(0);
        let revoked = &revoked["request"];
        assert_eq!((&revoked["key"], &revoked["customer"]), (&json!(old.id()), &json!("acme")), "{revoked}");
        assert!(line["received"].as_u64() > Some(10) && line["sent"].as_u64() > Some(10), "{line}");
        // What it costs stands in its line: nothing for a refusal and for a poll, the price of a task.
        assert_eq!((&line["held_micro"], &line["charged_micro"]), (&Value::Null, &Value::Null), "{line}");
        let paid = rows(&gateway, "cost=0.000001").await;
        let paid: Vec<_> = paid.iter().map(|row| &row["request"]).collect();
        assert_eq!(paid.len(), 1, "{paid:?}");
        assert!(paid[0]["held_micro"].as_i64() > Some(0) && paid[0]["charged_micro"].is_null(), "{paid:?}");
        assert_eq!(rows(&gateway, "cost=1000000").await, Vec::<Value>::new());
        let by_id = rows(&gateway, &format!("text={}", bad.header("x-request-id"))).await;
        assert_eq!(by_id, refused);
        assert_eq!(rows(&gateway, "key=nobody").await, Vec::<Value>::new());

        let all =
            logs(&gateway, "limit=100").await.text() + &logs(&gateway, "kind=process&limit=100").await.text();
        for hidden in ["private kite", "signature=abc", gateway.caller.secret()] {
            assert!(!all.contains(hidden), "{hidden} in {all}");
        }
        for (query, param) in
            [("status=9xx", "status"), ("cost=much", "cost"), ("level=loud", "level"), ("kind=all", "kind")]
        {
            let answer = logs(&gateway, query).await;
            assert_eq!(answer.refusal("param"), (400, json!(param)), "{query}");
        }
    });
}

#[test]
fn pages_follow_one_another_and_the_process_has_its_own() {
    run(async {
        let gateway = TestGateway::start().await;
        for _ in 0..5 {
            gateway.caller.get("/v1/models").await;
        }
        let query = "text=/v1/models&limit=2";
        until("all are logged", async || rows(&gateway, "text=/v1/models").await.len() == 5).await;
        let (mut numbers, mut next) = (Vec::new(), String::new());
        loop {
            let page = logs(&gateway, &format!("{query}{next}")).await.json();
            numbers
                .extend(page["data"].as_array().expect("lines").iter().map(|line| line["number"].as_u64()));
            let Some(cursor) = page["next"].as_str() else { break };
            next = format!("&cursor={cursor}");
        }
        assert_eq!(numbers.len(), 5);
        assert!(numbers.is_sorted_by(|one, other| one > other), "{numbers:?}");

        let said = rows(&gateway, "kind=process&text=plugin%20version%20is%20active&limit=100").await;
        assert!(!said.is_empty() && said.iter().all(|line| line["level"] == "INFO"), "{said:?}");
        let target = "kind=process&target=gatehouse_runtime&level=INFO&limit=100";
        assert!(rows(&gateway, target).await.len() >= said.len());
        assert!(
            rows(&gateway, "kind=process&target=gatehouse_edge%3A%3Ahttp%3A%3Aaccess_log").await.is_empty()
        );
    });
}

#[test]
fn a_tail_sends_what_comes_and_ends_with_the_gateway() {
    run(async {
        let mut gateway = TestGateway::start().await;
        let mut client = Connection::open(gateway.process.admin()).await;
        let (bearer, host) = (gateway.process.operator().bearer(), gateway.process.admin().to_string());
        let headers = [("Host", host.as_str()), ("Authorization", bearer.as_str())];
        client.request("GET", "/admin/v1/logs/tail?status=4xx", &headers, b"").await;
        let head = client.read_head().await.expect("a head");
        assert_eq!((head.status, head.header("content-type")), (200, "text/event-stream"));
        client.read_until("retry: 2000\n\n").await;
        gateway.caller.get("/v1/models").await;
        gateway.submit(&json!({"model": "ctx-pro"})).await;
        let mut text = String::new();
        while !text.contains("event: line\n") {
            text = client.read_until("\n\n").await;
        }
        let data = text.lines().find_map(|line| line.strip_prefix("data: ")).expect("data");
        let line: Value = serde_json::from_str(data).expect("JSON");
        assert_eq!(line["request"]["status"], json!(400), "only what fits: {line}");
        assert_eq!(gateway.process.terminate().await, Some(0));
        client.until("0\r\n\r\n").await;
    });
}
