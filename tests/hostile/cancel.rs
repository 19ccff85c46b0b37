//! Cancelling tasks of a plugin that would accept every cancel: the host asks the plugin only where the task is at rest.
//! A task with a call in flight does not end.

use gatehouse_harness::{Response, run, send, until};
use serde_json::{Value, json};

use crate::hostile::scene::gateway::Scene;

async fn cancel(scene: &Scene, task: &str) -> Response {
    scene.caller.cancel(task).await
}

/// Submits it, and waits until its provider has been called there.
async fn called(scene: &Scene, path: &str, steps: &Value) -> String {
    let task = scene.submit(&json!({"steps": steps})).await.task_id();
    scene.until_called(path, 1).await;
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
        scene.until_called("/gate", 2).await;
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
        let answer = settled(&scene, &id).await;
        assert_eq!((answer.status, &answer.json()["code"]), (202, &json!(202)), "{}", answer.json());
        let task = scene.caller.end_of(&id).await;
        let error = &task["error"];
        assert!(task["status"] == "failed" && task["cost"] == 0.0, "{task}");
        assert!(error["type"] == "cancelled" && error["message"] == "stopped there", "{task}");
        assert_eq!(scene.trap.seen_at("/stop").len(), 1);

        // A provider that does not stop it: the task goes on, and what fails it later is no cancellation.
        let later = json!({"wait": 1, "progress": 60});
        let steps = json!([{"call": {"path": "/three"}}, rest, stop, later, {"fail": "by itself"}]);
        let id = called(&scene, "/three", &steps).await;
        assert_eq!(settled(&scene, &id).await.status, 202);
        let task = scene.caller.end_of(&id).await;
        assert!(task["error"]["type"] != "cancelled" && task["error"]["message"] == "by itself", "{task}");
        scene.gateway.expect_sound_ledger().await;
    });
}

#[test]
fn a_task_out_of_time_stops_its_provider_once() {
    run(async {
        let scene = Scene::start("[tasks]\ntime_limit_s = 4").await;
        let rest = json!({"wait": 3_600_000, "progress": 50});
        let stop = json!({"call": {"path": "/stop", "json": {"why": {"$seen": 0}}}});
        // What it wants after its end is not asked for: neither another call nor a result.
        let late = json!({"call": {"path": "/late"}});
        let stopping = called(&scene, "/one", &json!([{"call": {"path": "/one"}}, rest, stop, late])).await;
        // These answer the deadline with something else; each ends as out of time all the same.
        let mut others = Vec::new();
        for answer in [
            json!({"wait": 3_600_000}),
            json!({"fail": "my own words", "public": {"left": 1}}),
            json!({"done": {"public": {"all": "done"}}}),
            json!({"attack": "panic"}),
            json!({"call": {"path": "/elsewhere", "url": format!("{}/x", scene.evil.url())}}),
        ] {
            let steps = json!({"steps": [{"call": {"path": "/two"}}, rest, answer]});
            others.push(scene.submit(&steps).await.task_id());
        }
        // A call in flight comes first: nothing is known of its job yet.
        let in_flight = scene.submit(&json!({"steps": [{"call": {"path": "/gate"}}, stop]})).await.task_id();
        for id in others.iter().chain([&stopping, &in_flight]) {
            let task = scene.caller.end_of(id).await;
            assert!(task["status"] == "failed" && task["cost"] == 0.0, "{task}");
            assert_eq!(task["error"]["message"], "Task timeout", "{task}");
            assert_eq!(task.get("result"), None, "{task}");
            let notes = scene.gateway.audit(&["--task", id]).await;
            let told = notes
                .iter()
                .any(|note| note["text"].as_str().is_some_and(|text| text.contains("told to stop")));
            assert_eq!((notes.len(), told), (1, *id == stopping || *id == others[4]), "{id}: {notes:?}");
        }
        until("the provider is told to stop", async || !scene.trap.seen_at("/stop").is_empty()).await;
        scene.trap.open_gate();
        // Another task passes through the whole gateway: what was to be sent is sent by then.
        assert_eq!(scene.finish(&json!({})).await["status"], "completed");
        let stops = scene.trap.seen_at("/stop");
        assert_eq!(stops.len(), 1, "{stops:?}");
        assert!(stops[0].contains("Deadline"), "{stops:?}");
        assert!(scene.trap.seen_at("/late").is_empty() && scene.evil.seen().is_empty());
        scene.gateway.expect_sound_ledger().await;
    });
}

/// Cancels once the task's plugin has the answer to its call.
async fn settled(scene: &Scene, task: &str) -> Response {
    half_done(scene, task).await;
    cancel(scene, task).await
}

/// Returns once the task's plugin has the answer to its call; before that the task is not at rest.
async fn half_done(scene: &Scene, task: &str) {
    until("it is half done", async || scene.caller.task(task).await["progress"] == 50).await;
}

/// A request of a page of the console, with this cookie.
async fn browse(scene: &Scene, cookie: &str, method: &str, path: &str, form: &str) -> Response {
    let admin = scene.gateway.admin();
    let (origin, kind) = (format!("http://{admin}"), "application/x-www-form-urlencoded");
    let headers = [("cookie", cookie), ("origin", origin.as_str()), ("content-type", kind)];
    send(admin, method, path, &headers, form.to_owned()).await
}

/// Without it an operator takes the money for given back while the provider works on, and charges.
#[test]
fn the_page_of_a_task_tells_one_that_is_asked_to_stop_from_one_that_is_cancelled() {
    run(async {
        let scene = Scene::start("").await;
        let link = scene.gateway.json(&["console", "link"]).await;
        let token = link["urls"][0].as_str().and_then(|url| url.split_once('#')).expect("a link").1;
        let logged_in = browse(&scene, "", "POST", "/session", &format!("token={token}")).await;
        let cookie = logged_in.header("set-cookie").split(';').next().expect("a cookie");
        let rest = json!({"wait": 3_600_000, "progress": 50});
        let stop = json!({"call": {"path": "/stop"}});
        for (path, steps, is_over) in [
            ("/one", json!([{"call": {"path": "/one"}}, rest, {"fail": "stopped"}]), true),
            ("/two", json!([{"call": {"path": "/two"}}, rest, stop, {"fail": "stopped there"}]), false),
        ] {
            let id = called(&scene, path, &steps).await;
            half_done(&scene, &id).await;
            let cancel = format!("/tasks/{id}/cancel");
            let answer = browse(&scene, cookie, "POST", &cancel, "reason=a+complaint").await;
            assert_eq!(answer.status, 303, "{}", answer.text());
            let page = browse(&scene, cookie, "GET", answer.header("location"), "").await.text();
            assert_eq!(page.contains("got everything back"), is_over, "{page}");
            assert_eq!(page.contains("is asked to stop it"), !is_over, "{page}");
            assert_eq!(scene.caller.end_of(&id).await["status"], "failed");
        }
        scene.gateway.expect_sound_ledger().await;
    });
}
