//! The public API as a black box: the real binary, the real listener, a strict simulated provider. Raw HTTP
//! is in `tests/http`.
//!
//! One file a topic. Each row of a table is a client's request and the specification's outcome for it.

mod context;
mod context_faults;
mod customers;
mod errors;
mod https_files;
mod imagine;
mod imagine_faults;
mod keys;
mod media;
mod operators;
mod providers;
mod quotas;
mod steps;
mod tasks;

use std::time::Duration;

use futures_util::future::join_all;
use gatehouse_harness::{Caller, Gateway, Response, Setup, with};
use gatehouse_sandbox::{Sandbox, Settings};
use serde_json::{Value, json};

use crate::faults::{TIME_LIMIT, expect_timed_out};

/// The route of the image families.
const ROUTE: &str = "/v1/images/generations";

/// A gateway process with one customer, an unlimited key, and simulated providers.
struct TestGateway {
    process: Gateway,
    sandbox: Sandbox,
    caller: Caller,
}

impl TestGateway {
    /// With providers whose jobs are ready at once.
    async fn start() -> Self {
        Self::start_with(Settings::default(), "").await
    }

    async fn start_with(settings: Settings, more: &str) -> Self {
        Self::start_paced(Settings { job_time: Duration::ZERO, ..settings }, more).await
    }

    /// With providers whose jobs take the time of these settings.
    async fn start_paced(settings: Settings, more: &str) -> Self {
        let settings = Settings { retry_after_s: 0, max_in_flight: 10_000, ..settings };
        let sandbox = Sandbox::start(settings).await.expect("a sandbox");
        let setup = Setup::new(
            env!("CARGO_BIN_EXE_gatehouse"),
            &serde_json::to_value(sandbox.context()).expect("addresses"),
        )
        .with_provider("xai", &sandbox.imagine().api, "\"bearer\"", 1000, &["main"])
        .with(&format!(
            "[providers.xai]\nmedia_origins = [\"{}\"]\nrate_per_second = 1000.0\n\n\
             [plugins.settings.imagine.pace]\nshortest_ms = 10\nlongest_ms = 500\n",
            sandbox.imagine().files
        ))
        .with(more);
        let process = Gateway::start(setup).await;
        let caller = process.open_account("acme", "100000").await;
        Self { process, sandbox, caller }
    }

    async fn submit(&self, body: &Value) -> Response {
        self.caller.post(ROUTE, body).await
    }

    /// Submits, expects a receipt, and waits for the task's end.
    async fn finish(&self, body: &Value) -> Value {
        self.caller.finish(ROUTE, body).await
    }

    fn sample(&self, path: &str) -> String {
        format!("{}/samples/{path}", self.sandbox.context().samples)
    }
}

/// Requests whose providers never end them: they fail at the time limit, and cost nothing.
async fn expect_time_limit(bodies: impl IntoIterator<Item = Value>) {
    let gateway = TestGateway::start_with(Settings::default(), TIME_LIMIT).await;
    let ends = bodies.into_iter().map(async |body| gateway.finish(&body).await);
    expect_timed_out(&join_all(ends).await);
    gateway.process.expect_sound_ledger().await;
}

/// A minimal request with more fields.
fn request(more: Value) -> Value {
    with(json!({"model": "ctx-pro", "prompt": "a red kite"}), more)
}

/// The same for the imagine family.
fn imagine_request(more: Value) -> Value {
    with(json!({"model": "imagine-1.5-gw", "prompt": "a red kite"}), more)
}
