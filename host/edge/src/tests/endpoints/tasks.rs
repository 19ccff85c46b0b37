//! The task endpoints: read, wait, list, cancel.

use gatehouse_model::{FailureKind, Status, TaskId};
use serde_json::{Value, json};

use crate::tests::TestEdge;
use crate::tests::support::samples;

#[tokio::test]
async fn a_task_is_read_in_every_state() {
    let edge = TestEdge::with("public_url = \"https://api.example.com\"").await;
    let read = async |id: TaskId| edge.read(&format!("/v1/tasks/{id}")).await;
    let id = edge.backend.put(1, |task| task.status = Status::Submitted);
    let text = id.to_string();
    let data = json!({"id": text, "status": "submitted", "progress": 0, "created": 1_800_000_000,
        "model": "ctx-pro", "estimated_time": 13});
    assert_eq!(read(id).await.json(), json!({"code": 200, "data": data}));
    edge.backend.put(1, samples::complete);
    let links = [format!("https://api.example.com/v1/media/{text}")];
    let data = json!({"id": text, "status": "completed", "progress": 100,
        "result": {"images": [{"url": links}]}, "created": 1_800_000_000, "completed": 1_800_000_007,
        "model": "ctx-pro", "cost": 4.5, "estimated_time": 13, "actual_time": 8});
    assert_eq!(read(id).await.json(), json!({"code": 200, "data": data}));
    for (kind, word) in [
        (FailureKind::Request, "invalid_request_error"),
        (FailureKind::Moderation, "content_policy_violation"),
        (FailureKind::Upstream, "upstream_error"),
        (FailureKind::Timeout, "timeout_error"),
        (FailureKind::Cancelled, "cancelled"),
        (FailureKind::Internal, "server_error"),
    ] {
        let id = edge.backend.put(2, |task| samples::fail(task, kind, "because"));
        let data = read(id).await.json()["data"].clone();
        assert_eq!(data["error"], json!({"type": word, "code": "task_failed", "message": "because"}));
        assert_eq!((&data["cost"], data.get("result")), (&json!(0), None));
    }
}

#[tokio::test]
async fn a_task_that_waits_for_its_provider_says_how_long_where_that_is_known() {
    let edge = TestEdge::plain().await;
    for (progress, position, wait) in
        [(12, json!(3), json!(42)), (13, json!(4), json!(null)), (14, json!(null), json!(null))]
    {
        let id = edge.backend.put(1, |task| task.progress = progress);
        let data = edge.read(&format!("/v1/tasks/{id}")).await.json()["data"].clone();
        assert_eq!((&data["queue_position"], &data["estimated_wait"]), (&position, &wait), "{data}");
        assert_eq!(data.get("estimated_wait").is_some(), !wait.is_null());
    }
}

#[tokio::test]
async fn an_unknown_task_is_not_found() {
    let edge = TestEdge::plain().await;
    for id in ["task_1", "task_000000000000000000000SG000", "x"] {
        for request in [
            edge.get(&format!("/v1/tasks/{id}"), ""),
            edge.get(&format!("/v1/tasks/{id}"), "Prefer: wait=5\r\n"),
            edge.post(&format!("/v1/tasks/{id}/cancel"), ""),
        ] {
            let reply = edge.ask(request).await;
            assert_eq!((reply.status, reply.message()), (404, format!("unknown task {id:?}")));
            assert_eq!(reply.header("x-should-retry"), "false");
        }
        assert_eq!(edge.read(&format!("/v1/journey/{id}")).await.refusal("type"), (404, json!("not_found")));
    }
}

#[tokio::test]
async fn a_family_renders_its_tasks_on_a_path_of_its_own() {
    let edge = TestEdge::plain().await;
    let id = edge.backend.put(1, |_| {});
    let reply = edge.read(&format!("/v1/journey/{id}")).await;
    let expected = json!({"surface": "journey.read", "at": "http://gate.test", "id": id.to_string()});
    assert_eq!((reply.status, reply.json()), (200, expected));
    let viewless = edge.backend.put(2, |task| task.family = "viewless".to_owned());
    assert_eq!(edge.read(&format!("/v1/journey/{viewless}")).await.status, 404);
    let broken = edge.backend.put(3, |task| task.family = "broken".to_owned());
    let reply = edge.read(&format!("/v1/journey/{broken}")).await;
    assert_eq!(reply.status, 500);
}

#[tokio::test]
async fn a_task_shows_its_result_before_it_ends_and_when_it_has_failed() {
    let edge = TestEdge::plain().await;
    let shown = |task: &mut gatehouse_model::Task| task.public = b"{}".to_vec();
    let running = edge.backend.put(1, shown);
    let failed = edge.backend.put(2, |task| {
        samples::fail(task, FailureKind::Upstream, "half");
        shown(task);
    });
    for (id, status) in [(running, "submitted"), (failed, "failed")] {
        let data = edge.read(&format!("/v1/tasks/{id}")).await.json()["data"].clone();
        assert_eq!(data["status"], status);
        assert!(data["result"]["images"].is_array(), "{data}");
    }
}

