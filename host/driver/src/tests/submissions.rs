//! Requests that a plugin cannot serve because of what the client sent: a refusal or a failed task, and no charge.

use std::sync::Arc;
use std::time::Duration;

use crate::{Config, Receipt, SubmitError};
use gatehouse_harness::{TestClock, component};
use gatehouse_model::{Clock, Credits, FailureKind, Key, Price, Status};
use gatehouse_sandbox::{Sandbox, Settings};
use serde_json::{Value, json};

use crate::tests::support::{Process, STATE_KIB, customer, image_provider, submission};

async fn submit(process: &Process, key: &Arc<Key>, body: &Value) -> Result<Receipt, SubmitError> {
    process.driver.intake.submit(submission(key, body)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_sends_what_cannot_be_used_is_told_so_and_pays_nothing() {
    let sandbox = Sandbox::start(Settings::default()).await.expect("a sandbox");
    let data = tempfile::tempdir().expect("a folder");
    let config = Config {
        prices: [("ctx-pro".to_owned(), Price::each(Credits(4_000_000)))].into(),
        ..Config::default()
    };
    let clock = TestClock::real(&[]);
    let process = Process::start(data.path(), image_provider(&sandbox), config, clock.clone()).await;
    process.plugins.install(&component("plugins/context-image")).expect("the plugin");
    let key = customer(&process.store, clock.now()).await;

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
