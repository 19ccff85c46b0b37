//! One plugin call in a fresh instance: a submission of 200 bytes, checked in this process by the gateway's own
//! plugin service with one thread. Its queue is kept full, as under load, so that what the
//! thread's accounting shows is calls and not the waiting for the next one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gatehouse_harness::{TestClock, component};
use gatehouse_model::{Context, ModelName, Submission, UnixMs};
use gatehouse_runtime::{Config, PluginService, Version};
use tokio::task::JoinSet;

use crate::arguments::Arguments;
use crate::process::Process;
use crate::{gateway, load, report};

const NOW: UnixMs = UnixMs(1_767_225_600_000);
/// Calls that wait at once.
const CALLERS: usize = 32;

/// Builds the plugin if it is not built, installs it, and calls it.
pub(crate) async fn measure(arguments: &Arguments) {
    let each = arguments.count(100_000).div_ceil(CALLERS);
    let folder = tempfile::tempdir().expect("a folder");
    let config = Config { threads: 1, ..Config::new(folder.path().to_owned()) };
    let service = PluginService::open(config, TestClock::at(NOW.0)).expect("a plugin service");
    service.install(&component("plugins/context-image")).expect("the component loads");
    let version = service.registry().family("context-image").expect("what was just installed");
    call_from_all(&service, &version, each.min(50)).await;
    let process = Process::of(std::process::id());
    let (before, started) = (process.cpu(), Instant::now());
    call_from_all(&service, &version, each).await;
    let took = started.elapsed();
    let cpu = process.cpu().since(&before);
    report::line("plugin calls, one thread", load::rate(CALLERS * each, took));
    report::cpu("each call with its callers", &cpu, CALLERS * each);
}

async fn call_from_all(service: &PluginService, version: &Arc<Version>, each: usize) {
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        let (service, version) = (service.clone(), Arc::clone(version));
        callers.spawn(async move {
            for _ in 0..each {
                call(&service, &version).await;
            }
        });
    }
    callers.join_all().await;
}

async fn call(service: &PluginService, version: &Arc<Version>) {
    let context = Context {
        now: NOW,
        seed: 7,
        task: None,
        accepted_at: NOW,
        deadline: NOW.plus(Duration::from_secs(1800)),
        customer: "c7".to_owned(),
        settings: service.settings(version.family()),
    };
    let submission = Submission {
        surface: "images.generate".to_owned(),
        model: ModelName { id: "ctx-pro".to_owned(), alias: None },
        body: gateway::request().into(),
        parents: Vec::new(),
        owned: Vec::new(),
        blobs: Vec::new(),
    };
    let accepted = service.submit(version, context, submission).await.expect("no fault").expect("no refusal");
    assert!(accepted.doomed.is_none(), "{accepted:?}");
}
