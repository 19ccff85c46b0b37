//! clip-2.0, clip-2.0-fast and clip-2.0-mini, against the simulated Ark.

mod faults;
mod media;
mod requests;

use gatehouse_harness::Setup;
use gatehouse_sandbox::Sandbox;
use gatehouse_sandbox::ark::record::ArkSubmit;
use serde_json::{Value, json};

use crate::video::{TestGateway, with};

/// Both planes in a gateway's configuration.
pub(crate) fn configure(setup: Setup, sandbox: &Sandbox) -> Setup {
    configure_videos(setup, sandbox).with(&format!(
        "[providers.ark-assets]\nbase_url = \"{}\"\nconcurrency = 1000\nrate_per_second = 100000.0\n\n\
         [providers.ark-assets.accounts.main]\nsecret = {{ file = \"SECRET\" }}\nkey_id = {{ file = \"{}\" }}\n\n",
        sandbox.ark().control,
        key_file("first-id"),
    ))
}

/// The data plane alone.
pub(crate) fn configure_videos(setup: Setup, sandbox: &Sandbox) -> Setup {
    let addresses = sandbox.ark();
    let (data, files) = (&addresses.data, &addresses.files);
    setup.with(&format!(
        "[providers.ark]\nbase_url = \"{data}\"\nmedia_origins = [\"{files}\"]\nconcurrency = 1000\n\n\
         [providers.ark.accounts.main]\nsecret = {{ file = \"SECRET\" }}\n\n\
         [plugins.settings.clip.pace]\nshortest_ms = 10\nlongest_ms = 200\n\n",
    ))
}

/// A file with a part of a simulated account's credentials.
pub(crate) fn key_file(name: &str) -> String {
    format!("{}/../../tests/video/clip/keys/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A request with more fields.
fn text(more: Value) -> Value {
    with(json!({"model": "clip-2.0", "prompt": "a red kite"}), more)
}

/// What the provider took for that prompt.
pub(crate) fn seen(gateway: &TestGateway, prompt: &str) -> ArkSubmit {
    let record = gateway.sandbox.ark_record();
    let submit = record.submits.into_iter().find(|submit| submit.prompt == prompt);
    submit.unwrap_or_else(|| panic!("{prompt} did not arrive"))
}
