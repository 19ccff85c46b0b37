//! The signals that stop the process, and the order in which its services stop.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_admin::AdminServer;
use gatehouse_driver::Driver;
use gatehouse_edge::Edge;
use gatehouse_model::Clock;
use gatehouse_sandbox::Sandbox;
use gatehouse_store::Store;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;

use super::listeners::EndpointFile;
use crate::reload::RunningConfiguration;

/// Time for open requests to be answered, long polls included.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for running steps that the next process can repeat. New connections wait that long for the next process.
const STEP_TIMEOUT: Duration = Duration::from_secs(2);
/// Further time for calls that must not be repeated: a cancelled one may leave a job at the provider that no task
/// waits for.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// SIGTERM and SIGINT.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// The signal of Ctrl-C: the lame duck phase is skipped.
    pub(crate) const INTERRUPT: &str = "SIGINT";

    /// Handles the signals in place of the operating system's default, which ends the process at once.
    pub(crate) fn handle() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for the next signal; its name.
    pub(crate) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => Self::INTERRUPT,
        }
    }
}

/// A running gateway: everything that has to be stopped.
pub(super) struct Gateway {
    pub(super) configuration: Arc<RunningConfiguration>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) edge: Edge,
    pub(super) driver: Driver,
    pub(super) admin: AdminServer,
    pub(super) endpoint: EndpointFile,
    pub(super) upkeep: JoinHandle<()>,
    pub(super) watcher: Option<JoinHandle<()>>,
    pub(super) store: Store,
    pub(super) sandbox: Option<Sandbox>,
}

impl Gateway {
    /// Stops the gateway. Accepted requests are answered and running work may finish. `skip_lame_duck` gives
    /// clients and balancers no time to go elsewhere first.
    pub(super) async fn stop(self, skip_lame_duck: bool) {
        // First, so that `/readyz` refuses while the listeners still accept.
        self.driver.enter_lame_duck();
        if !skip_lame_duck {
            self.edge.lame_duck().await;
        }
        // New connections wait for the next process from here on, so steps and requests end in parallel.
        self.driver.drain();
        self.edge.drain(REQUEST_TIMEOUT).await;
        self.driver.stop(STEP_TIMEOUT, CALL_TIMEOUT).await;
        self.endpoint.remove();
        self.admin.stop().await;
        self.upkeep.abort();
        if let Some(watcher) = self.watcher {
            watcher.abort();
        }
        if let Some(sandbox) = self.sandbox {
            sandbox.stop().await;
        }
        let store = self.store;
        if let Err(error) = tokio::task::spawn_blocking(move || store.close()).await {
            tracing::error!(%error, "the store did not close well; the next start recovers it");
        }
    }
}
