//! The gateway under measurement: the real binary on fresh data, with one customer, one key and one provider.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gatehouse_harness::{Caller, Gateway, Setup};

use crate::arguments::Arguments;
use crate::http1;
use crate::image_provider::{Jobs, Provider};
use crate::load::{Load, Make};
use crate::metrics::Metrics;
use crate::process::Process;

/// A running gateway, its provider and its customer.
pub(crate) struct BenchGateway {
    pub(crate) harness: Gateway,
    pub(crate) provider: Provider,
    pub(crate) caller: Caller,
    /// Of the database.
    server: Option<Process>,
    connections: usize,
}

impl BenchGateway {
    /// Starts it. Tasks are polled every `pace`.
    pub(crate) async fn start(arguments: &Arguments, connections: usize, jobs: Jobs, pace: Duration) -> Self {
        Self::with(arguments, connections, jobs, pace, "").await
    }

    /// Starts it with more configuration.
    pub(crate) async fn with(
        arguments: &Arguments,
        connections: usize,
        jobs: Jobs,
        pace: Duration,
        more: &str,
    ) -> Self {
        let provider = Provider::start(jobs);
        let binary = arguments.gateway();
        let pace = pace.as_millis();
        // No limit at the provider account, so that the figure is the gateway's.
        let more = format!(
            "[providers.bfl]\nconcurrency = 1000000\n\n\
             [plugins.settings.context-image.pace]\nshortest_ms = {pace}\nlongest_ms = {pace}\n\n{more}"
        );
        let data = arguments.database.as_ref().map(|url| format!("[data]\nurl = \"{url}\"\n\n"));
        let more = data.unwrap_or_default() + &more;
        let setup = Setup::new(&binary.to_string_lossy(), &provider.addresses()).with(&more);
        let harness = Gateway::start(setup).await;
        let caller = harness.open_account("bench", "1000000000").await;
        let server = arguments.server.map(Process::of);
        Self { harness, provider, caller, server, connections: arguments.connections(connections) }
    }

    /// The gateway's process.
    pub(crate) fn process(&self) -> Process {
        Process::of(self.harness.pid())
    }

    /// Processor time of the database's server until now.
    pub(crate) fn server_cpu(&self) -> Duration {
        self.server.as_ref().map(Process::cpu_with_children).unwrap_or_default()
    }

    /// The gateway's metrics at this moment.
    pub(crate) async fn metrics(&self) -> Metrics {
        Metrics::read(&self.harness).await
    }

    /// Posts `body` to the image surface `count` times.
    pub(crate) async fn submit(&self, count: usize, body: impl Into<Bytes>) -> Load {
        let (bearer, host) = (self.caller.bearer(), self.harness.public.to_string());
        let request = http1::post("/v1/images/generations", &host, &bearer, &body.into());
        self.load(count, Arc::new(move |_| request.clone())).await
    }

    /// Reads one of `tasks` after the other, `count` times.
    pub(crate) async fn read(&self, count: usize, tasks: Vec<String>) -> Load {
        let (bearer, host) = (self.caller.bearer(), self.harness.public.to_string());
        let make = move |number: usize| {
            http1::get(&format!("/v1/tasks/{}", tasks[number % tasks.len()]), &host, &bearer)
        };
        self.load(count, Arc::new(make)).await
    }

    async fn load(&self, count: usize, make: Arc<Make>) -> Load {
        Load::run(self.harness.public, self.connections, count, make).await
    }
}

/// A request of 200 bytes.
pub(crate) fn request() -> String {
    let bare = r#"{"model":"ctx-pro","size":"16:9","output_format":"png","seed":42,"prompt":""}"#;
    let prompt: String =
        "a lighthouse in fog, seen from the sea at dawn, ".chars().cycle().take(200 - bare.len()).collect();
    bare.replace("\"prompt\":\"\"", &format!("\"prompt\":\"{prompt}\""))
}

/// Waits in real time.
#[expect(clippy::disallowed_methods, reason = "a figure over a span of real time")]
pub(crate) async fn pause(span: Duration) {
    tokio::time::sleep(span).await;
}
