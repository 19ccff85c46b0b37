//! Starts, stops and crashes of the real binary: acknowledged work survives, failed work costs
//! nothing, and the provider is never called twice for the same job.

mod acme;
mod admin;
mod admin_tls;
mod ambiguous;
mod backup;
mod disk;
mod full;
mod kill;
mod kill_joins;
mod limits;
mod metrics;
mod outgoing;
mod postgres;
mod price_import;
mod price_variants;
mod privacy;
mod reload;
mod restarts;
mod small_disk;
mod starts;
mod stop;
mod tls;
mod traces;
mod webhooks;

use std::collections::BTreeMap;
use std::time::Duration;

use gatehouse_harness::{Setup, binary, variable};
use gatehouse_sandbox::{Sandbox, Settings};
use serde_json::{Value, json};

pub(crate) async fn sandbox(job_time: Duration) -> Sandbox {
    let settings = Settings { job_time, retry_after_s: 0, max_in_flight: 10_000, ..Settings::default() };
    Sandbox::start(settings).await.expect("a sandbox")
}

pub(crate) fn setup(sandbox: &Sandbox) -> Setup {
    Setup::new(
        &binary(env!("CARGO_BIN_EXE_gatehouse")),
        &serde_json::to_value(sandbox.context()).expect("addresses"),
    )
}

/// The size of a test: small by default, larger through the environment.
fn setting(name: &str, usual: usize) -> usize {
    variable(name).map_or(usual, |text| {
        text.parse().unwrap_or_else(|_| panic!("{name}: expected a number, not {text:?}"))
    })
}

fn request(prompt: &str) -> Value {
    json!({"model": "ctx-pro", "prompt": prompt})
}

/// How often the provider was called for each prompt.
fn submits(sandbox: &Sandbox) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for submit in sandbox.context_record().submits {
        *counts.entry(submit.prompt).or_default() += 1;
    }
    counts
}
