//! A driver on a data folder, its plugins, and a customer with a key.

use std::num::NonZeroU32;
use std::path::Path;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use crate::{
    CheckedBody, CompletionRequest, Config, Disk, Driver, Parts, RequestReport, SubmitError, SubmitRequest,
};
use gatehouse_harness::{Provider, Received, Reply, SharedCode, TestClock, TestSeed, puppet, reply, until};
use gatehouse_media::MediaStore;
use gatehouse_model::{
    ApiKey, Clock, Credits, CustomerId, CustomerPolicy, Key, KeyPolicy, Pepper, Phase, Price, RequestId,
    Secret, Seed, Task, TaskId, UnixMs,
};
use gatehouse_runtime::{Limits, PluginService};
use gatehouse_sample::at_once;
use gatehouse_sandbox::Sandbox;
use gatehouse_store::Store;
use gatehouse_tasks::Command;
use gatehouse_upstream::{SystemResolver, Upstream};
use serde_json::{Map, Value, json};

/// What the customer has at first.
const DEPOSIT: Credits = Credits(100_000_000);

/// The most an image task may keep between its steps.
pub(crate) const STATE_KIB: usize = 16;

/// One process: a driver and its parts, open on a folder.
pub(crate) struct Process {
    pub(crate) store: Store,
    pub(crate) plugins: PluginService,
    pub(crate) driver: Driver,
    _code: SharedCode,
}

impl Process {
    pub(crate) async fn start(data: &Path, providers: Value, config: Config, clock: Arc<dyn Clock>) -> Self {
        Self::start_over(data, json!({"providers": providers}), config, clock, Vec::new()).await
    }

    /// With the image plugin's simulated provider and a price, in real time.
    pub(crate) async fn with_images(data: &Path, sandbox: &Sandbox) -> Self {
        let at = sandbox.context();
        let providers = json!({"bfl": {
            "base_url": at.submit, "origins": [at.poll], "media_origins": [at.delivery],
            "auth": {"header": "x-key"}, "accounts": {"main": {"secret": {"env": "KEY"}}},
        }});
        Self::start(data, providers, image_prices(), TestClock::real(&[])).await
    }

    /// Without a provider, and allowed to fetch from and post to a host of this machine.
    pub(crate) async fn start_allowing(
        data: &Path,
        host: &str,
        config: Config,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let upstream = json!({"providers": {}, "fetch": {"allow_private": [host]}, "webhooks": {"allow_private": [host]}});
        Self::start_over(data, upstream, config, clock, Vec::new()).await
    }

    /// Executes commands that are allowed.
    pub(crate) async fn execute(&self, commands: impl IntoIterator<Item = Command>) {
        for command in commands {
            self.store.execute(command).await.expect("a store").expect("allowed");
        }
    }

    async fn start_over(
        data: &Path,
        upstream: Value,
        config: Config,
        clock: Arc<dyn Clock>,
        disks: Vec<Disk>,
    ) -> Self {
        let seed: Arc<dyn Seed> = Arc::new(TestSeed::counting_from(clock.now().0 << 20));
        let store =
            Store::open(&data.join("core.redb"), &gatehouse_store::Config::default()).expect("a store");
        let mut plugins = gatehouse_runtime::Config::new(data.to_owned());
        let pace = json!({"pace": {"shortest_ms": 5, "longest_ms": 20}});
        plugins.settings.insert("context-image".to_owned(), pace);
        let state_kib = u32::try_from(STATE_KIB).ok().and_then(NonZeroU32::new).expect("above zero");
        let limits = Limits { state_kib, ..Limits::default() };
        plugins.limits_by_family.insert("context-image".to_owned(), limits);
        // Each reserves address space, and several services are open at once.
        plugins.streams = 256;
        // A canary would keep the version before it loaded.
        plugins.canary.window_s = 0;
        let code = SharedCode::of(data);
        code.lend("");
        let plugins = PluginService::open(plugins, Arc::clone(&clock)).expect("a runtime");
        let providers = serde_json::from_value(upstream).expect("a configuration");
        let secret = |_: &_| Ok(Secret::new("sandbox-key".to_owned()));
        let resolver = Arc::new(SystemResolver);
        let upstream = Upstream::new(&providers, &secret, Arc::clone(&clock), Arc::clone(&seed), resolver)
            .expect("upstream");
        let pepper = Pepper::new([7; 32]);
        let media = MediaStore::open(
            gatehouse_media::Config::default(),
            data,
            &secret,
            pepper.clone(),
            upstream.clone(),
            Arc::clone(&clock),
            Arc::clone(&seed),
        )
        .expect("media");
        let parts = Parts {
            store: store.clone(),
            plugins: plugins.clone(),
            upstream,
            media,
            config,
            clock,
            seed,
            pepper,
            tracer: None,
            disks,
        };
        let driver = Driver::start(parts).await.expect("a driver");
        Self { store, plugins, driver, _code: code }
    }
}

