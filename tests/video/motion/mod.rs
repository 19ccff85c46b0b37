//! motion-2.6 and motion-2.7, against the simulated DashScope.

mod faults;
mod media;
mod money;
mod requests;

use gatehouse_harness::Setup;
use gatehouse_sandbox::Sandbox;
use serde_json::{Value, json};

use crate::video::with;

/// The effects that motion-2.6 puts a picture into.
pub(crate) const TEMPLATES: [&str; 12] = [
    "squish",
    "rotation",
    "poke",
    "inflate",
    "dissolve",
    "melt",
    "icecream",
    "flying",
    "carousel",
    "singleheart",
    "dance1",
    "dance2",
];

/// The provider in a gateway's configuration.
pub(crate) fn configure(setup: Setup, sandbox: &Sandbox) -> Setup {
    let addresses = sandbox.dashscope();
    let (api, files) = (&addresses.api, &addresses.files);
    setup.with(&format!(
        "[providers.dashscope]\nbase_url = \"{api}\"\nmedia_origins = [\"{files}\"]\nconcurrency = 1000\n\
         rate_per_second = 100000.0\n\n\
         [providers.dashscope.accounts.main]\nsecret = {{ file = \"SECRET\" }}\n\n\
         [plugins.settings.motion.pace]\nshortest_ms = 10\nlongest_ms = 200\n"
    ))
}

/// A text-to-video request of motion-2.6 with more fields.
fn text26(more: Value) -> Value {
    with(json!({"model": "motion-2.6", "prompt": "a red kite"}), more)
}

/// A text-to-video request of motion-2.7 with more fields.
fn text27(more: Value) -> Value {
    with(json!({"model": "motion-2.7", "prompt": "a red kite"}), more)
}
