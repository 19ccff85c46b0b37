//! What clients note down about their requests: kept with tasks and lines of the log, found by filters, exported, never secret.

use gatehouse_harness::{Response, run, until};
use serde_json::{Value, json};

use crate::api::{ROUTE, TestGateway, request};

async fn admin(gateway: &TestGateway, path: &str) -> Response {
    gateway.process.operator().get(&format!("/admin/v1/{path}")).await
}

async fn ids(gateway: &TestGateway, query: &str) -> Vec<String> {
    let answer = admin(gateway, &format!("tasks?{query}")).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let rows = answer.json()["data"].as_array().expect("tasks").clone();
    rows.iter().map(|task| task["id"].as_str().expect("an id").to_owned()).collect()
}

/// Without it a client that bills its own customers for their tasks keeps a table of them beside the gateway.
#[test]
fn a_task_keeps_its_tags_and_is_found_by_them() {
    run(async {
        let mut gateway = TestGateway::start().await;
        let secret = gateway.caller.secret().to_owned();
        let noted = json!({"user": "ann", "metadata": {"team": "red", "order": "=7", "key": secret}});
        let tagged = gateway.finish(&request(noted)).await;
        let other = gateway.finish(&request(json!({"user": "bob", "metadata": {"team": "red"}}))).await;
        // What another gateway's clients send as well: it is ignored, as every field that a family does not know.
        let odd = gateway.finish(&request(json!({"user": 7, "metadata": "order 7"}))).await;
        let id = |task: &Value| task["id"].as_str().expect("an id").to_owned();
        let (tagged, other, odd) = (id(&tagged), id(&other), id(&odd));
        // A task's row has them, so a restart loses nothing.
        gateway.process.crash().await;
        for (query, found) in [
            ("", vec![&odd, &other, &tagged]),
            ("user=ann", vec![&tagged]),
            ("tag=team%3Dred", vec![&other, &tagged]),
            ("tag=team%3Dred&user=bob", vec![&other]),
            ("tag=team%3Dblue", vec![]),
            ("tag=team%3Dred&customer=acme&status=completed", vec![&other, &tagged]),
        ] {
            assert_eq!(ids(&gateway, query).await.iter().collect::<Vec<_>>(), found, "{query}");
        }
        let wrong = admin(&gateway, "tasks?tag=team").await;
        assert_eq!(wrong.status, 400);
        assert!(
            wrong.text().contains("tag: expected a name and a value such as team=red, got"),
            "{}",
            wrong.text()
        );
        let task = admin(&gateway, &format!("tasks/{tagged}")).await.json();
        assert_eq!(
            (&task["user"], &task["metadata"]),
            (&json!("ann"), &json!({"team": "red", "order": "=7"}))
        );
        let file = admin(&gateway, "tasks.csv?user=ann").await;
        assert_eq!(file.header("content-type"), "text/csv; charset=utf-8");
        let text = file.text();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() == 2 && lines[0].ends_with(",cost_micro,user,metadata"), "{text}");
        assert!(lines[1].starts_with(&tagged), "{text}");
        assert!(lines[1].ends_with(r#",ann,"{""order"":""=7"",""team"":""red""}""#), "{text}");
        let told = gateway.process.command(&["tasks", "--user", "ann", "--tag", "team=red"]).await;
        assert!(told.contains(&tagged) && !told.contains(&other), "{told}");
    });
}

#[test]
fn a_request_has_its_tags_in_its_line_and_no_key() {
    run(async {
        let gateway = TestGateway::start().await;
        let secret = gateway.caller.secret().to_owned();
        let noted =
            json!({"user": secret, "metadata": {"team": "red", "note": format!("my key is {secret}")}});
        let sent = gateway.caller.post(ROUTE, &request(noted)).await;
        assert_eq!(sent.status, 200, "{}", sent.text());
        let found =
            async |query: &str| admin(&gateway, &format!("logs?{query}")).await.json()["data"].clone();
        until("the line is there", async || found("tag=team%3Dred").await != json!([])).await;
        let lines = found("tag=team%3Dred").await;
        let line = &lines[0]["request"];
        assert_eq!((&line["user"], &line["metadata"]), (&Value::Null, &json!({"team": "red"})), "{line}");
        assert_eq!(found("user=ann").await, json!([]));
        let log = gateway.process.log_text();
        assert!(log.contains("team") && !log.contains(&secret), "{log}");
    });
}