/// A configuration with the price of an image.
pub(crate) fn image_prices() -> Config {
    let prices = [("ctx-pro".to_owned(), Price::each(Credits(4_000_000)))].into();
    Config { prices, ..Config::default() }
}

/// Adds a customer with credit; gives its key.
pub(crate) async fn customer(store: &Store, at: UnixMs) -> Arc<Key> {
    customer_named(store, "acme", 3, at).await
}

/// The same for another customer; every one has a `seed` of its own.
pub(crate) async fn customer_named(store: &Store, name: &str, seed: u64, at: UnixMs) -> Arc<Key> {
    let customer = CustomerId::from(name);
    let secret = ApiKey::mint(&TestSeed::counting_from(seed));
    let policy = KeyPolicy { name: "test".to_owned(), ..KeyPolicy::default() };
    let digest = secret.digest(&Pepper::new([7; 32]));
    let key = Key::new(secret.id(), customer.clone(), digest, at, policy);
    let commands = [
        Command::AddCustomer { id: customer.clone(), policy: CustomerPolicy::default(), at },
        Command::Deposit { customer, amount: DEPOSIT, memo: String::new(), at },
        Command::AddKey { key: Box::new(key.clone()) },
    ];
    for command in commands {
        store.execute(command).await.expect("a store").expect("allowed");
    }
    Arc::new(key)
}

/// A task of this test may take so long, real time.
const PATIENCE: Duration = Duration::from_secs(60);

/// A driver with the puppet and its provider `trap`. The clock stands still until the test moves it.
pub(crate) struct PuppetTest {
    pub(crate) clock: Arc<TestClock>,
    pub(crate) provider: Provider,
    pub(crate) process: Process,
    pub(crate) key: Arc<Key>,
    data: tempfile::TempDir,
}

impl PuppetTest {
    /// What the provider answers, and its accounts, the first one preferred.
    pub(crate) async fn with(
        script: impl Fn(&Received) -> Reply + Send + Sync + 'static,
        accounts: &[&str],
    ) -> Self {
        Self::started(script, accounts, 200, Vec::new()).await
    }

    /// The same with so many permits at each account.
    pub(crate) async fn with_limit(
        script: impl Fn(&Received) -> Reply + Send + Sync + 'static,
        accounts: &[&str],
        concurrency: u32,
    ) -> Self {
        Self::started(script, accounts, concurrency, Vec::new()).await
    }

    /// The same with disks that may become full.
    pub(crate) async fn started(
        script: impl Fn(&Received) -> Reply + Send + Sync + 'static,
        accounts: &[&str],
        concurrency: u32,
        disks: Vec<Disk>,
    ) -> Self {
        const NOW: u64 = 1_767_225_600_000;
        let provider = Provider::start(script).await;
        let data = tempfile::tempdir().expect("a folder");
        let clock = TestClock::at(NOW);
        let accounts: Map<String, Value> = (0..)
            .zip(accounts)
            .map(|(priority, name)| {
                ((*name).to_owned(), json!({"secret": {"env": "KEY"}, "priority": priority}))
            })
            .collect();
        let trap = json!({"base_url": provider.url(), "concurrency": concurrency, "accounts": accounts});
        let upstream = json!({
            "providers": {"trap": trap},
            "fetch": {"allow_private": [provider.address.to_string()]},
        });
        let config = Config {
            prices: [("puppet".to_owned(), Price::each(Credits(10_000)))].into(),
            ..Config::default()
        };
        let process = Process::start_over(data.path(), upstream, config, clock.clone(), disks).await;
        process.plugins.install(puppet()).expect("the plugin");
        let key = customer(&process.store, UnixMs(NOW)).await;
        Self { clock, provider, process, key, data }
    }

