//! An ambiguous task is found and settled: sent again, with a reply that is handed in, and given up.

use gatehouse_harness::{Caller, run, until};
use serde_json::json;

use crate::console::scene::{Scene, start};

const ASKS: &str = "Did the provider take this call?";

/// A task whose provider took its call and hung up.
async fn lose(key: &Caller) -> String {
    let body = json!({ "model": "ctx-pro", "prompt": "[[submit-cut]] a red kite" });
    key.post("/v1/images/generations", &body).await.task_id()
}

/// What the provider answered to the submit of that number.
fn reply(scene: &Scene, number: usize) -> String {
    let job = &scene.sandbox.context_record().submits[number].id;
    let addresses = serde_json::to_value(scene.sandbox.context()).expect("addresses");
    let poll = addresses["poll"].as_str().expect("an origin");
    json!({"id": job, "polling_url": format!("{poll}/v1/get_result?id={job}")}).to_string()
}

#[test]
fn an_ambiguous_task_is_found_and_settled() {
    run(async {
        let scene = start().await;
        let tab = &scene.tab;
        let key = scene.gateway.open_account("acme", "100").await;
        let id = lose(&key).await;
        tab.goto("/").await;
        tab.press("1 task waits for a ruling about a call without a reply").await;
        tab.see("ambiguous").await;
        tab.click(&format!("a.row[href='/tasks/{id}']")).await;
        tab.see(ASKS).await;
        tab.see("a red kite").await;
        tab.see("the connection broke").await;

        tab.press("Send it again").await;
        tab.fill("#f-resend_reason", "not in their console").await;
        tab.confirm("Send it again").await;
        tab.see("The ruling was carried out.").await;
        // The provider hangs up again.
        tab.goto(&format!("/tasks/{id}")).await;
        tab.see("ruled by an operator: resend: not in their console").await;
        until("the second submit is lost", async || {
            tab.goto(&format!("/tasks/{id}")).await;
            tab.text().await.contains(ASKS)
        })
        .await;
        tab.press("Adopt a reply").await;
        tab.fill("#f-adopt_body", "not JSON").await;
        tab.fill("#f-adopt_reason", "found there").await;
        tab.confirm("Adopt a reply").await;
        tab.see("expected JSON").await;
        tab.press("Adopt a reply").await;
        tab.fill("#f-adopt_body", &reply(&scene, 1)).await;
        tab.confirm("Adopt a reply").await;
        tab.see("completed").await;
        tab.find("img.result").await;
        tab.see("settle").await;
        assert_eq!(scene.sandbox.context_record().submits.len(), 2);

        let other = lose(&key).await;
        tab.goto("/tasks?ambiguous=true").await;
        tab.click(&format!("a.row[href='/tasks/{other}']")).await;
        tab.see(ASKS).await;
        tab.press("Fail and refund").await;
        tab.fill("#f-fail_reason", "The provider has lost it").await;
        tab.confirm("Fail and refund").await;
        tab.see("The ruling was carried out.").await;
        tab.see("The provider has lost it").await;
        tab.see("release").await;
        tab.goto("/tasks?ambiguous=true").await;
        tab.see("No task fits.").await;
        let account = scene.gateway.account("acme").await;
        let amount = |field: &str| account[field].as_i64().expect("an amount");
        assert_eq!((amount("reserved"), amount("available") + amount("spent")), (0, 100_000_000));
        tab.expect_no_problems().await;
        scene.tab.close().await;
    });
}
