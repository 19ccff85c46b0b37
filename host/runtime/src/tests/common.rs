//! Shared by the tests of this crate: the fixture component with its flaws, contexts.

use std::io::Read as _;
use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::{Config, DeployError, DeployReport, PluginService, Removal, SignedComponent, Version};
use bytes::Bytes;
use gatehouse_harness::{SharedCode, TestClock, TestSeed, puppet_claiming};
use gatehouse_model::{
    Accepted, Body, Context, Digest, Event, Json, ModelName, Parent, Refusal, Reply, Status, Step,
    Submission, TaskId, UnixMs,
};
use serde_json::{Value, json};

pub const NOW: UnixMs = UnixMs(1_767_225_600_000);

/// The fixture under the name the tests use, built once for all of them.
pub fn unruly() -> &'static [u8] {
    static BUILT: OnceLock<Vec<u8>> = OnceLock::new();
    BUILT.get_or_init(|| claiming(&json!({})))
}

/// The fixture with other claims, or a flaw; see its `manifest.rs`.
pub fn claiming(claims: &Value) -> Vec<u8> {
    let mut all = json!({
        "family": "unruly",
        "version": "1.2.3",
        "models": [{"id": "unruly-1", "aliases": ["unruly"], "surfaces": ["images.generate"]}],
        "surfaces": [{"name": "images.generate", "default_model": "unruly-1", "schema": {"type": "object"}}],
        "providers": ["mock"],
        "price_keys": ["unruly.image"],
        "self_tests": self_tests(),
    });
    for (key, claim) in claims.as_object().unwrap() {
        all[key] = claim.clone();
    }
    puppet_claiming(&all)
}

fn self_tests() -> Value {
    let test =
        |body: &str, expect: &str| json!({"surface": "images.generate", "body": body, "expect": expect});
    json!([test("ok", "accepted"), test("refuse", "refused"), test("doom", "doomed")])
}

/// The fixture with one of these flaws.
pub fn flawed(flaw: u8) -> Vec<u8> {
    let model = |id: &str, aliases: &[&str], surface: &str| json!({"models": [{"id": id, "aliases": aliases, "surfaces": [surface]}]});
    let mut tests = self_tests();
    claiming(&match flaw {
        b'2' => json!({"state_version": 2, "reads_state": [1]}),
        b'a' => model("unruly-1", &["unruly", "unruly-1"], "images.generate"),
        b'c' => json!({"flaw": "panics off test"}),
        b'e' => {
            tests[0]["expect"] = json!("refused");
            json!({"self_tests": tests})
        }
        b'f' => json!({"family": "Not Kebab"}),
        b'i' => json!({"flaw": "new states"}),
        b'l' => json!({"flaw": "loops"}),
        b'm' => model("unruly-2", &["unruly"], "images.generate"),
        b'p' => json!({"attack": "panic"}),
        b'r' => json!({"reads_state": [1]}),
        b's' => json!({"surfaces": [
            {"name": "images.generate", "default_model": "unruly-1", "schema": "7b"}]}),
        b'u' => model("unruly-1", &["unruly"], "images.unknown"),
        b'v' => json!({"version": "one"}),
        b'w' => json!({"flaw": "waits for the past"}),
        other => panic!("no flaw {other}"),
    })
}

/// The same plugin as another build: a custom section changes the digest and nothing else.
pub fn rebuilt(wasm: &[u8], mark: u8) -> Vec<u8> {
    [wasm, &[0, 3, 1, b'b', mark]].concat()
}

/// What is usual, with fewer streams: each reserves address space, and several services are open at once.
pub fn config(dir: &Path) -> Config {
    Config { streams: 256, ..Config::new(dir.to_owned()) }
}

/// A service that finds what other tests have compiled of a component it installs or checks.
pub struct TestService {
    service: PluginService,
    code: SharedCode,
}

impl TestService {
    pub fn install<'a>(
        &self,
        component: impl Into<SignedComponent<'a>>,
    ) -> Result<DeployReport, DeployError> {
        self.service.install(self.lend(component))
    }

    pub fn check<'a>(&self, component: impl Into<SignedComponent<'a>>) -> Result<DeployReport, DeployError> {
        self.service.check_with(self.lend(component), Removal::Refused, None)
    }

    fn lend<'a>(&self, component: impl Into<SignedComponent<'a>>) -> SignedComponent<'a> {
        let component = component.into();
        self.code.lend(&Digest::of(component.wasm).to_string());
        component
    }
}

