//! Fresh versions that fail tasks which no other version can take, or that bill more than was held.

use gatehouse_harness::{puppet_claiming, run, until, with};
use serde_json::{Value, json};

use crate::hostile::scene::gateway::Scene;

/// The state in the list of the version with that semver.
async fn state_of(scene: &Scene, version: &str) -> String {
    let versions = scene.gateway.plugins().await;
    let found = versions.iter().find(|one| one["family"] == "puppet" && one["version"] == version);
    found.map(|one| one["state"].as_str().unwrap_or_default().to_owned()).expect("that version")
}

fn version(version: &str, claims: &Value) -> Vec<u8> {
    let all = json!({"version": version, "state_version": 2, "reads_state": [1]});
    puppet_claiming(&with(all, claims.clone()))
}

/// The standby does not read what the canary wrote: without a place to wait, the canary's fault would be the end of the task.
#[test]
fn a_task_that_only_the_canary_can_read_waits_for_a_version_that_does_not_fault() {
    run(async {
        let scene = Scene::start("").await;
        scene.install(&version("2.0.0", &json!({"flaw": "panics later"}))).await;
        let rest = json!({"wait": 0});
        let mut tasks = Vec::new();
        for _ in 0..5 {
            tasks.push(scene.submit(&json!({"steps": [rest, rest]})).await.task_id());
        }
        until("it is rolled back", async || state_of(&scene, "2.0.0").await == "rolled_back").await;
        for task in &tasks {
            let task = scene.caller.task(task).await;
            assert!(task["status"] != "failed" && task["status"] != "completed", "{task}");
        }
        let fresh = scene.finish(&json!({"steps": [rest, rest]})).await;
        assert_eq!(fresh["status"], "completed", "the standby serves: {fresh}");
        assert!(scene.gateway.log_text().contains("the task waits for another version"));

        scene.install(&version("2.0.1", &json!({}))).await;
        for task in &tasks {
            let task = scene.caller.end_of(task).await;
            assert!(task["status"] == "completed" && task["cost"] == 2.0, "{task}");
        }
        scene.gateway.expect_sound_ledger().await;
    });
}

/// A client pays what was agreed, and a version that asks for more does not stay.
#[test]
fn a_canary_that_bills_more_than_was_held_is_rolled_back() {
    run(async {
        let scene = Scene::start("").await;
        scene.install(&version("2.0.0", &json!({}))).await;
        let greedy = json!({"steps": [{"done": {"settle": {"quantity": 2}}}]});
        for _ in 0..5 {
            let task = scene.finish(&greedy).await;
            assert!(task["status"] == "completed" && task["cost"] == 2.0, "{task}");
            let id = task["id"].as_str().expect("an id");
            let notes = scene.gateway.audit(&["--task", id]).await;
            let told = notes.iter().any(|note| note["text"].to_string().contains("the hold is billed"));
            assert!(told, "{notes:?}");
        }
        until("it is rolled back", async || state_of(&scene, "2.0.0").await == "rolled_back").await;
        scene.gateway.expect_sound_ledger().await;
    });
}
