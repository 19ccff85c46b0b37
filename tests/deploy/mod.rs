//! Deployments through the admin API while requests run: no request fails, no task is lost, and a bad component never
//! serves.

mod artifacts;
mod bad_versions;
mod defaults;
mod disabling;
mod refusals;
mod start_without;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gatehouse_harness::{Caller, Gateway, component, run};
use gatehouse_sandbox::Sandbox;
use serde_json::{Value, json};

use crate::gateways::{sandbox, setup};

const IMAGES: &str = "/v1/images/generations";

/// The context image plugin as several builds: a custom section changes the digest and nothing else.
struct Builds(tempfile::TempDir, Vec<u8>);

impl Builds {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"), component("plugins/context-image"))
    }

    fn build(&self, mark: u8) -> PathBuf {
        self.write(&format!("build-{mark}.wasm"), &[self.1.as_slice(), &[0, 3, 1, b'b', mark]].concat())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes).expect("a file");
        path
    }
}

/// Without a canary period, so that only a task holds a version that does not serve.
const NO_CANARY: &str = "[plugins.canary]\nwindow_s = 0\n\n";

async fn start(more: &str) -> (Gateway, Sandbox, Caller) {
    let sandbox = sandbox(Duration::from_millis(20)).await;
    let gateway = Gateway::start(setup(&sandbox).with(more)).await;
    let caller = gateway.open_account("acme", "1000000").await;
    (gateway, sandbox, caller)
}

/// Digest and state of every version of the family under test.
async fn versions(gateway: &Gateway) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let plugins = gateway.plugins().await;
    let images = plugins.iter().filter(|one| one["family"] == "context-image");
    images.map(|one| (text(&one["digest"]), text(&one["state"]))).collect()
}

#[test]
fn deployments_under_load_fail_no_request_and_lose_no_task() {
    run(async {
        let (gateway, _sandbox, caller) = start(NO_CANARY).await;
        let builds = Builds::new();
        let over = Arc::new(AtomicBool::new(false));
        let clients: Vec<_> = (0..4)
            .map(|client| {
                let (caller, over) = (caller.clone(), Arc::clone(&over));
                tokio::spawn(async move {
                    let mut tasks = Vec::new();
                    while !over.load(Ordering::SeqCst) {
                        let prompt = format!("kite {client}-{}", tasks.len());
                        let answer =
                            caller.post(IMAGES, &json!({"model": "ctx-pro", "prompt": prompt})).await;
                        tasks.push(answer.task_id());
                    }
                    tasks
                })
            })
            .collect();
        let path = |path: PathBuf| path.display().to_string();
        for mark in 1..=3 {
            gateway.command(&["plugin", "install", &path(builds.build(mark))]).await;
        }
        gateway.command(&["plugin", "rollback", "context-image"]).await;
        let bad = [
            (path(builds.write("text.wasm", b"no component at all")), "admit"),
            (path(builds.write("cut.wasm", &builds.1[..builds.1.len() / 2])), ""),
        ];
        for (file, stage) in &bad {
            let (code, text) = gateway.refused(&["plugin", "install", file]).await;
            assert!(code == Some(1) && text.contains(stage), "{text}");
        }
        over.store(true, Ordering::SeqCst);
        let mut tasks = Vec::new();
        for client in clients {
            tasks.extend(client.await.expect("no request failed"));
        }
        assert!(!tasks.is_empty());
        for task in &tasks {
            assert_eq!(caller.end_of(task).await["status"], "completed");
        }
        gateway.expect_sound_ledger().await;
        let states: Vec<String> = versions(&gateway).await.into_iter().map(|(_, state)| state).collect();
        let count = |word: &str| states.iter().filter(|state| *state == word).count();
        assert_eq!((states.len(), count("active"), count("kept")), (4, 1, 3), "{states:?}");
    });
}

#[test]
fn the_active_version_survives_a_restart_and_a_pinned_one_is_not_deleted() {
    run(async {
        let (mut gateway, sandbox, caller) = start(NO_CANARY).await;
        let builds = Builds::new();
        let first = versions(&gateway).await[0].0.clone();
        let held = caller.post(IMAGES, &json!({"model": "ctx-pro", "prompt": "[[never-ready]]"})).await;
        assert_eq!(held.status, 200);
        while sandbox.context_record().submits.is_empty() {
            caller.get("/v1/tasks").await;
        }
        let build = builds.build(9).display().to_string();
        let (code, text) = gateway.refused(&["plugin", "install", &build, "--sha256", &first]).await;
        assert_eq!(code, Some(1), "{text}");
        gateway.command(&["plugin", "install", &build]).await;
        gateway.terminate().await;
        gateway.restart().await;

        let state_of = async |digest: &str| {
            let all = versions(&gateway).await;
            all.into_iter().find(|(one, _)| one == digest).map(|(_, state)| state).unwrap_or_default()
        };
        assert_eq!(state_of(&first).await, "pinned", "a live task still needs the first build");
        for (version, reason) in [(first.as_str(), "finishes tasks"), ("0000", "no plugin version")] {
            let (code, text) = gateway.refused(&["plugin", "remove", version]).await;
            assert!(code == Some(1) && text.contains(reason), "{text}");
        }
        gateway.command(&["plugin", "install", &builds.build(10).display().to_string()]).await;
        let kept = async || {
            let mut all = versions(&gateway).await.into_iter();
            all.find(|(_, state)| state == "kept").expect("a kept one").0
        };
        let mine = kept().await;
        gateway.command(&["plugin", "activate", &mine[..12]]).await;
        assert_eq!(state_of(&mine).await, "active");
        let idle = kept().await;
        gateway.command(&["plugin", "remove", &idle]).await;
        assert_eq!(state_of(&idle).await, "");
    });
}
