//! What hostile and careless clients meet at the real listener: raw bytes, slow senders, abused HTTP/2.
//!
//! Every table row is a client; a row that hurts the gateway is noticed by the honest request behind it.

mod bodies;
mod cases;
mod counts;
mod frames;
mod framing;
mod heads;
mod http2;
mod http2_floods;
mod slow;
mod targets;

use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use gatehouse_harness::{Caller, Gateway, Setup};
use gatehouse_sandbox::{Sandbox, Settings};

/// Longer than any limit configured here: whoever still waits then would wait for ever.
const FOR_EVER: Duration = Duration::from_secs(120);

/// Runs a test whose failure may be that something is never ended.
fn run(test: impl Future<Output = ()>) {
    gatehouse_harness::run(async {
        tokio::time::timeout(FOR_EVER, test).await.expect("an end of all waiting");
    });
}

/// A gateway with one account and an unlimited key, and the provider it talks to.
struct Scene {
    house: Gateway,
    caller: Caller,
    _provider: Sandbox,
}

impl Scene {
    /// A gateway whose configuration has these tables on top.
    async fn start(more: &str) -> Self {
        let provider = Sandbox::start(Settings::default()).await.expect("a sandbox");
        let addresses = serde_json::to_value(provider.context()).expect("addresses");
        let setup = Setup::new(env!("CARGO_BIN_EXE_gatehouse"), &addresses).with(more);
        let house = Gateway::start(setup).await;
        let caller = house.open_account("acme", "1000").await;
        Self { house, caller, _provider: provider }
    }

    fn address(&self) -> SocketAddr {
        self.house.public
    }

    /// What any client with a key expects, whatever others are doing.
    async fn serves_honest_requests(&self) {
        let models = self.caller.send("GET", "/v1/models", &[], "").await;
        assert_eq!(models.status, 200, "{}", models.json());
    }
}