    /// Submits a task that takes these steps.
    pub(crate) async fn run(&self, steps: &Value) -> TaskId {
        self.try_run(&self.key, steps).await.expect("a receipt")
    }

    /// The same in the name of that key.
    pub(crate) async fn try_run(&self, key: &Arc<Key>, steps: &Value) -> Result<TaskId, SubmitError> {
        self.try_body(key, &json!({"model": "puppet-1", "script": {"steps": steps}})).await
    }

    /// Submits that body in the name of that key.
    pub(crate) async fn try_body(&self, key: &Arc<Key>, body: &Value) -> Result<TaskId, SubmitError> {
        self.process.driver.intake.submit(submission(key, body)).await.map(|receipt| receipt.task)
    }

    pub(crate) async fn end_of(&self, task: TaskId) -> Task {
        self.process
            .driver
            .tasks
            .task_when_over(&self.key, task, PATIENCE)
            .await
            .expect("readable")
            .expect("known")
    }

    /// A task as its row is now.
    pub(crate) fn stored(&self, task: TaskId) -> Task {
        at_once(self.process.store.task(task)).expect("readable").expect("known")
    }

    /// Files that are kept for tasks now, and those that are being written.
    pub(crate) fn kept_files(&self) -> usize {
        files_below(&self.data.path().join("media/blobs"))
    }

    /// Returns once the task waits by its plugin's word.
    pub(crate) async fn until_waits(&self, task: TaskId) {
        until("the task waits", async || matches!(self.stored(task).phase, Phase::Wait(_))).await;
    }

    /// Calls to paths that begin like this.
    pub(crate) fn calls(&self, path: &str) -> usize {
        self.provider.received().iter().filter(|request| request.path().starts_with(path)).count()
    }
}

fn files_below(folder: &Path) -> usize {
    // The folder comes with the first file.
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let paths = entries.map(|entry| entry.expect("readable").path());
    paths.map(|path| if path.is_dir() { files_below(&path) } else { 1 }).sum()
}

/// What a provider answers to every call.
pub(crate) fn fine(_: &Received) -> Reply {
    reply(200, &[], "fine")
}

/// A provider that holds up each call until the test lets one go.
pub(crate) fn gate() -> (mpsc::Sender<()>, impl Fn(&Received) -> Reply + Send + Sync + 'static) {
    let (go, wait) = mpsc::channel();
    let wait = Mutex::new(wait);
    let script = move |request: &Received| {
        // The thread may be the one that drives sockets and timers. The test has ended where the sender is gone.
        let _ = tokio::task::block_in_place(|| wait.lock().expect("a lock").recv());
        fine(request)
    };
    (go, script)
}

/// A text request of that body in the name of that key.
pub(crate) fn completion(key: &Arc<Key>, surface: &'static str, body: &Value) -> CompletionRequest {
    CompletionRequest {
        id: RequestId::from_bits(1),
        key: Arc::clone(key),
        surface,
        body: CheckedBody::parse(body.to_string().into(), None).expect("an object"),
        headers: Vec::new(),
        report: RequestReport::default(),
    }
}

/// A submission of that body in the name of that key.
pub(crate) fn submission(key: &Arc<Key>, body: &Value) -> SubmitRequest {
    SubmitRequest {
        key: Arc::clone(key),
        surface: "images.generate",
        parent: None,
        body: CheckedBody::parse(body.to_string().into(), None).expect("an object"),
        idempotency: None,
        report: RequestReport::default(),
    }
}
