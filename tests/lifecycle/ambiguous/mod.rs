//! The window between a provider's acceptance and its reply: the outcome is unknown, so the policy of the call decides.

mod rulings;

use std::time::Duration;

use gatehouse_harness::{Gateway, message_of, run};
use serde_json::json;

use crate::lifecycle::{request, sandbox, setup, submits};

#[test]
fn a_call_whose_answer_was_lost_is_not_made_again_and_costs_nothing() {
    run(async {
        let sandbox = sandbox(Duration::ZERO).await;
        let mut gateway = Gateway::start(setup(&sandbox)).await;
        let caller = gateway.open_account("acme", "100").await;
        let prompt = "[[submit-hang]] a red kite";
        let id = caller.post("/v1/images/generations", &request(prompt)).await.task_id();
        while submits(&sandbox).is_empty() {
            // The provider has the job once its record shows it; the requests to the gateway only pass the time.
            caller.task(&id).await;
        }
        gateway.crash().await;
        let caller = caller.at(gateway.public);
        let task = caller.end_of(&id).await;
        assert_eq!(
            (&task["status"], &task["error"]["type"]),
            (&json!("failed"), &json!("upstream_error")),
            "{task}"
        );
        assert!(message_of(&task).contains("restarted"), "{task}");
        assert_eq!(task["cost"], 0.0);
        assert_eq!(submits(&sandbox).values().sum::<usize>(), 1);
        // The operator can read the decision through the admin API, and without a running gateway.
        let shown = gateway.audit(&["--task", &id]).await;
        assert_eq!(shown.len(), 1, "{shown:?}");
        assert_eq!(shown[0]["task"], task["id"]);
        let text = shown[0]["text"].as_str().expect("text");
        assert!(text.contains("ambiguous POST to bfl") && text.contains("refund"), "{text}");
        assert_eq!(gateway.audit(&["--limit", "0"]).await.len(), 0);
        gateway.expect_sound_ledger().await;
        assert_eq!(gateway.account("acme").await["available"], 100_000_000);
        assert_eq!(gateway.terminate().await, Some(0));
        assert_eq!(gateway.audit(&["--task", &id]).await, shown);
        assert!(gateway.command(&["audit"]).await.contains(&id));
    });
}
