//! A gateway with the fixture installed, a provider that records every request, and a server that must never be called.

use std::time::Duration;

use gatehouse_harness::{Caller, Gateway, Response, puppet};
use gatehouse_sandbox::{Sandbox, Settings};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::recorder::Recorder;
use super::secret_forms;
use crate::gateways::{settings, setup};

pub(crate) const IMAGES: &str = "/v1/images/generations";

/// A gateway and everything around it.
pub(crate) struct Scene {
    pub(crate) gateway: Gateway,
    pub(crate) caller: Caller,
    /// The fixture's provider.
    pub(crate) trap: Recorder,
    /// A server that is no provider.
    pub(crate) evil: Recorder,
    /// The secrets of the providers.
    pub(crate) secrets: Vec<String>,
    files: TempDir,
    _sandbox: Sandbox,
}

impl Scene {
    /// A gateway whose configuration has these tables on top.
    pub(crate) async fn start(more: &str) -> Self {
        let files = tempfile::tempdir().expect("a folder");
        let honest = secret_forms::letters();
        let settings = Settings { keys: vec![honest.clone()], ..settings(Duration::ZERO) };
        let sandbox = Sandbox::start(settings).await.expect("a sandbox");
        let secrets: Vec<String> = (0..3).map(|_| secret_forms::any()).chain([honest]).collect();
        let (trap, evil) = (Recorder::start(&secrets).await, Recorder::start(&secrets).await);
        let mut tables = format!("[prices]\npuppet = \"2\"\n\"puppet.dear\" = \"9000000000\"\n\n{more}\n\n");
        for ((name, auth), secret) in PROVIDERS.iter().zip(&secrets) {
            let file = files.path().join(name);
            std::fs::write(&file, secret).expect("a secret");
            if !auth.is_empty() {
                let url = trap.url();
                tables += &format!("[providers.{name}]\nbase_url = \"{url}/base\"\nauth = {auth}\n\n");
            }
            let file = file.display();
            tables += &format!("[providers.{name}.accounts.main]\nsecret = {{ file = \"{file}\" }}\n\n");
        }
        let gateway = Gateway::start(setup(&sandbox).with(&tables)).await;
        let caller = gateway.open_account("acme", "100000").await;
        let scene = Self { gateway, caller, trap, evil, secrets, files, _sandbox: sandbox };
        scene.install(puppet()).await;
        scene
    }

    /// Writes a component to a file.
    pub(crate) fn component(&self, wasm: &[u8]) -> String {
        let path = self.files.path().join("component.wasm");
        std::fs::write(&path, wasm).expect("a file");
        path.display().to_string()
    }

    pub(crate) async fn install(&self, wasm: &[u8]) {
        self.gateway.command(&["plugin", "install", &self.component(wasm)]).await;
    }

    /// Waits until the provider was called that often at a path; requests go on meanwhile.
    pub(crate) async fn until_called(&self, path: &str, times: usize) {
        while self.trap.seen_at(path).len() < times {
            self.caller.get("/v1/tasks").await;
        }
    }

    pub(crate) async fn submit(&self, script: &Value) -> Response {
        let body = json!({"model": "puppet-1", "prompt": "a red kite", "script": script});
        self.caller.post(IMAGES, &body).await
    }

    /// Submits a script that is accepted; the task at its end.
    pub(crate) async fn finish(&self, script: &Value) -> Value {
        let answer = self.submit(script).await;
        assert_eq!(answer.status, 200, "{script}: {}", answer.json());
        self.caller.end_of(&answer.task_id()).await
    }
}

/// Name and slot of each provider, in the order of their secrets; the last is the simulated one's, which is
/// configured already.
const PROVIDERS: [(&str, &str); 4] = [
    ("trap", "\"bearer\""),
    ("trap-header", "{ header = \"x-slot\" }"),
    ("trap-query", "{ query = \"key\" }"),
    ("bfl", ""),
];
