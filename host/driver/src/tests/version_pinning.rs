//! A swap while a task is in progress, and a restart after it: the task finishes on the exact version that admitted
//! it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gatehouse_harness::{TestClock, component, until};
use gatehouse_model::{Clock as _, Digest, Key, Status, TaskId};
use gatehouse_runtime::VersionState;
use gatehouse_sandbox::{Sandbox, Settings};
use serde_json::json;

use crate::tests::support::{Process, customer, submission};

impl Process {
    async fn end(self) {
        self.driver.process.stop(Duration::from_secs(5), Duration::ZERO).await;
        let store = self.store;
        tokio::task::spawn_blocking(move || store.close()).await.expect("closed");
    }

    async fn submit(&self, key: &Arc<Key>, prompt: &str) -> TaskId {
        let request = submission(key, &json!({"model": "ctx-pro", "prompt": prompt}));
        self.driver.intake.submit(request).await.expect("a receipt").task
    }

    /// The task's status and version, once it has ended.
    async fn end_of(&self, key: &Key, task: TaskId) -> (Status, Digest) {
        let max_wait = Duration::from_secs(60);
        let task =
            self.driver.tasks.task_when_over(key, task, max_wait).await.expect("readable").expect("known");
        (task.status, task.digest)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_finishes_on_the_version_that_admitted_it() {
    let hour = Arc::new(AtomicU64::new(1_767_225_600_000));
    let of_provider = Arc::clone(&hour);
    let settings = Settings { job_time: Duration::from_secs(60), retry_after_s: 0, ..Settings::default() };
    let sandbox = Sandbox::start(settings.with_now(move || of_provider.load(Ordering::SeqCst)))
        .await
        .expect("a sandbox");
    let data = tempfile::tempdir().expect("a folder");
    let old = component("plugins/context-image");
    // A custom section changes the digest and nothing else: the same plugin as another version.
    let new = [old.as_slice(), &[0, 3, 1, b'b', 1]].concat();

    let process = Process::with_images(data.path(), &sandbox).await;
    process.plugins.install(&old).expect("the old version");
    let key = customer(&process.store, TestClock::real(&[]).now()).await;
    let before = process.submit(&key, "before the swap").await;
    process.plugins.install(&new).expect("the new version");
    let after = process.submit(&key, "after the swap").await;
    // Before the process ends.
    until("both have reached the provider", async || sandbox.context_record().submits.len() >= 2).await;
    process.end().await;

    let process = Process::with_images(data.path(), &sandbox).await;
    let states: Vec<_> =
        process.plugins.list().into_iter().map(|version| (version.digest, version.state)).collect();
    assert!(states.contains(&(Digest::of(&old), VersionState::Pinned)), "{states:?}");
    hour.fetch_add(3_600_000, Ordering::SeqCst);
    assert_eq!(process.end_of(&key, before).await, (Status::Completed, Digest::of(&old)));
    assert_eq!(process.end_of(&key, after).await, (Status::Completed, Digest::of(&new)));
    assert!(process.store.examine().expect("readable").is_clean());
    let states = process.plugins.list().into_iter().map(|version| (version.digest, version.state));
    let old_state =
        states.into_iter().find(|(digest, _)| *digest == Digest::of(&old)).map(|(_, state)| state);
    assert_eq!(old_state, Some(VersionState::Kept), "nothing pins the old version after its last task");
    process.end().await;
}
