//! scene-3.1-fast-official and scene-3.1-quality-official with their continuations, against the simulated Veo.

mod faults;
mod remix;
mod requests;

use gatehouse_harness::{Response, Setup};
use gatehouse_sandbox::Sandbox;
use gatehouse_sandbox::veo::BegunVideo;
use serde_json::{Value, json};

use crate::video::{TestGateway, with};

/// Vertex AI in a gateway's configuration: a service account, with its tokens from the sandbox.
pub(crate) fn configure(setup: Setup, sandbox: &Sandbox) -> Setup {
    let addresses = sandbox.veo();
    let (vertex, storage, token) = (&addresses.vertex, &addresses.storage, &addresses.token);
    setup.with(&format!(
        "[providers.veo]\nbase_url = \"{vertex}\"\norigins = [\"{storage}\"]\nconcurrency = 1000\n\
         auth = {{ service_account = {{ token_url = \"{token}\" }} }}\n\n\
         [providers.veo.accounts.main]\nsecret = {{ file = \"{}\" }}\n\n\
         [plugins.settings.scene]\nstorage_url = \"{storage}\"\n\n\
         [plugins.settings.scene.pace]\nshortest_ms = 10\nlongest_ms = 200\n",
        key_file("first"),
    ))
}

/// The key file of a simulated service account.
fn key_file(name: &str) -> String {
    format!("{}/../sandbox/src/veo/keys/{name}.json", env!("CARGO_MANIFEST_DIR"))
}

/// A text-to-video request with more fields.
fn text(more: Value) -> Value {
    with(json!({"model": "scene-3.1-fast-official", "prompt": "a red kite"}), more)
}

impl TestGateway {
    /// Asks for a continuation of a task.
    async fn remix(&self, task: &str, body: &Value) -> Response {
        self.caller.post(&format!("/v1/videos/{task}/remix"), body).await
    }

    /// Continues a task, expects a receipt, and waits for the end.
    async fn finish_remix(&self, task: &str, body: &Value) -> Value {
        let answer = self.remix(task, body).await;
        assert_eq!(answer.status, 200, "{body}: {}", answer.json());
        assert_eq!(answer.json()["data"][0]["status"], "submitted");
        self.caller.end_of(&answer.task_id()).await
    }

    /// The only operation with that prompt.
    fn begun(&self, prompt: &str) -> BegunVideo {
        let record = self.sandbox.veo_record();
        let found: Vec<BegunVideo> = record
            .operations
            .into_iter()
            .filter(|begun| begun.body["instances"][0]["prompt"] == prompt)
            .collect();
        assert_eq!(found.len(), 1, "{prompt}: {found:?}");
        found.into_iter().next().expect("counted")
    }
}

/// The id of a task.
fn id(task: &Value) -> &str {
    task["id"].as_str().expect("an id")
}
