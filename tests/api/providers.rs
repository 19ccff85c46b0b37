//! Providers for operators: what is told of an account, and the switch that keeps new work away from one.

use std::time::Duration;

use gatehouse_harness::{run, until};
use serde_json::{Value, json};

use crate::api::{ROUTE, TestGateway, request};

const ACCOUNT: &str = "/admin/v1/providers/bfl/accounts/main";

async fn account(gateway: &TestGateway) -> Value {
    let answer = gateway.process.viewer().get(ACCOUNT).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

#[test]
fn an_account_is_drained_and_resumed() {
    run(async {
        let gateway = TestGateway::start_paced(Duration::from_secs(3), "").await;
        let before = account(&gateway).await;
        assert_eq!((&before["health"], &before["breaker"]), (&json!("healthy"), &json!("closed")));
        assert_eq!((&before["in_flight"], &before["free"]), (&json!(0), &before["limit"]));

        // A task that runs there when the switch is turned is polled to its end.
        let running = gateway.submit(&request(json!({}))).await.task_id();
        until("the task is in flight", async || account(&gateway).await["in_flight"] == json!(1)).await;
        let refused = gateway.process.viewer().send("POST", &format!("{ACCOUNT}/drain"), &[], "").await;
        assert_eq!(refused.status, 403, "{}", refused.text());
        let drained = gateway.process.operator().send("POST", &format!("{ACCOUNT}/drain"), &[], "").await;
        assert_eq!((drained.status, &drained.json()["health"]), (200, &json!("drained")));
        assert_eq!(gateway.caller.end_of(&running).await["status"], "completed");

        // A new one waits, also after a reload and a change of the account.
        let waiting = gateway.submit(&request(json!({}))).await.task_id();
        let provider = async || gateway.process.viewer().get("/admin/v1/providers/bfl").await.json();
        until("the task waits", async || provider().await["waiting"] == json!(1)).await;
        let config = gateway.process.config();
        let with_weight = config.replacen(
            "[providers.bfl.accounts.main]\n",
            "[providers.bfl.accounts.main]\nweight = 7\n",
            1,
        );
        assert_ne!(config, with_weight);
        gateway.process.reload(&with_weight).await;
        let after = account(&gateway).await;
        assert_eq!((&after["weight"], &after["drained"]), (&json!(7), &json!(true)));
        assert_eq!(provider().await["waiting_by_customer"], json!([{"customer": "acme", "waiting": 1}]));
        let task = gateway.caller.task(&waiting).await;
        assert!(task["status"] != "completed" && task["status"] != "failed", "{task}");

        let shown = gateway.process.command(&["provider", "resume", "bfl", "main"]).await;
        assert!(shown.contains("healthy") && !shown.contains("drained"), "{shown}");
        assert_eq!(gateway.caller.end_of(&waiting).await["status"], "completed");
        assert!(gateway.process.command(&["providers"]).await.contains("bfl"));

        let audit = gateway.process.viewer().get("/admin/v1/audit?object=providers").await.json();
        let told: Vec<_> = audit["data"]
            .as_array()
            .expect("lines")
            .iter()
            .map(|line| {
                (&line["request"]["operation"], &line["request"]["status"], &line["request"]["changes"])
            })
            .collect();
        let change = |before: bool| json!([{"field": "drained", "before": before, "after": !before}]);
        assert_eq!(
            told,
            [
                (&json!("resumeAccount"), &json!(200), &change(true)),
                (&json!("drainAccount"), &json!(200), &change(false)),
                (&json!("drainAccount"), &json!(403), &json!([])),
            ]
        );
        gateway.process.expect_sound_ledger().await;
    });
}

#[test]
fn what_is_not_configured_is_not_found() {
    run(async {
        let gateway = TestGateway::start().await;
        for path in ["/admin/v1/providers/none", "/admin/v1/providers/bfl/accounts/none"] {
            assert_eq!(gateway.process.viewer().get(path).await.status, 404, "{path}");
        }
        for verb in ["drain", "resume"] {
            let path = format!("/admin/v1/providers/bfl/accounts/none/{verb}");
            assert_eq!(gateway.process.operator().send("POST", &path, &[], "").await.status, 404, "{path}");
        }
        let (code, said) = gateway.process.refused(&["provider", "drain", "none", "main"]).await;
        assert_eq!(code, Some(1), "{said}");
        let list = gateway.process.viewer().get("/admin/v1/providers?limit=1").await.json();
        assert_eq!(list["data"].as_array().map(Vec::len), Some(1), "{list}");
        let cursor = list["next"].as_str().expect("there are more");
        let path = format!("/admin/v1/providers?limit=1&cursor={cursor}");
        let second = gateway.process.viewer().get(&path).await.json();
        assert!(second["data"][0]["name"].as_str() > list["data"][0]["name"].as_str(), "{second}");
        assert_eq!(gateway.caller.post(ROUTE, &request(json!({}))).await.status, 200);
    });
}

/// What an account answers last is told by its status, never by its body.
#[test]
fn the_last_errors_of_an_account_are_told() {
    run(async {
        let gateway = TestGateway::start().await;
        let task = gateway.finish(&request(json!({"prompt": "[[500]] a red kite"}))).await;
        let shown = account(&gateway).await;
        let errors = shown["last_errors"].to_string();
        assert!(errors.contains("500: the provider failed"), "{errors} after {task}");
        assert!(!errors.contains("red kite") && errors.len() < 5_000, "{errors}");
    });
}
