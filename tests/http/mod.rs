//! Hostile and careless clients at the real listener: raw HTTP/1 bytes, slow senders, abused HTTP/2.
//!
//! Each table row is one client. A valid request after each row shows whether the row harmed the gateway.
//! Timers exact to the second are tested in `host/edge/src/tests/net`.

mod bodies;
mod body_shares;
mod cases;
mod counts;
mod framing;
mod heads;
pub(crate) mod http2;
mod proxies;
mod slow;
mod targets;

use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use gatehouse_harness::{Caller, Gateway};
use gatehouse_sandbox::Sandbox;

use crate::gateways::{setup, usual_sandbox};

/// Longer than any limit configured here.
const TEST_LIMIT: Duration = Duration::from_secs(120);

/// Runs a test that fails by never ending.
fn run(test: impl Future<Output = ()>) {
    gatehouse_harness::run(async {
        tokio::time::timeout(TEST_LIMIT, test).await.expect("the test ended in time");
    });
}

/// A gateway process with one customer, an unlimited key, and a simulated provider.
struct TestGateway {
    process: Gateway,
    caller: Caller,
    _provider: Sandbox,
}

impl TestGateway {
    /// A gateway whose configuration has these tables on top.
    async fn start(more: &str) -> Self {
        let provider = usual_sandbox().await;
        let process = Gateway::start(setup(&provider).with(more)).await;
        let caller = process.open_account("acme", "1000").await;
        Self { process, caller, _provider: provider }
    }

    fn address(&self) -> SocketAddr {
        self.process.public
    }

    /// A valid request is served, whatever other clients do.
    async fn serves_valid_requests(&self) {
        let models = self.caller.get("/v1/models").await;
        assert_eq!(models.status, 200, "{}", models.json());
    }
}
