//! A stream whose provider is slow to begin or to end: what its client gets, and what becomes of its money.
//!
//! The provider waits for the test, and the clock's long pauses end when the test says so.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::{
    CompletionRequest, CompletionResponse, Config, MemoryShortage, RequestMemory, RequestReport, SubmitError,
    TextError, TextStream,
};
use gatehouse_harness::{TestClock, component, until, until_some};
use gatehouse_model::{Clock as _, Credits, Key, RequestId, Sse};
use gatehouse_sandbox::{Sandbox, Settings};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::tests::support::{Process, completion, customer};

/// The durations of the configuration that end only when the test says so.
const HEAD: Duration = Duration::from_secs(1_111);
pub(crate) const DRAIN: Duration = Duration::from_secs(2_222);
const STREAM: Duration = Duration::from_secs(3_333);
pub(crate) const PERMIT_WAIT: Duration = Duration::from_secs(44);
const HELD: [Duration; 4] = [HEAD, DRAIN, STREAM, PERMIT_WAIT];
/// Shorter than the silence that a stream is allowed.
const TIME_LIMIT: Duration = Duration::from_secs(200);

/// A process with one model, two accounts that serve it, and a customer.
pub(crate) struct TextTest {
    pub(crate) clock: Arc<TestClock>,
    pub(crate) sandbox: Sandbox,
    pub(crate) process: Process,
    pub(crate) key: Arc<Key>,
    requests: AtomicU64,
    /// Of every request: what the first one took.
    pub(crate) report: RequestReport,
    _data: tempfile::TempDir,
}

impl TextTest {
    async fn start() -> Self {
        let account = |priority: u32| json!({"secret": {"env": "KEY"}, "priority": priority});
        Self::start_with(json!({"first": account(0), "second": account(1)})).await
    }

    /// With these accounts of the provider, which is read on when a client leaves.
    pub(crate) async fn start_with(accounts: serde_json::Value) -> Self {
        Self::start_on(TestClock::real(&HELD), accounts, true).await
    }

    pub(crate) async fn start_on(
        clock: Arc<TestClock>,
        accounts: serde_json::Value,
        drains_cancelled: bool,
    ) -> Self {
        Self::start_of(clock, |sandbox| {
            let providers = json!({"p": {
                "base_url": sandbox.messages().origin, "auth": {"header": "x-api-key"}, "accounts": accounts,
                "drain_cancelled": drains_cancelled,
            }});
            let model = json!({
                "provider": "p", "protocol": "messages", "upstream": "claude-sonnet-4-6",
                "prices": {"input": "2", "output": "5"},
            });
            (providers, model)
        })
        .await
    }

    /// With these providers and this model.
    pub(crate) async fn start_of(
        clock: Arc<TestClock>,
        configure: impl FnOnce(&Sandbox) -> (serde_json::Value, serde_json::Value),
    ) -> Self {
        let sandbox = Sandbox::start(Settings::default()).await.expect("a sandbox");
        let data = tempfile::tempdir().expect("a folder");
        let (providers, model) = configure(&sandbox);
        let text = json!({"head_s": HEAD.as_secs(), "drain_s": DRAIN.as_secs(), "stream_s": STREAM.as_secs(),
                "permit_wait_s": PERMIT_WAIT.as_secs(), "time_limit_s": TIME_LIMIT.as_secs()});
        let config = Config {
            text: serde_json::from_value(text).expect("a configuration"),
            models: [("m".to_owned(), serde_json::from_value(model).expect("a model"))].into(),
            ..Config::default()
        };
        let process = Process::start(data.path(), providers, config, clock.clone()).await;
        process.plugins.install(&component("plugins/messages")).expect("the plugin");
        let key = customer(&process.store, clock.now()).await;
        let (requests, report) = (AtomicU64::new(1), RequestReport::default());
        Self { clock, sandbox, process, key, requests, report, _data: data }
    }

    fn send(&self, text: &str, streaming: bool) -> JoinHandle<Result<CompletionResponse, TextError>> {
        self.send_as(&self.key, text, streaming)
    }

    pub(crate) fn send_as(
        &self,
        key: &Arc<Key>,
        text: &str,
        streaming: bool,
    ) -> JoinHandle<Result<CompletionResponse, TextError>> {
        let request = self.request(key, text, 100, streaming, &self.report);
        let driver = self.process.driver.clone();
        tokio::spawn(async move { driver.texts.complete(request).await })
    }

    pub(crate) fn request(
        &self,
        key: &Arc<Key>,
        text: &str,
        max_tokens: u32,
        streaming: bool,
        report: &RequestReport,
    ) -> CompletionRequest {
        let messages = json!([{"role": "user", "content": text}]);
        let body = json!({"model": "m", "max_tokens": max_tokens, "stream": streaming, "messages": messages});
        let id = RequestId::from_bits(self.requests.fetch_add(1, Ordering::Relaxed).into());
        CompletionRequest { id, report: report.clone(), ..completion(key, "messages.create", &body) }
    }