/// Without it a client would read why a task failed while that task is still under way.
#[tokio::test]
async fn a_task_that_is_going_to_fail_shows_no_error_before_it_has_failed() {
    let edge = TestEdge::plain().await;
    for has_failed in [false, true] {
        let id = edge.backend.put(1, |task| {
            let (status, finished) = (task.status, task.finished);
            samples::fail(task, FailureKind::Request, "because");
            if !has_failed {
                (task.status, task.finished, task.cost) = (status, finished, None);
            }
        });
        let read = edge.read(&format!("/v1/tasks/{id}")).await.json()["data"].clone();
        let listed = edge.read("/v1/tasks").await.json()["data"][0].clone();
        let mut client = edge.connect().await;
        client.send(edge.get(&format!("/v1/tasks/{id}/events"), "")).await;
        client.read_head().await.expect("a response");
        assert_eq!(client.read_until("\n\n").await, "retry: 2000\n\n");
        let event = client.read_until("\n\n").await;
        let data = event.lines().find_map(|line| line.strip_prefix("data: ")).expect("data");
        let followed: Value = serde_json::from_str(data).expect("JSON");
        for view in [read, listed, followed] {
            assert_eq!(view["status"], if has_failed { "failed" } else { "submitted" });
            assert_eq!(view.get("error").is_some(), has_failed, "{view}");
        }
    }
}

/// Without it a client that polls would wait for a task that waits for the client.
#[tokio::test]
async fn a_task_says_what_it_waits_for() {
    let edge = TestEdge::plain().await;
    let id = edge.backend.put(1, |task| task.public = b"modal".to_vec());
    let data = edge.read(&format!("/v1/tasks/{id}")).await.json()["data"].clone();
    assert_eq!((&data["waiting_for"], &data["waiting_reason"]), (&json!("modal"), &json!("no file")));
    let id = edge.backend.put(2, |_| {});
    let data = edge.read(&format!("/v1/tasks/{id}")).await.json()["data"].clone();
    assert_eq!((data.get("waiting_for"), data.get("waiting_reason")), (None, None));
}

#[tokio::test]
async fn a_long_poll_ends_with_the_task() {
    let edge = TestEdge::plain().await;
    let id = edge.backend.put(1, |_| {});
    let mut client = edge.connect().await;
    client.send(edge.get(&format!("/v1/tasks/{id}"), "Prefer: wait=600\r\n")).await;
    edge.backend.put(1, samples::complete);
    let reply = client.read().await.unwrap();
    assert_eq!(reply.header("preference-applied"), "wait=60");
    assert_eq!(reply.json()["data"]["status"], "completed");
}

#[tokio::test]
async fn tasks_are_listed_and_filtered() {
    let edge = TestEdge::plain().await;
    let (first, second) = (edge.backend.put(1, |_| {}), edge.backend.put(2, samples::complete));
    let page = edge.read("/v1/tasks").await.json();
    assert_eq!((&page["code"], &page["has_more"]), (&json!(200), &json!(false)));
    assert_eq!((&page["first_id"], &page["last_id"]), (&json!(second), &json!(first)));
    assert_eq!(page["data"][0]["status"], "completed");
    let third = edge.backend.put(3, |_| {});
    let request = format!("/v1/tasks?limit=1&status=completed&model=ctx-pro&after={third}");
    let page = edge.read(&request).await.json();
    assert_eq!((page["data"].as_array().unwrap().len(), &page["has_more"]), (1, &json!(true)));
    let filter = edge.backend.filters.lock().unwrap().pop().unwrap();
    assert_eq!((filter.limit, filter.status, filter.after), (1, Some(Status::Completed), Some(third)));
    let page = edge.read("/v1/tasks?model=unused").await;
    let expected = r#"{"code":200,"data":[],"has_more":false,"first_id":null,"last_id":null}"#;
    assert_eq!(page.body, expected, "an empty page");
    assert_eq!(edge.read("/v1/tasks?limit=many").await.refusal("param"), (400, json!("limit")));
}

#[tokio::test]
async fn a_task_is_cancelled_once() {
    let edge = TestEdge::plain().await;
    let id = edge.backend.put(1, |_| {});
    let cancel = edge.post(&format!("/v1/tasks/{id}/cancel"), "");
    let reply = edge.ask(cancel.clone()).await;
    assert_eq!((reply.status, &reply.json()["data"]["error"]["type"]), (200, &json!("cancelled")));
    let reply = edge.ask(cancel.clone()).await;
    assert_eq!((reply.status, reply.message().as_str()), (409, "the task has already ended: failed"));
    edge.backend.put(1, |task| task.status = Status::Processing);
    assert_eq!(edge.ask(cancel.clone()).await.status, 409);
    edge.backend.put(1, |task| task.status = Status::Pending);
    let reply = edge.ask(cancel).await;
    let task = reply.json();
    assert_eq!((reply.status, &task["code"]), (202, &json!(202)), "its provider is asked");
    assert_eq!(task["data"]["status"], "pending");
}
