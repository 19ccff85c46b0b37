//! A step that fails a task: what it changed besides goes with the end, in one commit.

use gatehouse_harness::{Received, Reply, reply};
use gatehouse_model::{Status, Task};
use serde_json::{Value, json};

use crate::support::PuppetTest;

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
async fn the_end_carries_what_its_step_changed() {
    let test = PuppetTest::with(answer, &["main"]).await;
    let plain = ended(&test, json!({"fail": "no", "progress": 10})).await;
    assert_eq!((plain.progress, plain.public.as_slice()), (10, &b""[..]));

    // Each commit raises the revision by one.
    let view = json!({"public": {"shown": 1}, "private": {"kept": 2}});
    for (last, progress, public, private) in [
        (json!({"fail": "no", "progress": 60}), 60, "", ""),
        (json!({"fail": "no", "progress": 5}), 10, "", ""),
        (json!({"fail": "no", "progress": 60, "view": view}), 60, r#"{"shown":1}"#, r#"{"kept":2}"#),
        (json!({"fail": "no", "view": view, "public": {"last": 3}}), 10, r#"{"last":3}"#, r#"{"kept":2}"#),
    ] {
        let task = ended(&test, last.clone()).await;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(
            (task.progress, text(&task.public), text(&task.private)),
            (progress, public.into(), private.into()),
            "{last}"
        );
        assert_eq!(task.revision, plain.revision, "{last}: no commit of its own");
    }
    assert!(test.process.store.examine().expect("readable").is_clean());
}
