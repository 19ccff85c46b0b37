//! What a client has of a stream whose provider is slow to begin or to end, and what becomes of its money: real rooms, the
//! real plugin, a simulated provider that waits for this test, and a clock whose spans this test ends.

use std::future::poll_fn;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gatehouse_build::{build_plugin, plugins_target_dir};
use gatehouse_driver::{
    CheckedBody, CompletionRequest, CompletionResponse, Config, Driver, Parts, TextError, TextStream,
};
use gatehouse_media::MediaStore;
use gatehouse_model::{
    ApiKey, ChatFormat, Clock, Credits, CustomerId, Key, Pause, Pepper, RequestId, Secret, Seed, Sse, UnixMs,
};
use gatehouse_runtime::PluginService;
use gatehouse_sandbox::{Sandbox, Settings};
use gatehouse_store::Store;
use gatehouse_tasks::Command;
use gatehouse_upstream::{SystemResolver, Upstream};
use serde_json::json;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

/// The spans of the configuration that go by only when the test says so.
const HEAD: Duration = Duration::from_secs(1_111);
const DRAIN: Duration = Duration::from_secs(2_222);
const STREAM: Duration = Duration::from_secs(3_333);

/// The real time, but for these spans.
#[derive(Default)]
struct HandClock {
    waiting: Mutex<Vec<(Duration, oneshot::Sender<()>)>>,
    changed: watch::Sender<()>,
}

impl HandClock {
    /// How many wait for the span.
    fn armed(&self, span: Duration) -> usize {
        let waiting = self.waiting.lock().expect("no panic");
        waiting.iter().filter(|(wanted, end)| *wanted == span && !end.is_closed()).count()
    }

    /// Ends the span for whoever waits for it, once somebody does.
    async fn end(&self, span: Duration) {
        let mut changed = self.changed.subscribe();
        while self.armed(span) == 0 {
            changed.changed().await.expect("the clock stands");
        }
        for (_, end) in self.waiting.lock().expect("no panic").extract_if(.., |(wanted, _)| *wanted == span) {
            // Whoever waited may be gone.
            let _ = end.send(());
        }
    }
}

impl Clock for HandClock {
    fn now(&self) -> UnixMs {
        UnixMs(0).plus(std::time::SystemTime::UNIX_EPOCH.elapsed().expect("after 1970"))
    }

