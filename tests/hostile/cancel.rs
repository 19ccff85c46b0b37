//! Cancelling tasks of a plugin that would accept every cancel: the host asks the plugin only where the task is at rest.
//! A task with a call in flight does not end.

use gatehouse_harness::{Response, run};
use serde_json::{Value, json};

use crate::scene::gateway::Scene;

async fn cancel(scene: &Scene, task: &str) -> Response {
    scene.caller.send("POST", &format!("/v1/tasks/{task}/cancel"), &[], "").await
}

/// Submits it, and waits until its provider has been called there.
async fn called(scene: &Scene, path: &str, steps: &Value) -> String {
    let task = scene.submit(&json!({"steps": steps})).await.task_id();
    while scene.trap.seen_at(path).is_empty() {
        scene.caller.send("GET", "/v1/tasks", &[], "").await;
    }
    task
}

#[test]
fn a_task_with_a_call_in_flight_is_not_cancelled() {
    run(async {
        let scene = Scene::start("").await;
        let steps = json!([{"call": {"path": "/gate"}}, {"wait": 0}]);
        let ready = json!([{"call": {"path": "/gate"}}, {"fail": "stopped"}]);
        let (going_on, stopping) =
            (called(&scene, "/gate", &steps).await, called(&scene, "/gate", &ready).await);
        while scene.trap.seen_at("/gate").len() < 2 {
            scene.caller.send("GET", "/v1/tasks", &[], "").await;
        }
        for task in [&going_on, &stopping] {
            let answer = cancel(&scene, task).await;
            assert_eq!(answer.status, 409, "{}", answer.json());
        }
        scene.trap.open_gate();
        let task = scene.caller.end_of(&going_on).await;
        assert!(task["status"] == "completed" && task["cost"] == 2.0, "{task}");
        let seen = task["result"]["seen"].as_str().expect("what it saw");
        assert!(!seen.contains("Cancel"), "{seen}");
        // It ends with its own failure, not as cancelled.
        let task = scene.caller.end_of(&stopping).await;
        assert!(task["status"] == "failed" && task["cost"] == 0.0, "{task}");
        assert_eq!(
            (&task["error"]["type"], &task["error"]["message"]),
            (&json!("upstream_error"), &json!("stopped"))
        );
        scene.gateway.expect_sound_ledger().await;
    });
}

#[test]
fn a_task_at_rest_decides_about_its_cancel() {
    run(async {
        let scene = Scene::start("").await;
        // It waits an hour for its provider, and would accept the cancel.
        let rest = json!({"wait": 3_600_000, "progress": 50});
        let id =
            called(&scene, "/one", &json!([{"call": {"path": "/one"}}, rest, {"fail": "stopped"}])).await;
        let answer = settled(&scene, &id).await;
        assert_eq!(answer.status, 200, "{}", answer.json());
        let task = &answer.json()["data"];
        assert!(
            task["status"] == "failed" && task["cost"] == 0.0 && task["error"]["type"] == "cancelled",
            "{task}"
        );

        // Another task has a call that stops its provider: that call is made, and its answer decides.
        let stop = json!({"call": {"path": "/stop"}});
        let steps = json!([{"call": {"path": "/two"}}, rest, stop, {"fail": "stopped there"}]);
        let id = called(&scene, "/two", &steps).await;
        assert_eq!(settled(&scene, &id).await.status, 409);
        let task = scene.caller.end_of(&id).await;
        assert!(task["status"] == "failed" && task["error"]["message"] == "stopped there", "{task}");
        assert_eq!(scene.trap.seen_at("/stop").len(), 1);
        scene.gateway.expect_sound_ledger().await;
    });
}

/// Cancels once the task's plugin has the answer to its call; before that the task is not at rest.
async fn settled(scene: &Scene, task: &str) -> Response {
    while scene.caller.task(task).await["progress"] != 50 {}
    cancel(scene, task).await
}
