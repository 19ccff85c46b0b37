//! A step that fails a task: its progress goes with the end, in one commit.

use gatehouse_harness::{Received, Reply, reply};
use gatehouse_model::{Status, Task};
use serde_json::{Value, json};

use crate::tests::support::PuppetTest;

fn answer(_: &Received) -> Reply {
    reply(200, &[], "fine")
}

async fn ended(test: &PuppetTest, last: Value) -> Task {
    let task = test.run(&json!([{"call": {"path": "/own"}, "progress": 10}, last])).await;
    let task = test.end_of(task).await;
    assert_eq!(task.status, Status::Failed);
    assert_eq!(task.failure.as_ref().map(|failure| failure.message.as_str()), Some("no"));
    task
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_carries_the_progress_of_its_step() {
    let test = PuppetTest::with(answer, &["main"]).await;
    let plain = ended(&test, json!({"fail": "no", "progress": 10})).await;
    assert_eq!(plain.progress, 10);
    for (last, progress, public) in [
        (json!({"fail": "no", "progress": 60}), 60, ""),
        (json!({"fail": "no", "progress": 5}), 10, ""),
        (json!({"fail": "no", "progress": 60, "public": {"last": 3}}), 60, r#"{"last":3}"#),
    ] {
        let task = ended(&test, last.clone()).await;
        assert_eq!(
            (task.progress, String::from_utf8_lossy(&task.public).as_ref()),
            (progress, public),
            "{last}"
        );
        // Each commit raises the revision by one.
        assert_eq!(task.revision, plain.revision, "{last}: no commit of its own");
    }
    assert!(test.process.store.examine().expect("readable").is_clean());
}
