//! The public API as a black box: the real binary, the real listener, a strict simulated provider. Raw HTTP
//! is in `tests/http`.
//!
//! One file a topic. Each row of a table is a client's request and the specification's outcome for it.

mod context;
mod context_faults;
mod customers;
mod errors;
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
use gatehouse_harness::{Caller, Gateway, Response, with};
use gatehouse_sandbox::Sandbox;
use serde_json::{Value, json};

use crate::faults::{TIME_LIMIT, expect_timed_out};
use crate::gateways::{sandbox, setup};

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
        Self::start_with("").await
    }

    async fn start_with(more: &str) -> Self {
        Self::start_paced(Duration::ZERO, more).await
    }

    /// With providers whose jobs take that time.
    async fn start_paced(job_time: Duration, more: &str) -> Self {
        let sandbox = sandbox(job_time).await;
        let setup = setup(&sandbox)
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
    let gateway = TestGateway::start_with(TIME_LIMIT).await;
    let ends = bodies.into_iter().map(async |body| gateway.finish(&body).await);
    expect_timed_out(&join_all(ends).await);
    gateway.process.expect_sound_ledger().await;
}

/// The outcome of a row whose request is a 400 at once with these words.
async fn refused_with(gateway: &TestGateway, body: &Value, words: &[&str]) -> Result<(), String> {
    let answer = gateway.submit(body).await;
    let is_right =
        answer.refusal("type") == (400, json!("invalid_request_error")) && answer.refusal("code").1 == 400;
    as_expected(is_right && has_all(&answer.message(), words), body, &answer.text())
}

/// The outcome of a row whose task fails at no cost, with a reason that has these words.
async fn fails_with(gateway: &TestGateway, body: &Value, words: &[&str]) -> Result<(), String> {
    let task = gateway.finish(body).await;
    let error = &task["error"];
    let is_right = task["status"] == "failed" && error["code"] == "task_failed" && task["cost"] == 0.0;
    let message = error["message"].as_str().unwrap_or_default();
    as_expected(is_right && has_all(message, words), body, &task.to_string())
}

fn has_all(text: &str, words: &[&str]) -> bool {
    !text.is_empty() && words.iter().all(|word| text.contains(word))
}

fn as_expected(is_right: bool, body: &Value, found: &str) -> Result<(), String> {
    let shown: String = body.to_string().chars().take(300).collect();
    if is_right { Ok(()) } else { Err(format!("  {shown}\n    came: {found}")) }
}

/// A minimal request with more fields.
fn request(more: Value) -> Value {
    with(json!({"model": "ctx-pro", "prompt": "a red kite"}), more)
}

/// The same for the imagine family.
fn imagine_request(more: Value) -> Value {
    with(json!({"model": "imagine-1.5-gw", "prompt": "a red kite"}), more)
}
