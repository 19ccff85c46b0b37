//! Cancelling tasks of a plugin that would accept every cancel: the host asks the plugin only where the task is at rest.
//! A task with a call in flight does not end.

use gatehouse_harness::{Response, run};
use serde_json::{Value, json};

use crate::scene::gateway::{Scene, end_of};

async fn cancel(scene: &Scene, receipt: &Value) -> Response {
    let task = receipt["data"][0]["task_id"].as_str().expect("a receipt");
    scene.caller.send("POST", &format!("/v1/tasks/{task}/cancel"), &[], "").await
}

/// Submits it, and waits until its provider has been called there.
async fn called(scene: &Scene, path: &str, steps: &Value) -> Value {
    let receipt = scene.submit(&json!({"steps": steps})).await.json();
    while scene.trap.seen_at(path).is_empty() {
        scene.caller.send("GET", "/v1/tasks", &[], "").await;
    }
    receipt
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
        for receipt in [&going_on, &stopping] {
            let answer = cancel(&scene, receipt).await;
            assert_eq!(answer.status, 409, "{}", answer.json());
        }
        scene.trap.open_gate();
        let task = end_of(&scene.caller, &going_on).await;
        assert!(task["status"] == "completed" && task["cost"] == 2.0, "{task}");
        let seen = task["result"]["seen"].as_str().expect("what it saw");
        assert!(!seen.contains("Cancel"), "{seen}");
        // It ends with its own failure, not as cancelled.
        let task = end_of(&scene.caller, &stopping).await;
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
        let receipt =
            called(&scene, "/one", &json!([{"call": {"path": "/one"}}, rest, {"fail": "stopped"}])).await;
        let answer = settled(&scene, &receipt).await;
        assert_eq!(answer.status, 200, "{}", answer.json());
        let task = &answer.json()["data"];
        assert!(
            task["status"] == "failed" && task["cost"] == 0.0 && task["error"]["type"] == "cancelled",
            "{task}"
        );

        // Another task has a call that stops its provider: that call is made, and its answer decides.
        let stop = json!({"call": {"path": "/stop"}});
        let steps = json!([{"call": {"path": "/two"}}, rest, stop, {"fail": "stopped there"}]);
        let receipt = called(&scene, "/two", &steps).await;
        assert_eq!(settled(&scene, &receipt).await.status, 409);
        let task = end_of(&scene.caller, &receipt).await;
        assert!(task["status"] == "failed" && task["error"]["message"] == "stopped there", "{task}");
        assert_eq!(scene.trap.seen_at("/stop").len(), 1);
        scene.gateway.expect_sound_ledger().await;
    });
}

/// Cancels once the task's plugin has the answer to its call; before that the task is not at rest.
async fn settled(scene: &Scene, receipt: &Value) -> Response {
    loop {
        let task = receipt["data"][0]["task_id"].as_str().expect("a receipt");
        let read = scene.caller.send("GET", &format!("/v1/tasks/{task}"), &[], "").await.json();
        if read["data"]["progress"] == 50 {
            return cancel(scene, receipt).await;
        }
    }
}