    #[expect(clippy::disallowed_methods, reason = "a test's own clock")]
    fn pause(&self, span: Duration) -> Pause {
        if ![HEAD, DRAIN, STREAM].contains(&span) {
            return Box::pin(tokio::time::sleep(span));
        }
        let (end, ended) = oneshot::channel();
        self.waiting.lock().expect("no panic").push((span, end));
        self.changed.send_replace(());
        Box::pin(async move {
            let _ = ended.await;
        })
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

/// Every room open, one model, two accounts that serve it, and a customer.
struct Scene {
    clock: Arc<HandClock>,
    sandbox: Sandbox,
    store: Store,
    driver: Driver,
    key: Arc<Key>,
    requests: AtomicU64,
    _data: tempfile::TempDir,
}

impl Scene {
    async fn begin() -> Self {
        let sandbox = Sandbox::start(Settings::default()).await.expect("a sandbox");
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path();
        let clock = Arc::new(HandClock::default());
        let seed = Arc::new(CountingSeed(AtomicU64::new(clock.now().0)));
        let store =
            Store::open(&data.join("core.redb"), &gatehouse_store::Config::default()).expect("a store");
        let families = PluginService::open(gatehouse_runtime::Config::new(data.to_owned()), clock.clone())
            .expect("families");
        families.install(&component()).expect("the plugin");
        let account = |priority: u32| json!({"secret": {"env": "KEY"}, "priority": priority});
        let providers = json!({"providers": {"p": {
            "base_url": sandbox.messages().origin, "auth": {"header": "x-api-key"},
            "accounts": {"first": account(0), "second": account(1)},
        }}});
        let secret = |_: &_| Ok(Secret::new("sandbox-key".to_owned()));
        let providers = serde_json::from_value(providers).expect("a configuration");
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
        let model = json!({
            "provider": "p", "protocol": "messages", "upstream": "claude-sonnet-4-6",
            "prices": {"input": "2", "output": "5"},
        });
        let text =
            json!({"head_s": HEAD.as_secs(), "drain_s": DRAIN.as_secs(), "stream_s": STREAM.as_secs()});
        let config = Config {
            text: serde_json::from_value(text).expect("a configuration"),
            models: [("m".to_owned(), serde_json::from_value(model).expect("a model"))].into(),
            ..Config::default()
        };
        let key = Arc::new(customer(&store, clock.now()).await);
        let (of_store, of_clock) = (store.clone(), clock.clone());
        let parts =
            Parts { store: of_store, plugins: families, upstream, media, config, clock: of_clock, seed };
        let driver = Driver::start(parts).await.expect("a driver");
        Self { clock, sandbox, store, driver, key, requests: AtomicU64::new(1), _data: folder }
    }

    fn ask(&self, text: &str, streaming: bool) -> JoinHandle<Result<CompletionResponse, TextError>> {
        let messages = json!([{"role": "user", "content": text}]);
        let body = json!({"model": "m", "max_tokens": 100, "stream": streaming, "messages": messages});
        let request = CompletionRequest {
            id: RequestId::from_bits(self.requests.fetch_add(1, Ordering::Relaxed).into()),
            key: Arc::clone(&self.key),
            surface: "messages.create",
            body: CheckedBody::parse(body.to_string().into(), None).expect("an object"),
            headers: vec![],
        };
        let driver = self.driver.clone();
        tokio::spawn(async move { driver.complete(request).await })
    }

    /// Returns once the provider has had so many requests and holds up the last.
    async fn held_up(&self, requests: u64) {
        loop {
            let truth = self.sandbox.messages_record();
            if truth.count == requests && truth.held == 1 {
                return;
            }
            tokio::task::yield_now().await;
        }
    }

    /// What is reserved, and what was spent.
    async fn money(&self) -> (Credits, Credits) {
        self.store.flush().await.expect("a store");
        let account = self.store.customer(&self.key.customer).expect("readable").expect("an account");
        (account.reserved, account.spent)
    }

    /// What was spent, once nothing is reserved.
    async fn spent(&self) -> Credits {
        loop {
            let (reserved, spent) = self.money().await;
            if reserved == Credits::ZERO {
                return spent;
            }
            tokio::task::yield_now().await;
        }
    }
}

fn component() -> Vec<u8> {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins/messages");
    let target = plugins_target_dir(&std::env::current_exe().expect("a running test"));
    let wasm = build_plugin(&crate_dir, &target).unwrap_or_else(|error| panic!("{error}"));
    std::fs::read(wasm).expect("a component")
}

/// An account with credit and its key.
async fn customer(store: &Store, at: UnixMs) -> Key {
    let account = CustomerId::from("acme");
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
        chat_format: ChatFormat::Wrapped,
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

async fn stream(asked: JoinHandle<Result<CompletionResponse, TextError>>) -> TextStream {
    match asked.await.expect("no panic") {
        Ok(CompletionResponse::Stream(stream)) => stream,
        other => panic!("{other:?}"),
    }
}

/// The rest of a stream: its events' names, and the error that ends it.
async fn rest(stream: &mut TextStream) -> (Vec<String>, Option<TextError>) {
    let mut names = Vec::new();
    while let Some(batch) = poll_fn(|cx| stream.poll_next(cx)).await {
        match batch {
            Ok(events) => names.extend(events.into_iter().filter_map(|Sse { event, .. }| event)),
            Err(error) => return (names, Some(error)),
        }
    }
    (names, None)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn within_the_span_nothing_changes() {
    let scene = Scene::begin().await;
    let asked = scene.ask("[[slow-start]] hello", true);
    scene.held_up(1).await;
    assert_eq!(scene.clock.armed(HEAD), 1);
    scene.sandbox.release();
    let (names, error) = rest(&mut stream(asked).await).await;
    assert!(error.is_none() && names.last().is_some_and(|name| name == "message_stop"), "{names:?}");
    let spent = scene.spent().await;
    assert!(spent > Credits::ZERO);
    // A failure is an answer of its own, and the hold is gone when it is told.
    let failed = scene.ask("[[503]] hello", true).await.expect("no panic");
    assert!(matches!(failed, Err(TextError::Rejected { .. })), "{failed:?}");
    assert_eq!(scene.money().await, (Credits::ZERO, spent));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_the_span_the_stream_is_there_and_accounts_are_still_tried() {
    let scene = Scene::begin().await;
    let asked = scene.ask("[[slow-start]] [[503:1]] hello", true);
    scene.held_up(1).await;
    scene.clock.end(HEAD).await;
    let mut stream = stream(asked).await;
    assert!(scene.money().await.0 > Credits::ZERO, "it is paid for in advance");
    scene.sandbox.release();
    scene.held_up(2).await;
    scene.sandbox.release();
    let (names, error) = rest(&mut stream).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!((names[0].as_str(), names[names.len() - 1].as_str()), ("message_start", "message_stop"));
    assert!(scene.spent().await > Credits::ZERO);
    assert!(scene.store.examine().expect("readable").is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_the_span_a_failure_is_the_last_thing_said() {
    let scene = Scene::begin().await;
    let asked = scene.ask("[[slow-start]] [[503]] hello", true);
    scene.held_up(1).await;
    scene.clock.end(HEAD).await;
    let mut stream = stream(asked).await;
    scene.sandbox.release();
    scene.held_up(2).await;
    scene.sandbox.release();
    let (names, error) = rest(&mut stream).await;
    assert!(names.is_empty() && matches!(error, Some(TextError::Rejected { .. })), "{names:?} {error:?}");
    assert_eq!(scene.money().await, (Credits::ZERO, Credits::ZERO), "given back before it is told");
    assert!(rest(&mut stream).await.1.is_none(), "nothing follows");
    assert!(scene.store.examine().expect("readable").is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_left_is_read_on_for_and_a_shutdown_waits() {
    let scene = Scene::begin().await;
    let asked = scene.ask("[[slow-start]] hello", true);
    scene.held_up(1).await;
    scene.clock.end(HEAD).await;
    drop(stream(asked).await);
    let driver = scene.driver.clone();
    let patience = Duration::from_secs(60);
    let stopping = tokio::spawn(async move { driver.stop(patience, patience).await });
    scene.sandbox.release();
    stopping.await.expect("no panic");
    let (reserved, spent) = scene.money().await;
    assert!(reserved == Credits::ZERO && spent > Credits::ZERO, "{reserved:?} {spent:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_never_ends_keeps_no_hold_of_a_client_that_left() {
    let scene = Scene::begin().await;
    let asked = scene.ask("[[slow-start]] [[stall:2]] one two three four", true);
    scene.held_up(1).await;
    scene.clock.end(HEAD).await;
    drop(stream(asked).await);
    scene.sandbox.release();
    scene.clock.end(DRAIN).await;
    scene.spent().await;
    assert!(scene.store.examine().expect("readable").is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_takes_too_long_is_cut_and_paid_for() {
    let scene = Scene::begin().await;
    let asked = scene.ask("[[stall:2]] one two three four", true);
    let mut stream = stream(asked).await;
    scene.held_up(1).await;
    let is_text = |event: &Sse| event.event.as_deref() == Some("content_block_delta");
    while !poll_fn(|cx| stream.poll_next(cx)).await.expect("more").expect("in order").iter().any(is_text) {}
    scene.clock.end(STREAM).await;
    let (_, error) = rest(&mut stream).await;
    assert!(matches!(error, Some(TextError::Timeout)), "{error:?}");
    assert!(scene.spent().await > Credits::ZERO, "what was delivered is paid for");
    assert!(scene.store.examine().expect("readable").is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_whole_answer_is_waited_for() {
    let scene = Scene::begin().await;
    let asked = scene.ask("[[slow-start]] hello", false);
    scene.held_up(1).await;
    assert_eq!(scene.clock.armed(HEAD), 0, "no span counts");
    scene.sandbox.release();
    assert!(matches!(asked.await.expect("no panic"), Ok(CompletionResponse::Whole(_))));
    assert!(scene.spent().await > Credits::ZERO);
}