    /// Returns once the provider has got so many requests and holds up the last.
    pub(crate) async fn until_held(&self, requests: u64) {
        until("the last request is held up", async || {
            let record = self.sandbox.messages_record();
            record.count == requests && record.held == 1
        })
        .await;
    }

    /// What is reserved, and what was spent.
    async fn money(&self) -> (Credits, Credits) {
        self.process.store.flush().await.expect("a store");
        let customer =
            self.process.store.customer(&self.key.customer).await.expect("readable").expect("a customer");
        (customer.reserved, customer.spent)
    }

    /// What was spent, once nothing is reserved.
    pub(crate) async fn spent(&self) -> Credits {
        until_some("nothing is reserved", async || {
            let (reserved, spent) = self.money().await;
            (reserved == Credits::ZERO).then_some(spent)
        })
        .await
    }

    pub(crate) fn ledger_is_clean(&self) -> bool {
        self.process.store.examine().expect("readable").is_clean()
    }
}

/// The stream of a request whose provider has not answered when the head time is over.
async fn after_the_head_time(text: &str) -> (TextTest, TextStream) {
    let test = TextTest::start().await;
    let request = test.send(text, true);
    test.until_held(1).await;
    test.clock.end_pauses(HEAD).await;
    (test, stream(request).await)
}