impl Deref for TestService {
    type Target = PluginService;

    fn deref(&self) -> &PluginService {
        &self.service
    }
}

/// Without a canary period, which would keep the version before loaded.
pub fn without_canary(dir: &Path) -> Config {
    let mut config = config(dir);
    config.canary.window_s = 0;
    config
}

pub fn open(dir: &Path) -> TestService {
    open_with(without_canary(dir))
}

pub fn open_with(config: Config) -> TestService {
    let config = Config { threads: if config.threads == 0 { 2 } else { config.threads }, ..config };
    let code = SharedCode::of(&config.data_dir);
    TestService { service: PluginService::open(config, TestClock::at(NOW.0)).unwrap(), code }
}

/// The same, without what has to be compiled.
pub fn open_compiled(dir: &Path) -> PluginService {
    let config = config(dir);
    PluginService::open_compiled(Config { threads: 2, ..config }, TestClock::at(NOW.0)).unwrap()
}

/// A service with the fixture active: a copy of a data folder where it was installed, to spare the compilation.
pub fn ready() -> (tempfile::TempDir, TestService, Arc<Version>) {
    ready_under(|_| ())
}

/// The same under a configuration with that change.
pub fn ready_under(change: impl FnOnce(&mut Config)) -> (tempfile::TempDir, TestService, Arc<Version>) {
    static INSTALLED: OnceLock<tempfile::TempDir> = OnceLock::new();
    let pattern = INSTALLED.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        open(dir.path()).install(unruly()).unwrap();
        dir
    });
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("plugins")).unwrap();
    for entry in std::fs::read_dir(pattern.path().join("plugins")).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), dir.path().join("plugins").join(entry.file_name())).unwrap();
    }
    let mut config = without_canary(dir.path());
    change(&mut config);
    let service = open_with(config);
    let version = service.registry().family("unruly").unwrap();
    (dir, service, version)
}

pub fn task_id() -> TaskId {
    TaskId::new(NOW, &TestSeed::constant(3))
}

pub fn context_of(settings: Arc<str>, task: Option<TaskId>) -> Context {
    Context {
        now: NOW,
        seed: 42,
        task,
        accepted_at: NOW,
        deadline: NOW.plus(Duration::from_secs(1800)),
        customer: "c7".to_owned(),
        settings,
    }
}

pub fn context(version: &Version) -> Context {
    context_of(version.settings(), None)
}

pub fn step_context(version: &Version) -> Context {
    context_of(version.settings(), Some(task_id()))
}

/// What a provider answers.
pub fn reply(body: impl Into<Bytes>) -> Reply {
    let body = Body::Inline(body.into());
    Reply { status: 200, headers: vec![], body, affinity: "a1".to_owned() }
}

/// A task of the fixture.
pub fn parent() -> Parent {
    Parent {
        task: task_id(),
        family: "unruly".to_owned(),
        model: "unruly-1".to_owned(),
        status: Status::Processing,
        public: Json::from_static("[1]"),
        private: Json::from_static("{}"),
        media: vec![],
        affinity: None,
        joining: vec![],
    }
}

/// A component that is kept as a binary.
pub fn unpacked(packed: &[u8]) -> Vec<u8> {
    let mut wasm = Vec::new();
    flate2::read::GzDecoder::new(packed).read_to_end(&mut wasm).expect("gzip");
    wasm
}

pub fn request(what: &str) -> Submission {
    Submission {
        surface: "images.generate".to_owned(),
        model: ModelName { id: "unruly-1".to_owned(), alias: None },
        body: format!("{what:?}").into(),
        parents: vec![],
        owned: vec![],
        blobs: vec![],
    }
}

pub async fn submit(
    service: &PluginService,
    version: &Arc<Version>,
    what: &str,
) -> Result<Result<Accepted, Refusal>, crate::Fault> {
    service.submit(version, context(version), request(what)).await
}

pub async fn advance(
    service: &PluginService,
    version: &Arc<Version>,
    state: &str,
    event: Event,
) -> Result<Step, crate::Fault> {
    service.advance(version, step_context(version), state.as_bytes().to_vec(), event).await
}
