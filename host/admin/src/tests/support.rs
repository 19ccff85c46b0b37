//! A running listener over a store with one customer, and its clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gatehouse_harness::TestClock;
use gatehouse_model::{CustomerId, CustomerPolicy, UnixMs};
use gatehouse_net::{ConnectionLimits, HandshakeLimits};
use gatehouse_store::Store;
use gatehouse_tasks::Command;
use tempfile::TempDir;

use super::{service, token};
use crate::{AdminEndpoint, AdminServer, AdminService, Config, Probes, Token, Tokens};

/// Given to operations under way when the listener stops; no other pause is as long.
pub(super) const GRACE: Duration = Duration::from_secs(7);
pub(super) const HEAD: Duration = Duration::from_secs(10);
/// No other pause is as long.
pub(super) const HANDSHAKE: Duration = Duration::from_secs(5);
pub(super) const WRITE: Duration = Duration::from_secs(60);

/// A listener over a store with the customer `known`.
pub(super) struct Listener {
    pub(super) server: AdminServer,
    pub(super) endpoint: AdminEndpoint,
    pub(super) ready: Arc<AtomicBool>,
    pub(super) clock: Arc<TestClock>,
    pub(super) viewer: Token,
    pub(super) folder: TempDir,
    pub(super) store: Store,
}

/// The limits of a listener's connections.
pub(super) fn limits() -> (ConnectionLimits, HandshakeLimits) {
    let limits = ConnectionLimits {
        head: HEAD,
        idle: Duration::from_secs(75),
        write: WRITE,
        head_bytes: 64 * 1024,
        headers: 128,
        streams: 1,
        header_list_bytes: 16 * 1024,
    };
    (limits, HandshakeLimits { time: HANDSHAKE, at_once: 4 })
}

pub(super) async fn start() -> Listener {
    start_with(Config::default(), "gatehouse_up 1\n").await
}

/// The same with this configuration and these metrics.
pub(super) async fn start_with(config: Config, metrics: &'static str) -> Listener {
    let (service, folder) = service();
    serve(config, metrics, service, folder, TestClock::at(1_000)).await
}

/// The same over this service, by this clock.
pub(super) async fn serve(
    config: Config,
    metrics: &'static str,
    service: AdminService,
    folder: TempDir,
    clock: Arc<TestClock>,
) -> Listener {
    // Not by an operation, which would leave a line in the audit record.
    let known = Command::AddCustomer {
        id: CustomerId::from("known"),
        policy: CustomerPolicy::default(),
        at: UnixMs(1_000),
    };
    service.store.execute(known).await.unwrap().unwrap();
    let store = service.store.clone();
    let ready = Arc::new(AtomicBool::new(false));
    let is_ready = ready.clone();
    let probes = Probes {
        metrics: Box::new(move || metrics.to_owned()),
        is_ready: Box::new(move || is_ready.load(Ordering::Relaxed)),
    };
    let (limits, handshakes) = limits();
    let token = token(0xab);
    let tokens = Tokens { operator: token.clone(), viewer: super::token(0xcd) };
    let viewer = tokens.viewer.clone();
    let server =
        AdminServer::start(&config, limits, handshakes, tokens, Arc::new(service), probes, clock.clone());
    let server = server.unwrap();
    let tls = server.certificates().is_some();
    let endpoint = AdminEndpoint { address: server.address(), token, tls };
    Listener { server, endpoint, ready, clock, viewer, folder, store }
}
