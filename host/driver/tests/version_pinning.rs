//! A swap while a task is under way, and a restart on top of it: the task finishes on the exact build that
//! admitted it. Real rooms, the real plugin, a simulated provider whose clock this test holds.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gatehouse_build::{build_plugin, plugins_target_dir};
use gatehouse_driver::{CheckedBody, Config, Driver, Parts, SubmitRequest};
use gatehouse_media::MediaStore;
use gatehouse_model::{
    ApiKey, Clock, Credits, CustomerId, Digest, Key, Pause, Pepper, Secret, Seed, Status, TaskId, UnixMs,
};
use gatehouse_runtime::{PluginService, VersionState};
use gatehouse_sandbox::{Sandbox, Settings};
use gatehouse_store::Store;
use gatehouse_tasks::Command;
use gatehouse_upstream::{SystemResolver, Upstream};
use serde_json::json;

struct RealClock;

impl Clock for RealClock {
    fn now(&self) -> UnixMs {
        let since = std::time::SystemTime::UNIX_EPOCH.elapsed().expect("after 1970");
        UnixMs(0).plus(since)
    }

    #[expect(clippy::disallowed_methods, reason = "a test's own clock")]
    fn pause(&self, span: Duration) -> Pause {
        Box::pin(tokio::time::sleep(span))
    }
}

/// Different every time, which is all that ids need here.
struct CountingSeed(AtomicU64);

impl Seed for CountingSeed {
    fn fill(&self, into: &mut [u8]) {
        for chunk in into.chunks_mut(8) {
            let word = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed).to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }
}

/// One process's life: every room open on the same folder.
struct Life {
    store: Store,
    families: PluginService,
    driver: Driver,
}

impl Life {
    async fn begin(data: &Path, sandbox: &Sandbox) -> Self {
        let (clock, seed) = (Arc::new(RealClock), Arc::new(CountingSeed(AtomicU64::new(RealClock.now().0))));
        let store =
            Store::open(&data.join("core.redb"), &gatehouse_store::Config::default()).expect("a store");
        let mut plugins = gatehouse_runtime::Config::new(data.to_owned());
        plugins
            .settings
            .insert("context-image".to_owned(), json!({"pace": {"shortest_ms": 5, "longest_ms": 20}}));
        // A version under watch would keep the one before it loaded.
        plugins.canary.window_s = 0;
        let families = PluginService::open(plugins, clock.clone()).expect("families");
        let at = sandbox.context();
        let providers = json!({"providers": {"bfl": {
            "base_url": at.submit, "origins": [at.poll], "media_origins": [at.delivery],
            "auth": {"header": "x-key"}, "accounts": {"main": {"secret": {"env": "KEY"}}},
        }}});
        let providers = serde_json::from_value(providers).expect("a configuration");
        let secret = |_: &_| Ok(Secret::new("sandbox-key".to_owned()));
        let upstream =
            Upstream::new(&providers, &secret, clock.clone(), seed.clone(), Arc::new(SystemResolver))
                .expect("upstream");
        let media = MediaStore::open(
            gatehouse_media::Config::default(),
            data,
            Pepper::new([7; 32]),
            upstream.clone(),
            clock.clone(),
            seed.clone(),
        )
        .expect("media");
        let prices = [("ctx-pro".to_owned(), Credits(4_000_000))].into();
        let config = Config { prices, ..Config::default() };
        let parts =
            Parts { store: store.clone(), plugins: families.clone(), upstream, media, config, clock, seed };
        let driver = Driver::start(parts).await.expect("a driver");
        Self { store, families, driver }
    }

    async fn end(self) {
        self.driver.stop(Duration::from_secs(5), Duration::ZERO).await;
        let store = self.store;
        tokio::task::spawn_blocking(move || store.close()).await.expect("closed");
    }

