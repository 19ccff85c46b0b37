//! Requests that a plugin cannot serve because of what the client sent: a refusal or a failed task, and no charge. The progress of
//! a step that fails its task goes with the end, in one commit.

use std::sync::Arc;
use std::time::Duration;

use crate::{Receipt, SubmitError};
use gatehouse_harness::{TestClock, component};
use gatehouse_model::{Clock as _, Credits, FailureKind, Key, Status, Task};
use gatehouse_sandbox::{Sandbox, Settings};
use serde_json::{Value, json};

use crate::tests::support::{Process, PuppetTest, STATE_KIB, customer, fine, submission};

async fn submit(process: &Process, key: &Arc<Key>, body: &Value) -> Result<Receipt, SubmitError> {
    process.driver.intake.submit(submission(key, body)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_sends_what_cannot_be_used_is_told_so_and_pays_nothing() {
    let sandbox = Sandbox::start(Settings::default()).await.expect("a sandbox");
    let data = tempfile::tempdir().expect("a folder");
    let process = Process::with_images(data.path(), &sandbox).await;
    process.plugins.install(&component("plugins/context-image")).expect("the plugin");
    let key = customer(&process.store, TestClock::real(&[]).now()).await;

    // More text than a task's state can hold; the plugin itself knows of the usual limit only.
    let long = json!({"model": "ctx-pro", "prompt": "p".repeat(STATE_KIB << 10)});
    match submit(&process, &key, &long).await {
        Err(SubmitError::Invalid { field: None, message }) => {
            assert!(message.starts_with("besides its media, the request is too long: "), "{message}");
            assert!(message.ends_with(" bytes of it, at most 16384 are possible"), "{message}");
        }
        other => panic!("{other:?}"),
    }

    // A reference that looks like a URL and is none.
    let body = json!({"model": "ctx-pro", "prompt": "a kite", "image_urls": ["http://[kite"]});
    let task = submit(&process, &key, &body).await.expect("a receipt").task;
    let max_wait = Duration::from_secs(60);
    let ended =
        process.driver.tasks.task_when_over(&key, task, max_wait).await.expect("readable").expect("known");
    let failure = ended.failure.expect("a failure");
    assert_eq!(
        (ended.status, failure.kind, ended.cost),
        (Status::Failed, FailureKind::Request, Some(Credits::ZERO))
    );
    assert!(failure.message.contains("image_urls[0]"), "{}", failure.message);
    assert!(failure.message.contains("got \"http://[kite\""), "{}", failure.message);

    let account = process.store.customer(&key.customer).await.expect("readable").expect("a customer");
    assert_eq!((account.reserved, account.spent), (Credits::ZERO, Credits::ZERO));
    assert_eq!(sandbox.context_record().submits.len(), 0);
    assert!(process.store.examine().expect("readable").is_clean());
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
    let test = PuppetTest::with(fine, &["main"]).await;
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