pub(crate) async fn stream(request: JoinHandle<Result<CompletionResponse, TextError>>) -> TextStream {
    match request.await.expect("no panic") {
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
async fn before_the_head_time_a_stream_and_a_failure_are_unchanged() {
    let test = TextTest::start().await;
    let request = test.send("[[slow-start]] hello", true);
    test.until_held(1).await;
    assert_eq!(test.clock.pauses(HEAD), 1);
    test.sandbox.release();
    let (names, error) = rest(&mut stream(request).await).await;
    assert!(error.is_none() && names.last().is_some_and(|name| name == "message_stop"), "{names:?}");
    let spent = test.spent().await;
    assert!(spent > Credits::ZERO);
    // A failure is a plain answer, and its hold is released before.
    let failed = test.send("[[503]] hello", true).await.expect("no panic");
    assert!(matches!(failed, Err(TextError::Rejected { .. })), "{failed:?}");
    assert_eq!(test.money().await, (Credits::ZERO, spent));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_the_head_time_the_stream_is_open_and_accounts_are_still_tried() {
    let (test, mut stream) = after_the_head_time("[[slow-start]] [[503:1]] hello").await;
    assert!(test.money().await.0 > Credits::ZERO, "reserved in advance");
    test.sandbox.release();
    test.until_held(2).await;
    test.sandbox.release();
    let (names, error) = rest(&mut stream).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!((names[0].as_str(), names[names.len() - 1].as_str()), ("message_start", "message_stop"));
    assert!(test.spent().await > Credits::ZERO);
    assert!(test.ledger_is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_the_head_time_a_failure_is_the_last_event() {
    let (test, mut stream) = after_the_head_time("[[slow-start]] [[503]] hello").await;
    test.sandbox.release();
    test.until_held(2).await;
    test.sandbox.release();
    let (names, error) = rest(&mut stream).await;
    assert!(names.is_empty() && matches!(error, Some(TextError::Rejected { .. })), "{names:?} {error:?}");
    assert_eq!(test.money().await, (Credits::ZERO, Credits::ZERO), "released before the event");
    assert!(rest(&mut stream).await.1.is_none(), "nothing follows");
    assert!(test.ledger_is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_waits_for_the_stream_of_a_client_that_disconnected() {
    let (test, stream) = after_the_head_time("[[slow-start]] hello").await;
    drop(stream);
    let driver = test.process.driver.clone();
    let max_wait = Duration::from_secs(60);
    let stopping = tokio::spawn(async move { driver.process.stop(max_wait, max_wait).await });
    test.sandbox.release();
    stopping.await.expect("no panic");
    let (reserved, spent) = test.money().await;
    assert!(reserved == Credits::ZERO && spent > Credits::ZERO, "{reserved:?} {spent:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_the_drain_time_the_hold_of_a_disconnected_client_ends() {
    let (test, stream) = after_the_head_time("[[slow-start]] [[stall:2]] one two three four").await;
    drop(stream);
    test.sandbox.release();
    test.clock.end_pauses(DRAIN).await;
    test.spent().await;
    assert!(test.ledger_is_clean());
}

#[derive(Debug)]
struct EndlessMemory;

impl RequestMemory for EndlessMemory {
    fn bring(&self, _: usize) -> Result<(), MemoryShortage> {
        Ok(())
    }
}

/// Without it clients that leave have any number of streams in memory.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_counts_until_its_end_also_without_its_client() {
    let test = TextTest::start().await;
    let memory = Arc::new(EndlessMemory);
    let mut request = test.request(&test.key, "[[stall:2]] one two three four", 100, true, &test.report);
    request.body = request.body.with_memory(Some(memory.clone()));
    let driver = test.process.driver.clone();
    let stream = stream(tokio::spawn(async move { driver.texts.complete(request).await })).await;
    test.until_held(1).await;
    drop(stream);
    assert!(Arc::strong_count(&memory) > 1, "it is read on");
    test.clock.end_pauses(DRAIN).await;
    until("it counts no more", async || Arc::strong_count(&memory) == 1).await;
    test.spent().await;
}

/// Without it a request whose client has left still waits for an account, takes its permit and is charged.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_leaves_before_its_provider_was_asked_pays_nothing() {
    for streaming in [false, true] {
        let account = json!({"first": {"secret": {"env": "KEY"}, "concurrency": 1}});
        let test = TextTest::start_on(TestClock::real(&HELD), account, false).await;
        let first = test.send("[[slow-start]] hello", false);
        test.until_held(1).await;
        let leaves = test.send("hello", streaming);
        test.clock.armed(PERMIT_WAIT).await;
        leaves.abort();
        until("nobody waits for a permit", async || test.clock.pauses(PERMIT_WAIT) == 0).await;
        test.sandbox.release();
        assert!(matches!(first.await.expect("no panic"), Ok(CompletionResponse::Whole(_))));
        assert!(test.spent().await > Credits::ZERO);
        assert_eq!(test.sandbox.messages_record().count, 1, "the second was not sent");
        assert!(test.ledger_is_clean());
    }
}

/// Without it a request lasts longer than its hold, which the sweep gives back before it is charged.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_head_of_a_stream_and_its_first_content_have_one_time_limit() {
    let account = json!({"first": {"secret": {"env": "KEY"}}});
    let test = TextTest::start_on(TestClock::at(1_767_225_600_000), account, false).await;
    let request = test.send("[[slow-start]] [[slow-event]] hello", true);
    test.until_held(1).await;
    let spent = Duration::from_secs(77);
    test.clock.advance(spent);
    test.sandbox.release();
    let rest = TIME_LIMIT - spent;
    until("the rest of the time goes by", async || test.clock.pauses(rest) == 1).await;
    test.clock.advance(rest);
    let failed = request.await.expect("no panic");
    assert!(matches!(failed, Err(TextError::Timeout)), "{failed:?}");
    assert_eq!(test.money().await, (Credits::ZERO, Credits::ZERO));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_the_stream_time_a_stream_is_cut_and_paid_for() {
    let test = TextTest::start().await;
    let request = test.send("[[stall:2]] one two three four", true);
    let mut stream = stream(request).await;
    test.until_held(1).await;
    let is_text = |event: &Sse| event.event.as_deref() == Some("content_block_delta");
    while !poll_fn(|cx| stream.poll_next(cx)).await.expect("more").expect("in order").iter().any(is_text) {}
    test.clock.end_pauses(STREAM).await;
    let (_, error) = rest(&mut stream).await;
    assert!(matches!(error, Some(TextError::Timeout)), "{error:?}");
    assert!(test.spent().await > Credits::ZERO, "what was delivered is paid for");
    assert!(test.ledger_is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_whole_answer_has_no_head_time() {
    let test = TextTest::start().await;
    let request = test.send("[[slow-start]] hello", false);
    test.until_held(1).await;
    assert_eq!(test.clock.pauses(HEAD), 0, "no head time");
    test.sandbox.release();
    assert!(matches!(request.await.expect("no panic"), Ok(CompletionResponse::Whole(_))));
    assert!(test.spent().await > Credits::ZERO);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_in_an_open_stream_ends_it_with_an_error_and_releases_its_hold() {
    let test = TextTest::start().await;
    test.clock.panic_in_pauses(Some(STREAM));
    for waits_for_head in [false, true] {
        let request = test.send(if waits_for_head { "[[slow-start]] hello" } else { "hello" }, true);
        if waits_for_head {
            test.clock.end_pauses(HEAD).await;
            test.sandbox.release();
        }
        let (names, error) = rest(&mut stream(request).await).await;
        assert!(names.is_empty(), "{names:?}");
        assert!(matches!(error, Some(TextError::Refused(SubmitError::Internal(_)))), "{error:?}");
        assert_eq!(test.money().await, (Credits::ZERO, Credits::ZERO), "released before the event");
    }
    test.clock.panic_in_pauses(None);
    assert!(matches!(test.send("hello", false).await.expect("no panic"), Ok(CompletionResponse::Whole(_))));
    assert!(test.ledger_is_clean());
}

/// Without it one account that answers nonsense fails a request that the other would have served.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_good_status_without_an_answer_goes_to_the_next_account() {
    for streaming in [true, false] {
        let test = TextTest::start().await;
        let failed = test.send("[[error-200]] hello", streaming).await.expect("no panic");
        assert!(matches!(failed, Err(TextError::Rejected { .. })), "{failed:?}");
        assert!(test.sandbox.messages_record().count >= 2, "both accounts were asked");
        assert_eq!(test.money().await, (Credits::ZERO, Credits::ZERO));
    }
}
