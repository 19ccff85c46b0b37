//! Reads: the record of a task over its life, lists, unknown ids, cancelling.

use serde_json::{Value, json};

use super::proxy::{RUN, accepted, imagine, post, read, recorded, shown, submit, url};
use crate::tests::client::{KEY, START_MS, TestSandbox, call, fetch};

async fn list(test: &TestSandbox, body: &Value) -> Value {
    post(test, "/mj/task/list-by-condition", body).await.expect("a reply").json()
}

#[tokio::test]
async fn a_task_goes_from_state_to_state() {
    let test = TestSandbox::with(|settings| settings.job_time = RUN).await;
    let id = accepted(&test, "imagine", &json!({ "prompt": "a kite", "state": "mine" })).await;
    assert!(id.len() == 16 && id.starts_with(&(START_MS / 1000).to_string()), "{id}");
    for (percent, status, progress, has_picture) in [
        (0, "NOT_START", json!(null), false),
        (10, "SUBMITTED", json!("0%"), false),
        (10, "IN_PROGRESS", json!("20%"), true),
        (79, "IN_PROGRESS", json!("99%"), true),
        (1, "SUCCESS", json!("100%"), true),
    ] {
        test.advance(RUN * percent / 100);
        let task = shown(&test, &id).await;
        assert_eq!((&task["status"], &task["progress"]), (&json!(status), &progress));
        assert_eq!(task["imageUrl"].is_string(), has_picture, "{status}");
        assert_eq!(task["finishTime"].is_u64(), status == "SUCCESS");
        assert_eq!(task["buttons"].as_array().map(Vec::is_empty), Some(status != "SUCCESS"));
        assert_eq!(
            (&task["state"], &task["submitTime"], &task["mode"]),
            (&json!("mine"), &json!(START_MS), &json!("FAST"))
        );
        if status == "IN_PROGRESS" {
            assert_eq!(fetch(task["imageUrl"].as_str().expect("a preview")).await.status, 200);
        }
    }
    assert_eq!(recorded(&test, &id).fetches, 5);
}

#[tokio::test]
async fn lists_leave_unknown_tasks_out() {
    let test = TestSandbox::with(|settings| settings.keys.push("other-key".to_owned())).await;
    let (one, two) = (imagine(&test, "one").await, imagine(&test, "two [[lost]]").await);
    let three = imagine(&test, "three").await;
    let found = list(&test, &json!({ "ids": [three, "17", two, one] })).await;
    let ids: Vec<&str> =
        found.as_array().expect("a list").iter().filter_map(|task| task["id"].as_str()).collect();
    assert_eq!(ids, [three.as_str(), one.as_str()]);
    assert_eq!(found[0], shown(&test, &three).await);
    assert_eq!(list(&test, &json!({})).await, json!([]));
    assert_eq!(list(&test, &json!({ "ids": 5 })).await["code"], -1);
    let record = test.sandbox.midjourney_record();
    assert_eq!((record.lists.len(), record.lists[0].ids, record.accounts[0].lists), (2, 4, 2));
    assert_eq!((record.tasks[0].listed, record.accounts[1].lists), (1, 0));
    let foreign =
        call("GET", &url(&test, &format!("/mj/task/{one}/fetch")), &[("mj-api-secret", "other-key")], "")
            .await;
    assert_eq!(foreign.expect("a reply").status, 204);
}

#[tokio::test]
async fn unknown_tasks_are_empty() {
    let test = TestSandbox::start().await;
    let reply = read(&test, "1754200000000123").await;
    assert_eq!((reply.status, reply.text().as_str()), (204, ""));
    let lost = imagine(&test, "a kite [[lost:3]]").await;
    let mut seen = Vec::new();
    for _ in 0..4 {
        let reply = read(&test, &lost).await;
        seen.push((reply.status, reply.text().chars().take(4).collect::<String>()));
    }
    let expected = [(200, ""), (200, "null"), (204, ""), (200, "{\"ac")];
    assert_eq!(seen, expected.map(|(status, text)| (status, text.to_owned())));
}

#[tokio::test]
async fn running_tasks_can_be_cancelled_and_have_a_seed() {
    let test = TestSandbox::with(|settings| settings.job_time = RUN).await;
    let id = imagine(&test, "a kite").await;
    let seed =
        call("GET", &url(&test, &format!("/mj/task/{id}/image-seed")), &[("mj-api-secret", KEY)], "").await;
    assert!(seed.expect("a reply").json()["result"].as_str().is_some_and(|seed| seed.parse::<u32>().is_ok()));
    post(&test, &format!("/mj/task/{id}/cancel"), &json!({})).await.expect("a reply");
    assert_eq!(shown(&test, &id).await["status"], "CANCEL");
    assert_eq!(post(&test, "/mj/task/17/cancel", &json!({})).await.expect("a reply").status, 404);
}

#[tokio::test]
async fn an_account_runs_so_many_tasks_and_queues_ten() {
    let test = TestSandbox::with(|settings| (settings.job_time, settings.max_in_flight) = (RUN, 2)).await;
    let mut answers = Vec::new();
    for number in 0..13 {
        answers.push(submit(&test, "imagine", &json!({ "prompt": format!("kite {number}") })).await);
    }
    let codes: Vec<i64> = answers.iter().filter_map(|answer| answer["code"].as_i64()).collect();
    assert_eq!(codes, [1, 1, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 9]);
    assert_eq!(answers[11]["properties"]["numberOfQueues"], 10);
    let third = answers[2]["result"].as_str().expect("an id");
    for (status, after) in
        [("NOT_START", RUN), ("NOT_START", RUN / 2), ("IN_PROGRESS", RUN / 2), ("SUCCESS", RUN)]
    {
        assert_eq!(shown(&test, third).await["status"], status);
        test.advance(after);
    }
}
