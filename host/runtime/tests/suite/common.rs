//! Shared by the tests of this crate: the fixture component with its flaws, a fixed clock, contexts.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use gatehouse_build::{build_plugin, plugins_target_dir};
use gatehouse_model::{
    Accepted, Clock, Context, Event, Pause, Refusal, Seed, Step, Submission, TaskId, UnixMs,
};
use gatehouse_runtime::{Config, PluginService, Version};

pub const NOW: UnixMs = UnixMs(1_767_225_600_000);
const FLAW: &[u8] = b"-unruly-flaw-goes-here-";

/// The fixture, built once for all tests.
pub fn unruly() -> &'static [u8] {
    static BUILT: OnceLock<Vec<u8>> = OnceLock::new();
    BUILT.get_or_init(|| {
        let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/unruly");
        let target = plugins_target_dir(&std::env::current_exe().unwrap());
        let wasm = build_plugin(&crate_dir, &target).unwrap_or_else(|error| panic!("{error}"));
        std::fs::read(wasm).unwrap()
    })
}

/// The fixture with a flaw; see its `manifest.rs`.
pub fn flawed(flaw: u8) -> Vec<u8> {
    let mut wasm = unruly().to_vec();
    let found: Vec<usize> = (0..wasm.len() - FLAW.len()).filter(|at| wasm[*at..].starts_with(FLAW)).collect();
    assert_eq!(found.len(), 1, "the marker must be there exactly once");
    wasm[found[0]] = flaw;
    wasm
}

/// The same plugin as another build: a custom section changes the digest and nothing else.
pub fn rebuilt(wasm: &[u8], mark: u8) -> Vec<u8> {
    [wasm, &[0, 3, 1, b'b', mark]].concat()
}

struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> UnixMs {
        NOW
    }

    fn pause(&self, _: Duration) -> Pause {
        Box::pin(std::future::pending())
    }
}

/// Without a canary period, which would keep the version before loaded.
pub fn open(dir: &Path) -> PluginService {
    let mut config = Config::new(dir.to_owned());
    config.canary.window_s = 0;
    open_with(config)
}

pub fn open_with(config: Config) -> PluginService {
    let config = Config { threads: if config.threads == 0 { 2 } else { config.threads }, ..config };
    PluginService::open(config, Arc::new(FixedClock)).unwrap()
}

/// A service with the fixture active: a copy of a data folder where it was installed, to spare the compilation.
pub fn ready() -> (tempfile::TempDir, PluginService, Arc<Version>) {
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
    let service = open(dir.path());
    let version = service.registry().family("unruly").unwrap();
    (dir, service, version)
}

pub struct Constant;

impl Seed for Constant {
    fn fill(&self, into: &mut [u8]) {
        into.fill(3);
    }
}

pub fn context(version: &Version) -> Context {
    Context {
        now: NOW,
        seed: 42,
        task: None,
        accepted_at: NOW,
        deadline: NOW.plus(Duration::from_secs(1800)),
        settings: version.settings(),
    }
}

pub fn step_context(version: &Version) -> Context {
    Context { task: Some(TaskId::new(NOW, &Constant)), ..context(version) }
}

pub fn request(what: &str) -> Submission {
    Submission {
        surface: "images.generate".to_owned(),
        body: format!("{what:?}").into(),
        parent: None,
        blobs: vec![],
    }
}

pub async fn submit(
    service: &PluginService,
    version: &Arc<Version>,
    what: &str,
) -> Result<Result<Accepted, Refusal>, gatehouse_runtime::Fault> {
    service.submit(version, context(version), request(what)).await
}

pub async fn advance(
    service: &PluginService,
    version: &Arc<Version>,
    state: &str,
    event: Event,
) -> Result<Step, gatehouse_runtime::Fault> {
    service.advance(version, step_context(version), state.as_bytes().to_vec(), event).await
}