    async fn submit(&self, key: &Arc<Key>, prompt: &str) -> TaskId {
        let body = json!({"model": "ctx-pro", "prompt": prompt}).to_string().into();
        let body = CheckedBody::parse(body, None).expect("an object");
        let request = SubmitRequest {
            key: key.clone(),
            surface: "images.generate",
            parent: None,
            body,
            idempotency: None,
        };
        self.driver.submit(request).await.expect("a receipt").task
    }

    /// The task's status and the build it belongs to, once it has ended.
    async fn end_of(&self, key: &Key, task: TaskId) -> (Status, Digest) {
        let patience = Duration::from_secs(60);
        let task = self.driver.task_when_over(key, task, patience).await.expect("readable").expect("known");
        (task.status, task.digest)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_finishes_on_the_build_that_admitted_it() {
    let hour = Arc::new(AtomicU64::new(1_767_225_600_000));
    let theirs = Arc::clone(&hour);
    let settings = Settings { job_time: Duration::from_secs(60), retry_after_s: 0, ..Settings::default() };
    let sandbox =
        Sandbox::start(settings.with_now(move || theirs.load(Ordering::SeqCst))).await.expect("a sandbox");
    let data = tempfile::tempdir().expect("a folder");
    let old = component();
    // A custom section changes the digest and nothing else: the same plugin as another build.
    let new = [old.as_slice(), &[0, 3, 1, b'b', 1]].concat();

    let life = Life::begin(data.path(), &sandbox).await;
    life.families.install(&old).expect("the old build");
    let key = Arc::new(customer(&life.store).await);
    let before = life.submit(&key, "before the swap").await;
    life.families.install(&new).expect("the new build");
    let after = life.submit(&key, "after the swap").await;
    while sandbox.context_record().submits.len() < 2 {
        // Both have reached the provider before the process ends.
        tokio::task::yield_now().await;
    }
    life.end().await;

    let life = Life::begin(data.path(), &sandbox).await;
    let states: Vec<_> =
        life.families.list().into_iter().map(|version| (version.digest, version.state)).collect();
    assert!(states.contains(&(Digest::of(&old), VersionState::Pinned)), "{states:?}");
    hour.fetch_add(3_600_000, Ordering::SeqCst);
    assert_eq!(life.end_of(&key, before).await, (Status::Completed, Digest::of(&old)));
    assert_eq!(life.end_of(&key, after).await, (Status::Completed, Digest::of(&new)));
    assert!(life.store.examine().expect("readable").is_clean());
    let states = life.families.list().into_iter().map(|version| (version.digest, version.state));
    let old_state =
        states.into_iter().find(|(digest, _)| *digest == Digest::of(&old)).map(|(_, state)| state);
    assert_eq!(old_state, Some(VersionState::Kept), "with its last task the old build is let go");
    life.end().await;
}

fn component() -> Vec<u8> {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins/context-image");
    let target = plugins_target_dir(&std::env::current_exe().expect("a running test"));
    let wasm = build_plugin(&crate_dir, &target).unwrap_or_else(|error| panic!("{error}"));
    std::fs::read(wasm).expect("a component")
}

/// An account with credit and its key.
async fn customer(store: &Store) -> Key {
    let (account, at) = (CustomerId::from("acme"), RealClock.now());
    let secret = ApiKey::mint(&CountingSeed(AtomicU64::new(3)));
    let key = Key {
        id: secret.id(),
        customer: account.clone(),
        name: "test".to_owned(),
        digest: secret.digest(&Pepper::new([7; 32])),
        created: at,
        quota: None,
        used: Credits::ZERO,
        models: Vec::new(),
        networks: Vec::new(),
        expires: None,
        revoked: None,
        chat_format: gatehouse_model::ChatFormat::Wrapped,
    };
    let commands = [
        Command::AddCustomer { id: account.clone(), at },
        Command::Deposit { customer: account, amount: Credits(100_000_000), memo: String::new(), at },
        Command::AddKey { key: Box::new(key.clone()) },
    ];
    for command in commands {
        store.execute(command).await.expect("a store").expect("allowed");
    }
    key
}
