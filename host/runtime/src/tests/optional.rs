//! The optional interfaces: a family's rendering of a task, and calls of several tasks as one.

use std::sync::Arc;

use crate::tests::common::{self, TestService, claiming, context, open, step_context};
use crate::{ComponentRunner, Limits, Version};
use gatehouse_model::{Event, Json, Parent, Replay, Reply, Target, TaskView};
use serde_json::{Value, json};

/// The fixture that may call the provider of its merged calls.
fn bulky() -> Vec<u8> {
    claiming(&json!({"providers": ["mock", "trap"]}))
}

fn installed() -> (tempfile::TempDir, TestService, Arc<Version>) {
    let dir = tempfile::tempdir().unwrap();
    let service = open(dir.path());
    service.install(&bulky()).unwrap();
    let version = service.registry().family("unruly").unwrap();
    (dir, service, version)
}

fn task(private: &'static str) -> TaskView {
    TaskView {
        task: Parent { private: Json::from_static(private), ..common::parent() },
        progress: 40,
        created: common::NOW,
        ended: None,
        failure: None,
        cost: None,
    }
}

fn reply(body: &Value) -> Reply {
    common::reply(body.to_string())
}

fn items() -> Arc<[String]> {
    ["7", "8"].map(str::to_owned).into()
}

#[tokio::test]
async fn a_family_renders_a_task_and_what_it_renders_is_json() {
    let (_dir, service, version) = installed();
    let view =
        async |task| service.view(&version, step_context(&version), "journey.read".to_owned(), task).await;
    let shown: Value = serde_json::from_str(&view(task("{\"a\":2}")).await.unwrap()).unwrap();
    assert_eq!(shown["surface"], "journey.read");
    assert_eq!(shown["same_task"], true);
    assert_eq!((&shown["status"], &shown["progress"]), (&json!("Status::Processing"), &json!(40)));
    assert_eq!((&shown["public"], &shown["private"]), (&json!([1]), &json!({"a": 2})));
    // 7b is a brace that is never closed.
    let fault = view(task("{\"view\":{\"$raw\":\"7b\"}}")).await.unwrap_err();
    assert!(fault.to_string().contains("the plugin's view is not acceptable: expected JSON"), "{fault}");
}

#[tokio::test]
async fn a_merged_call_is_safe_and_its_reply_has_a_part_for_each_item() {
    let (_dir, service, version) = installed();
    let merge = async |key: &str| service.merge(&version, context(&version), key.to_owned(), items()).await;
    let call = merge("poll").await.unwrap();
    assert_eq!((call.provider.as_str(), call.replay), ("trap", Replay::Safe));
    assert_eq!(call.target, Target::Path("/bulk".to_owned()));
    let fault = merge("lazy merge").await.unwrap_err();
    assert!(fault.to_string().contains("merge is not acceptable: expected a safe call"), "{fault}");

    let answers = reply(&json!({"7": "done"}));
    let split = async |key: &str| {
        service.split(&version, context(&version), key.to_owned(), items(), answers.clone()).await
    };
    let parts = split("poll").await.unwrap();
    assert_eq!(parts, [Some(reply(&json!("done"))), None], "the account is the host's to name");
    let fault = split("lazy split").await.unwrap_err();
    let expected = "split is not acceptable: expected a reply or none for each of 2 items, got 0";
    assert!(fault.to_string().contains(expected), "{fault}");
}

#[tokio::test]
async fn the_fixture_without_that_provider_may_not_merge() {
    let (_dir, service, version) = common::ready();
    let fault = service.merge(&version, context(&version), "poll".to_owned(), items()).await.unwrap_err();
    assert!(fault.to_string().contains("provider \"trap\" is not in the manifest"), "{fault}");
}

#[test]
fn the_component_runner_has_the_same_rules() {
    let runner = ComponentRunner::load(&bulky(), Limits::default()).unwrap();
    let (_dir, _service, version) = common::ready();
    let cx = || context(&version);
    let items = || items().to_vec();
    assert_eq!(runner.merge(cx(), "poll".to_owned(), items()).unwrap().replay, Replay::Safe);
    assert!(runner.merge(cx(), "lazy merge".to_owned(), items()).is_err());
    let parts = runner.split(cx(), "poll".to_owned(), items(), reply(&json!({"8": 1}))).unwrap();
    assert_eq!(parts, [None, Some(reply(&json!(1)))]);
    assert!(runner.split(cx(), "lazy split".to_owned(), items(), reply(&json!({}))).is_err());
    let view = runner.view(step_context(&version), "journey.read".to_owned(), task("{\"view\":[]}")).unwrap();
    assert_eq!(&*view, "[]");
    let event = Event::Timer;
    assert!(runner.advance(step_context(&version), b"view beside an end".to_vec(), event).is_err());
}
