//! A gateway with every family, and what its providers have seen.

use std::path::Path;
use std::time::Duration;

use gatehouse_harness::{Caller, Gateway, Setup};
use gatehouse_sandbox::Sandbox;
use serde_json::{Value, json};

use crate::gateways::{self, sandbox};

/// A gateway process, its providers, and a customer with an unlimited key.
pub(crate) struct Scene {
    pub(crate) gateway: Gateway,
    pub(crate) sandbox: Sandbox,
    pub(crate) caller: Caller,
}

impl Scene {
    /// With providers whose jobs are ready after `job_time`.
    pub(crate) async fn start(job_time: Duration) -> Self {
        Self::start_with(job_time, "").await
    }

    /// The same with `more` configuration.
    pub(crate) async fn start_with(job_time: Duration, more: &str) -> Self {
        let sandbox = sandbox(job_time).await;
        let gateway = Gateway::start(setup(&sandbox).with(more).with_inherited_socket()).await;
        let caller = gateway.open_account("acme", "100000").await;
        Self { gateway, sandbox, caller }
    }

    /// The task of a request that succeeds.
    pub(crate) async fn done(&self, path: &str, body: &Value) -> String {
        let task = self.caller.finish(path, body).await;
        assert_eq!(task["status"], "completed", "{path} {body}: {task}");
        task["id"].as_str().expect("an id").to_owned()
    }

    /// A sample file by link.
    pub(crate) fn sample(&self, name: &str) -> String {
        format!("{}/samples/{name}", self.sandbox.context().samples)
    }

    /// How many calls with an effect each provider has seen, refused ones included.
    pub(crate) fn calls(&self) -> Value {
        let (context, ark) = (self.sandbox.context_record(), self.sandbox.ark_record());
        let (dashscope, veo) = (self.sandbox.dashscope_record(), self.sandbox.veo_record());
        let midjourney = self.sandbox.midjourney_record();
        let submits: Vec<u64> = midjourney.accounts.iter().map(|account| account.submits).collect();
        json!({
            "context": [context.accepted, context.declined.len()],
            "imagine": self.sandbox.imagine_record().count,
            "ark": [ark.submits.len(), ark.declined.len(), ark.groups.len(), ark.assets.len()],
            "dashscope": [dashscope.accepted, dashscope.declined.len()],
            "veo": [veo.accepted, veo.declined.len()],
            "midjourney": [submits, midjourney.tasks.len(), midjourney.declined.len()],
            "messages": self.sandbox.messages_record().count,
            "chat": self.sandbox.chat_record().count,
        })
    }

    /// What the gateway keeps for the customer: money, tasks and files.
    pub(crate) async fn kept(&self) -> Value {
        let tasks = self.caller.get("/v1/tasks?limit=100").await.json();
        let ids: Vec<Value> =
            tasks["data"].as_array().expect("tasks").iter().map(|task| task["id"].clone()).collect();
        json!({
            "account": self.gateway.account("acme").await,
            "tasks": ids,
            "files": files(&self.gateway.folder().join("data/media")),
        })
    }
}

/// Files below a folder.
fn files(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| if entry.path().is_dir() { files(&entry.path()) } else { 1 }).sum()
}

fn setup(sandbox: &Sandbox) -> Setup {
    let (imagine, ark, veo) = (sandbox.imagine(), sandbox.ark(), sandbox.veo());
    let (dashscope, midjourney) = (sandbox.dashscope(), sandbox.midjourney());
    let here = env!("CARGO_MANIFEST_DIR");
    let pace =
        |family: &str| format!("[plugins.settings.{family}.pace]\nshortest_ms = 10\nlongest_ms = 200\n");
    let origins = |provider: &str, files: &str| {
        format!("[providers.{provider}]\nmedia_origins = [\"{files}\"]\nrate_per_second = 100000.0\n")
    };
    gateways::setup(sandbox)
        .with_provider("xai", &imagine.api, "\"bearer\"", 1000, &["main"])
        .with(&origins("xai", &imagine.files))
        .with(&pace("imagine"))
        .with_provider("dashscope", &dashscope.api, "\"bearer\"", 1000, &["main"])
        .with(&origins("dashscope", &dashscope.files))
        .with(&pace("motion"))
        .with_provider("midjourney", &midjourney.api, "{ header = \"mj-api-secret\" }", 1000, &["main"])
        .with(&origins("midjourney", &midjourney.files))
        .with(&pace("journey"))
        .with(&format!(
            "[providers.ark]\nbase_url = \"{}\"\nmedia_origins = [\"{}\"]\nconcurrency = 1000\n\n\
             [providers.ark.accounts.main]\nsecret = {{ file = \"SECRET\" }}\n\n\
             [providers.ark-assets]\nbase_url = \"{}\"\nconcurrency = 1000\nrate_per_second = 100000.0\n\n\
             [providers.ark-assets.accounts.main]\nsecret = {{ file = \"SECRET\" }}\n\
             key_id = {{ file = \"{here}/../../tests/video/clip/keys/first-id\" }}\n",
            ark.data, ark.files, ark.control
        ))
        .with(&pace("clip"))
        .with(&format!(
            "[providers.veo]\nbase_url = \"{}\"\norigins = [\"{storage}\"]\nconcurrency = 1000\n\
             auth = {{ service_account = {{ token_url = \"{}\" }} }}\n\n\
             [providers.veo.accounts.main]\nsecret = {{ file = \"{here}/../sandbox/src/veo/keys/first.json\" }}\n\n\
             [plugins.settings.scene]\nstorage_url = \"{storage}\"\n",
            veo.vertex,
            veo.token,
            storage = veo.storage,
        ))
        .with(&pace("scene"))
        .with_provider("anthropic", &sandbox.messages().origin, "{ header = \"x-api-key\" }", 64, &["main"])
        .with_provider("openai", &sandbox.chat().origin, "\"bearer\"", 64, &["main"])
        .with_provider("messages", &sandbox.messages().origin, "{ header = \"x-api-key\" }", 64, &["main"])
        .with_provider("chat", &sandbox.chat().origin, "\"bearer\"", 64, &["main"])
        .with_model("over-messages", "messages", "messages", "claude-sonnet-4-6", "aliases = [\"over-messages-2\"]\n")
        .with_model("over-chat", "chat", "chat", "gpt-sim", "")
        .with(
            "[models.over-vectors]\nkind = \"embedding\"\nprovider = \"chat\"\nprotocol = \"chat\"\n\
             upstream = \"embed-sim\"\nprices = { input = \"2\" }\n",
        )
}
